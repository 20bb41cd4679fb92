"""Figures of study A: one RGB image by size and stride, and matrix products by memory, tile, partition and block."""

import math

from results import Rows, geometric_mean
from selection import FP32, heat_axes, heat_cells
from style import (
    LINES,
    SOFT,
    bar,
    drawing,
    legend_below,
    line_style,
    log_axis,
    one_panel,
    panels,
    plt,
    series,
    size_panels,
    with_printed,
)
from words import short

USUAL = ("direct", "im2col_gemm", "cudnn")


def milliseconds(row):
    return row.ns / 1e6


def printed_milliseconds(row):
    return row.published_ns / 1e6 if row.published_ns else None


def _shade(ratio, strongest):
    """A colour that grows with the distance from 1, blue for faster and orange for slower, and its text colour."""
    full = (0.0, 0.36, 0.62) if ratio >= 1 else (0.75, 0.30, 0.0)
    strength = 0.12 + 0.88 * min(1.0, abs(math.log(ratio)) / max(math.log(strongest), 1e-9))
    mixed = tuple(1 - strength * (1 - channel) for channel in full)
    luminance = 0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]
    return mixed, "#000000" if luminance > 0.45 else "#ffffff"


def heat_map(rows):
    cells = heat_cells(rows)
    if not cells:
        return None
    columns, sizes = heat_axes(cells)
    strongest = max(max(cells.values()), 1 / min(cells.values()), 2)
    figure, axes = one_panel(1.6 + 1.1 * len(columns), 0.9 + 0.52 * len(sizes))
    for i, (k, stride) in enumerate(columns):
        for j, size in enumerate(sizes):
            ratio = cells.get((k, stride, size))
            shade, ink = _shade(ratio, strongest) if ratio else ("none", SOFT)
            axes.add_patch(plt.Rectangle((i, j), 0.96, 0.94, facecolor=shade, edgecolor=LINES, linewidth=0.5))
            text = f"×{short(ratio)}" if ratio else "no time"
            axes.text(i + 0.48, j + 0.47, text, ha="center", va="center", color=ink, fontsize=10)
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
    return drawing("rgb-ratio", "How many times as fast as cuDNN", figure, caption)


def by_size(rows):
    """Time against size for each number of filters, one panel per stride."""
    table = rows.where(table="rgb", math=FP32).prefer("hot")
    for k in table.values("out_channels"):
        some = table.where(out_channels=k)
        titles = {stride: f"stride {stride}" for stride in some.drawn.values("stride")}
        if not titles:
            continue
        styles = series(sorted(some.drawn.backends(), key=lambda name: (name not in USUAL, name)))
        figure, printed = size_panels(
            some,
            "stride",
            titles,
            "backend",
            styles,
            milliseconds,
            printed_milliseconds,
            xlabel="image height and width",
            ylabel="time, ms",
        )
        caption = (
            "Kernel time of one image with hot caches, each backend in its faster layout. Both axes are logarithmic."
        )
        if printed:
            caption += (
                " The dashed lines are another GPU of another year: they show the shape alone. The study does"
                " not state its number of filters."
            )
        yield drawing(f"rgb-by-size-k{k}", f"3×3 convolution of an RGB image, K = {k}: time by size", figure, caption)


def _relative(rows, names, time):
    """{backend: {stride: time over the time at stride 1}}."""
    found = {}
    for name in names:
        timed = Rows(row for row in rows.where(backend=name) if time(row))
        times = {stride: min(map(time, some)) for stride, some in timed.by("stride").items() if stride}
        if "1" in times:
            found[name] = {stride: value / times["1"] for stride, value in times.items()}
    return found


def by_stride(rows):
    """Time by stride over the time at stride 1, today's beside the study's: the artefact of its im2col."""
    table = rows.where(table="rgb", math=FP32).prefer("hot")
    sizes, ks = table.drawn.sizes(), table.values("out_channels")
    ks = [k for k in ks if any(row.published_ns for row in table.where(out_channels=k))] or ks
    if not sizes or not ks:
        return None
    some = table.where(size=sizes[-1], out_channels=ks[-1])
    names = [name for name in USUAL if name in some.backends()]
    sides = {
        "today": _relative(some.drawn, names, lambda row: row.ns),
        "as published": _relative(some, names, lambda row: row.published_ns),
    }
    sides = {title: relative for title, relative in sides.items() if relative}
    strides = some.values("stride")
    if not sides or len(strides) < 2:
        return None
    figure, flat = panels(len(sides), width=4.6 * len(sides), height=3.2)
    for axes, (title, relative) in zip(flat, sides.items()):
        for i, stride in enumerate(strides):
            for j, value in enumerate(found.get(stride) for found in relative.values()):
                if value is not None:
                    label = f"stride {stride}" if j == 0 else None
                    bar(axes, j + 0.26 * (i - 1), value, 0.24, i, text=f"{value:.2f}", label=label)
        axes.set_xticks(range(len(relative)), list(relative))
        axes.set(title=title)
        axes.grid(axis="x", visible=False)
    flat[0].set_ylabel("time over that at stride 1")
    legend_below(figure, flat)
    caption = (
        f"Size {sizes[-1]}, K = {ks[-1]}. At stride 2 a quarter of the outputs remains, at stride 3 a ninth, so every"
        " algorithm must get faster. The study's im2col + GEMM did not: an artefact, it did the work of stride 1 at"
        " every stride."
    )
    return drawing("rgb-by-stride", "What a stride saves", figure, caption)


