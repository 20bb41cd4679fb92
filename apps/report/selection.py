"""Selects rows for figures, tables and README in one place. Uses only Python's standard library."""

import re

from results import Rows, natural, size_of
from words import shape

FP32 = "fp32"
MATH_MODES = (FP32, "tf32", "fp16")  # the most exact first
DEEP = re.compile(r"^mb8ic(32|64)ih(64|128)oc(128|256)oh\d+kh3$")
HOW = ("hot", "cold", "with copies")  # ways of timing a convolution; the last is from host to host
CELL = ("out_channels", "stride", "size")  # labels of a cell of the table of RGB images
KINDS = {"fp32 arithmetic": (FP32,), "any arithmetic": MATH_MODES}  # of comparisons with peers


def bare(problem):
    """A problem string without its name."""
    return problem.split('n"')[0]


def heat_cells(rows, how="hot"):
    """{(K, stride, size): how many times as fast as the best cuDNN time direct is}; `how` is one of HOW."""
    copies = how == "with copies"
    table = rows.where(table="rgb", cache="hot" if copies else how, math=FP32, backend=("direct", "cudnn")).drawn

    def time(row):
        return row.end_to_end_ns if copies else row.ns

    found = {}
    for (cell, name), some in table.by(cell_of, "backend").items():
        best = some.best(time)
        if best:
            found.setdefault(cell, {})[name] = time(best)
    return {cell: ns["cudnn"] / ns["direct"] for cell, ns in found.items() if len(ns) > 1}


def heat_axes(cells):
    """What heat_cells() found: its columns (K, stride), and its sizes."""
    columns = sorted({(k, stride) for k, stride, _ in cells}, key=lambda column: [natural(value) for value in column])
    return columns, sorted({size for _, _, size in cells}, key=natural)


def cell_of(row):
    return tuple(row.labels.get(name, "") for name in CELL)


def rgb_bandwidth(group):
    """The share of the copy bandwidth that direct moves in each cell of the two largest sizes; hot rows."""
    copy = group.ceiling("copy_bytes_per_s")
    table = group.rows.where(table="rgb", cache="hot", math=FP32, backend="direct", size=("2048", "4096"))
    best = [some.best() for some in table.drawn.by(cell_of).values()]
    return [row.gbytes * 1e9 / copy for row in best if copy and row.gbytes]


def algorithms(rows):
    """The ladders of a run: {algorithm: its rows, with those of other backends and the CPU's version}."""
    return rows.where(table="ladder").prefer("hot").by(lambda row: row.labels.get("algorithm", ""))


def rung_of(row):
    return row.labels.get("rung") or row.backend


def climbed(rows):
    """The rungs of a ladder, without the backends that are measured beside it."""
    return Rows(row for row in rows if rung_of(row) != "beside")


def deep_rows(rows):
    """{problem: {"backend math": fastest row}} of the eight deep shapes, whichever command measured them; hot."""
    some = Rows(row for row in rows.where(cache="hot").drawn if row.gflops and "." not in row.backend)
    problems = some.by(lambda row: bare(row.text("problem")))
    return {
        problem: {f"{backend} {math}": some.best() for (backend, math), some in mine.by("backend", "math").items()}
        for problem, mine in problems.items()
        if DEEP.match(problem)
    }


def deep_pairs(rows, ours, theirs):
    """The fastest rows of two names of deep_rows(), of each shape that has both."""
    return [(best[ours], best[theirs]) for best in deep_rows(rows).values() if ours in best and theirs in best]


# In the order of a table's columns.
DEEP_NAMES = [
    "implicit_gemm fp32",
    "winograd fp32",
    "cudnn fp32",
    "tensor_core tf32",
    "cudnn tf32",
    "tensor_core fp16",
    "cudnn fp16",
]


def deep_names(found):
    """The columns for the result of deep_rows()."""
    return [name for name in DEEP_NAMES if any(name in best for best in found.values())]


def layers(rows):
    """Of `lenslet profile`: the hot rows of the layers that a pass consists of, in order."""
    return [row for row in rows.where(cache="hot") if row.backend]


