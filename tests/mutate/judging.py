"""Verdicts: runs the tests without a fault, then with each fault, and writes the rows of --json."""

import concurrent.futures
import json
import pathlib
import queue
import re
import sys
import threading
import time

from catchers import find_tool, run_catcher
from fault_list import LIST, UNMUTATED, chosen, digest_of, key_of, title, to_build
from kept_verdicts import SCHEMA
from planting import Planted, compile_targets, program_of

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
from machine import machine  # noqa: E402
from test_results import as_json  # noqa: E402

LIMIT = 300  # seconds for a test of the unmutated tree
AT_LEAST, TIMES = 30, 10  # a mutated one's limit: that many seconds, and that many times what the unmutated one took
STATUSES = ("killed", "survived", "equivalent", "skipped", "error")


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


def report_the_rest(report, faults, side):
    for fault in faults:
        if "equivalent" in fault:
            report.add(fault, "equivalent", fault["equivalent"])
        elif fault["side"] != side:
            report.add(fault, "skipped", "needs a GPU" if fault["side"] == "gpu" else "judged by --cpu")


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
            f"this folder does not exist: make it a link to this tree: ln -s {options.root} {listed['root']}",
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
