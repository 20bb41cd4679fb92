"""The list of planted faults: reads faults/*.json, compares each entry with the tree, and selects."""

import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "sanitize")]
import sanitize  # noqa: E402

KEYS = {"name", "side", "file", "before", "after", "caught_by", "equivalent", "unjudged", "survived"}
NO_VERDICT = ("unjudged", "survived")  # the keys of a fault without a verdict that counts: "DATE: REASON"
UNMUTATED = "unmutated"  # the folder of programs without a fault
LIST = "faults.json"  # the list in a folder of built programs


def read_faults(root):
    """(faults, complaints): every entry of the list, and its errors."""
    faults, complaints = [], []
    programs = sanitize.test_programs(root)
    for path in sorted((root / "tests/mutate/faults").glob("*.json")):
        try:
            rows = json.loads(path.read_text())
        except ValueError as error:
            complaints.append(f"{path.name}: not JSON: {error}")
            continue
        for row in rows:
            where = f"{path.name}: {row.get('name', 'an entry without a name')}"
            complaints += [f"{where}: {words}" for words in faults_of_entry(row, root, programs)]
            if any(row.get("name") == other["name"] for other in faults):
                complaints.append(f"{where}: the name stands twice")
            row.setdefault("name", "")
            row["area"] = path.stem
            faults.append(row)
    if not faults:
        complaints.append(f"{root}/tests/mutate/faults holds no fault")
    return faults, complaints


def digest_of(fault):
    """A fingerprint of what a fault changes: file and both texts. A verdict counts for that alone."""
    text = json.dumps([fault["file"], fault["before"], fault["after"]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def faults_of_entry(row, root, programs):
    missing, unknown = {"name", "side", "file", "before", "after"} - set(row), set(row) - KEYS
    if missing or unknown:
        return [f"missing keys {sorted(missing)}, unknown keys {sorted(unknown)}"]
    found = []
    if not re.fullmatch(r"[a-z0-9_]+", row["name"]) or row["name"] == UNMUTATED:
        found.append("a name is of a-z, 0-9 and _")
    if row["side"] not in ("cpu", "gpu"):
        found.append(f"side is cpu or gpu, found {row['side']}")
    if row["before"] == row["after"]:
        found.append("before and after are equal")
    file = root / row["file"]
    if not file.is_file():
        found.append(f"there is no {row['file']}")
    elif (count := file.read_text().count(row["before"])) != 1:
        found.append(f"its text stands {count} times in {row['file']}, expected once: {row['before'].strip()}")
    if bool(row.get("caught_by")) == bool(row.get("equivalent")):
        found.append("expected either caught_by or equivalent")
    reasons = [key for key in NO_VERDICT if key in row]
    if len(reasons) > 1 or (reasons and "equivalent" in row):
        found.append("expected one of unjudged, survived and equivalent")
    found += [
        f'{key} is "DATE: REASON", found {row[key]!r}'
        for key in reasons
        if not re.match(r"\d{4}-\d\d-\d\d: \S", str(row[key]))
    ]
    for catcher in row.get("caught_by", []):
        if set(catcher) == {"ctest"} or set(catcher) == {"ctest", "targets"}:
            continue
        if set(catcher) == {"python"}:
            script, _, test = catcher["python"].partition("::")
            if not (root / script).is_file() or not re.search(
                rf"^def {re.escape(test)}\(", (root / script).read_text(), re.M
            ):
                found.append(f"there is no test {catcher['python']}")
            continue
        if not {"test", "filter"} <= set(catcher) <= {"test", "filter", "tool"}:
            found.append(
                f"caught_by has test and filter, perhaps tool; or ctest, perhaps targets; or python: found {catcher}"
            )
        elif catcher["test"] not in programs:
            found.append(f"no tests.cmake has lenslet_test({catcher['test']} …)")
        elif catcher.get("tool", "memcheck") not in sanitize.pieces.TOOLS:
            found.append(f"there is no tool {catcher['tool']}")
    return found


def without_verdict(faults):
    """How many faults are unjudged and how many survived, with the names of those: "2 unjudged, 1 survived: x"."""
    unjudged = sum("unjudged" in fault for fault in faults)
    survivors = sorted(fault["name"] for fault in faults if "survived" in fault)
    return f"{unjudged} unjudged, {len(survivors)} survived" + (f": {', '.join(survivors)}" if survivors else "")


def chosen(options):
    faults, complaints = read_faults(options.root)
    for complaint in complaints:
        print(f"mutate: error: {complaint}", file=sys.stderr)
    if complaints:
        sys.exit(1)
    faults = [fault for fault in faults if re.search(options.filter, fault["name"])]
    if not faults:
        print(f"mutate: error: no fault has a name with {options.filter}", file=sys.stderr)
        sys.exit(2)
    return faults


def to_build(faults, side):
    """Those of a side, the ones of a file together: what a fault leaves to compile again is then the next one's too."""
    work = [fault for fault in faults if fault["side"] == side and "caught_by" in fault]
    return sorted(work, key=lambda fault: (fault["file"], fault["name"]))


def title(catcher):
    if "ctest" in catcher:
        return f"ctest {catcher['ctest']}"
    if "python" in catcher:
        return f"pytest {catcher['python']}"
    return f"{catcher['test']} {catcher['filter']}" + (f" under {catcher['tool']}" if "tool" in catcher else "")


def key_of(catcher):
    return catcher.get("ctest") or catcher.get("python") or (catcher["test"], catcher["filter"], catcher.get("tool"))
