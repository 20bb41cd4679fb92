#!/usr/bin/env python3
"""Runs NVIDIA's compute-sanitizer over the GPU suite, piece by piece and several at a time; `./dev sanitize` calls it.

    sanitize.py --tests build/release/tests [--tool memcheck|racecheck|initcheck|synccheck|all] [--jobs N]
                [--limit SECONDS] [--filter REGEX] [--out DIR] [--json FILE] [--list]

Writes one log per piece and tool, summary.txt and summary.json; --json writes summary.json to FILE too. Exit codes: 1
if a tool reports an error, prints no summary line (it never began) or ran no test, if a test failed, or if time ran
out; 2 usage; 4 without compute-sanitizer or a GPU.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pieces

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from machine import machine  # noqa: E402

# Kernels of cuDNN and cuBLAS are not ours to fix. memcheck checks them all the same, because we pass their arguments,
# and initcheck because it tracks only what checked kernels write.
OWN_KERNELS = ["--kernel-name", "kernel_substring=lenslet"]
OPTIONS = {
    "memcheck": [],
    "racecheck": [*OWN_KERNELS, "--racecheck-num-workers", "2"],
    "initcheck": [],
    "synccheck": OWN_KERNELS,
}
# The required last line of a tool's output.
CLEAN = {tool: r"ERROR SUMMARY: 0 errors" for tool in pieces.TOOLS}
CLEAN["racecheck"] = r"RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)"
SUMMARY = r"(?:ERROR|RACECHECK) SUMMARY: .*"
JOBS_A_GPU = 8
PORTS_EACH = 16  # each run has its own range, so that no two communicate with each other's program


class Piece:
    def __init__(self, name, program):
        self.name, self.program, self.tests = name, program, []


def list_tests(program):
    """The names of a GoogleTest program's tests, "Suite.Test"."""
    out = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names, suite = [], ""
    for line in out.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def test_programs(root=ROOT):
    """The rows of tests/*/tests.cmake: whether each is marked GPU, by name."""
    rows = {}
    for path in sorted(root.glob("tests/*/tests.cmake")):
        for row in re.findall(r"lenslet_test\(([^)]*)\)", path.read_text()):
            words = row.split()
            rows[words[0]] = "GPU" in words[1:]
    return rows


def gpu_programs():
    return [name for name, gpu in test_programs().items() if gpu]


def make_pieces(folder):
    """(pieces by tool, complaints): every test of every GPU program is in a piece or is left out by name."""
    by_tool, complaints = {tool: {} for tool in pieces.TOOLS}, []
    for program in gpu_programs():
        path = folder / f"test_{program}"
        if not path.exists():
            complaints.append(f"{path} is not built")
            continue
        for test in list_tests(path):
            taken = next((r for r in pieces.RULES if r.program == program and re.fullmatch(r.pattern, test)), None)
            if taken is None:
                if not left_out(program, test):
                    complaints.append(f"{program}: {test} is in no piece; add it to tests/sanitize/pieces.py")
                continue
            part = re.fullmatch(taken.pattern, test).groupdict().get("piece")
            name = f"{program}.{part}" if part else f"{program}.{pieces.RULES.index(taken)}"
            for tool in taken.tools:
                by_tool[tool].setdefault(name, Piece(name, path)).tests.append(test)
    return by_tool, complaints


def left_out(program, test):
    return any(row.program == program and re.fullmatch(row.pattern, test) for row in pieces.LEFT_OUT)


