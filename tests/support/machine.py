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


def machine():
    """CPU, cores, GPUs, commit, whether tracked files differ from it, and time. `git` and `dirty` are null for a tree
    without its history."""
    git = output_of("git", "rev-parse", "--short", "HEAD") or None
    model = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {
        "cpu": model[0] if model else "unknown",
        "cores": os.cpu_count(),
        "gpus": output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines(),
        "git": git,
        "dirty": bool(output_of("git", "status", "--porcelain", "--untracked-files=no")) if git else None,
        "time_utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
