"""The roofline: every measurement under the ceilings of its run."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from look import look
from results import Rows
from selection import MATH_MODES, title_of
from style import BACK, INK, SOFT, drawing, legend_below, log_axis, one_panel, series
from words import per_second

SHADE = {"facecolor": BACK, "edgecolor": "none", "alpha": 0.75, "pad": 0.6}  # behind a name, over points and lines
MAX_LABELLED = 14  # points; of more the fastest of each kind are labelled
# Where a name may stand, in points from its marker: at its corners, then further away, with a line to it.
PLACES = [(dx, dy) for far in (5, 16, 28, 40) for dy in (far - 2, -far - 4) for dx in (5, -5)]
NEAR = 9
MARK = 6  # a marker's size in pixels


def _kind(row):
    """The group of a point."""
    tables = {"gemm_memory": "matrix product", "gemm_partition": "matrix product", "stencil": "stencil"}
    return tables.get(row.table) or ("separable block" if " + " in row.backend else row.family or "other")


def _labelled(rows, kinds):
    """The points that get their name: all, or of each kind the one with the highest rate."""
    if len(rows) <= MAX_LABELLED:
        return rows
    return Rows(max(some, key=lambda row: row.gflops) for some in kinds.values())


def _write_names(figure, axes, rows):
    """Names beside the points. One that would cover a point, an earlier name or a ceiling's moves away from its own.

    Where no place is free, the name covers something.
    """
    canvas = FigureCanvasAgg(figure)  # SVG's canvas does not measure text
    canvas.draw()
    renderer = canvas.get_renderer()
    taken = [text.get_window_extent(renderer) for text in axes.texts]
    limits = axes.get_window_extent(renderer)
    points = axes.transData.transform([(row.flops / row.bytes, row.gflops) for row in rows])
    marks = {row: Bbox.from_bounds(*(point - MARK / 2), MARK, MARK) for row, point in zip(rows, points)}
    line = {"arrowstyle": "-", "color": SOFT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
    for row in sorted(rows, key=lambda row: -row.gflops):
        others = [mark for point, mark in marks.items() if point is not row]
        for dx, dy in PLACES:
            text = axes.annotate(
                title_of(row),
                (row.flops / row.bytes, row.gflops),
                xytext=(dx, dy),
                ha="left" if dx > 0 else "right",
                textcoords="offset points",
                fontsize=8,
                color=INK,
                bbox=SHADE,
                arrowprops=line if abs(dy) > NEAR else None,
            )
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)  # without the line
            inside = limits.x0 < box.x0 and box.x1 < limits.x1 and limits.y0 < box.y0 and box.y1 < limits.y1
            if (inside and not any(box.overlaps(other) for other in taken + others)) or (dx, dy) == PLACES[-1]:
                taken.append(box)
                break
            text.remove()


def roofline(group):
    # A ladder's first row is the CPU's, with other ceilings.
    hot = group.rows.where(cache="hot").drawn
    rows = Rows(row for row in hot if row.flops and row.bytes and row.labels.get("rung") != "cpu")
    peaks = [(math, group.peak(math)) for math in MATH_MODES]
    roofs = [(f"{math} {peak[1]}", peak[0]) for math, peak in peaks if peak]
    slopes = group.bandwidths()
    if not rows or not (slopes or roofs):
        return None
    figure, axes = one_panel(9.0, 4.8)
    intensity = [row.flops / row.bytes for row in rows]
    low, high = min(intensity) / 2, max(max(intensity) * 2, 200)
    line, note = {"color": SOFT, "linewidth": 1.3}, {"textcoords": "offset points", "fontsize": 8, "color": SOFT}
    top = max((value for _, value in roofs), default=None)
    if top and slopes:
        low = min(low, top / max(rate for _, rate in slopes) / 2)  # the slope of every cache is seen
    for i, (name, rate) in enumerate(slopes):
        end = min(high, top / rate) if top else high
        if end <= low:
            continue
        # The memory's line is solid, a cache's dashed.
        axes.plot([low, end], [low * rate / 1e9, end * rate / 1e9], **line, linestyle="-" if i == 0 else (0, (4, 2)))
        at = min(low * 1.3**i, end)  # one label beside another
        axes.annotate(f"{name} {per_second(rate, 'B/s')}", (at, at * rate / 1e9), xytext=(4, -2), **note, va="top")
    for name, value in roofs:
        start = max(low, value / max(rate for _, rate in slopes)) if slopes else low
        axes.plot([start, high], [value / 1e9] * 2, **line)
        axes.annotate(f"{name} {per_second(value, 'FLOP/s')}", (high, value / 1e9), xytext=(-2, 3), **note, ha="right")
    kinds = rows.by(_kind)
    for name, style in series(kinds).items():
        label = name
        for exact, some in sorted(kinds[name].by(lambda row: row.text("math") in ("", "fp32")).items(), reverse=True):
            points = [row.flops / row.bytes for row in some], [row.gflops for row in some]
            fill = style["color"] if exact else BACK
            axes.plot(
                *points,
                **style,
                linestyle="none",
                markersize=4.5,
                markerfacecolor=fill,
                alpha=0.8,
                markeredgewidth=0.8,
                label=label,
            )
            label = None
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(
        xlabel="operations per byte" if look.narrow else "operations for each byte of input, weights and output",
        ylabel="GFLOP/s",
    )
    legend_below(figure, [axes], columns=6)
    _write_names(figure, axes, _labelled(rows, kinds))
    which = "" if len(rows) <= MAX_LABELLED else " The fastest of each kind has its name."
    caption = (
        f"One point a measurement with hot caches ({len(rows)} of them), filled for fp32 and hollow for tf32 and fp16,"
        f" under what the machine did at best in the same run: memory, and dashed each cache.{which} Winograd's"
        " effective rate may lie above its roof."
    )
    return drawing("roofline", "Roofline", figure, caption)
