#!/usr/bin/env python3
"""Writes the table of docs/fuzzing.md from the JSON file that tests/fuzz/run.py writes.

    summarise.py FUZZ_JSON [DOCUMENT]

Replaces the text between the two marks of DOCUMENT. Without DOCUMENT it prints the table.
"""

import json
import pathlib
import sys

BEGIN, END = "<!-- fuzz table: begin -->", "<!-- fuzz table: end -->"


def table_of(document):
    machine = document["machine"]
    lines = [
        f"Measured on {machine['cores']} cores of {machine['cpu']}, {machine['compiler']}, "
        f"commit {machine['git']}, {machine['time_utc'][:10]}.",
        "",
        "| target | seconds | executions | per second | edges | features | corpus | peak MiB | findings |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in document["targets"]:
        if "executions" not in row:
            raise SystemExit(f"{row['target']} was stopped early: run it again, then write the table")
        numbers = [
            row[key]
            for key in (
                "seconds",
                "executions",
                "executions_per_s",
                "edges",
                "features",
                "corpus_inputs",
                "peak_rss_mb",
            )
        ]
        cells = [f"`{row['target']}`", *(f"{number:,}" for number in numbers), "yes" if row["finding"] else "none"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    table = table_of(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    if len(sys.argv) == 2:
        print(table)
        return 0
    page = pathlib.Path(sys.argv[2])
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{page} lacks the marks {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
