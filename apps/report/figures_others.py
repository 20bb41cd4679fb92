"""Figures of studies C and E, and of single measurements."""

from drawing import Drawing
from results import Rows
from selection import contender
from style import (
    BACK,
    HATCHES,
    INK,
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
from words import per_second, shape


def picture_filter(rows):
    """Study C: GFLOP/s against size, a panel a stride, with copies as the study counted and without."""
    table = rows.where(table="filter").prefer("hot")
    strides = table.drawn.values("stride")
    for with_copies in (True, False):
        rate = (lambda row: row.end_to_end_gflops) if with_copies else (lambda row: row.gflops)
        if not strides or not any(rate(row) for row in table.drawn):
            continue
        styles = series(table.drawn.backends())
        figure, flat = panels(len(strides))
        published = False
        for axes, stride in zip(flat, strides):
            mine = table.where(stride=stride)
            for name, style in styles.items():
                ours = {}
                for row in mine.where(backend=name).drawn:
                    if rate(row) and row.size:
                        size = row.size
                        ours[size] = max(ours.get(size, 0), rate(row))
                if ours:
                    axes.plot(*zip(*sorted(ours.items())), label=name, **style)
                theirs = (
                    {
                        row.size: row.published_gflops
                        for row in mine.where(backend=name)
                        if row.published_gflops and row.size
                    }
                    if with_copies
                    else {}
                )
                if theirs:
                    published = True
                    axes.plot(*zip(*sorted(theirs.items())), **{**style, **PUBLISHED})
            log_axis(axes.xaxis, [float(s) for s in mine.sizes()], base=2)
            log_axis(axes.yaxis)
            axes.set(title=f"stride {stride}", xlabel="picture height and width")
        flat[0].set_ylabel("GFLOP/s")
        legend_below(figure, flat, extra=[published_key()] if published else [])
        name = "filter-with-copies" if with_copies else "filter-kernel"
        caption = (
            "From page-locked host memory and back, as the study counts: the bus is most of it."
            if with_copies
            else "The same convolutions with the picture on the device already."
        )
        yield Drawing(
            name,
            "Filtering a picture: rate by size, " + ("copies included" if with_copies else "kernel alone"),
            to_svg(figure, name),
            caption + " Both axes are logarithmic.",
        )


def stencil(rows, ceiling):
    """Study E: effective bandwidth by variant and boundary, a panel for 1D and one for 2D."""
    table = rows.where(table="stencil").prefer("hot")
    drawn = Rows(row for row in table.drawn if row.gbytes)
    dimensions = drawn.values("dimensions")
    if not dimensions:
        return None
    variants = drawn.values("filter")
    figure, flat = panels(len(dimensions), width=4.8 * max(2, len(dimensions)), height=3.4, share=False)
    for axes, dimension in zip(flat, dimensions):
        mine = drawn.where(dimensions=dimension)
        boundaries = mine.values("boundary")
        width = 0.8 / max(1, len(variants))
        for i, variant in enumerate(variants):
            for j, boundary in enumerate(boundaries):
                best = mine.where(filter=variant, boundary=boundary).best()
                if best:
                    position = j + width * (i - (len(variants) - 1) / 2)
                    axes.bar(
                        position,
                        best.gbytes,
                        width * 0.92,
                        color=colour(i),
                        hatch=HATCHES[i % len(HATCHES)],
                        edgecolor=BACK,
                        linewidth=0.5,
                        label=variant,
                    )
                    axes.text(
                        position,
                        best.gbytes,
                        f" {best.gbytes:,.0f}",
                        ha="center",
                        va="bottom",
                        fontsize=7.5,
                        color=INK,
                        rotation=90 if len(variants) > 3 else 0,
                    )
        if ceiling:
            axes.axhline(
                ceiling / 1e9,
                color=SOFT,
                linewidth=1.1,
                linestyle=(0, (1, 2)),
                label=f"copying, {per_second(ceiling, 'B/s')}",
            )
        axes.set_xticks(range(len(boundaries)), [f"{boundary}" for boundary in boundaries])
        axes.set(title=f"{dimension}D", xlabel="what lies beyond the edge")
        axes.grid(axis="x", visible=False)
        axes.set_ylim(0, 1.18 * max([row.gbytes for row in mine] + [(ceiling or 0) / 1e9]))
    flat[0].set_ylabel("effective bandwidth, GB/s")
    legend_below(figure, flat)
    caption = "Input and output once, over the median time, by where the filter lies or how the input is staged. Hot."
    if ceiling:
        caption += (
            " The dotted line is copying within the device's memory, measured in the same run; what fits a cache may"
            " pass it."
        )
    return Drawing("stencil", "1D and 2D convolution: effective bandwidth", to_svg(figure, "stencil"), caption)


def singles(rows):
    """Rows of no study: the spread of each measurement, by what it measures."""
    table = Rows(row for row in rows if not row.table).prefer("hot").drawn
    subjects = list(dict.fromkeys(row.text("problem") or row.text("name") for row in table))
    if not subjects:
        return None
    left_out = max(0, len(subjects) - 24)
    subjects = subjects[:24]
    kept = Rows(row for row in table if (row.text("problem") or row.text("name")) in subjects)
    names = list(dict.fromkeys(contender(row) for row in kept))
    styles = series(names)
    figure, axes = plt.subplots(figsize=(8.4, 1.0 + 0.36 * len(subjects)), constrained_layout=True)
    for row in kept:
        j = subjects.index(row.text("problem") or row.text("name"))
        name = contender(row)
        y = j + 0.6 * ((names.index(name) + 0.5) / len(names) - 0.5)
        low, high = row.p10 or row.ns, row.p90 or row.ns
        axes.plot([low / 1e3, high / 1e3], [y, y], color=styles[name]["color"], linewidth=1.4)
        axes.plot([row.ns / 1e3], [y], linestyle="none", label=name, **styles[name])
    titles = {
        row.text("problem") or row.text("name"): shape(row.text("problem")) if row.text("problem") else row.text("name")
        for row in kept
    }
    # Two problems may have one short name: then both are written out.
    clear = [titles[s] if list(titles.values()).count(titles[s]) == 1 else s for s in subjects]
    axes.set_yticks(range(len(subjects)), clear, fontsize=8.5)
    axes.set_ylim(len(subjects) - 0.5, -0.5)
    log_axis(axes.xaxis)
    axes.set_xlabel("time, µs (logarithmic): median, and the line from the 10th to the 90th percentile")
    legend_below(figure, [axes], columns=5)
    return Drawing(
        "singles",
        "Measurements one by one",
        to_svg(figure, "singles"),
        "Hot caches where both were measured."
        + (f" The first 24 problems; {left_out} more are in the table of all rows." if left_out else ""),
    )