def candidate(row):
    """The title of a column or tick: the backend, with type, math and layout unless they are the defaults."""
    extra = [row.text(key) for key in ("dt", "math") if row.text(key) not in ("", "fp32")]
    extra += [row.text("layout")] if row.text("layout") not in ("", "NCHW") else []
    return " ".join([row.backend or row.text("name")] + extra)


def title_of(row):
    """What a row measures, for a tick: the name of a layer or problem, else its sizes; with the batch of a network."""
    title = row.text("name") if row.table == "" else ""
    in_problem = re.match(r"(?:g\d+_?)?mb(\d+)", row.text("problem")) if title else None
    batch = row.labels.get("batch") or (in_problem.group(1) if in_problem and in_problem.group(1) != "1" else None)
    title = title or shape(row.text("problem")) or row.text("name") or row.backend
    return f"{title}, batch {int(size_of(batch) or 0):,}" if batch and row.table == "" else title


def batch_rows(rows):
    """Of `lenslet bench`: rows of passes alone, of several batches, with images per second; latencies have a mode."""
    found = Rows(
        row
        for row in rows.drawn
        if row.number("images_per_s")
        and size_of(row.labels.get("batch", ""))
        and "mode" not in row.labels
        and row.labels.get("place", "device") == "device"
    )
    return found if len(found.values("batch")) > 1 else Rows()


def batches_of_layers(rows):
    """Of `lenslet profile`: {batch: (the hot rows of its layers, the row of a whole pass or None)}."""
    rows = Rows(row for row in rows.where(table="").drawn if "batch" in row.labels and not row.number("images_per_s"))
    found = {}
    for batch in rows.values("batch"):
        mine = rows.where(batch=batch)
        some = Rows(row for row in mine.where(cache="hot") if row.backend)
        if some:
            found[batch] = some, mine.where(name="uninstrumented").best()
    return found


def parts_of_network(rows):
    """Of `lenslet tune`: {layers of a part: its ways, the fastest first}, of parts with several ways, each once."""
    found = {}
    for name, some in rows.where(table="tune").drawn.by("name").items():
        ways = Rows(sorted(some, key=lambda row: row.ns))
        times = [[(row.backend, row.ns) for row in mine] for mine in found.values()]
        if len(ways) > 1 and [(row.backend, row.ns) for row in ways] not in times:
            found[name] = ways
    return found


def way_of(row):
    """ "conv1+relu1, pool1 by direct"; the name of a plan."""
    return f"{row.labels['way']} by {candidate(row)}" if "way" in row.labels else candidate(row)


def single_rows(rows):
    """The rows outside studies that no other figure shows, hot where both were measured."""
    shown = {id(row) for row in batch_rows(rows)}
    profiled = batches_of_layers(rows)
    rest = Rows(
        row
        for row in rows.where(table="")
        if id(row) not in shown and (row.labels.get("batch") not in profiled or row.number("images_per_s"))
    )
    return Rows(row for row in rest.prefer("hot").drawn if row.backend)


def labelled_candidate(row):
    """candidate(), with what else distinguishes two rows of one problem."""
    others = ("mode", "input", "output", "place")
    return " ".join([candidate(row), *(row.labels[key] for key in others if key in row.labels)])


# Of peers.json:


def is_ours(row):
    return row["side"].startswith("Lenslet")


def side_of(row):
    """A side's name, with what distinguishes it from its other rows."""
    return f"{row['side']}{', channels last' if row.get('layout') == 'NHWC' and not is_ours(row) else ''}"


def like_for_like(rows, device):
    """The rows with a time that read fp32 and write logits."""
    rows = rows.where(device=device, input="fp32").drawn
    return Rows(row for row in rows if row.get("output", "logits") == "logits")


def ours_and_theirs(rows, time=None):
    """The fastest row of Lenslet, and of its peers, by `time` or by images per second; None if there is none."""
    sides = [Rows(row for row in rows if is_ours(row) == ours) for ours in (True, False)]
    return [some.best(time) if time else some.fastest() for some in sides]
