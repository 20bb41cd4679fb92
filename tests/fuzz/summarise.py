#!/usr/bin/env python3
"""Writes the table of docs/fuzzing.md from JSON files that tests/fuzz/run.py wrote.

    summarise.py FUZZ_JSON... [--page DOCUMENT]

Each target has the row of the file that was measured last. With --page it replaces the text between the two marks of
DOCUMENT, else it prints the table. Exit codes: 0 written, 1 a target was stopped early or DOCUMENT lacks the marks,
2 usage.
"""

import argparse
import json
import os
import pathlib
import sys

BEGIN, END = "<!-- fuzz table: begin -->", "<!-- fuzz table: end -->"
NUMBERS = ("seconds", "executions", "executions_per_s", "edges", "features", "corpus_inputs", "peak_rss_mb")
RENAMED = {"image": "picture"}  # targets whose names differ in older files


def newest_rows(documents):
    """{target: (link, row)} of `documents`, [(link, document)], each from the document with the last time."""
    rows = {}
    for link, document in sorted(documents, key=lambda pair: pair[1]["machine"]["time_utc"]):
        for row in document["targets"]:
            rows[RENAMED.get(row["target"], row["target"])] = (link, row)
    return rows


def table_of(documents):
    """A table of the files and their machines, then one of the targets; `documents` are [(link, document)]."""
    rows = newest_rows(documents)
    lines = ["| file | cores | compiler | commit | date |", "|---|---|---|---|---|"]
    for link, document in documents:
        machine = document["machine"]
        if any(link == used for used, _ in rows.values()):
            cores, date = f"{machine['cores']} of {machine['cpu']}", machine["time_utc"][:10]
            cells = [f"[{pathlib.Path(link).name}]({link})", cores, machine["compiler"], machine["git"], date]
            lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "| target | file | seconds | executions | per second | edges | features | corpus | peak MiB | findings |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for target, (link, row) in rows.items():
        if "executions" not in row:
            raise SystemExit(f"{target} was stopped early: run it again, then write the table")
        cells = [f"`{target}`", pathlib.Path(link).name, *(f"{row[key]:,}" for key in NUMBERS)]
        lines.append("| " + " | ".join([*cells, "yes" if row["finding"] else "none"]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="summarise.py", description="the table of docs/fuzzing.md")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FUZZ_JSON", help="a file of tests/fuzz/run.py")
    parser.add_argument("--page", type=pathlib.Path, metavar="DOCUMENT", help="the page with the two marks")
    options = parser.parse_args()
    page = options.page
    folder = page.parent if page else pathlib.Path()
    table = table_of([(os.path.relpath(file, folder), json.loads(file.read_text())) for file in options.files])
    if not page:
        print(table)
        return 0
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{page} lacks the marks {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
