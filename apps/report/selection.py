"""Which rows belong together, chosen once for figures, tables and README. Python's standard library alone."""

import re

from results import Rows

FP32 = "fp32"
DEEP = re.compile(r"^mb8ic(32|64)ih(64|128)oc(128|256)oh\d+kh3$")


HOW = ("hot", "cold", "with copies")  # ways of timing a convolution; the last is from host to host


def heat_cells(rows, backend="direct", how="hot"):
    """{(K, stride, size): how many times faster than the best cuDNN time of that cell}; `how` is one of HOW."""
    copies = how == "with copies"
    table = rows.where(table="rgb", cache="hot" if copies else how, math=FP32).drawn

    def time(row):
        return row.end_to_end_ns if copies else row.ns

    fastest_ns = {}
    for row in table:
        if row.backend not in (backend, "cudnn") or not time(row):
            continue
        key = (row.backend, tuple(row.labels.get(name, "") for name in ("out_channels", "stride", "size")))
        fastest_ns[key] = min(time(row), fastest_ns.get(key, time(row)))
    return {
        cell: fastest_ns["cudnn", cell] / ns
        for (name, cell), ns in fastest_ns.items()
        if name == backend and ("cudnn", cell) in fastest_ns
    }


def rgb_bandwidth(group, sizes=("2048", "4096"), backend="direct"):
    """Shares of the copy bandwidth that the backend moves, of each cell of these sizes; hot."""
    copy = group.ceiling("copy_bytes_per_s")
    table = group.rows.where(table="rgb", cache="hot", math=FP32, backend=backend).drawn
    cells = {tuple(row.labels.get(name, "") for name in ("out_channels", "stride", "size")) for row in table}
    best = [table.where(out_channels=k, stride=stride, size=size).best() for k, stride, size in cells if size in sizes]
    return [row.gbytes * 1e9 / copy for row in best if copy and row.gbytes]


def algorithms(rows):
    """The ladders of a run: (algorithm, its rows, with those of other backends and the CPU's version)."""
    ladder = rows.where(table="ladder").prefer("hot")
    for name in dict.fromkeys(row.labels.get("algorithm", "") for row in ladder):
        yield name, Rows(row for row in ladder if row.labels.get("algorithm", "") == name)


def rung_of(row):
    return row.labels.get("rung") or row.backend


def climbed(rows):
    """The steps of a ladder, without the other backends that are measured beside it."""
    return Rows(row for row in rows if rung_of(row) != "rival")


def deep_rows(rows):
    """{problem: {"backend math": fastest row}} of the eight deep shapes, whichever command measured them; hot."""
    found = {}
    for row in Rows(rows).where(cache="hot").drawn:
        problem = row.text("problem").split('n"')[0]
        if not DEEP.match(problem) or not row.gflops or "." in row.backend:
            continue
        series_name = f"{row.backend} {row.text('math')}"
        best = found.setdefault(problem, {})
        if series_name not in best or row.ns < best[series_name].ns:
            best[series_name] = row
    return found


# In the order of a table's columns.
DEEP_NAMES = ["implicit_gemm fp32", "winograd fp32", "cudnn fp32", "tensor_core tf32", "cudnn tf32", "tensor_core fp16",
              "cudnn fp16"]


def deep_names(found):
    """The columns for what deep_rows() found."""
    return [name for name in DEEP_NAMES if any(name in best for best in found.values())]


def contender(row):
    """A column's title or a tick: the backend, with math and layout where they are not the usual ones."""
    extra = [row.text("math")] if row.text("math") not in ("", "fp32") else []
    extra += [row.text("layout")] if row.text("layout") not in ("", "NCHW") else []
    return " ".join([row.backend or row.text("name")] + extra)
