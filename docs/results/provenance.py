#!/usr/bin/env python3
"""Checks that every kept result file states schema, commit and machine, and that the history has its source.

    python3 docs/results/provenance.py [docs/results]

A file of a modified tree (`dirty`), of a commit that is no ancestor of HEAD, or of another day than its folder's, is
accepted if a table of README.md beside the folders names that very file with the reason. A file that lacks a part of
what its command measures (`status` INTERRUPTED or ERROR, `interrupted`, or `complete` false) is accepted if the table
"Files of a part" names it; that table names no other file. What a table names must be there, and the table "What a
folder holds" lists every file. Without the project's whole history commits are not compared with it, and the reason is
printed.
Exit codes: 0 no complaint, 1 complaints. Python's standard library alone.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

DRAWN = {".svg", ".html"}  # by update_readme.py, from the JSON files
ROW = re.compile(r"^\| `(20[\w-]+)` \| ((?:`[\w.-]+`(?:, )?)+) \| *(.*?) *\|$", re.M)
PARTS = "### Files of a part\n"


def page_of(results):
    page = results / "README.md"
    return page.read_text() if page.exists() else ""


def section(text, heading):
    """What follows a heading, up to the next heading."""
    return re.split(r"^#", text.partition(heading)[2], maxsplit=1, flags=re.M)[0]


def named(text):
    """{"FOLDER/FILE": the reason} of README.md's tables of folder, files and reason."""
    rows = ROW.findall(text)
    return {f"{folder}/{file}": reason for folder, files, reason in rows for file in re.findall(r"`([^`]+)`", files)}


def listed(results):
    """Patterns of the file names in README.md's table "What a folder holds"; None without that table."""
    _, found, rest = page_of(results).partition("## What a folder holds\n")
    rows = re.findall(r"^\| (.*?) \|", rest.split("\n\n")[0], re.M)
    names = re.findall(r"`([\w<>-]+\.(?:json|html|svg))`", "\n".join(rows))
    return [re.compile(re.sub("<[^>]*>", r"[\\w-]+", re.escape(name))) for name in names] if found else None


def runs(document):
    """What a file states of each of its runs: commit, whether the tree was modified, processor, time."""
    if "meta" in document:
        meta, host = document["meta"] or {}, document.get("host") or {}
        stated = {key: meta.get(key) for key in ("git", "dirty", "time_utc")}
        return [{**stated, "cpu": host.get("cpu")}]
    if "machine" in document:
        return [document["machine"]]
    return document.get("machines") or [row.get("machine") or {} for row in document.get("rows", [])]


def is_part(document):
    """Whether a file lacks a part of what its command measures: it was stopped, failed, or states so by `complete`."""
    stopped = document.get("interrupted") or document.get("complete") is False
    return bool(stopped) or document.get("status", "COMPLETE") != "COMPLETE"


def history_of(results):
    """The commits up to HEAD of the checkout that has `results` as docs/results, and ""; or None and the reason."""

    def git(*arguments):
        return subprocess.run(["git", "-C", results, *arguments], capture_output=True, text=True, check=False)

    try:
        top = git("rev-parse", "--show-toplevel")
    except OSError:
        return None, "git is not installed"
    if top.returncode != 0 or results.resolve() != Path(top.stdout.strip()).resolve() / "docs/results":
        return None, "this tree is no checkout of its own, or git does not trust its owner"
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return None, "the checkout is shallow; git fetch --unshallow completes it"
    commits = git("rev-list", "HEAD")
    return (commits.stdout.split(), "") if commits.returncode == 0 else (None, "there is no commit")


def contains(history, git):
    """Whether a history has a commit, of which a file may state the first digits."""
    return any(commit.startswith(git) for commit in history)


def stated_commits(results):
    """The commits that the readable files of `results` state."""
    found = set()
    for path in results.glob("20*/*.json"):
        try:
            found |= {run.get("git") for run in runs(json.loads(path.read_text(encoding="utf-8")))}
        except (ValueError, AttributeError):
            continue  # complaints_of() reports it
    return found - {None}


