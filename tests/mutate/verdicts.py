#!/usr/bin/env python3
"""Compares the list of planted faults with the verdicts that docs/results keeps.

    verdicts.py [ROOT]

Every fault of tests/mutate/faults has a verdict in a docs/results/*/mutate.json: killed by a test. A fault without a
verdict states the reason under the key `unjudged`. Exit codes: 0 no complaint, 1 complaints, 2 usage.
"""

import argparse
import json
import pathlib
import sys


def complaints_of(root):
    kept = {}  # name: the statuses of all files
    for path in sorted((root / "docs/results").glob("*/mutate.json")):
        for row in json.loads(path.read_text())["rows"]:
            if row["status"] != "skipped":
                kept.setdefault(row["name"], set()).add(row["status"])
    faults = [
        (path.name, fault)
        for path in sorted((root / "tests/mutate/faults").glob("*.json"))
        for fault in json.loads(path.read_text())
    ]
    found = [] if faults else [f"{root}/tests/mutate/faults holds no fault"]
    for file, fault in faults:
        where, status = f"{file}: {fault['name']}", kept.get(fault["name"], set())
        if bad := status - {"killed", "equivalent"}:
            found.append(f"{where}: the verdict of docs/results is {', '.join(sorted(bad))}: add a test that kills it")
        elif status and "unjudged" in fault:
            found.append(f'{where}: has a verdict: remove "unjudged"')
        elif not status and not fault.get("unjudged") and "equivalent" not in fault:
            found.append(
                f"{where}: has no verdict in docs/results/*/mutate.json: judge it by `./dev mutate` and "
                'add the row there, or write "unjudged": "REASON"'
            )
    return found, len(faults)


def main(arguments):
    parser = argparse.ArgumentParser(prog="verdicts.py", description="planted faults, and the verdicts kept on them")
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[2])
    found, count = complaints_of(parser.parse_args(arguments).root)
    for line in found:
        print(f"verdicts: error: {line}", file=sys.stderr)
    if not found:
        print(f"{count} planted faults have verdicts or the reason why not")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
