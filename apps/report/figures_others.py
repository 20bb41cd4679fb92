"""Figures of studies C and E, of single measurements, and the roofline of everything."""

from results import Rows
from selection import candidate
from style import BACK, DOTTED, SOFT, bar, drawing, legend_below, log_axis, one_panel, panels, series, size_panels
from words import per_second, shape


def picture_filter(rows):
    """Study C: GFLOP/s against size, one panel per stride, with copies as in the study and without."""
    table = rows.where(table="filter").prefer("hot")
    titles = {stride: f"stride {stride}" for stride in table.drawn.values("stride")}
    for name, title, caption, rate, printed in (
        ("filter-with-copies", "copies included",
         "From page-locked host memory and back, as the study counts: the bus is most of it.",
         lambda row: row.end_to_end_gflops, lambda row: row.published_gflops),
        ("filter-kernel", "kernel alone", "The same convolutions with the picture on the device already.",
         lambda row: row.gflops, lambda row: None),
    ):
        if titles and any(rate(row) for row in table.drawn):
            figure, _ = size_panels(table, "stride", titles, "backend", series(table.drawn.backends()), rate, printed,
                                    best=max, xlabel="picture height and width", ylabel="GFLOP/s")
            title = f"Filtering a picture: rate by size, {title}"
            yield drawing(name, title, figure, f"{caption} Both axes are logarithmic.")


def stencil(rows, ceiling):
    """Study E: effective bandwidth by variant and boundary, a panel for 1D and one for 2D."""
    drawn = Rows(row for row in rows.where(table="stencil").prefer("hot").drawn if row.gbytes)
    dimensions = drawn.values("dimensions")
    if not dimensions:
        return None
    variants = drawn.values("filter")
    width = 0.8 / max(1, len(variants))
    figure, flat = panels(len(dimensions), width=4.8 * max(2, len(dimensions)), height=3.4, share=False)
    for axes, dimension in zip(flat, dimensions):
        mine = drawn.where(dimensions=dimension)
        boundaries = mine.values("boundary")
        for i, variant in enumerate(variants):
            for j, boundary in enumerate(boundaries):
                best = mine.where(filter=variant, boundary=boundary).best()
                if best:
                    at, rate = j + width * (i - (len(variants) - 1) / 2), best.gbytes
                    bar(axes, at, rate, width * 0.92, i, label=variant)
                    turned = {"fontsize": 7.5, "rotation": 90 if len(variants) > 3 else 0}
                    axes.text(at, rate, f" {rate:,.0f}", ha="center", va="bottom", **turned)
        if ceiling:
            axes.axhline(ceiling / 1e9, **DOTTED, label=f"copying, {per_second(ceiling, 'B/s')}")
        axes.set_xticks(range(len(boundaries)), boundaries)
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
    return drawing("stencil", "1D and 2D convolution: effective bandwidth", figure, caption)


def singles(rows):
    """Rows outside the studies: the spread of each measurement."""

    def subject(row):
        return row.text("problem") or row.text("name")

    table = rows.where(table="").prefer("hot").drawn
    subjects = list(table.by(subject))
    if not subjects:
        return None
    left_out = max(0, len(subjects) - 24)
    subjects = subjects[:24]
    kept = Rows(row for row in table if subject(row) in subjects)
    names = list(kept.by(candidate))
    styles = series(names)
    figure, axes = one_panel(8.4, 1.0 + 0.36 * len(subjects))
    for row in kept:
        name = candidate(row)
        y = subjects.index(subject(row)) + 0.6 * ((names.index(name) + 0.5) / len(names) - 0.5)
        spread = [(row.p10 or row.ns) / 1e3, (row.p90 or row.ns) / 1e3]
        axes.plot(spread, [y, y], color=styles[name]["color"], linewidth=1.4)
        axes.plot([row.ns / 1e3], [y], linestyle="none", label=name, **styles[name])
    titles = {subject(row): shape(row.text("problem")) if row.text("problem") else row.text("name") for row in kept}
    # If two problems share a short name, both are written in full.
    clear = [titles[s] if list(titles.values()).count(titles[s]) == 1 else s for s in subjects]
    axes.set_yticks(range(len(subjects)), clear, fontsize=8.5)
    axes.set_ylim(len(subjects) - 0.5, -0.5)
    log_axis(axes.xaxis)
    axes.set_xlabel("time, µs (logarithmic): median, and the line from the 10th to the 90th percentile")
    legend_below(figure, [axes], columns=5)
    rest = f" The first 24 problems; {left_out} more are in the table of all rows." if left_out else ""
    return drawing("singles", "Measurements one by one", figure, "Hot caches where both were measured." + rest)


def _kind(row):
    """The group of a point in the roofline."""
    tables = {"gemm_memory": "matrix product", "gemm_partition": "matrix product", "stencil": "stencil"}
    return tables.get(row.table) or ("separable block" if " + " in row.backend else row.family or "other")


def roofline(group):
    """Every measurement against the ceilings of the run."""
    # A ladder's first row is the CPU's, with other ceilings.
    hot = group.rows.where(cache="hot").drawn
    rows = Rows(row for row in hot if row.flops and row.bytes and row.labels.get("rung") != "cpu")
    copy, peaks = group.ceiling("copy_bytes_per_s"), [(math, group.peak(math)) for math in ("fp32", "tf32", "fp16")]
    roofs = [(f"{math} {peak[1]}", peak[0]) for math, peak in peaks if peak]
    if not rows or not (copy or roofs):
        return None
    figure, axes = one_panel(9.0, 4.6)
    intensity = [row.flops / row.bytes for row in rows]
    low, high = min(intensity) / 2, max(max(intensity) * 2, 200)
    line, note = {"color": SOFT, "linewidth": 1.3}, {"textcoords": "offset points", "fontsize": 8.5, "color": SOFT}
    if copy:
        end = min(high, max(value for _, value in roofs) / copy) if roofs else high
        axes.plot([low, end], [low * copy / 1e9, end * copy / 1e9], **line)
        axes.annotate(f"copy {per_second(copy, 'B/s')}", (low, low * copy / 1e9), xytext=(10, -3), **note, va="top")
    for name, value in roofs:
        axes.plot([max(low, value / copy) if copy else low, high], [value / 1e9] * 2, **line)
        axes.annotate(f"{name} {per_second(value, 'FLOP/s')}", (high, value / 1e9), xytext=(-2, 3), **note, ha="right")
    kinds = rows.by(_kind)
    for name, style in series(kinds).items():
        label = name
        for exact, some in sorted(kinds[name].by(lambda row: row.text("math") in ("", "fp32")).items(), reverse=True):
            points = [row.flops / row.bytes for row in some], [row.gflops for row in some]
            fill = style["color"] if exact else BACK
            axes.plot(*points, **style, linestyle="none", markersize=4.5, markerfacecolor=fill, alpha=0.8,
                      markeredgewidth=0.8, label=label)
            label = None
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="operations for each byte of input, weights and output", ylabel="GFLOP/s")
    legend_below(figure, [axes], columns=6)
    caption = (
        f"One point a measurement with hot caches ({len(rows)} of them), filled for fp32 and hollow for tf32 and fp16,"
        " under what the machine did at best in the same run. What fits a cache may lie above the copy line;"
        " Winograd's effective rate may lie above its roof."
    )
    return drawing("roofline", "Roofline", figure, caption)
