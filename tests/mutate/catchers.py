"""Runs what should catch a fault: a test program, alone or under compute-sanitizer, a ctest, or a pytest."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "sanitize")]
import sanitize  # noqa: E402


def find_tool(options, faults):
    """The path of compute-sanitizer, where a fault needs it."""
    if not any("tool" in catcher for fault in faults for catcher in fault.get("caught_by", [])):
        return
    found = shutil.which(options.sanitizer)
    if found is None:
        print(f"mutate: error: {options.sanitizer} is not there; it comes with the CUDA toolkit", file=sys.stderr)
        sys.exit(4)
    options.sanitizer = found


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
