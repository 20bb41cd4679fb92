"""The tables of convolutions, from convbench's files. Each is a generator of lines."""

import results  # apps/report's reader of result files
import selection
import words
from common import PICTURES, link, ratio


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
    columns = sorted({(k, stride) for k, stride, _ in cells}, key=lambda column: [results.natural(v) for v in column])
    sizes = sorted({size for _, _, size in cells}, key=results.natural)

    def best(k, stride, size):
        table = group.rows.where(table="rgb", cache="hot", math="fp32", backend="direct")
        return table.where(out_channels=k, stride=stride, size=size).best()

    ahead = sum(value > 1 for value in cells.values())
    shares = selection.rgb_bandwidth(group)
    moved = (
        f"; at 2048 and 4096 it moves {min(shares):.0%} to {max(shares):.0%} of the copy bandwidth" if shares else ""
    )
    yield (
        f"**3×3 convolution of one RGB image**, {group.device}, padding 1, fp32, hot, kernel time. `direct` in µs, and"
        f" how many times faster than cuDNN in its faster layout, measured in the same run: faster in {ahead} of"
        f" {len(cells)} cells{moved}."
    )
    yield ""
    yield "| size | " + " | ".join(f"K={k}, stride {stride}" for k, stride in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for size in sizes:
        texts = [
            (
                f"{words.short(best(k, s, size).ns / 1e3)} (×{words.short(cells[k, s, size])})"
                if (k, s, size) in cells
                else "–"
            )
            for k, s in columns
        ]
        yield f"| {size} | " + " | ".join(texts) + " |"
    yield ""
    for how in selection.HOW:
        found = selection.heat_cells(group.rows, how=how)
        if found:
            yield (
                f"- {'with copies from page-locked memory and back, wall time' if how == 'with copies' else how}:"
                f" {ratio(results.geometric_mean(found.values()))} times as fast as cuDNN ({ratio(min(found.values()))} to"
                f" {ratio(max(found.values()))}; faster in {sum(value > 1 for value in found.values())} of {len(found)})"
            )
    yield from picture(gpu, "rgb-ratio")


def deep(gpu, group):
    """3x3 at batch 8: ours and cuDNN, fp32 and tensor cores."""
    found = selection.deep_rows(group.rows)
    wanted = [
        "implicit_gemm fp32",
        "winograd fp32",
        "cudnn fp32",
        "tensor_core tf32",
        "cudnn tf32",
        "tensor_core fp16",
        "cudnn fp16",
    ]
    names = [name for name in wanted if any(name in best for best in found.values())]
    if not names:
        return
    yield (
        f"**3×3 convolution, batch 8**, {group.device}, hot, TFLOP/s, each in its fastest layout of one run. Operations"
        " are those of the direct sum, so Winograd's rate is an effective one."
    )
    yield ""
    headings = [f"{name}, effective" if name.startswith("winograd") else name for name in names]
    yield "| C, H=W, K | " + " | ".join(headings) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for problem, best in found.items():
        c, size, k = selection.DEEP.match(problem).groups()
        rates = [words.short(best[name].gflops / 1e3) if name in best else "–" for name in names]
        yield f"| {c}, {size}, {k} | " + " | ".join(rates) + " |"
    means = [
        results.geometric_mean(best[name].gflops / 1e3 for best in found.values() if name in best) for name in names
    ]
    yield "| geometric mean | " + " | ".join(words.short(mean) for mean in means) + " |"


def im2col(group):
    """im2col_gemm beside direct: one RGB image to 3 planes."""
    table = group.rows.where(table="rgb", cache="hot", math="fp32", stride="1", out_channels="3").drawn
    names = ("im2col_gemm", "cudnn", "direct")
    rows = [(size, *(table.where(backend=name, size=size).best() for name in names)) for size in ("256", "1024", "4096")]
    if any(row is None for _, *both in rows for row in both):
        return
    yield f"{group.device}, fp32, hot, one RGB image to 3 planes, 3×3, padding 1:"
    yield ""
    yield "| size | im2col_gemm, µs | workspace | times as fast as cuDNN | direct, µs |"
    yield "|---|---|---|---|---|"
    for size, mine, cudnn, direct in rows:
        workspace = mine.number("workspace_bytes") / 2**20
        yield (
            f"| {size} | {words.short(mine.ns / 1e3)} | {words.short(workspace)} MiB |"
            f" {ratio(cudnn.ns / mine.ns)} | {words.short(direct.ns / 1e3)} |"
        )


def ladder(gpu, group):
    """The climb of implicit_gemm."""
    rows = dict(selection.algorithms(group.rows)).get("implicit_gemm")
    steps = results.Rows(row for row in rows or [] if selection.rung_of(row) != "rival")
    rungs = list(dict.fromkeys(selection.rung_of(row) for row in steps))
    if len(rungs) < 2:
        return
    yield (
        f"**The ladder of implicit GEMM**, {group.device}, fp32, geometric means of {len(steps.problems())} shapes;"
        " `convbench ladder implicit_gemm` climbs it."
    )
    yield ""
    yield "| rung | TFLOP/s | of cuDNN | the one change |"
    yield "|---|---|---|---|"
    for rung in rungs:
        mine = results.Rows(row for row in steps if selection.rung_of(row) == rung)
        rate = results.geometric_mean(row.gflops / 1e3 for row in mine.drawn if row.gflops)
        share = results.geometric_mean(row.ratio for row in mine.drawn if row.ratio)
        change = next((row.labels["change"] for row in mine if "change" in row.labels), "")
        share_text = "–" if share is None else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
        yield f"| {rung} | {words.short(rate)} | {share_text} | {change} |"
    yield from picture(gpu, "ladder-implicit-gemm")


def direct_ladder(group):
    """The climb of direct: a column a shape."""
    rows = dict(selection.algorithms(group.rows)).get("direct")
    steps = results.Rows(row for row in rows or [] if selection.rung_of(row) != "rival")
    if not steps:
        return
    problems = steps.problems()
    yield (
        f"`convbench ladder direct` climbs it: {group.device}, fp32, hot, µs, a column a shape, and cuDNN in its faster"
        " layout; a dash is a shape that the rung refuses, with a reason."
    )
    yield ""
    yield "| rung | the one change | " + " | ".join(f"`{problem}`" for problem in problems) + " |"
    yield "|---" * (len(problems) + 2) + "|"

    def line(name, change, mine):
        best = [mine.where(problem=problem).best() for problem in problems]
        texts = ["–" if row is None else words.short(row.ns / 1e3) for row in best]
        return f"| {name} | {change} | " + " | ".join(texts) + " |"

    for rung in dict.fromkeys(selection.rung_of(row) for row in steps):
        mine = results.Rows(row for row in steps if selection.rung_of(row) == rung)
        yield line(rung, next((row.labels["change"] for row in mine if "change" in row.labels), ""), mine)
    rival = results.Rows(row for row in rows if row.backend == "cudnn")
    if rival:
        yield line("cuDNN", "", rival)
