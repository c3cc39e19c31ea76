"""A ledger of a million sound events in the repository of the current directory: a first note, and segments."""

import hashlib
import subprocess

BY = '{"agent":"","email":"x@example.org","name":"X","salt":"' + "0" * 32 + '"}'
BY_DIGEST = hashlib.sha256(BY.encode()).hexdigest()
PER_SEGMENT = 20_000


def seal(number, kind, data, parent):
    at = "2026-01-01T%02d:%02d:%02d.%03dZ" % (
        number // 3_600_000 % 24, number // 60_000 % 60, number // 1000 % 60, number % 1000)
    parents = f'"{parent}"' if parent else ""
    head = f'{{"at":"{at}","by_sha256":"{BY_DIGEST}","data_sha256":"{hashlib.sha256(data.encode()).hexdigest()}",'
    name = hashlib.sha256(f'{head}"parents":[{parents}],"type":"{kind}","v":1}}'.encode()).hexdigest()
    line = f'{{"at":"{at}","by":{BY},"data":{data},"id":"{name}","parents":[{parents}],"type":"{kind}","v":1}}\n'
    return name, line


def anchor_of(line):
    raw = line.encode()
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()


def main():
    salt = '"salt":"' + "0" * 32 + '"'
    parent, opening = seal(0, "incident.opened", f'{{{salt},"title":"a million"}}', None)
    incident = anchor_of(opening)
    first, notes, number = [opening], [], 0
    while number < 1_000_000:
        number += 1
        parent, line = seal(number, "ledger.segment", f'{{"incident":"{incident}",{salt}}}', parent)
        anchor, lines = anchor_of(line), [line]
        number += 1
        parent, line = seal(number, "ledger.continued", f'{{{salt},"segment":"{anchor}"}}', parent)
        first.append(line)
        for _ in range(PER_SEGMENT):
            number += 1
            parent, line = seal(number, "next.added", f'{{{salt},"text":"idea {number}"}}', parent)
            lines.append(line)
        notes.append((anchor, "".join(lines).encode()))
    notes.append((incident, "".join(first).encode()))
    git = subprocess.Popen(["git", "fast-import", "--quiet"], stdin=subprocess.PIPE)
    git.stdin.write(b"commit refs/notes/incidents\ncommitter X <x@example.org> 1 +0000\ndata 1\nx\n")
    for key, text in notes:
        git.stdin.write(f"M 100644 inline {key[:2]}/{key[2:]}\ndata {len(text)}\n".encode() + text + b"\n")
    git.stdin.close()
    if git.wait():
        raise SystemExit("git fast-import failed")


main()
