"""The tables of convolutions, from convbench's files. Each is a generator of lines."""

import selection
import words
from common import PICTURES, link, ratio
from results import Rows, geometric_mean, natural
from tables import markdown


def picture(gpu, name):
    """A picture, where it was drawn."""
    path = gpu / f"{name}.svg"
    if path.exists():
        yield ""
        yield f"![{PICTURES[name]}]({link(path)})"


def rgb(gpu, group):
    """direct against cuDNN on one RGB image."""
    cells = selection.heat_cells(group.rows)
    if not cells:
        return
    columns = sorted({(k, stride) for k, stride, _ in cells}, key=lambda column: [natural(v) for v in column])
    sizes = sorted({size for _, _, size in cells}, key=natural)
    direct = group.rows.where(table="rgb", cache="hot", math="fp32", backend="direct")

    def cell(k, stride, size):
        if (k, stride, size) not in cells:
            return "–"
        best = direct.where(out_channels=k, stride=stride, size=size).best()
        return f"{words.short(best.ns / 1e3)} (×{words.short(cells[k, stride, size])})"

    shares = selection.rgb_bandwidth(group)
    moved = ""
    if shares:
        moved = f"; at 2048 and 4096 it moves {min(shares):.0%} to {max(shares):.0%} of the copy bandwidth"
    yield (
        f"**3×3 convolution of one RGB image**, {group.device}, padding 1, fp32, hot, kernel time. `direct` in µs, and"
        f" how many times faster than cuDNN in its faster layout, measured in the same run: faster in"
        f" {sum(value > 1 for value in cells.values())} of {len(cells)} cells{moved}."
    )
    yield ""
    heads = ["size", *(f"K={k}, stride {stride}" for k, stride in columns)]
    yield from markdown(heads, ([size, *(cell(*column, size) for column in columns)] for size in sizes))
    yield ""
    for how in selection.HOW:
        found = selection.heat_cells(group.rows, how=how).values()
        if found:
            yield (
                f"- {'with copies from page-locked memory and back, wall time' if how == 'with copies' else how}:"
                f" {ratio(geometric_mean(found))} times as fast as cuDNN ({ratio(min(found))} to"
                f" {ratio(max(found))}; faster in {sum(value > 1 for value in found)} of {len(found)})"
            )
    yield from picture(gpu, "rgb-ratio")


def deep(gpu, group):
    """3x3 at batch 8: ours and cuDNN, fp32 and tensor cores."""
    found = selection.deep_rows(group.rows)
    names = selection.deep_names(found)
    if not names:
        return
    yield (
        f"**3×3 convolution, batch 8**, {group.device}, hot, TFLOP/s, each in its fastest layout of one run. Operations"
        " are those of the direct sum, so Winograd's rate is an effective one."
    )
    yield ""
    rates = {p: {name: best[name].gflops / 1e3 for name in names if name in best} for p, best in found.items()}
    lines = [
        [", ".join(selection.DEEP.match(problem).groups()), *(words.short(mine.get(name)) for name in names)]
        for problem, mine in rates.items()
    ]
    means = [geometric_mean(mine[name] for mine in rates.values() if name in mine) for name in names]
    lines.append(["geometric mean", *map(words.short, means)])
    heads = [f"{name}, effective" if name.startswith("winograd") else name for name in names]
    yield from markdown(["C, H=W, K", *heads], lines)


def im2col(group):
    """im2col_gemm beside direct: one RGB image to 3 planes."""
    table = group.rows.where(table="rgb", cache="hot", math="fp32", stride="1", out_channels="3").drawn
    sizes = {
        size: [table.where(backend=name, size=size).best() for name in ("im2col_gemm", "cudnn", "direct")]
        for size in ("256", "1024", "4096")
    }
    if not all(all(rows) for rows in sizes.values()):
        return
    yield f"{group.device}, fp32, hot, one RGB image to 3 planes, 3×3, padding 1:"
    yield ""
    yield from markdown(
        ["size", "im2col_gemm, µs", "workspace", "times as fast as cuDNN", "direct, µs"],
        (
            [
                size,
                words.short(mine.ns / 1e3),
                f"{words.short(mine.number('workspace_bytes') / 2**20)} MiB",
                ratio(cudnn.ns / mine.ns),
                words.short(direct.ns / 1e3),
            ]
            for size, (mine, cudnn, direct) in sizes.items()
        ),
    )