def project_history(results):
    """history_of(), and None for a copy of the tree with a history of its own: that has no file's commit."""
    history, reason = history_of(results)
    if history is not None and not any(contains(history, git) for git in stated_commits(results)):
        return None, "this checkout has a history of its own, without the commit of any file"
    return history, reason


def complaints_of(path, table, parts, history=None):
    """What is wrong with a file; `table` is what named() returns of README.md, `parts` of the section PARTS alone, and
    `history` the commits of project_history()."""
    name = f"{path.parent.name}/{path.name}"
    if path.suffix in DRAWN:
        return
    if path.suffix != ".json":
        yield f"{name}: a result is kept as JSON, by --json of the command that measured it"
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        schema = document.get("schema")
    except (ValueError, AttributeError) as error:
        yield f"{name}: no JSON object: {error}"
        return
    if not re.fullmatch(r"lenslet\.\w+/\d+", str(schema)):
        yield f'{name}: its schema is {schema}, expected such as "lenslet.results/1"'
    stated = runs(document)
    if not stated or not all(run.get("git") for run in stated):
        yield f"{name}: no commit: expected meta.git or machine.git"
    if not stated or not all(run.get("cpu") for run in stated):
        yield f"{name}: no machine: expected host.cpu or machine.cpu"
    commits = {run.get("git") for run in stated}
    if "machines" in document and any(row.get("git") not in commits for row in document["rows"]):
        yield f"{name}: a row's commit is none of those in machines[]"
    if any(run.get("dirty") for run in stated) and not table.get(name):
        yield (
            f"{name}: of a modified tree: measure it at a commit, or name the file and the reason in the table of "
            "docs/results/README.md"
        )
    if is_part(document) and not parts.get(name):
        yield (
            f"{name}: has a part of what its command measures (status, interrupted or complete): measure all, or name "
            'the file, what ended the run and what is there in "Files of a part" of docs/results/README.md'
        )
    if not is_part(document) and name in parts:
        yield f'{name}: "Files of a part" of docs/results/README.md names it, but it is complete'
    for git in sorted(commits - {None}) if history is not None and not table.get(name) else ():
        if not contains(history, git):
            yield (
                f"{name}: of {git[:8]}, which is no ancestor of HEAD: measure it at a commit of the history, or name "
                "the file and the reason in the table of docs/results/README.md"
            )


def complaints(results, history=None):
    """What is wrong with the folders of `results`, and with the table; `history`: those of project_history()."""
    files, names = sorted(results.glob("20*/*")), listed(results)
    table, parts = named(page_of(results)), named(section(page_of(results), PARTS))
    there = {f"{path.parent.name}/{path.name}" for path in files}
    found = [complaint for path in files for complaint in complaints_of(path, table, parts, history)]
    found += [
        f'README.md: "What a folder holds" does not list {path.parent.name}/{path.name}'
        for path in files
        if names is not None and not any(name.fullmatch(path.name) for name in names)
    ]
    found += [f"README.md: {name}: its row gives no reason" for name, reason in table.items() if not reason]
    return found + [f"README.md: there is no {name}" for name in table if name not in there]


def of_another_day(results):
    """The files that no table names, and that were measured on another day than their folder states."""
    table = named(page_of(results))
    for path in sorted(results.glob("20*/*.json")):
        name, day = f"{path.parent.name}/{path.name}", path.parent.name[:10]
        stated = runs(json.loads(path.read_text(encoding="utf-8")))
        days = {str(run["time_utc"])[:10] for run in stated if run.get("time_utc")}
        if days and day not in days and not table.get(name):
            yield (
                f"{name}: measured on {', '.join(sorted(days))}, not on its folder's day: move it, or name the file "
                "and its day in a table of docs/results/README.md"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=Path(__file__).resolve().parent)
    results = parser.parse_args().results
    history, reason = project_history(results)
    found = complaints(results, history)
    found += [] if found else of_another_day(results)
    files = len(list(results.glob("20*/*.json")))
    if not files:
        found.append(f"{results} holds no result file")
    compared = f"; skipped: commits were not compared with the history: {reason}" if reason else ""
    print("\n".join(found) or f"{files} result files state schema, commit and machine{compared}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
