"""Figures of study A's matrix products: by memory and tile, by partition and block."""

from drawing import Drawing
from style import (
    MARKERS,
    PUBLISHED,
    SOFT,
    colour,
    legend_below,
    log_axis,
    panels,
    plt,
    published_key,
    to_svg,
)


def _block_lines(rows, table, panel_label, series_label, name, title, caption):
    some = rows.where(table=table).prefer("hot")
    panel_values = [
        value
        for value in some.values(panel_label)
        if some.where(**{panel_label: value}).drawn.values(series_label)
        or any(row.published_ns for row in some.where(**{panel_label: value}))
    ]
    blocks = some.values(series_label)
    sizes = some.sizes()
    if not some.drawn or not panel_values or not sizes:
        return None
    styles = {block: {"color": colour(i), "marker": MARKERS[i % len(MARKERS)]} for i, block in enumerate(blocks)}
    figure, flat = panels(len(panel_values))
    published = False
    reference = some.drawn.where(**{panel_label: "cublas"})
    for axes, value in zip(flat, panel_values):
        mine = some.where(**{panel_label: value})
        for block, style in styles.items():
            ours = sorted(
                (row.size, row.ns / 1e6)
                for row in mine.where(**{series_label: block}).drawn
                if row.size
            )
            theirs = sorted(
                (row.size, row.published_ns / 1e6)
                for row in mine.where(**{series_label: block})
                if row.published_ns and row.size
            )
            if ours:
                axes.plot(*zip(*ours), label=f"{series_label} {block}", **style)
            if theirs:
                published = True
                axes.plot(*zip(*theirs), **{**style, **PUBLISHED})
        if reference:
            axes.plot(
                *zip(*sorted((row.size, row.ns / 1e6) for row in reference if row.size)),
                color=SOFT,
                linewidth=1.2,
                label="cuBLAS",
            )
        log_axis(axes.xaxis, [float(s) for s in sizes], base=2)
        log_axis(axes.yaxis)
        axes.set(title=f"{panel_label}: {value}", xlabel="matrix height and width")
    flat[0].set_ylabel("time, ms")
    legend_below(figure, flat, extra=[published_key()] if published else [])
    return Drawing(name, title, to_svg(figure, name), caption)


def _by_block(rows, table, line_label, block_label, name, title):
    """Time against the edge of tile or block at the largest size, one line a memory mode or partition."""
    some = rows.where(table=table).prefer("hot")
    sizes = some.drawn.sizes()
    if not sizes:
        return None
    some = some.where(size=sizes[-1])
    lines, blocks = some.values(line_label), some.values(block_label)
    if not blocks:
        return None
    figure, axes = plt.subplots(figsize=(6.2, 3.4), constrained_layout=True)
    published = False
    for i, line in enumerate(lines):
        style = {"color": colour(i), "marker": MARKERS[i % len(MARKERS)]}
        mine = some.where(**{line_label: line})
        ours = [
            (blocks.index(row.labels[block_label]), row.ns / 1e6) for row in mine.drawn if block_label in row.labels
        ]
        theirs = [
            (blocks.index(row.labels[block_label]), row.published_ns / 1e6)
            for row in mine
            if row.published_ns and block_label in row.labels
        ]
        if ours:
            axes.plot(*zip(*sorted(ours)), label=line, **style)
        if theirs:
            published = True
            axes.plot(*zip(*sorted(theirs)), **{**style, **PUBLISHED})
    vendor = some.where(**{line_label: "cublas"}).best()
    if vendor:
        axes.axhline(vendor.ns / 1e6, color=SOFT, linewidth=1.2, label="cuBLAS")
    axes.set_xticks(range(len(blocks)), blocks)
    axes.set(xlabel=f"edge of the {block_label}", ylabel="time, ms")
    axes.margins(x=0.15)
    log_axis(axes.yaxis)
    legend_below(figure, [axes], extra=[published_key()] if published else [])
    reasons = sorted({row.no_figure() for row in some if row.no_figure()})
    caption = f"Matrices of {sizes[-1]} × {sizes[-1]}, hot; logarithmic." + (
        f" Without a time today: {'; '.join(reasons[:2])}." if reasons else ""
    )
    return Drawing(name, title, to_svg(figure, name), caption)


def gemm(rows):
    """Lines by size, and by tile or block, for both of the study's tables."""
    yield _block_lines(
        rows,
        "gemm_memory",
        "memory",
        "tile",
        "gemm-memory",
        "Matrix product by memory and tile",
        "Where the operands of the inner loop come from, by the edge of the square tile; hot caches, both axes"
        " logarithmic.",
    )
    yield _by_block(
        rows, "gemm_memory", "memory", "tile", "gemm-memory-by-tile", "The same by tile, at the largest size"
    )
    yield _block_lines(
        rows,
        "gemm_partition",
        "partition",
        "block",
        "gemm-partition",
        "Matrix product by partition and block",
        "What one thread computes: a row of the product, a column or an element. The study's element with block 64 asks"
        " for 64 × 64 = 4,096 threads a block, more than any card launches: its times are an artefact, those of a"
        " kernel that never ran.",
    )
    yield _by_block(
        rows,
        "gemm_partition",
        "partition",
        "block",
        "gemm-partition-by-block",
        "The same by block, at the largest size",
    )
