#!/usr/bin/env python3
"""Plants the faults of faults/*.json, one at a time, in a copy of the tree, and runs what should catch each.

    mutate.py check [ROOT]
    mutate.py list [--filter REGEX]
    mutate.py copy TREE
    mutate.py targets --side cpu|gpu [--filter REGEX]
    mutate.py judge --side cpu|gpu --tree TREE --build BUILD [--filter REGEX] [--jobs N] [--json FILE] [--out DIR]
    mutate.py build --side cpu|gpu --tree TREE --build BUILD --to DIR [--filter REGEX] [--jobs N]
    mutate.py run DIR [--gpus N] [--jobs N] [--filter REGEX] [--json FILE] [--out DIR]
    mutate.py keep FILE KEPT
    mutate.py carry [--filter REGEX] [--why WHY]
    mutate.py prune

`./dev mutate` calls it; CONTRIBUTING.md describes an entry. Every test that should catch a fault must first pass on the
unmutated tree. `keep` takes the verdicts of FILE, which --json wrote, into KEPT, a mutate.json of docs/results, each
with its commit and the digest of the fault that was judged. If an entry has changed since, the verdict counts no more.
`carry` lets it count for a fault that only moved or whose names changed, and for any other one with the reason WHY.
`prune` removes the verdicts that count for no fault. Exit codes: 0 no fault survived, and `carry` left none; 1 one
survived, could not be judged or was not carried; 2 usage; 3 FILE or KEPT is no such file, or git lacks a commit; 4 a
tool is missing.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "docs"), str(HERE.parent / "sanitize"), str(HERE.parent / "support")]
import sanitize  # noqa: E402
from scratch_tree import copy_tree  # noqa: E402

from machine import machine  # noqa: E402
from test_results import as_json  # noqa: E402

KEYS = {"name", "side", "file", "before", "after", "caught_by", "equivalent", "unjudged"}
LIST = "faults.json"  # the folder of built programs
EXTENSION = "lenslet_python"  # the target that tests of the Python package need
UNMUTATED = "unmutated"  # the folder of programs without a fault
LIMIT = 300  # seconds for a test of the unmutated tree
AT_LEAST, TIMES = 30, 10  # a mutated one's limit: that many seconds, and that many times what the unmutated one took
SCHEMA = "lenslet.mutate/1"
STATUSES = ("killed", "survived", "equivalent", "skipped", "error")


def read_faults(root=ROOT):
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


class Planted:
    """A copy of the tree with a planted fault; leaving the context removes it."""

    def __init__(self, tree, fault):
        self.path, self.fault = tree / fault["file"], fault

    def __enter__(self):
        self.text = self.path.read_text()
        assert self.text.count(self.fault["before"]) == 1
        self.path.write_text(self.text.replace(self.fault["before"], self.fault["after"]))

    def __exit__(self, *_):
        self.path.write_text(self.text)


def targets_of(catchers):
    return sorted(
        {
            target
            for c in catchers
            for target in (
                [f"test_{c['test']}"] if "test" in c else [EXTENSION] if "python" in c else c.get("targets", [])
            )
        }
    )


def compile_targets(options, catchers):
    """None, or what the build printed when it failed."""
    targets = targets_of(catchers)
    if not targets:
        return None
    built = subprocess.run(
        [options.cmake, "--build", options.build, "--parallel", str(options.jobs), "--target", *targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if built.returncode == 0:
        return None
    lines = [line for line in built.stdout.splitlines() if re.search(r"\berror\b|undefined reference", line)]
    return (lines or built.stdout.splitlines() or ["no output"])[0]


def key_of(catcher):
    return catcher.get("ctest") or catcher.get("python") or (catcher["test"], catcher["filter"], catcher.get("tool"))


def title(catcher):
    if "ctest" in catcher:
        return f"ctest {catcher['ctest']}"
    if "python" in catcher:
        return f"pytest {catcher['python']}"
    return f"{catcher['test']} {catcher['filter']}" + (f" under {catcher['tool']}" if "tool" in catcher else "")


class Other:
    """A runner whose tests are no GoogleTest programs."""

    def __init__(self, failed, skipped, words):
        self.failed = failed  # its exit code if a test failed
        self.skipped = skipped  # finds the reasons of tests that were skipped
        self.words = words  # a regular expression for one test's line, and what GoogleTest prints for that


CTEST = Other(
    8,
    r"^(?:\d+: )?skipped: (.*)$",
    {
        r"^ *1/1 Test .*Passed": "[       OK ]",
        r"^ *1/1 Test .*\*\*\*Skipped": "[  SKIPPED ]",
        r"^ *1/1 Test .*\*\*\*(?:Failed|Exception)": "[  FAILED  ]",
    },
)
PYTEST = Other(
    1,
    r"^SKIPPED \[\d+\] \S+: (.*)$",
    {r"^PASSED ": "[       OK ]", r"^SKIPPED ": "[  SKIPPED ]", r"^(?:FAILED|ERROR) ": "[  FAILED  ]"},
)


def package_of(options):
    """A folder with the package lenslet: links to the copy's files, and to the extension that its build folder has."""
    folder = options.build / "package"
    (folder / "lenslet").mkdir(parents=True, exist_ok=True)
    for file in [*options.tree.glob("python/lenslet/*.py"), *options.build.glob("lib/_core.*")]:
        link = folder / "lenslet" / file.name
        if not link.exists():
            link.symlink_to(file)
    return folder


