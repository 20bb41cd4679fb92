#!/usr/bin/env python3
"""Writes a result file from what `ctest --output-junit JUNIT` wrote; `./dev test --json FILE` calls it.

    test_results.py JUNIT --json FILE

For programs built on another machine, call ctest and this script by hand. docs/result_files.md describes the file,
lenslet.tests/1. Exit codes: 0 written, also if a test failed, 2 usage, 3 JUNIT is missing or no such file.
"""

import argparse
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

from machine import machine

# How tests print why they skip, as dev.d/skipped.awk reads it: below GoogleTest's "FILE:LINE: Skipped", as
# "skipped: REASON", or unittest's "skipped 'REASON'".
REASONS = re.compile(r": Skipped\n(.*)|^skipped: (.*)|\.\.\. skipped ['\"](.*)['\"]$", re.M | re.I)
# ctest's message for a test that skips itself; any other message means that its program was not found.
RETURN_CODE = "SKIP_RETURN_CODE"


def skip_reasons(output):
    """The reasons that a test printed, each once; empty if it printed none."""
    found = ["".join(groups).strip() for groups in REASONS.findall(output)]
    return "; ".join(dict.fromkeys(filter(None, found)))


def row_of(case):
    """The row of a test. A test that ctest could not start has failed; one that passed may have skipped parts."""
    output = case.findtext("system-out") or ""
    status, note = case.get("status"), case.find("skipped")
    if status == "run":
        verdict = "PASSED", skip_reasons(output)
    elif status == "disabled":
        verdict = "SKIPPED", "disabled"
    elif note is not None and note.get("message", "").startswith(RETURN_CODE):
        verdict = "SKIPPED", skip_reasons(output) or "no reason is given"
    elif note is not None:
        verdict = "FAILED", note.get("message") or "not run"
    else:
        failure = case.find("failure")
        verdict = "FAILED", (failure is not None and failure.get("message")) or "failed"
    seconds = round(float(case.get("time")), 2)
    return {"test": case.get("name"), "status": verdict[0], "seconds": seconds, "reason": verdict[1]}


def document(suite):
    rows = sorted(map(row_of, suite.iter("testcase")), key=lambda row: row["test"])
    return {
        "schema": "lenslet.tests/1",
        "machine": machine(),
        "seconds": float(suite.get("time")),
        "complete": bool(rows) and len(rows) == int(suite.get("tests")),
        "rows": rows,
    }


def as_json(members):
    """JSON with a line for each entry of `rows`, the last member."""
    rows = ",\n".join("  " + json.dumps(row) for row in members["rows"])
    return json.dumps({**members, "rows": []}, indent=1).removesuffix("[]\n}") + f"[\n{rows}\n ]\n}}\n"


def main(arguments):
    parser = argparse.ArgumentParser(prog="test_results.py", description="a result file of a run of ctest")
    parser.add_argument("junit", type=pathlib.Path, help="what ctest --output-junit wrote")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", required=True)
    options = parser.parse_args(arguments)
    try:
        suite = ElementTree.parse(options.junit).getroot()
        members = document(suite)
    except (OSError, ElementTree.ParseError, TypeError, ValueError) as error:
        print(f"test_results: error: {options.junit} is no JUnit file of ctest: {error}", file=sys.stderr)
        return 3
    options.json.write_text(as_json(members))
    counts = [sum(row["status"] == status for row in members["rows"]) for status in ("PASSED", "FAILED", "SKIPPED")]
    print("{}: {} passed, {} failed, {} skipped".format(options.json, *counts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
