"""Figures of study A: one RGB image by size and stride."""

import math

from drawing import Drawing
from results import geometric_mean, natural
from selection import FP32, fastest, heat_cells
from style import (
    BACK,
    HATCHES,
    INK,
    LINES,
    PUBLISHED,
    SOFT,
    colour,
    legend_below,
    log_axis,
    panels,
    plt,
    published_key,
    series,
    to_svg,
)
from words import short


def _shade(ratio, strongest):
    """Stronger with the distance from 1: blue where faster, orange where slower. With the colour of its text."""
    full = (0.0, 0.36, 0.62) if ratio >= 1 else (0.75, 0.30, 0.0)
    strength = 0.12 + 0.88 * min(1.0, abs(math.log(ratio)) / max(math.log(strongest), 1e-9))
    mixed = tuple(1 - strength * (1 - channel) for channel in full)
    luminance = 0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]
    return mixed, "#000000" if luminance > 0.45 else "#ffffff"


def heat_map(rows):
    cells = heat_cells(rows)
    if not cells:
        return None
    columns = sorted({(k, stride) for k, stride, _ in cells}, key=lambda c: (natural(c[0]), natural(c[1])))
    sizes = sorted({size for _, _, size in cells}, key=natural)
    strongest = max(max(cells.values()), 1 / min(cells.values()), 2)
    figure, axes = plt.subplots(figsize=(1.6 + 1.1 * len(columns), 0.9 + 0.52 * len(sizes)), constrained_layout=True)
    for i, (k, stride) in enumerate(columns):
        for j, size in enumerate(sizes):
            ratio = cells.get((k, stride, size))
            shade, ink = _shade(ratio, strongest) if ratio else ("none", SOFT)
            axes.add_patch(plt.Rectangle((i, j), 0.96, 0.94, facecolor=shade, edgecolor=LINES, linewidth=0.5))
            axes.text(
                i + 0.48,
                j + 0.47,
                f"×{short(ratio)}" if ratio else "no time",
                ha="center",
                va="center",
                color=ink,
                fontsize=10,
            )
    axes.set(xlim=(0, len(columns)), ylim=(len(sizes), 0), ylabel="image height and width")
    axes.set_xticks([i + 0.48 for i in range(len(columns))], [f"K = {k}\nstride {stride}" for k, stride in columns])
    axes.set_yticks([j + 0.47 for j in range(len(sizes))], sizes)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    ahead = sum(ratio > 1 for ratio in cells.values())
    expected = len(columns) * len(sizes)
    missing = f" {expected - len(cells)} cells have no time." if expected > len(cells) else ""
    caption = (
        "direct against the fastest cuDNN fp32 time of the same run over NCHW and NHWC data, hot, kernel time. Above 1"
        f" direct is faster: in {ahead} of {len(cells)} cells, from ×{short(min(cells.values()))} to"
        f" ×{short(max(cells.values()))}.{missing}"
    )
    return Drawing("rgb-ratio", "How many times faster than cuDNN", to_svg(figure, "rgb-ratio"), caption)


def by_size(rows):
    """Time against size, a panel a stride: ours solid, the study's dashed. One figure for each number of filters."""
    table = rows.where(table="rgb", math=FP32).prefer("hot")
    for k in table.values("out_channels"):
        some = table.where(out_channels=k)
        strides = some.drawn.values("stride")
        if not strides:
            continue
        styles = series(sorted(some.drawn.backends(), key=lambda b: (b not in ("direct", "im2col_gemm", "cudnn"), b)))
        figure, flat = panels(len(strides))
        any_published = False
        for axes, stride in zip(flat, strides):
            mine = some.where(stride=stride)
            sizes = mine.drawn.sizes()
            for name, style in styles.items():
                best = [(float(s), fastest(mine.where(size=s).drawn).get(name)) for s in sizes]
                best = [(s, row) for s, row in best if row]
                axes.plot([s for s, _ in best], [row.ns / 1e6 for _, row in best], label=name, **style)
                theirs = {
                    row.size: row.published_ns / 1e6
                    for row in mine.where(backend=name)
                    if row.published_ns and row.size
                }
                if theirs:
                    any_published = True
                    axes.plot(*zip(*sorted(theirs.items())), **{**style, **PUBLISHED})
            log_axis(axes.xaxis, [float(s) for s in sizes], base=2)
            log_axis(axes.yaxis)
            axes.set(title=f"stride {stride}", xlabel="image height and width")
        flat[0].set_ylabel("time, ms")
        legend_below(figure, flat, extra=[published_key()] if any_published else [])
        name = f"rgb-by-size-k{k}"
        caption = (
            "Kernel time of one image with hot caches, each backend in its faster layout. Both axes are logarithmic."
            + (
                " The dashed lines are another card of another year: they show the shape, not a race. The study does"
                " not say how many filters it had."
                if any_published
                else ""
            )
        )
        yield Drawing(name, f"3×3 convolution of an RGB image, K = {k}: time by size", to_svg(figure, name), caption)


