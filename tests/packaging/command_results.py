#!/usr/bin/env python3
"""Adds to a result file how long a command of ./dev took; check_bare_system.sh --json calls it.

    command_results.py FILE COMMAND SECONDS NOTE [TESTS]

TESTS is what `./dev test --json` wrote. docs/result_files.md describes FILE, lenslet.commands/1, which is made if it
does not exist. Exit codes: 0 written, 2 usage, 3 FILE or TESTS is no such file.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from machine import machine
from test_results import as_json

SCHEMA = "lenslet.commands/1"


def read(path, schema):
    """The document; ends the program with 3 if it has another schema."""
    try:
        document = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        sys.exit(complain(f"{path}: {error}"))
    if document.get("schema") != schema:
        sys.exit(complain(f"{path}: found schema {document.get('schema')!r}, expected {schema}"))
    return document


def complain(text):
    print(f"command_results.py: error: {text}", file=sys.stderr)
    return 3


def row_of(command, seconds, note, tests=None):
    """The row of a command; `tests` is the document of its tests."""
    verdicts = [row["status"] for row in tests["rows"]] if tests else None
    return {
        "command": command,
        "machine": machine(),
        "preset": "release",
        "seconds": seconds,
        "test_seconds": round(tests["seconds"]) if tests else None,
        "tests": len(verdicts) if tests else None,
        "red": verdicts.count("FAILED") if tests else None,
        "skipped": verdicts.count("SKIPPED") if tests else None,
        "note": note,
    }


def main(words):
    if len(words) not in (4, 5) or not words[2].isdigit():
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    file, command, seconds, note, *tests = words
    rows = read(file, SCHEMA)["rows"] if pathlib.Path(file).exists() else []
    rows.append(row_of(command, int(seconds), note, read(tests[0], "lenslet.tests/1") if tests else None))
    pathlib.Path(file).write_text(as_json({"schema": SCHEMA, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
