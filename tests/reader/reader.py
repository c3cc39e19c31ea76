#!/usr/bin/env python3
"""A second reader of git-incident ledgers, written from docs/STORAGE.md alone.

    reader.py --repo PATH [--incident OID]    every incident of a repository, or one
    reader.py --file LEDGER --anchor OID      one ledger from a file
    reader.py --batch                         a line {"ledger_hex", "anchor"} in, an incident a line out

Python 3 and, for --repo, the git program. It says what the format says and nothing more: when this and
the Rust reader disagree, one of them or the specification is wrong.
"""

import argparse
import hashlib
import heapq
import json
import subprocess
import sys

from ledger_line import OID, SHAPES, Bad, check_shape, read_line


def blob_name(data, length):
    algorithm = hashlib.sha1 if length == 40 else hashlib.sha256
    return algorithm(b"blob %d\0" % len(data) + data).hexdigest()


def ordered(events):
    """Section 7: topologically, ties by (at, id); what stands on a cycle comes last."""
    waiting = {i: sum(p in events for p in e["parents"]) for i, e in events.items()}
    children = {}
    for ident, event in events.items():
        for parent in event["parents"]:
            children.setdefault(parent, []).append(ident)
    ready = [(events[i]["at"], i) for i, n in waiting.items() if n == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, ident = heapq.heappop(ready)
        order.append(ident)
        for child in children.get(ident, []):
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, (events[child]["at"], child))
    return order + sorted((i for i, n in waiting.items() if n > 0), key=lambda i: (events[i]["at"], i))


class Register:
    """Section 8: the value in force, and what was set without knowing of it."""

    def __init__(self, value):
        self.value, self.by, self.rivals = value, None, []

    def set(self, value, by, knows):
        self.rivals = [r for r in self.rivals if not knows(r[0])]
        if self.by is not None and not knows(self.by):
            self.rivals.append((self.by, self.value))
        self.rivals = [r for r in self.rivals if r[1] != value]
        self.value, self.by = value, by


def fold(ledger, anchor):
    events, others, damaged, anchor_event = {}, set(), set(), None
    for raw in ledger.split(b"\n"):
        if not raw:
            continue
        what, value = read_line(raw)
        if what == "other":
            others.add(raw)
        elif what == "damaged":
            damaged.add(raw)
        else:
            if blob_name(raw + b"\n", len(anchor)) == anchor:
                anchor_event = value["id"]
            # One id, several spellings: what is erased in one is erased.
            known = events.setdefault(value["id"], value)
            known["data_gone"] |= value["data_gone"]
            known["by_gone"] |= value["by_gone"]
    return Fold(events, ordered(events), anchor, anchor_event).run(len(others), len(damaged))


