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
`prune` removes the verdicts that count for no fault, and lists the faults that have none. Exit codes: 0 no fault
survived, and `carry` left none; 1 one survived, could not be judged or was not carried; 2 usage; 3 FILE or KEPT is no
such file, or git lacks a commit; 4 a tool is missing.

The command line alone is here. fault_list.py reads the list, planting.py plants a fault and compiles, catchers.py runs
a test, judging.py gives verdicts, building.py writes programs for another machine, kept_verdicts.py keeps verdicts.
"""

import argparse
import pathlib
import sys

from building import command_build
from fault_list import chosen, read_faults, title, to_build, without_verdict
from judging import command_judge, command_run
from kept_verdicts import command_carry, command_keep, command_prune
from planting import targets_of

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "docs")]
from scratch_tree import copy_tree  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(prog="mutate.py", description="planted faults, and what catches them")
    parser.set_defaults(root=ROOT)
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
            f"{len(faults)} planted faults stand in the tree as the list has them; {without_verdict(faults)}"
            if not complaints
            else f"{len(complaints)} entries of tests/mutate/faults are wrong"
        )
        return 1 if complaints else 0
    if options.command == "copy":
        copy_tree(options.root, options.tree)
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
