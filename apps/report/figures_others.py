"""Figures of filtered pictures, of 1D and 2D convolutions, and of single measurements."""

from results import Rows
from selection import labelled_candidate, single_rows, title_of
from style import DOTTED, bar, drawing, legend_below, log_axis, one_panel, panels, series, size_panels
from words import per_second


def picture_filter(rows):
    """GFLOP/s against size, one panel per stride, with copies as in the study and without."""
    table = rows.where(table="filter").prefer("hot")
    titles = {stride: f"stride {stride}" for stride in table.drawn.values("stride")}
    for name, title, caption, rate, printed in (
        (
            "filter-with-copies",
            "copies included",
            "From page-locked host memory and back, as the study counts: the bus is most of it.",
            lambda row: row.end_to_end_gflops,
            lambda row: row.published_gflops,
        ),
        (
            "filter-kernel",
            "kernel alone",
            "The same convolutions with the picture on the device already.",
            lambda row: row.gflops,
            lambda row: None,
        ),
    ):
        if titles and any(rate(row) for row in table.drawn):
            figure, _ = size_panels(
                table,
                "stride",
                titles,
                "backend",
                series(table.drawn.backends()),
                rate,
                printed,
                best=max,
                xlabel="picture height and width",
                ylabel="GFLOP/s",
            )
            title = f"Filtering a picture: rate by size, {title}"
            yield drawing(name, title, figure, f"{caption} Both axes are logarithmic.")


def stencil(rows, ceiling):
    """Effective bandwidth by variant and boundary, a panel for 1D and one for 2D."""
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
        axes.set(title=f"{dimension}D", xlabel="boundary")
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
        return (title_of(row), row.text("problem"))

    table = single_rows(rows)
    subjects = list(table.by(subject))
    if not subjects:
        return None
    left_out = max(0, len(subjects) - 24)
    subjects = subjects[:24]
    kept = Rows(row for row in table if subject(row) in subjects)
    names = list(kept.by(labelled_candidate))
    styles = series(names)
    figure, axes = one_panel(8.4, 1.0 + 0.36 * len(subjects))
    for row in kept:
        name = labelled_candidate(row)
        y = subjects.index(subject(row)) + 0.6 * ((names.index(name) + 0.5) / len(names) - 0.5)
        spread = [(row.p10 or row.ns) / 1e3, (row.p90 or row.ns) / 1e3]
        axes.plot(spread, [y, y], color=styles[name]["color"], linewidth=1.4)
        axes.plot([row.ns / 1e3], [y], linestyle="none", label=name, **styles[name])
    titles = [title for title, _ in subjects]
    # Two problems of one title are written in full.
    clear = [title if titles.count(title) == 1 else f"{title} {problem}" for title, problem in subjects]
    axes.set_yticks(range(len(subjects)), clear, fontsize=8.5)
    axes.set_ylim(len(subjects) - 0.5, -0.5)
    log_axis(axes.xaxis)
    axes.set_xlabel("time, µs (logarithmic)")
    legend_below(figure, [axes], columns=5)
    rest = f" The first 24 problems; {left_out} more are in the table of all rows." if left_out else ""
    caption = f"Median, and the line from the 10th to the 90th percentile; hot caches where both were measured.{rest}"
    return drawing("singles", "Measurements one by one", figure, caption)