class Fold:
    def __init__(self, events, order, anchor, anchor_event):
        self.events, self.order, self.anchor, self.anchor_event = events, order, anchor, anchor_event
        self.opened = False
        self.registers = {k: Register(v) for k, v in {
            "title": "", "ticket": "", "symptom": "", "environment": "", "files": [], "labels": [],
            "status": "open"}.items()}
        self.attempts, self.next, self.causes, self.links, self.evidence = {}, {}, {}, [], []
        self.differences, self.erased_blobs = {}, set()
        self.repro = {"command": [], "runs": 0, "failures": 0, "by": None, "same": None}

    def run(self, unknown, damaged):
        place = {ident: i for i, ident in enumerate(self.order)}
        past, opening = [], self.opening()
        for i, ident in enumerate(self.order):
            event, seen = self.events[ident], 0
            for parent in event["parents"]:
                if place.get(parent, i) < i:
                    seen |= past[place[parent]] | 1 << place[parent]
            past.append(seen)
            kind = event["type"]
            if kind == "incident.opened" and ident != opening:
                damaged += 1
                continue
            if event["data_gone"]:
                if kind == "incident.opened":
                    self.opened = True
                    self.registers["title"].set("(erased)", ident, lambda _: True)
                continue
            if kind not in SHAPES or "." not in kind:
                unknown += 1
                continue
            try:
                data = check_shape(kind, event["data"])
            except Bad:
                damaged += 1
                continue
            effect = getattr(self, kind.replace(".", "_"), None)
            if effect:
                effect(ident, data, lambda other: place.get(other, i) < i and bool(seen >> place[other] & 1))
        return self.view(unknown, damaged)

    def opening(self):
        """Section 8: the anchor, or once that was erased the root on which most of the ledger stands."""
        if self.anchor_event is not None:
            return self.anchor_event
        place, root, standing = {}, {}, {}
        for i, ident in enumerate(self.order):
            below = [place[p] for p in self.events[ident]["parents"] if p in place]
            root[ident] = root[self.order[min(below)]] if below else ident
            place[ident] = i
            standing[root[ident]] = standing.get(root[ident], 0) + 1
        roots = [i for i in self.order if (e := self.events[i])["type"] == "incident.opened" and not e["parents"]
                 and (e["by_gone"] or e["data_gone"])]
        return max(roots, key=lambda i: standing[i], default=None)  # the first of equals

    def incident_opened(self, ident, data, knows):
        self.opened = True
        for name, value in data.items():
            self.registers[name].set(value, ident, knows)

    def incident_edited(self, ident, data, knows):
        for name, value in data.items():
            if value is not None and name in self.registers:
                self.registers[name].set(value, ident, knows)

    def incident_closed(self, ident, data, knows):
        self.registers["status"].set(data["as"], ident, knows)

    def incident_reopened(self, ident, data, knows):
        self.registers["status"].set("open", ident, knows)

    def attempt_started(self, ident, data, knows):
        self.attempts[ident] = {**data, "result": "", "conclusion": "", "rules_out": [], "ended": False,
                                "outcome": {"hypothesis": "undecided", "bug": "unknown"}}

    def attempt_ended(self, ident, data, knows):
        attempt = self.attempts.get(data["attempt"])
        if attempt is not None:
            data["action"] = data["action"] or attempt["action"]
            attempt.update({k: data[k] for k in ("outcome", "action", "result", "conclusion", "rules_out")}, ended=True)

    def next_added(self, ident, data, knows):
        self.next[ident] = {"id": ident, "text": data["text"], "state": "open"}

    def next_done(self, ident, data, knows):
        self.next.get(data["next"], {})["state"] = "done"

    def next_dropped(self, ident, data, knows):
        self.next.get(data["next"], {})["state"] = "dropped"

    def difference_set(self, ident, data, knows):
        # A dict keeps the place of a key that is set again.
        self.differences[data["factor"]] = {k: data[k] for k in ("factor", "working", "broken", "eliminated")}

    def cause_proposed(self, ident, data, knows):
        self.causes[ident] = {"state": "proposed", "text": data["text"]}

    def cause_rejected(self, ident, data, knows):
        self.causes.get(data["cause"], {})["state"] = "rejected"

    def cause_confirmed(self, ident, data, knows):
        self.causes.get(data["cause"], {})["state"] = "confirmed"

    def repro_set(self, ident, data, knows):
        same = (data["command"], data["fails_when"], data["pattern"])
        if same != self.repro["same"]:
            self.repro.update(runs=0, failures=0)
        self.repro.update(command=data["command"], by=ident, same=same)

    def repro_ran(self, ident, data, knows):
        if data["repro"] == self.repro["by"]:
            self.repro["runs"] += data["runs"]
            self.repro["failures"] += min(data["failures"], data["runs"])

    def evidence_added(self, ident, data, knows):
        self.evidence.append(data)

    def evidence_erased(self, ident, data, knows):
        self.erased_blobs.add(data["oid"])

    def commit_linked(self, ident, data, knows):
        link = {"event": ident, "gone": False, **{k: data[k] for k in ("commit", "role", "attempt", "how", "reverts")}}
        mine = [old for old in self.links if old["commit"] == link["commit"]]
        if link["how"] and mine and all(old["gone"] for old in mine):
            return
        same = [old for old in mine if old["role"] == link["role"]]
        vague = [old for old in same if not (link["attempt"] and old["attempt"])]
        for old in [o for o in same if o["attempt"] == link["attempt"]] + vague:
            link["attempt"] = link["attempt"] or old["attempt"]
            old.update(link)
            return
        self.links.append({**link, "former": []})

    def commit_unlinked(self, ident, data, knows):
        for link in self.links:
            former = any(name == data["commit"] and not knows(by) for name, by in link["former"])
            if (data["role"] in (None, link["role"]) and (knows(link["event"]) or link["how"])
                    and (link["commit"] == data["commit"] or former)):
                link["gone"] = True

    def commit_rewritten(self, ident, data, knows):
        if data["from"] == data["to"]:
            return
        for link in [link for link in self.links if link["commit"] == data["from"]]:
            link["former"].append((data["from"], ident))
            there = next((o for o in self.links if (o["commit"], o["role"]) == (data["to"], link["role"])
                          and (o["attempt"] == link["attempt"] or None in (o["attempt"], link["attempt"]))), None)
            if there is None:
                link["commit"] = data["to"]
            else:
                self.links = [o for o in self.links if o is not link]
                there["attempt"] = there["attempt"] or link["attempt"]
                there["gone"] = there["gone"] or bool(link["gone"] and there["how"])
                there["former"] += link["former"]

    def undone(self):
        """Section 9.6: the commits that something standing undoes."""
        now = {name: link["commit"] for link in self.links for name, _ in link["former"]}
        now.update({link["commit"]: link["commit"] for link in self.links})
        edges = {(link["commit"], now.get(target, target)) for link in self.links
                 if link["role"] == "revert" and not link["gone"] for target in link["reverts"]}
        edges = {(by, target) for by, target in edges if by != target}
        standing, undone = set(), set()
        while True:
            fresh = {by for by, _ in edges if by not in standing | undone
                     and all(other in undone for other, target in edges if target == by)}
            if not fresh:
                return undone
            standing |= fresh
            undone |= {target for by, target in edges if by in standing}

    def outcome(self, ident, attempt, undone):
        fixes = [link["commit"] in undone for link in self.links
                 if not link["gone"] and (link["role"], link["attempt"]) == ("fix", ident)]
        reverted = attempt["outcome"]["bug"] == "fixed" and fixes and all(fixes)
        return {**attempt["outcome"], "bug": "remains"} if reverted else attempt["outcome"]

    def view(self, unknown, damaged):
        links = [link for link in self.links if not link["gone"]]
        undone = self.undone()
        attempts = [{
            "id": ident, "ordinal": n, **{k: a[k] for k in (
                "title", "hypothesis", "disproof", "action", "result", "conclusion", "rules_out", "ended")},
            "outcome": self.outcome(ident, a, undone),
            "commits": [link["commit"] for link in links if link["attempt"] == ident],
            "evidence": [e["oid"] for e in self.evidence if e["attempt"] == ident and e["oid"]],
        } for n, (ident, a) in enumerate(self.attempts.items(), 1)]
        cause = {"state": "none", "text": ""}
        for state in ("rejected", "proposed", "confirmed"):
            cause = next((c for c in reversed(self.causes.values()) if c["state"] == state), cause)
        named = {p for e in self.events.values() for p in e["parents"]}
        out = {name: register.value for name, register in self.registers.items()}
        out["files"] = [{"path": f["path"], "note": f["note"]} for f in out["files"]]
        return {
            "schema": 1, "incident": self.anchor, "opened": self.opened, **out,
            "rivals": {k: [v for _, v in self.registers[k].rivals] for k in ("title", "status")},
            "attempts": attempts, "differences": list(self.differences.values()), "next": list(self.next.values()),
            "repro": {k: self.repro[k] for k in ("command", "runs", "failures")}, "cause": cause,
            "links": [{k: link[k] for k in ("commit", "role", "attempt")} for link in links],
            "evidence": [{**{k: e[k] for k in ("oid", "sha256", "bytes", "name", "kind")},
                          "erased": e["oid"] in self.erased_blobs} for e in self.evidence],
            "order": self.order, "heads": sorted(set(self.events) - named), "unknown": unknown, "damaged": damaged,
        }