def run_other(options, name, command, runner, limit, **where):
    """Runs a test of another runner; returns the row of sanitize.judge."""
    piece = sanitize.Piece(name, command[0])
    began = time.monotonic()
    try:
        run = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=limit,
            **where,
        )
        output, code = run.stdout, run.returncode
    except subprocess.TimeoutExpired:
        output, code = "", -9
    (options.out / f"{name}.log").write_text(output)
    # The output of a test program for one judge.
    text = "".join(
        f"{line} {name} (0 ms)\n" * len(re.findall(words, output, re.M)) for words, line in runner.words.items()
    )
    code = 0 if code == runner.failed else code
    row = sanitize.judge(piece, None, code, time.monotonic() - began, text, limit, name)
    return dict(row, lacks=", ".join(re.findall(runner.skipped, output, re.M)))


def run_catcher(options, catcher, program, name, limit, slot):
    """Runs what should catch a fault; returns the row of sanitize.judge."""
    if "ctest" in catcher:
        command = [options.ctest, "--test-dir", options.build, "--tests-regex", f"^{catcher['ctest']}$"]
        command += ["--no-tests=error", "--verbose"]
        return run_other(options, f"{name}.{catcher['ctest']}", command, CTEST, limit)
    if "python" in catcher:
        command = [options.python, "-m", "pytest", "-rA", "-p", "no:cacheprovider", catcher["python"]]
        # No .pyc: a file that changed twice in a second would keep the old one.
        environment = {**os.environ, "PYTHONPATH": str(package_of(options)), "PYTHONDONTWRITEBYTECODE": "1"}
        piece = f"{name}.{catcher['python'].rpartition('/')[2].replace('::', '.')}"
        return run_other(options, piece, command, PYTEST, limit, cwd=options.tree, env=environment)
    piece = sanitize.Piece(f"{name}.{catcher['test']}.{slot}", program)
    piece.tests = [catcher["filter"]]
    # A copy: several threads share the options, each with a limit of its own.
    own = argparse.Namespace(**{**vars(options), "limit": limit})
    return sanitize.run_piece(piece, catcher.get("tool"), own, slot)


def trouble_of_unmutated(row):
    """Why a test cannot judge a fault: on the unmutated tree it must run and pass."""
    if row["status"] == "SKIPPED":
        return "skips everything: " + (row.get("lacks") or "is there a GPU?")
    return "" if row["status"] == "PASSED" else row["reason"]


def verdict(row):
    """(status, reason) of a run with a fault in the tree."""
    if row["status"] == "FAILED":
        if "limit" in row["reason"]:
            return "killed", "hang: " + row["reason"]
        if row["reason"].startswith(("no summary line", "no test was run")):
            return "error", row["reason"]
        return "killed", row["reason"]
    return "survived", "everything skipped" if row["status"] == "SKIPPED" else ""