def run_piece(piece, tool, options, number):
    """One run, without a tool if `tool` is None; returns its row of the summary."""
    log = options.out / f"{tool or 'plain'}.{re.sub(r'[^A-Za-z0-9_.-]', '_', piece.name)}.log"
    command, environment = [str(piece.program), "--gtest_filter=" + ":".join(piece.tests)], dict(os.environ)
    if tool:
        words = ["--tool", tool, "--error-exitcode", "99", "--print-limit", "20"]
        words += ["--port", str(options.port + PORTS_EACH * number), "--max-connections", str(PORTS_EACH)]
        words += ["--launch-timeout", "120", "--check-exit-code", "no", *OPTIONS[tool]]
        command = [options.sanitizer, *words, *command]
        # One thread each: several references must not use all cores at once.
        environment.update(LENSLET_NUM_THREADS="1", LENSLET_UNPOISONED="1" if tool == "initcheck" else "0")
    if options.gpus > 1:
        environment["CUDA_VISIBLE_DEVICES"] = str(number % options.gpus)
    began = time.monotonic()
    with open(log, "w") as out:
        out.write(" ".join(command) + "\n")
        out.flush()
        run = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=piece.program.parent,
            start_new_session=True,
        )
        try:
            code = run.wait(timeout=options.limit)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            code = run.wait()
    seconds = time.monotonic() - began
    return judge(piece, tool, code, seconds, log.read_text(errors="replace"), options.limit, log.name)


def judge(piece, tool, code, seconds, text, limit, log_name):
    """The row of one run: PASSED only if the tool ran, found nothing, and its tests passed."""
    passed = len(re.findall(r"^\[       OK \]", text, re.M))
    skipped = len(re.findall(r"^\[  SKIPPED \] .* \(\d+ ms\)$", text, re.M))
    failed = len(re.findall(r"^\[  FAILED  \] .* \(\d+ ms\)$", text, re.M))
    last = re.findall(SUMMARY, text)
    reason = ""
    if code < 0 or seconds >= limit:
        reason = f"ended by the limit of {limit} s" if seconds >= limit else f"ended by signal {-code}"
    elif tool and not last:
        reason = "no summary line: the tool never began"
    elif tool and not re.search(CLEAN[tool], last[-1]):
        reason = "the tool reports errors"
    elif failed:
        reason = f"{failed} tests failed"
    elif passed == 0 and skipped == 0:
        reason = "no test was run"
    elif code not in (0, 77):
        reason = f"exit code {code}"
    status = "FAILED" if reason else "PASSED" if passed else "SKIPPED"
    return {
        "tool": tool,
        "piece": piece.name,
        "status": status,
        "reason": reason,
        "tests": len(piece.tests),
        "passed": passed,
        "skipped": skipped,
        "summary": last[-1] if last else None,
        "seconds": round(seconds, 1),
        "log": log_name,
    }


def as_text(rows, seconds, version):
    lines = [f"{version}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {seconds:.0f} s in all", ""]
    width = max((len(row["piece"]) for row in rows), default=0)
    for row in rows:
        lines.append(
            f"{row['tool']:<9} {row['piece']:<{width}}  {row['status']:<7} {row['passed']:>3} passed "
            f"{row['skipped']:>3} skipped {row['seconds']:>6.1f} s  {row['summary'] or '-'}"
            + (f"  <- {row['reason']}" if row["reason"] else "")
        )
    lines.append("")
    for tool in pieces.TOOLS:
        of_tool = [row for row in rows if row["tool"] == tool]
        if not of_tool:
            continue
        red = sum(row["status"] == "FAILED" for row in of_tool)
        lines.append(
            f"{tool}: {len(of_tool)} pieces, {sum(row['passed'] for row in of_tool)} tests passed, "
            f"{sum(row['skipped'] for row in of_tool)} skipped, {red} pieces red"
        )
    return "\n".join(lines) + "\n"