class Repository:
    """The ledger ref of a repository: every key, at whatever fan-out it stands."""

    def __init__(self, path):
        self.git = ["git", "-C", path]
        listing = subprocess.run([*self.git, "ls-tree", "-r", "-z", "refs/notes/incidents"],
                                 check=True, capture_output=True).stdout
        self.notes, wanted = {}, []
        for entry in listing.decode("utf-8", "replace").split("\0")[:-1]:
            (_, kind, oid), path = entry.split("\t", 1)[0].split(), entry.split("\t", 1)[1]
            key = path.replace("/", "")
            if kind == "blob" and OID.fullmatch(key) and all(len(p) == 2 for p in path.split("/")[:-1]):
                wanted.append((key, oid))
        blobs = subprocess.run([*self.git, "cat-file", "--batch"], check=True, capture_output=True,
                               input="".join(f"{oid}\n" for _, oid in wanted).encode()).stdout
        place = 0
        for key, _ in wanted:
            end = blobs.index(b"\n", place)
            size = int(blobs[place:end].split()[2])
            self.notes[key] = self.notes.get(key, b"") + blobs[end + 1:end + 1 + size] + b"\n"
            place = end + size + 2

    def incident(self, anchor):
        """A ledger with its segments, folded."""
        first = self.notes.get(anchor, b"")
        segments, lines, faults = set(), [first], 0
        for raw in first.split(b"\n"):
            if (segment := named(raw, "ledger.continued", "segment")) is not None:
                segments.add(segment[0])
        for segment in segments:
            note = self.notes.get(segment, b"")
            # Section 6.4: the segment's anchor, or what it was before its author was erased.
            if any((found := named(raw, "ledger.segment", "incident")) is not None and found[0] == anchor
                   and (found[1] or blob_name(raw + b"\n", len(segment)) == segment) for raw in note.split(b"\n")):
                lines.append(note)
            else:
                faults += 1
        view = fold(b"\n".join(lines), anchor)
        view["damaged"] += faults
        return view