class Judge:
    """The unmutated runs, once for each (test, filter, tool), and the verdicts on faults."""

    def __init__(self, options):
        self.options, self.unmutated = options, {}
        self.slots = queue.Queue()  # a slot: the right to use a GPU, and a range of ports for a tool
        for slot in range(options.at_a_time):
            self.slots.put(slot)

    def run(self, catcher, program, name, limit):
        slot = self.slots.get()
        try:
            return run_catcher(self.options, catcher, program, name, limit, slot)
        finally:
            self.slots.put(slot)

    def run_unmutated(self, catcher, program):
        row = self.run(catcher, program, UNMUTATED, LIMIT)
        self.unmutated[key_of(catcher)] = row
        if trouble := trouble_of_unmutated(row):
            print(f"without a fault: {title(catcher)}: {trouble}", flush=True)

    def run_all_unmutated(self, work):
        """`work`: pairs of a catcher and its program without a fault."""
        once = {key_of(catcher): (catcher, program) for catcher, program in work}
        print(f"{len(once)} tests without a fault", flush=True)
        with concurrent.futures.ThreadPoolExecutor(self.options.at_a_time) as pool:
            list(pool.map(lambda pair: self.run_unmutated(*pair), once.values()))

    def judge(self, fault, programs):
        """The row of a fault whose programs are built: the first catcher that is red kills it."""
        row = {"status": "survived", "reason": "", "by": "", "seconds": 0.0}
        for catcher, program in zip(fault["caught_by"], programs):
            before = self.unmutated[key_of(catcher)]
            if trouble := trouble_of_unmutated(before):
                return dict(row, status="error", reason=f"{title(catcher)} without the fault: {trouble}")
            ran = self.run(catcher, program, fault["name"], max(AT_LEAST, TIMES * before["seconds"]))
            row["seconds"] += ran["seconds"]
            row["status"], row["reason"] = verdict(ran)
            if row["status"] != "survived":
                return dict(row, by=title(catcher))
        return row


class Report:
    def __init__(self, options, total):
        self.options, self.total, self.rows, self.lock = options, total, [], threading.Lock()
        self.began, self.machine = time.monotonic(), machine()

    def add(self, fault, status, reason="", by="", seconds=0.0):
        with self.lock:
            self.rows.append(
                {
                    "name": fault["name"],
                    "area": fault["area"],
                    "side": fault["side"],
                    "file": fault["file"],
                    "digest": digest_of(fault),
                    "status": status,
                    "by": by,
                    "reason": reason,
                    "seconds": round(seconds, 1),
                }
            )
            words = f"[{len(self.rows)}/{self.total}] {fault['name']}: {status}" + (f" by {by}" if by else "")
            print(words + (f" ({reason})" if reason else "") + (f", {seconds:.1f} s" if seconds else ""), flush=True)
            if self.options.json:
                self.options.json.write_text(
                    as_json(
                        {
                            "schema": SCHEMA,
                            "machine": self.machine,
                            "seconds": round(time.monotonic() - self.began, 1),
                            "complete": len(self.rows) == self.total,
                            "rows": self.rows,
                        }
                    )
                )

    def end(self):
        counts = {status: sum(row["status"] == status for row in self.rows) for status in STATUSES}
        for status in ("survived", "error"):
            for row in self.rows:
                if row["status"] == status:
                    print(f"{status}: {row['name']} ({row['file']})" + (f": {row['reason']}" if row["reason"] else ""))
        print(
            f"{self.total} faults: "
            + ", ".join(f"{count} {status}" for status, count in counts.items())
            + f"; {time.monotonic() - self.began:.0f} s"
        )
        return 1 if counts["survived"] or counts["error"] else 0


def chosen(options):
    faults, complaints = read_faults(ROOT)
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


def report_the_rest(report, faults, side):
    for fault in faults:
        if "equivalent" in fault:
            report.add(fault, "equivalent", fault["equivalent"])
        elif fault["side"] != side:
            report.add(fault, "skipped", "needs a GPU" if fault["side"] == "gpu" else "judged by --cpu")


def program_of(build, catcher):
    return build / "tests" / f"test_{catcher['test']}" if "test" in catcher else build / "ctest"


def find_tool(options, faults):
    """The path of compute-sanitizer, where a fault needs it."""
    if not any("tool" in catcher for fault in faults for catcher in fault.get("caught_by", [])):
        return
    found = shutil.which(options.sanitizer)
    if found is None:
        print(f"mutate: error: {options.sanitizer} is not there; it comes with the CUDA toolkit", file=sys.stderr)
        sys.exit(4)
    options.sanitizer = found


def command_judge(options):
    """Builds and runs here, one fault at a time, in a folder whose unmutated programs are built."""
    faults = chosen(options)
    work = to_build(faults, options.side)
    find_tool(options, work)
    report, judge = Report(options, len(faults)), Judge(options)
    report_the_rest(report, faults, options.side)
    judge.run_all_unmutated((c, program_of(options.build, c)) for fault in work for c in fault["caught_by"])
    for fault in work:
        with Planted(options.tree, fault):
            error = compile_targets(options, fault["caught_by"])
            if error:
                report.add(fault, "error", f"does not compile: {error}")
                continue
            row = judge.judge(fault, [program_of(options.build, c) for c in fault["caught_by"]])
        report.add(fault, **row)
    return report.end()


