"""The verdicts that docs/results keeps: joins those of a run, and follows faults whose entry changed."""

import json
import pathlib
import re
import subprocess
import sys

from fault_list import chosen, digest_of, without_verdict

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
from test_results import as_json  # noqa: E402

SCHEMA = "lenslet.mutate/1"


def with_commits(document):
    """(machines, rows): those of a file, each row with the commit of its run, without what was skipped."""
    machines = document.get("machines") or [document["machine"]]
    if not all(each["git"] for each in machines):
        raise ValueError("its machine has no commit: judge in a tree with its history")
    if any("digest" not in row for row in document["rows"]):
        raise ValueError("a row has no digest of its fault: judge with the mutate.py of this tree")
    rows = [row if "git" in row else {**row, "git": machines[0]["git"]} for row in document["rows"]]
    return machines, [row for row in rows if row["status"] != "skipped"]


def merged(kept, new):
    """A file with the verdicts of both: the new one on a fault counts, and each run that has a row its machine."""
    machines, rows = with_commits(kept) if kept else ([], [])
    more, newer = with_commits(new)
    by_name = {row["name"]: row for row in [*rows, *newer]}
    rows = sorted(by_name.values(), key=lambda row: (row["area"], row["name"]))
    runs = {}
    for each in [*machines, *more]:
        before = runs.setdefault(each["git"], each)
        if before.get("cpu") != each.get("cpu") or before.get("gpus") != each.get("gpus"):
            raise ValueError(f"two machines judged {each['git']}: keep the verdicts of one in a file of its own")
    complete = all(each.get("complete", True) for each in (kept, new))
    return kept_document(runs.values(), complete, rows)


def kept_document(machines, complete, rows):
    """A kept file, with the machines of its rows."""
    used = {row["git"] for row in rows}
    machines = [each for each in machines if each["git"] in used]
    return {"schema": SCHEMA, "machines": machines, "complete": complete, "rows": rows}


def command_keep(options):
    try:
        kept = json.loads(options.kept.read_text()) if options.kept.exists() else {}
        text = as_json(merged(kept, json.loads(options.file.read_text())))
    except (OSError, ValueError, KeyError) as error:
        print(f"mutate: error: {options.file} or {options.kept} is no file of mutate: {error}", file=sys.stderr)
        return 3
    options.kept.write_text(text)
    print(f"{options.kept} has the verdicts of {options.file}")
    return 0


def kept_files(root):
    """(path, document) of every kept file, the oldest first."""
    return [(path, json.loads(path.read_text())) for path in sorted((root / "docs/results").glob("*/mutate.json"))]


def counts(row, faults):
    """Whether a kept verdict is on a fault as the list has it; `faults` by name."""
    fault = faults.get(row["name"])
    return fault is not None and digest_of(fault) in (row.get("digest"), row.get("carried_to"))


class History:
    """The lists of earlier commits."""

    def __init__(self, root):
        self.root, self.lists = root, {}

    def git(self, *arguments):
        run = subprocess.run(["git", "-C", self.root, *arguments], capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"mutate: error: git {' '.join(arguments)}: {run.stderr.strip()}", file=sys.stderr)
            sys.exit(3)
        return run.stdout

    def fault(self, commit, name):
        """An entry as the list of a commit had it, or None."""
        if commit not in self.lists:
            paths = self.git("ls-tree", "-r", "--name-only", commit, "tests/mutate").split()
            lists = [json.loads(self.git("show", f"{commit}:{path}")) for path in paths if path.endswith(".json")]
            self.lists[commit] = {fault["name"]: fault for faults in lists for fault in faults}
        return self.lists[commit].get(name)


def what_changed(old, new):
    """In words, what makes two entries of one fault differ, if only path, layout and names do; else None."""
    words, pairs = re.compile(r"[A-Za-z_]\w*"), set()
    for key in ("before", "after"):
        tokens = [re.findall(r"[A-Za-z_]\w*|\S", entry[key]) for entry in (old, new)]
        if len(tokens[0]) != len(tokens[1]):
            return None
        pairs |= {pair for pair in zip(*tokens) if words.match(pair[0]) or pair[0] != pair[1]}
    if any(not words.match(word) for pair in pairs for word in pair):
        return None
    if not len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}):
        return None  # a name became two, or two one
    moved = [f"moved from {old['file']}"] if old["file"] != new["file"] else []
    return ", ".join([*moved, *(f"{a} is now {b}" for a, b in sorted(pairs) if a != b)]) or "laid out anew"


def command_carry(options):
    """Lets verdicts count for faults whose entry changed since."""
    faults = {fault["name"]: fault for fault in chosen(options)}
    files, history, left = kept_files(options.root), History(options.root), 0
    counted = {row["name"] for _, document in files for row in document["rows"] if counts(row, faults)}
    for path, document in files:
        for row in document["rows"]:
            fault = faults.get(row["name"])
            if fault is None or row["name"] in counted:
                continue
            old = history.fault(row["git"], row["name"])
            why = (what_changed(old, fault) if old else None) or options.why
            print(f"{row['name']}, judged at {row['git']}: " + (f"carried: {why}" if why else "not carried"))
            if why:
                row.update(carried_to=digest_of(fault), carried_because=why)
                continue
            left += 1
            for title_, entry in (("judged", old), ("now", fault)):
                if entry:
                    print(f"  {title_}: {entry['file']}\n    {entry['before']!r}\n    {entry['after']!r}")
        text = as_json(document)
        if text != path.read_text():
            path.write_text(text)
    if left:
        print(
            f"mutate: error: {left} verdicts are on other code. Judge these faults again, or state why they are the "
            'same by --why, or remove the verdicts by prune and write "unjudged" into the entries',
            file=sys.stderr,
        )
    return 1 if left else 0


def command_prune(options):
    """Removes the verdicts that count for no fault."""
    faults = {fault["name"]: fault for fault in chosen(options)}
    for path, document in kept_files(options.root):
        rows = [row for row in document["rows"] if counts(row, faults)]
        for row in document["rows"]:
            if row not in rows:
                print(f"{path.parent.name}: {row['name']}, judged at {row['git']}, is removed")
        if len(rows) != len(document["rows"]):
            path.write_text(as_json(kept_document(document["machines"], document["complete"], rows)))
    print(f"without a verdict: {without_verdict(faults.values())}")
    return 0