def as_json(rows, seconds, version, where, complete):
    document = {
        "schema": "lenslet.sanitize/1",
        "machine": where,
        "version": version,
        "seconds": round(seconds, 1),
        "complete": complete,
        "rows": rows,
    }
    return json.dumps(document, indent=1) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="sanitize.py", description="compute-sanitizer over the GPU suite")
    parser.add_argument("--tests", type=pathlib.Path, required=True, help="folder with the test programs")
    parser.add_argument("--tool", choices=(*pieces.TOOLS, "all"), default="all")
    parser.add_argument("--jobs", type=int, default=0, help="pieces at a time [8 a GPU: they share its time]")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one piece [300]")
    parser.add_argument("--filter", default="", help="only pieces whose name this regular expression finds")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("sanitize"), help="folder for logs")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="a result file to keep")
    parser.add_argument("--list", action="store_true", help="show the pieces and run nothing")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs to share the pieces among [1]")
    parser.add_argument("--port", type=int, default=40000, help="first of the ports between tool and program [40000]")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="the program")
    options = parser.parse_args(arguments)
    options.jobs = options.jobs or JOBS_A_GPU * options.gpus
    options.tests = options.tests.resolve()  # programs run in their own folder
    if options.jobs < 1 or options.limit <= 0 or options.gpus < 1:
        parser.error("--jobs, --limit and --gpus must be positive")
    return options


def main(arguments):
    options = parse(arguments)
    by_tool, complaints = make_pieces(options.tests)
    for complaint in complaints:
        print(f"sanitize: error: {complaint}", file=sys.stderr)
    if complaints:
        return 1
    tools = pieces.TOOLS if options.tool == "all" else (options.tool,)
    work = [(piece, tool) for tool in tools for name, piece in by_tool[tool].items() if re.search(options.filter, name)]
    if not work:
        print(f"sanitize: error: no piece is called {options.filter}", file=sys.stderr)
        return 2
    if options.list:
        for piece, tool in work:
            print(f"{tool:<9} {piece.name}: {len(piece.tests)} tests")
        return 0
    found = shutil.which(options.sanitizer)
    if found is None:
        print(f"sanitize: error: {options.sanitizer} is not there; it comes with the CUDA toolkit", file=sys.stderr)
        return 4
    options.sanitizer = found
    version = subprocess.run([found, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    version = " ".join(re.findall(r"Compute Sanitizer|Version \S+", version)) or "compute-sanitizer"
    options.out.mkdir(parents=True, exist_ok=True)

    began, where = time.monotonic(), machine()
    rows = []
    # The slowest of the last run, or of the newest kept one, start first.
    expected = last_seconds(options.out / "summary.json") or kept_seconds()
    work.sort(key=lambda item: -expected.get((item[1], item[0].name), 60))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(run_piece, piece, tool, options, i) for i, (piece, tool) in enumerate(work)]
        for run in concurrent.futures.as_completed(runs):
            row = run.result()
            rows.append(row)
            print(
                f"[{len(rows)}/{len(work)}] {row['tool']} {row['piece']}: {row['status']} {row['seconds']} s "
                f"{row['reason']}",
                flush=True,
            )
            rows.sort(key=lambda r: (pieces.TOOLS.index(r["tool"]), r["piece"]))
            seconds = time.monotonic() - began
            text = as_text(rows, seconds, version)
            (options.out / "summary.txt").write_text(text)
            for path in filter(None, (options.out / "summary.json", options.json)):
                path.write_text(as_json(rows, seconds, version, where, len(rows) == len(work)))
    print(text, end="")
    if all(row["status"] == "SKIPPED" for row in rows):
        print("sanitize: error: every test skipped: is there a GPU?", file=sys.stderr)
        return 4
    return 1 if any(row["status"] == "FAILED" for row in rows) else 0


def last_seconds(path):
    try:
        return {(row["tool"], row["piece"]): row["seconds"] for row in json.loads(path.read_text())["rows"]}
    except (OSError, ValueError, KeyError):
        return {}


def kept_seconds(root=ROOT):
    """(tool, piece) -> seconds, from docs/results/*/sanitize.json: a piece's newest, as a run may be of a part."""
    kept = {}
    for path in sorted(root.glob("docs/results/*/sanitize.json")):
        kept.update(last_seconds(path))
    return kept


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