def _product_by_size(some, panel, line, name, title, caption):
    """One panel per memory or partition, one line per tile or block."""
    titles = {
        value: f"{panel}: {value}"
        for value in some.values(panel)
        if any(row.drawn and line in row.labels or row.published_ns for row in some.where(**{panel: value}))
    }
    if not some.drawn or not titles or not some.sizes():
        return None
    styles = {value: line_style(i) for i, value in enumerate(some.values(line))}
    figure, _ = size_panels(
        some,
        panel,
        titles,
        line,
        styles,
        milliseconds,
        printed_milliseconds,
        labels=lambda value: f"{line} {value}",
        xlabel="matrix height and width",
        ylabel="time, ms",
        reference=some.drawn.where(**{panel: "cublas"}),
    )
    return drawing(name, title, figure, caption)


def _product_by_edge(some, line, edge, name, title):
    """Time against the edge of tile or block at the largest size, one line per memory mode or partition."""
    sizes = some.drawn.sizes()
    some = some.where(size=sizes[-1]) if sizes else some
    edges = some.values(edge)
    if not sizes or not edges:
        return None
    figure, axes = one_panel(6.2, 3.4)
    dashed = False
    for i, value in enumerate(some.values(line)):
        mine = [row for row in some.where(**{line: value}) if edge in row.labels]
        ours = {edges.index(row.labels[edge]): milliseconds(row) for row in mine if row.drawn}
        theirs = {edges.index(row.labels[edge]): printed_milliseconds(row) for row in mine if row.published_ns}
        dashed |= with_printed(axes, ours, theirs, value, line_style(i))
    vendor = some.where(**{line: "cublas"}).best()
    if vendor:
        axes.axhline(milliseconds(vendor), color=SOFT, linewidth=1.2, label="cuBLAS")
    axes.set_xticks(range(len(edges)), edges)
    axes.set(xlabel=f"edge of the {edge}", ylabel="time, ms")
    axes.margins(x=0.15)
    log_axis(axes.yaxis)
    legend_below(figure, [axes], printed=dashed)
    reasons = sorted({row.no_figure() for row in some if row.no_figure()})
    without = f" Without a time today: {'; '.join(reasons[:2])}." if reasons else ""
    return drawing(name, title, figure, f"Matrices of {sizes[-1]} × {sizes[-1]}, hot; logarithmic.{without}")


# The study's two tables: name, what a line is, what a column is, the figure's text.
PRODUCTS = (
    (
        "gemm_memory",
        "memory",
        "tile",
        "Where the operands of the inner loop come from, by the edge of the square tile; hot caches, both axes"
        " logarithmic.",
    ),
    (
        "gemm_partition",
        "partition",
        "block",
        "What one thread computes: a row of the product, a column or an element. The study's element with block 64"
        " needs 64 × 64 = 4,096 threads per block, more than any GPU launches: its times are an artefact, those of a"
        " kernel that never ran.",
    ),
)


def products(rows):
    """Lines by size, and by tile or block, for both tables."""
    for table, line, edge, caption in PRODUCTS:
        some, name = rows.where(table=table).prefer("hot"), table.replace("_", "-")
        yield _product_by_size(some, line, edge, name, f"Matrix product by {line} and {edge}", caption)
        yield _product_by_edge(some, line, edge, f"{name}-by-{edge}", f"The same by {edge}, at the largest size")


def artefacts(rows):
    """The study's two artefacts in words, if this run has the rows that show them."""
    partition = rows.where(table="gemm_partition", partition="element", block="64")
    if partition:
        printed = [row.published_ns / 1e3 for row in partition if row.published_ns]
        reason = next((row.no_figure() for row in partition if row.no_figure()), "")
        times = ""
        if printed:
            lowest, highest = short(min(printed)), short(max(printed))
            times = f" It printed {lowest} to {highest} µs, at any size the cost of a refused launch."
        yield (
            "A kernel that never ran.",
            "Partition by element with block 64 is 64 × 64 = 4,096 threads per block; no GPU launches more than 1,024."
            " The study did not read the launch's error and took its time."
            + times
            + (f" Here: {reason}." if reason else ""),
        )
    table = rows.where(table="rgb", backend="im2col_gemm", math=FP32).prefer("hot")

    def third_stride(time):
        """Time at stride 3 over that at stride 1, the mean of all sizes; None where nothing has both."""
        ratios = []
        for k in table.values("out_channels"):
            for size in table.sizes():
                mine = table.where(out_channels=k, size=size)
                one, three = (next((time(row) for row in mine.where(stride=s) if time(row)), None) for s in ("1", "3"))
                ratios += [three / one] if one and three else []
        return geometric_mean(ratios)

    theirs, ours = third_stride(lambda row: row.published_ns), third_stride(lambda row: row.ns if row.drawn else None)
    if theirs:
        yield (
            "Work that the stride should have saved.",
            f"im2col + GEMM at stride 3 has a ninth of the outputs of stride 1, and the study's took {theirs:.0%} of"
            " the time of stride 1 (geometric mean over its sizes): it did the work of stride 1 at every stride."
            + (f" Here it takes {ours:.0%}." if ours else ""),
        )
