"""Runs every block of shell commands of every document, in a copy of the tree with small data.

    python3 tests/docs/run_commands.py ROOT BIN_DIR [--gpu] [--filter DOCUMENT]

In a block of `console` each line after `$ ` is run and must print the lines below it; `…` matches any text. All
blocks run in one folder, in the order of the documents. `lenslet` and `convbench` come from BIN_DIR; shorten.py reduces
their work. A comment before a block says that it cannot run here, or which test runs it (markdown_blocks.py). A block
without such a comment must succeed, and a test that a comment names must exist.

--gpu runs only the blocks that need a GPU. Without a GPU the exit code is then 77.
"""

import argparse
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import fixtures  # noqa: E402
import markdown_blocks  # noqa: E402
from scratch_tree import copy_tree  # noqa: E402

HERE = Path(__file__).resolve().parent
# Blocks that take minutes here and are tested elsewhere; they must be marked.
BUILDS = re.compile(r"^\s*(cmake --(build|preset|workflow)|ctest|\.ci/run|\./dev (?!help|format)\w+)", re.M)
SHELLS = ("sh", "bash", "shell", "console")
LIMIT_S = 300
PORT = "8080"  # of servers in the documents; a free one takes its place
ADVICE = """Mend the document, or say on the line before the block what this test should do with it:
  <!-- run: gpu -->            it needs a GPU
  <!-- run: tests/FOLDER -->   the test in that folder performs it
  <!-- run: not, REASON -->    it is not run; the reason is listed
  <!-- run: exit N -->         it ends with that exit code
Files that a command reads come from tests/docs/fixtures.py, shorter measurements from tests/docs/shorten.py.
"""


def documents(tree):
    found = [
        path for path in tree.rglob("*.md") if not any(part.startswith(".") for part in path.relative_to(tree).parts)
    ]
    return sorted(found, key=lambda path: (path.name != "README.md" or path.parent != tree, path))


def write_programs(tree, programs):
    """`lenslet` and `convbench` as the documents name them, each shortened; returns the folder for PATH."""
    folder = tree / "build" / "release" / "bin"
    folder.mkdir(parents=True)
    for name in ("lenslet", "convbench"):
        script = folder / name
        words = [sys.executable, "-IS", str(HERE / "shorten.py"), str(programs / name), str(tree / "ran.log")]
        script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
        script.chmod(0o755)
    return folder


def shown(output):
    """A pattern for what a document shows of an output: … stands for anything, on a line of its own for lines."""
    lines = [".*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n" for line in output]
    return "".join("(.*\n)*" if line == ".*\n" else line for line in lines)


def free_port():
    """Below the ports that the system gives to other programs, so that none of them takes it meanwhile."""
    while True:
        port = random.randint(20000, 30000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return str(port)


def run_script(text, exit_code, tree, environment):
    """(What it printed, None or what went wrong)."""
    if PORT in text:
        text = text.replace(PORT, free_port())
    try:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return "", f"took longer than {LIMIT_S} s"
    output = result.stdout.decode(errors="replace")
    if result.returncode != exit_code:
        return output, f"exit {result.returncode}, expected {exit_code}; the end of its output:\n{output[-3000:]}"
    return output, None


def run(block, tree, environment):
    """None, or what went wrong."""
    if block.language != "console":
        return run_script(block.text, block.exit_code, tree, environment)[1]
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, *expected = part.splitlines()
        output, wrong = run_script(command, block.exit_code, tree, environment)
        output = "".join(line.rstrip() + "\n" for line in output.splitlines())
        if wrong is None and not re.fullmatch(shown(expected), output):
            wrong = f"{command}\nprints something else than the document says:\n{output}"
        if wrong:
            return wrong
    return None


class Runner:
    """Goes through the blocks and counts what became of them."""

    def __init__(self, root, tree, environment, on_gpu):
        self.root, self.tree, self.environment, self.on_gpu = root, tree, environment, on_gpu
        self.seen, self.failures = Counter(), 0

    def fail(self, text):
        self.failures += 1
        print(f"FAILED {text}", flush=True)

    def take(self, block):
        first = block.text.strip().splitlines()[0]
        if block.what == "not" or "tests" in block.what:
            self.seen["left out" if block.what == "not" else "performed by other tests"] += 1
            print(f"not run {block.place}: {block.reason or block.what}: {first}")
            if "tests" in block.what and not (self.root / block.what).is_dir():
                self.fail(f"{block.place}: there is no {block.what}")
            return
        if (block.what == "gpu") != self.on_gpu:
            self.seen["need a GPU" if block.what == "gpu" else "need none"] += 1
            return
        self.seen["ran"] += 1
        began = time.monotonic()
        building = BUILDS.search(block.text)
        if building:
            wrong = f"'{building.group(1)}' builds or downloads: mark it"
        else:
            wrong = run(block, self.tree, self.environment)
        if wrong:
            self.fail(f"{block.place}: {first}\n{wrong}")
        else:
            print(f"ran {block.place} ({time.monotonic() - began:.1f} s): {first}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--filter", metavar="DOCUMENT", help="one document, as docs/cli.md")
    arguments = parser.parse_args()
    root, programs = arguments.root.resolve(), arguments.programs.resolve()
    if arguments.gpu:
        listed = subprocess.run([programs / "lenslet", "backends", "--device", "cuda"], capture_output=True, text=True)
        if listed.returncode:
            print(f"skipped: {listed.stderr.strip()}")
            return 77
    with tempfile.TemporaryDirectory(prefix="lenslet_docs_") as scratch:
        tree = Path(scratch) / "tree"
        copy_tree(root, tree)
        path = write_programs(tree, programs)
        fixtures.write_all(tree)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LENSLET_")}
        environment["PATH"] = f"{path}:{environment['PATH']}"
        environment["LENSLET_NUM_THREADS"] = "1"  # the other cores run other tests
        runner = Runner(root, tree, environment, arguments.gpu)
        for document in documents(tree):
            name = document.relative_to(tree)
            if arguments.filter and str(name) != arguments.filter:
                continue
            try:
                found = markdown_blocks.blocks(document, name)
            except markdown_blocks.MarkError as error:
                runner.fail(error)
                continue
            for block in found:
                if block.language in SHELLS:
                    runner.take(block)
        log = tree / "ran.log"
        commands = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    if not runner.seen["ran"]:
        sys.exit("no block was run: wrong folder?")
    print("of the programs' commands:", *sorted(commands), sep="\n  ")
    print(json.dumps({**runner.seen, "commands of the programs": len(commands), "failed": runner.failures}))
    if runner.failures:
        print(ADVICE)
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
