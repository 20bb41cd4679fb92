#!/usr/bin/env python3
"""Compares the list of planted faults with the verdicts that docs/results keeps.

    verdicts.py [ROOT]

Every fault of tests/mutate/faults has a verdict in a docs/results/*/mutate.json: killed by a test. It counts for the
file and the texts that were judged, by their digest, and for the entry that `mutate.py carry` found to be the same. A
fault without a verdict states the reason under the key `unjudged`, one that no test kills under the key `survived`.
Every verdict is on a fault of the list. Prints the survivors, with their reasons. Exit codes: 0 no complaint, 1
complaints, 2 usage.
"""

import argparse
import json
import pathlib
import sys

from fault_list import NO_VERDICT, without_verdict
from kept_verdicts import counts, kept_files

UNKNOWN = (
    "has no verdict in docs/results/*/mutate.json: judge it by `./dev mutate` and "
    'add the row there, or write "unjudged": "DATE: REASON"'
)
OPEN = 'the verdict of docs/results is {}: add a test that kills it, or write "survived": "DATE: REASON"'
OTHER_TEXT = (
    "judged at {}, when its file or texts were others: `mutate.py carry` keeps the verdict of a fault that is the "
    'same; else judge it again, or write "unjudged": "DATE: REASON" and remove the verdict by `mutate.py prune`'
)


def complaints_of(root):
    listed = [
        (path.name, fault)
        for path in sorted((root / "tests/mutate/faults").glob("*.json"))
        for fault in json.loads(path.read_text())
    ]
    found = [] if listed else [f"{root}/tests/mutate/faults holds no fault"]
    faults = {fault["name"]: fault for _, fault in listed}
    kept = [
        (path.parent.name, row)
        for path, document in kept_files(root)
        for row in document["rows"]
        if row["status"] != "skipped"
    ]
    statuses, others = {}, {}  # by name: of the verdicts that count, and the commits of those that do not
    for folder, row in kept:
        if counts(row, faults):
            statuses.setdefault(row["name"], set()).add(row["status"])
        else:
            others.setdefault(row["name"], []).append((folder, row["git"]))
        if ("carried_to" in row) != bool(row.get("carried_because")):
            found.append(f"{folder}: {row['name']}: carried_to and carried_because, the reason, belong together")
    for file, fault in listed:
        where, status = f"{file}: {fault['name']}", statuses.get(fault["name"], set())
        reasons = [key for key in NO_VERDICT if fault.get(key)]
        other = others.pop(fault["name"], []) if not status and not reasons else []
        if bad := status - {"killed", "equivalent", *({"survived"} & set(reasons))}:
            found.append(f"{where}: {OPEN.format(', '.join(sorted(bad)))}")
        elif status - {"survived"} and reasons:
            found.append(f'{where}: has a verdict: remove "{reasons[0]}"')
        elif other:
            found.append(f"{where}: {OTHER_TEXT.format(other[-1][1])}")
        elif not status and not reasons and "equivalent" not in fault:
            found.append(f"{where}: {UNKNOWN}")
    found += [
        f"{folder}: {name}: no fault has this name and the text that was judged at {git}: `mutate.py prune` removes it"
        for name, rows in others.items()
        for folder, git in rows
    ]
    judged = sum(not set(NO_VERDICT) & set(fault) for fault in faults.values())
    survivors = [f"survived: {name}: {fault['survived']}" for name, fault in faults.items() if "survived" in fault]
    return found, "\n".join([f"{judged} planted faults have verdicts; {without_verdict(faults.values())}", *survivors])


def main(arguments):
    parser = argparse.ArgumentParser(prog="verdicts.py", description="planted faults, and the verdicts kept on them")
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[2])
    found, summary = complaints_of(parser.parse_args(arguments).root)
    for line in found:
        print(f"verdicts: error: {line}", file=sys.stderr)
    if not found:
        print(summary)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
