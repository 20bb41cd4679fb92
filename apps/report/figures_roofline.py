"""The roofline of everything that was measured."""

from drawing import Drawing
from results import Rows
from style import (
    BACK,
    SOFT,
    legend_below,
    log_axis,
    plt,
    series,
    to_svg,
)
from words import per_second


def roofline(group):
    """Every measurement against the ceilings of the run."""
    # A ladder's first row is the processor's, under other ceilings.
    rows = Rows(
        row
        for row in group.rows.where(cache="hot").drawn
        if row.flops and row.bytes and row.labels.get("rung") != "cpu"
    )
    copy, peaks = group.ceiling("copy_bytes_per_s"), [(math, group.peak(math)) for math in ("fp32", "tf32", "fp16")]
    roofs = [(f"{math} {peak[1]}", peak[0]) for math, peak in peaks if peak]
    if not rows or not (copy or roofs):
        return None
    figure, axes = plt.subplots(figsize=(9.0, 4.6), constrained_layout=True)
    intensity = [row.flops / row.bytes for row in rows]
    low, high = min(intensity) / 2, max(max(intensity) * 2, 200)
    top = max((value for _, value in roofs), default=None)
    if copy:
        end = min(high, top / copy) if top else high
        axes.plot([low, end], [low * copy / 1e9, end * copy / 1e9], color=SOFT, linewidth=1.3)
        axes.annotate(
            f"copy {per_second(copy, 'B/s')}",
            (low, low * copy / 1e9),
            xytext=(10, -3),
            textcoords="offset points",
            fontsize=8.5,
            color=SOFT,
            va="top",
        )
    for name, value in roofs:
        start = max(low, value / copy) if copy else low
        axes.plot([start, high], [value / 1e9] * 2, color=SOFT, linewidth=1.3)
        axes.annotate(
            f"{name} {per_second(value, 'FLOP/s')}",
            (high, value / 1e9),
            xytext=(-2, 3),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
            color=SOFT,
        )
    families = list(dict.fromkeys(_kind(row) for row in rows))
    styles = series(families)
    for name in families:
        mine = [row for row in rows if _kind(row) == name]
        for exact in (True, False):
            some = [row for row in mine if (row.text("math") in ("", "fp32")) == exact]
            if some:
                axes.plot(
                    [row.flops / row.bytes for row in some],
                    [row.gflops for row in some],
                    linestyle="none",
                    marker=styles[name]["marker"],
                    markersize=4.5,
                    color=styles[name]["color"],
                    markerfacecolor=styles[name]["color"] if exact else BACK,
                    alpha=0.8,
                    markeredgewidth=0.8,
                    label=name if exact or not any(r.text("math") in ("", "fp32") for r in mine) else None,
                )
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="operations for each byte of input, weights and output", ylabel="GFLOP/s")
    legend_below(figure, [axes], columns=6)
    caption = (
        f"One point a measurement with hot caches ({len(rows)} of them), filled for fp32 and hollow for tf32 and fp16,"
        " under what the machine did at best in the same run. What fits a cache may lie above the copy line;"
        " Winograd's effective rate may lie above its roof."
    )
    return Drawing("roofline", "Roofline", to_svg(figure, "roofline"), caption)


def _kind(row):
    """What a point of the roofline counts as."""
    tables = {"gemm_memory": "matrix product", "gemm_partition": "matrix product", "stencil": "stencil"}
    return tables.get(row.table) or ("separable block" if " + " in row.backend else row.family or "other")