def named(raw, kind, member):
    """What an event of that type names, and whether its author was erased."""
    what, event = read_line(raw)
    if what == "event" and event["type"] == kind and not event["data_gone"]:
        try:
            return check_shape(kind, event["data"])[member], event["by_gone"]
        except Bad:
            pass
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for option in ("--repo", "--incident", "--file", "--anchor"):
        parser.add_argument(option)
    parser.add_argument("--batch", action="store_true")
    args = parser.parse_args()
    if args.batch:
        for request in map(json.loads, sys.stdin):
            print(json.dumps(fold(bytes.fromhex(request["ledger_hex"]), request["anchor"])))
    elif args.file and args.anchor:
        with open(args.file, "rb") as file:
            print(json.dumps(fold(file.read(), args.anchor), indent=1))
    elif args.repo:
        repository = Repository(args.repo)
        keys = [args.incident] if args.incident else sorted(repository.notes)
        views = [view for key in keys if (view := repository.incident(key))["opened"]]
        if args.incident and not views:
            sys.exit(f"{args.incident} is no incident of {args.repo}")
        print(json.dumps(views[0] if args.incident else views, indent=1))
    else:
        parser.error("give --repo PATH, --file LEDGER --anchor OID, or --batch")


if __name__ == "__main__":
    main()
