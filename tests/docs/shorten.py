"""Runs a program of the documents with less work than the document asks for: smaller batches, shorter measurements.

    python3 tests/docs/shorten.py PROGRAM LOG ARGUMENTS…

The values below replace those of the command, and a function makes one of the command's. A value with `+` is also added
if the command lacks its flag.
Appends the command to LOG. The exit code is the program's.
"""

import os
import re
import shlex
import sys


def smaller(problem):
    """A problem string whose images have at most 28 rows."""
    return re.sub(r"ih(\d+)", lambda height: f"ih{min(int(height[1]), 28)}", problem)


MEASURED = {"--min-time-ms": "+1", "--warmup-ms": "+0"}
# By program and subcommand: {flag: value}.
SHORTER = {
    "lenslet profile": {**MEASURED, "--batch-size": "64"},
    "lenslet tune": {**MEASURED, "--batch-size": "8"},
    "lenslet bench": {**MEASURED, "--batch-sizes": "+1,8"},
    "lenslet bench --latency": {"--calls": "+100"},
    "lenslet eval --repeat": {"--repeat": "2", "--batch-size": "1024"},
    "convbench run": {**MEASURED, "--problems": "layers/conv/problems/lenet.txt", "--problem": smaller},
    "convbench reproduce": {**MEASURED, "all": "e"},
    "convbench sweep": {**MEASURED, "--sizes": "+64"},
    "convbench filter": MEASURED,
    "convbench separable": {**MEASURED, "--channels": "+8", "--sizes": "+14", "--batch-size": "+2"},
    "convbench ladder": {**MEASURED, "--problem": "+mb1ic3ih64oc4kh3ph1"},
    "convbench gemm": {**MEASURED, "--sizes": "+256"},
    "convbench stencil": {**MEASURED, "--length": "+65536", "--height": "+256", "--width": "+256"},
    "convbench streams": MEASURED,
}


def shortened(program, arguments):
    arguments = list(arguments)
    for key, flags in SHORTER.items():
        name, command, *needed = key.split()
        if [name, command] != [program, *arguments[:1]] or not all(flag in arguments for flag in needed):
            continue
        for flag, value in flags.items():
            place = next((i for i, word in enumerate(arguments) if word == flag), None)
            if place is not None and not flag.startswith("-"):
                arguments[place] = value
            elif place is not None and callable(value):
                arguments[place + 1] = value(arguments[place + 1])
            elif place is not None:
                arguments[place + 1] = value.removeprefix("+")
            elif (
                not callable(value)
                and value.startswith("+")
                and not any(word.startswith(flag + "=") for word in arguments)
            ):
                arguments += [flag, value[1:]]
    return arguments


def main():
    program, log, *arguments = sys.argv[1:]
    arguments = shortened(os.path.basename(program), arguments)
    with open(log, "a", encoding="utf-8") as file:
        file.write(shlex.join([os.path.basename(program), *arguments]) + "\n")
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    main()
