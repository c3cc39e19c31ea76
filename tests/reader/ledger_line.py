"""One line of a ledger, as sections 3 to 5 and 9 of docs/STORAGE.md specify it."""

import hashlib
import json
import re
from datetime import datetime

MAX_LINE, MAX_PARENTS = 1 << 20, 1024
HEX64 = re.compile(r"[0-9a-f]{64}")
OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
HEAD = re.compile(r'\{"at":"([^"\\]*)","by":')
TAIL = re.compile(r',"id":"([0-9a-f]{64})","parents":\[([0-9a-f",]*)\],"type":"([^"\\\x00-\x1f]*)","v":1\}')

WORDS = {
    "status": "open resolved blocked wont-fix",
    "role": "failed fix partial offending revert related",
    "verdict": "pass fail inconclusive not-run",
    "fails_when": "exit timeout output verdict",
    "hypothesis": "supported refuted undecided",
    "bug": "fixed remains unknown",
}
# Section 9: member, `!` when it is required, kind. `?` may be absent or null; `[…]` is a list.
SHAPES = {
    "author": "agent text, email text, name text, salt text",
    "file": "path! text, note text",
    "outcome": "hypothesis hypothesis, bug bug",
    "account": "attempt! event, how! text",
    "redaction": "rule! text, line! u32",
    "block": "title! text, sha256! text",
    "run": "argv [text], exit ?i64, millis u64, hang ?text, commit ?oid, tree ?oid, dirty flag,"
           " environment json, evidence [oid]",
    "incident.opened": "title! text, ticket text, symptom text, environment text, files [file], labels [text]",
    "incident.edited": "title ?text, ticket ?text, symptom ?text, environment ?text, files ?[file],"
                       " labels ?[text], status_note ?text, next_preface ?text",
    "incident.closed": "as! status, note text, gaps [text]",
    "incident.reopened": "note text",
    "attempt.started": "hypothesis text, disproof text, title text, action text",
    "attempt.noted": "attempt ?event, text text, about [text], important flag, run ?run",
    "attempt.ended": "attempt! event, outcome! outcome, action text, result text, conclusion text,"
                     " rules_out [text]",
    "next.added": "text! text",
    "next.done": "next! event, remark text",
    "next.dropped": "next! event, reason text",
    "difference.set": "factor! text, working text, broken text, eliminated flag, working_case ?text,"
                      " broken_case ?text",
    "cause.proposed": "text! text, mechanism text",
    "cause.rejected": "cause! event, reason! text",
    "cause.confirmed": "cause! event, accounts [account], disproof ?event, mechanism text",
    "repro.set": "command! [text], fails_when fails_when, pattern text, timeout_millis u64, directory text",
    "repro.ran": "repro! event, runs! u32, failures! u32, commit ?oid, tree ?oid, dirty flag, millis u64,"
                 " environment json, evidence [oid]",
    "evidence.added": "oid ?oid, sha256! text, bytes! u64, name! text, kind! text, attempt ?event,"
                      " location text, redacted [redaction]",
    "evidence.erased": "oid! oid, reason text",
    "commit.linked": "commit! oid, role! role, attempt ?event, patch_id text, tree ?oid, subject text, pr text,"
                     " how text, reverts [oid]",
    "commit.unlinked": "commit! oid, role ?role",
    "commit.rewritten": "from! oid, to! oid, how text, tree ?oid, patch_id text",
    "gate.recorded": "gate! text, verdict! verdict, tree ?oid, device text, descriptor ?oid",
    "budget.spent": "minutes u64, micros u64, note text",
    "postmortem.drafted": "path! text, sha256! text, blocks [block]",
    "postmortem.noted": "block! text, text text, reason text, owner text, link text, happened text, none flag",
    "postmortem.withdrawn": "noted! event, reason text",
    "pr.drafted": "title! text, sha256! text, url text",
    "ledger.continued": "segment! oid",
    "ledger.segment": "incident! oid",
}
SHAPES = {name: [m.split() for m in text.split(", ")] for name, text in SHAPES.items()}
RANGES = {"u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1), "i64": (-2**63, 2**63 - 1)}


class Bad(ValueError):
    """What cannot be read, with the reason."""


class Members(dict):
    """An object that remembers which of its keys stood there twice."""

    def __init__(self, pairs):
        super().__init__(pairs)
        seen = set()
        self.twice = {k for k, _ in pairs if k in seen or seen.add(k)}


def no_constant(word):
    raise Bad(f"{word} is no JSON")


DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_constant=no_constant,
                           parse_int=lambda s: -0.0 if s == "-0" else int(s))


