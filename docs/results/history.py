#!/usr/bin/env python3
"""Keeps the headline figures of results folders in history.csv, a row a figure, after the folders are gone.

    python3 docs/results/history.py docs/results/2026-11-27-h100 [FOLDER…]

Replaces the rows of a folder that history.csv already has. `lenslet` and `peer` are in the unit that ends the figure's
name. update_readme.py calls this for the folders that the pages quote; draw.py plots the file. Python's standard
library alone.
"""

import argparse
import csv
import io
from pathlib import Path

import common
import headline

FILE = Path(__file__).resolve().parent / "history.csv"
PICTURE = FILE.with_suffix(".svg")
COLUMNS = ("folder", "commit", "figure", "lenslet", "peer", "ratio")


def commits(folder):
    """The commits that the folder's files were measured at."""
    found = {common.load(folder, path.name).meta.get("git") for path in folder.glob("*.json")}
    return " ".join(sorted(found - {None}))


def figures(folder):
    """The rows of a folder."""

    def number(value):
        return "" if value is None else f"{value:.0f}" if value >= 1e6 else f"{value:.6g}"

    commit = commits(folder)
    for part in (*headline.GPU_PARTS, headline.lenet_on_cpu, *headline.CONV_PARTS):
        for line in part(folder):
            for figure, (mine, theirs) in (line.values or {line.what: (None, None)}).items():
                values = map(number, (mine, theirs, line.ratio))
                yield dict(zip(COLUMNS, (folder.name, commit, figure, *values)))


def change(row):
    """What grows as Lenslet gets faster; None where the row has no figure."""
    if not row["lenslet"]:
        return float(row["ratio"]) if row["ratio"] else None
    value = float(row["lenslet"])
    return 1 / value if row["figure"].endswith("µs") else value


def read():
    return list(csv.DictReader(io.StringIO(FILE.read_text()))) if FILE.exists() else []


def updated(folders):
    """The file's text with the rows of these folders."""
    names, wanted = {folder.name for folder in folders}, list(common.lacking)
    rows = [row for row in read() if row["folder"] not in names]
    rows += [row for folder in folders for row in figures(folder)]
    common.lacking[:] = wanted  # a folder may lack some figures
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: row["folder"]))
    return text.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    FILE.write_text(updated(parser.parse_args().folders))


if __name__ == "__main__":
    main()