def command_build(options):
    """Writes each mutated program, stripped, to DIR/<fault>, beside DIR/unmutated, modules in DIR/lib, and the list."""
    faults = chosen(options)
    work, rows = to_build(faults, options.side), []
    options.to.mkdir(parents=True, exist_ok=True)
    modules = {path.name: path.read_bytes() for path in options.build.glob("lib/lenslet_*.so")}

    def keep(catcher, folder):
        """Copies a program; returns its content."""
        target = options.to / folder / program_of(options.build, catcher).name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([options.strip, "-o", target, program_of(options.build, catcher)], check=True)
        return target.read_bytes()

    def other_programs():
        """The programs that a test program may run, by content; they are not copied to DIR."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(options.build.glob("bin/*"))
            if path.is_file()
        }

    unmutated = other_programs()
    kept = {c["test"]: keep(c, UNMUTATED) for fault in work for c in fault["caught_by"] if "test" in c}
    for name, content in modules.items():
        (options.to / "lib").mkdir(exist_ok=True)
        (options.to / "lib" / name).write_bytes(content)
    for number, fault in enumerate(work, 1):
        row, catchers = dict(fault), [c for c in fault["caught_by"] if "test" in c]
        with Planted(options.tree, fault):
            error = compile_targets(options, catchers)
            if error:
                row["error"] = f"does not compile: {error}"
            elif not catchers:
                row["left_out"] = f"{'pytest' if 'python' in fault['caught_by'][0] else 'ctest'} runs what catches it"
            else:
                changed = [keep(c, fault["name"]) != kept[c["test"]] for c in catchers]
                for name, content in modules.items():
                    module = options.build / "lib" / name
                    if module.read_bytes() != content:
                        shutil.copy(module, options.to / fault["name"])  # a program searches its own folder first
                        changed.append(True)
                run = [name for name, content in other_programs().items() if unmutated.get(name) != content]
                if not any(changed) and run:
                    row["left_out"] = f"stands in {', '.join(run)}, which the test runs and which is not carried"
                elif not any(changed):
                    row["error"] = "changes none of the programs that should catch it"
        row["caught_by"] = catchers
        rows.append(row)
        print(
            f"[{number}/{len(work)}] {fault['name']}: {row.get('error') or row.get('left_out') or 'built'}", flush=True
        )
        rest = [fault for fault in faults if fault not in work]
        (options.to / LIST).write_text(
            json.dumps({"side": options.side, "root": str(ROOT), "faults": rows + rest}, indent=1) + "\n"
        )
    return 1 if any("error" in row for row in rows) else 0


def command_run(options):
    """Judges the programs of a folder that `build` wrote."""
    listed = json.loads((options.folder / LIST).read_text())
    faults = [fault for fault in listed["faults"] if re.search(options.filter, fault["name"])]
    if not faults:
        print(f"mutate: error: no fault in {options.folder} has a name with {options.filter}", file=sys.stderr)
        return 2
    if not pathlib.Path(listed["root"]).exists():
        print(
            f"mutate: error: the programs read data files in {listed['root']}, where they were built; "
            f"this folder does not exist: make it a link to this tree: ln -s {ROOT} {listed['root']}",
            file=sys.stderr,
        )
        return 2
    find_tool(options, faults)
    report, judge = Report(options, len(faults)), Judge(options)
    report_the_rest(report, faults, listed["side"])
    work = []
    for fault in to_build(faults, listed["side"]):
        if "error" in fault or "left_out" in fault:
            report.add(fault, "error" if "error" in fault else "skipped", fault.get("error") or fault["left_out"])
        else:
            work.append(fault)

    def programs(fault, folder):
        return [(options.folder / folder / program_of(pathlib.Path(), c).name).resolve() for c in fault["caught_by"]]

    judge.run_all_unmutated(pair for fault in work for pair in zip(fault["caught_by"], programs(fault, UNMUTATED)))
    with concurrent.futures.ThreadPoolExecutor(options.at_a_time) as pool:
        runs = {pool.submit(judge.judge, fault, programs(fault, fault["name"])): fault for fault in work}
        for run in concurrent.futures.as_completed(runs):
            report.add(runs[run], **run.result())
    return report.end()


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
    files, history, left = kept_files(ROOT), History(ROOT), 0
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
    for path, document in kept_files(ROOT):
        rows = [row for row in document["rows"] if counts(row, faults)]
        for row in document["rows"]:
            if row not in rows:
                print(f"{path.parent.name}: {row['name']}, judged at {row['git']}, is removed")
        if len(rows) != len(document["rows"]):
            path.write_text(as_json(kept_document(document["machines"], document["complete"], rows)))
    return 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="mutate.py", description="planted faults, and what catches them")
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, *flags):
        command = commands.add_parser(name)
        if "filter" in flags:
            command.add_argument("--filter", default="", help="only faults whose name this regular expression finds")
        if "side" in flags:
            command.add_argument("--side", choices=("cpu", "gpu"), required=True)
        if "build" in flags:
            command.add_argument("--tree", type=pathlib.Path, required=True, help="the copy that is mutated")
            command.add_argument("--build", type=pathlib.Path, required=True, help="its configured build folder")
            command.add_argument("--cmake", default="cmake")
        if "judge" in flags:
            command.add_argument("--json", type=pathlib.Path)
            command.add_argument(
                "--out", type=pathlib.Path, default=pathlib.Path("build/mutate.logs"), help="folder for logs"
            )
            command.add_argument("--ctest", default="ctest")
            command.add_argument(
                "--python",
                default=ROOT / "build/python/venv/bin/python",
                help="one with pytest and what the tests need",
            )
            command.add_argument("--sanitizer", default="compute-sanitizer")
            command.add_argument("--port", type=int, default=40000, help="first of the ports between tool and program")
        return command

    check = add("check")
    check.add_argument("root", type=pathlib.Path, nargs="?", default=ROOT)
    add("list", "filter")
    add("copy").add_argument("tree", type=pathlib.Path)
    add("targets", "side", "filter")
    add("judge", "side", "filter", "build", "judge").add_argument("--jobs", type=int, default=1, help="of the build")
    build = add("build", "side", "filter", "build")
    build.add_argument("--jobs", type=int, default=1)
    build.add_argument("--to", type=pathlib.Path, required=True)
    build.add_argument("--strip", default="strip")
    run = add("run", "filter", "judge")
    run.add_argument("folder", type=pathlib.Path)
    run.add_argument("--gpus", type=int, default=1, help="GPUs to share the programs among [1]")
    run.add_argument("--jobs", type=int, default=0, help="programs at a time [one a GPU]")
    keep = add("keep")
    keep.add_argument("file", type=pathlib.Path, help="what --json wrote")
    keep.add_argument("kept", type=pathlib.Path, help="docs/results/FOLDER/mutate.json")
    carry = add("carry", "filter")
    carry.add_argument("--why", help="why a fault whose text changed is the same as the one that was judged")
    add("prune").set_defaults(filter="")
    options = parser.parse_args(arguments)
    if options.command == "judge":
        options.gpus = options.at_a_time = 1
    if options.command == "run":
        options.at_a_time = options.jobs or options.gpus
    if min(getattr(options, "jobs", 1) or 1, getattr(options, "gpus", 1), getattr(options, "at_a_time", 1)) < 1:
        parser.error("--jobs and --gpus must be positive")
    if hasattr(options, "out"):
        options.out.mkdir(parents=True, exist_ok=True)
    for name in ("tree", "build", "to", "folder", "out"):
        if getattr(options, name, None):
            setattr(options, name, getattr(options, name).resolve())
    return options


def main(arguments):
    options = parse(arguments)
    if options.command == "check":
        faults, complaints = read_faults(options.root)
        for complaint in complaints:
            print(f"mutate: error: {complaint}", file=sys.stderr)
        print(
            f"{len(faults)} planted faults stand in the tree as the list has them"
            if not complaints
            else f"{len(complaints)} entries of tests/mutate/faults are wrong"
        )
        return 1 if complaints else 0
    if options.command == "copy":
        copy_tree(ROOT, options.tree)
        return 0
    if options.command == "list":
        for fault in chosen(options):
            by = "; ".join(title(c) for c in fault.get("caught_by", [])) or f"equivalent: {fault['equivalent']}"
            print(f"{fault['side']} {fault['name']} in {fault['file']}: {by}")
        return 0
    if options.command == "targets":
        print(" ".join(targets_of(c for fault in to_build(chosen(options), options.side) for c in fault["caught_by"])))
        return 0
    return {
        "judge": command_judge,
        "build": command_build,
        "run": command_run,
        "keep": command_keep,
        "carry": command_carry,
        "prune": command_prune,
    }[options.command](options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
