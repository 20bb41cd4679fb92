"""The `machine` block of a result file of the tests' own scripts: what ran it, where and when."""

import datetime
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(*command):
    """What the command prints, without the last newline; empty if it is not installed or fails."""
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def commit():
    """(Commit, whether tracked files differ from it): those that the program LENSLET_PROGRAM was built from, else the
    tree's. None for a tree without history, and for a program whose version has no commit."""
    if program := os.environ.get("LENSLET_PROGRAM"):
        built = re.search(r"\(([0-9a-f]{7,})(, modified)?\)", output_of(program, "--version"))
        return (built[1][:8], bool(built[2])) if built else (None, None)
    git = output_of("git", "rev-parse", "--short", "HEAD") or None
    return git, bool(output_of("git", "status", "--porcelain", "--untracked-files=no")) if git else None


def machine():
    """CPU, cores, GPUs, commit() and time."""
    git, dirty = commit()
    model = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {
        "cpu": model[0] if model else "unknown",
        "cores": os.cpu_count(),
        "gpus": output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines(),
        "git": git,
        "dirty": dirty,
        "time_utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
