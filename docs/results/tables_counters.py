"""The tables of hardware counters on the kernels' pages, from counters.json of apps/counters/counters.py."""

import re

from common import load, rows_of

from tables import markdown

COUNTERS = "counters.json"
NOT_MEASURED = "Not measured yet. `./dev bench --part counters` measures it, where ncu is installed."
# The pages of docs/kernels, and the beginnings of the names of what each shows.
PAGES = {
    "fused_lenet": ("whole-fp32",),
    "fused_lenet_mma": ("whole-fp16",),
    "pooling_linear": ("linear-",),
    "tensor_core": ("tf32-", "fp16-"),
    "implicit_gemm": ("implicit-gemm",),
    "split_gemm": ("fp32-7x7",),
    "winograd": ("fp32-3x3",),
}
COLUMNS = {
    "issue slots": "issue_percent",
    "FMA pipe": "fma_percent",
    "tensor cores": "tensor_percent",
    "shared memory": "shared_percent",
    "L2": "l2_percent",
    "memory": "memory_percent",
    "warps": "warps_percent",
}
SHOWN_STALLS = 3


def stalls(row):
    """What a warp waits for most, with the cycles per issued instruction."""
    reasons = [(reason, cycles) for reason, cycles in row["stalls"].items() if reason != "selected"]
    return ", ".join(f"{reason.replace('_', ' ')} {cycles:.1f}" for reason, cycles in reasons[:SHOWN_STALLS])


def bare(kernel):
    """A kernel's name without its return type and namespaces."""
    return re.search(r"\w+(<.*>)?$", kernel).group()


def rows_for(page, folder):
    return [row for row in rows_of(folder, COUNTERS).where(status="PASSED") if row["subject"].startswith(PAGES[page])]


def commits(page, folder):
    """The commits of these rows, which a joined file states row by row; empty where its `meta` has the only one."""
    return {row["git"] for row in rows_for(page, folder) if row.get("git")}


def counters(page, folder):
    """The counters of the kernels that a page describes; empty without the file."""
    rows = rows_for(page, folder)
    if not rows:
        return ""
    lines = [
        [
            f"`{bare(row['kernel'])}`",
            f"`{row['command']}`",
            *(f"{row[key]:.0f}" for key in COLUMNS.values()),
            stalls(row),
        ]
        for row in rows
    ]
    return markdown(
        f"{load(folder, COUNTERS).device}, Nsight Compute, one launch each with flushed caches"
        " (`apps/counters/counters.py`; [how to read it](../measuring.md#counters)). In percent: issue slots, FMA pipe,"
        " tensor cores and resident warps, of the cycles in which a multiprocessor has work; shared memory, L2 and"
        " memory, of the whole time. Last column: cycles that a warp waits per issued instruction, by reason:",
        ["kernel", "command", *COLUMNS, "waits for"],
        lines,
    )