def canonical(value, depth=1):
    """Section 3.1: the one way a value is written."""
    if isinstance(value, (dict, list)):
        if depth > 100:
            raise Bad("nested too deeply")
        for inside in value.values() if isinstance(value, dict) else value:
            canonical(inside, depth + 1)
    elif isinstance(value, float) or type(value) is int and abs(value) >= 2**53:
        raise Bad("a number that may not stand there")
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if depth == 1 else None


def decode_at(text, start):
    """One JSON value at a place of a text: the value, and where it ends."""
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {error}") from None


def check(kind, value):
    """A value of a kind of section 9, defaults filled in."""
    good = None
    if kind.startswith("["):
        return [check(kind[1:-1], v) for v in value] if isinstance(value, list) else bad(kind)
    if kind == "json":
        return value
    if kind == "text":
        good = isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
    elif kind == "flag":
        good = isinstance(value, bool)
    elif kind == "event":
        good = isinstance(value, str) and HEX64.fullmatch(value)
    elif kind == "oid":
        good = isinstance(value, str) and OID.fullmatch(value)
    elif kind in RANGES:
        low, high = RANGES[kind]
        good = type(value) is int and low <= value <= high
    elif kind in WORDS:
        good = isinstance(value, str) and value in WORDS[kind].split()
    elif kind in SHAPES:
        return check_shape(kind, value)
    return value if good else bad(kind)


def bad(kind):
    raise Bad(f"no {kind}")


DEFAULTS = {"text": "", "flag": False, "u64": 0, "u32": 0, "json": None, "fails_when": "exit",
            "hypothesis": "undecided", "bug": "unknown"}


def check_shape(name, value):
    if not isinstance(value, Members):
        raise Bad(f"{name} is no object")
    out = {}
    for member, kind in SHAPES[name]:
        required, member = member.endswith("!"), member.rstrip("!")
        optional, kind = kind.startswith("?"), kind.lstrip("?")
        if optional and value.get(member) is None:
            out[member] = None
        elif member in value:
            out[member] = check(kind, value[member])
        elif required:
            raise Bad(f"{member} is missing")
        else:
            out[member] = [] if kind.startswith("[") else DEFAULTS[kind]
    return out


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def read_line(raw):
    """Section 4: ("event", …), ("other", version) or ("damaged", reason)."""
    try:
        if len(raw) > MAX_LINE:
            raise Bad("too long")
        text = raw.decode()  # UnicodeDecodeError is a ValueError
        return "event", read_event(text)
    except ValueError as error:
        try:
            whole = DECODER.decode(raw.decode()) if len(raw) <= MAX_LINE else None
        except (ValueError, RecursionError):
            whole = None
        if isinstance(whole, Members) and "v" not in whole.twice:
            version = whole.get("v")
            if type(version) is int and version != 1 and 0 <= version < 2**64:
                return "other", version
        return "damaged", str(error)


def read_event(text):
    head = HEAD.match(text) or bad("event")
    by, by_end = decode_at(text, head.end())
    if not text.startswith(',"data":', by_end):
        raise Bad("no data")
    data_start = by_end + len(',"data":')
    data, data_end = decode_at(text, data_start)
    tail = TAIL.fullmatch(text, data_end) or bad("event")
    at, (ident, parents, kind) = head[1], tail.groups()
    if not TIME.fullmatch(at) or at < "1970":
        raise Bad("no time")
    datetime.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")
    if at[17:19] > "59":
        raise Bad("no time")
    parent_ids = [] if not parents else [p for p in parents.split(",")]
    if len(parent_ids) > MAX_PARENTS or not all(re.fullmatch(r'"[0-9a-f]{64}"', p) for p in parent_ids):
        raise Bad("no parents")

    def erasable(value, span):
        if canonical(value) != span:
            raise Bad("not canonical")
        if isinstance(value, str) and HEX64.fullmatch(value):
            return True, value
        return (False, sha256(span)) if isinstance(value, Members) else bad("object")

    by_gone, by_digest = erasable(by, text[head.end():by_end])
    data_gone, data_digest = erasable(data, text[data_start:data_end])
    header = (f'{{"at":"{at}","by_sha256":"{by_digest}","data_sha256":"{data_digest}",'
              f'"parents":[{parents}],"type":"{kind}","v":1}}')
    if sha256(header) != ident:
        raise Bad("its id does not fit its content")
    if not by_gone:
        check_shape("author", by)
    return {"id": ident, "at": at, "parents": [p[1:-1] for p in parent_ids], "type": kind,
            "by_gone": by_gone, "data_gone": data_gone, "data": data}