def rungs_of(group, algorithm):
    """{rung: its rows} of a ladder, in the order of the climb; and what the rungs changed."""
    rungs, changes = {}, {}
    for row in selection.climbed(dict(selection.algorithms(group.rows)).get(algorithm, ())):
        rung = selection.rung_of(row)
        rungs.setdefault(rung, Rows()).append(row)
        changes.setdefault(rung, row.labels.get("change", ""))
    return rungs, changes


def ladder(gpu, group):
    """The climb of implicit_gemm."""
    rungs, changes = rungs_of(group, "implicit_gemm")
    if len(rungs) < 2:
        return

    def line(rung, rows):
        rate = geometric_mean(row.gflops / 1e3 for row in rows.drawn if row.gflops)
        share = geometric_mean(row.ratio for row in rows.drawn if row.ratio)
        share_text = "–" if share is None else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
        return [rung, words.short(rate), share_text, changes[rung]]

    shapes = len({problem for rows in rungs.values() for problem in rows.problems()})
    yield (
        f"**The ladder of implicit GEMM**, {group.device}, fp32, geometric means of {shapes} shapes;"
        " `convbench ladder implicit_gemm` climbs it."
    )
    yield ""
    yield from markdown(["rung", "TFLOP/s", "of cuDNN", "the one change"], (line(*pair) for pair in rungs.items()))
    yield from picture(gpu, "ladder-implicit-gemm")


def direct_ladder(group):
    """The climb of direct: a column a shape."""
    rungs, changes = rungs_of(group, "direct")
    if not rungs:
        return
    problems = Rows(row for rows in rungs.values() for row in rows).problems()
    rungs["cuDNN"] = dict(selection.algorithms(group.rows))["direct"].where(backend="cudnn")

    def line(rung, rows):
        best = [rows.where(problem=problem).best() for problem in problems]
        return [rung, changes.get(rung, ""), *("–" if row is None else words.short(row.ns / 1e3) for row in best)]

    yield (
        f"`convbench ladder direct` climbs it: {group.device}, fp32, hot, µs, a column a shape, and cuDNN in its faster"
        " layout; a dash is a shape that the rung refuses, with a reason."
    )
    yield ""
    heads = ["rung", "the one change", *(f"`{problem}`" for problem in problems)]
    yield from markdown(heads, (line(rung, rows) for rung, rows in rungs.items() if rows))


def side_by_side(group, rows, columns):
    """A line a problem, a column a backend, in µs; `columns`: {heading: backend, math and layout of its rows}."""
    rows = rows.where(cache="hot")
    lines = []
    for problem in rows.problems():
        mine = rows.where(problem=problem)
        best = [mine.where(**wanted).best() for wanted in columns.values()]
        name = problem.split('n"')[0]
        lines.append([f"`{name}`", *("–" if row is None else words.short(row.ns / 1e3) for row in best)])
    if lines:
        yield f"{group.device}, hot, µs, all in one run; cuDNN in its faster layout where no layout is named:"
        yield ""
        yield from markdown(["problem", *columns], lines)


def depthwise(group):
    """The depthwise halves of study D's blocks."""
    columns = {
        "NCHW": {"backend": "depthwise", "layout": "NCHW"},
        "NHWC": {"backend": "depthwise", "layout": "NHWC"},
        "cuDNN": {"backend": "cudnn"},
    }
    yield from side_by_side(group, group.rows.where(table="separable", part="depthwise"), columns)


def deep_layouts(group, columns):
    yield from side_by_side(group, Rows(dict(selection.algorithms(group.rows)).get("implicit_gemm", ())), columns)


def tensor_core(group):
    kinds = (("tf32", "tensor_core", "tf32"), ("cuDNN tf32", "cudnn", "tf32"), ("fp16", "tensor_core", "fp16"))
    columns = {
        f"{name} {layout}": {"backend": backend, "math": math, "layout": layout}
        for name, backend, math in kinds
        for layout in ("NCHW", "NHWC")
    }
    yield from deep_layouts(group, columns)


def winograd(group):
    names = {"winograd": "winograd", "implicit_gemm": "implicit_gemm", "cuDNN": "cudnn"}
    yield from deep_layouts(group, {name: {"backend": backend, "math": "fp32"} for name, backend in names.items()})