def _relative(rows, names, time):
    """{backend: {stride: time over the time at stride 1}}."""
    found = {}
    for name in names:
        times = {}
        for stride in rows.values("stride"):
            candidates = [time(row) for row in rows.where(backend=name, stride=stride) if time(row)]
            if candidates:
                times[stride] = min(candidates)
        if "1" in times:
            found[name] = {stride: value / times["1"] for stride, value in times.items()}
    return found


def by_stride(rows):
    """Time by stride over the time at stride 1, today's beside the study's: the artefact of its im2col."""
    table = rows.where(table="rgb", math=FP32).prefer("hot")
    sizes = table.drawn.sizes()
    ks = [
        k for k in table.values("out_channels") if any(row.published_ns for row in table.where(out_channels=k))
    ] or table.values("out_channels")
    if not sizes or not ks:
        return None
    size, k = sizes[-1], ks[-1]
    some = table.where(size=size, out_channels=k)
    names = [name for name in ("direct", "im2col_gemm", "cudnn") if name in some.backends()]
    sides = [
        ("today", _relative(some.drawn, names, lambda row: row.ns)),
        ("as published", _relative(some, names, lambda row: row.published_ns)),
    ]
    sides = [(title, relative) for title, relative in sides if relative]
    if not sides or len(some.values("stride")) < 2:
        return None
    strides = some.values("stride")
    figure, flat = panels(len(sides), width=4.6 * len(sides), height=3.2)
    for axes, (title, relative) in zip(flat, sides):
        for i, stride in enumerate(strides):
            for j, name in enumerate(relative):
                value = relative[name].get(stride)
                if value is None:
                    continue
                axes.bar(
                    j + 0.26 * (i - 1),
                    value,
                    0.24,
                    color=colour(i),
                    hatch=HATCHES[i],
                    edgecolor=BACK,
                    linewidth=0.5,
                    label=f"stride {stride}" if j == 0 else None,
                )
                axes.text(j + 0.26 * (i - 1), value, f"{value:.2f}", ha="center", va="bottom", fontsize=8, color=INK)
        axes.set_xticks(range(len(relative)), list(relative))
        axes.set(title=title)
        axes.grid(axis="x", visible=False)
    flat[0].set_ylabel("time over that at stride 1")
    legend_below(figure, flat)
    caption = (
        f"Size {size}, K = {k}. At stride 2 a quarter of the outputs remains, at stride 3 a ninth, so every algorithm"
        " must get faster. The study's im2col + GEMM did not: an artefact, it did the work of stride 1 at every"
        " stride."
    )
    return Drawing("rgb-by-stride", "What a stride saves", to_svg(figure, "rgb-by-stride"), caption)


def artefacts(rows):
    """The study's two artefacts in words, where this run has what shows them."""
    partition = rows.where(table="gemm_partition", partition="element", block="64")
    printed = [row for row in partition if row.published_ns]
    if partition:
        reason = next((row.no_figure() for row in partition if row.no_figure()), "")
        times = (
            f" It printed {short(min(r.published_ns for r in printed) / 1e3)} to"
            f" {short(max(r.published_ns for r in printed) / 1e3)} µs, at any size the cost of a refused launch."
            if printed
            else ""
        )
        yield (
            "A kernel that never ran.",
            "Partition by element with block 64 is 64 × 64 = 4,096 threads a block; no card launches more than 1,024."
            f" The study did not read the launch's error and took its time.{times}"
            + (f" Here: {reason}." if reason else ""),
        )
    table = rows.where(table="rgb", backend="im2col_gemm", math=FP32).prefer("hot")
    ratios = {"ours": [], "theirs": []}
    for k in table.values("out_channels"):
        for size in table.sizes():
            for side, time in (
                ("ours", lambda row: row.ns if row.drawn else None),
                ("theirs", lambda row: row.published_ns),
            ):
                one, three = (
                    next((time(row) for row in table.where(out_channels=k, size=size, stride=s) if time(row)), None)
                    for s in ("1", "3")
                )
                if one and three:
                    ratios[side].append(three / one)
    if ratios["theirs"]:
        theirs, ours = geometric_mean(ratios["theirs"]), geometric_mean(ratios["ours"])
        yield (
            "Work that the stride should have saved.",
            f"im2col + GEMM at stride 3 has a ninth of the outputs of stride 1, and the study's took {theirs:.0%} of"
            " the time of stride 1 (geometric mean over its sizes): it did the work of stride 1 at every stride."
            + (f" Here it takes {ours:.0%}." if ours else ""),
        )
