"""Figures of networks: the layers of a pass, and images per second by batch."""

from results import size_of
from selection import batch_rows, batches_of_layers, candidate
from style import bar, bars_across, drawing, legend_below, log_axis, one_panel, panels, series
from words import percent, time_text


def layers(rows):
    """Of `lenslet profile`: the time of each layer, one panel a batch."""
    found = batches_of_layers(rows)
    if not found:
        return None
    max_rows = max(len(mine) for mine, _ in found.values())
    figure, flat = panels(len(found), height=0.9 + 0.34 * max_rows, share=False)
    for axes, (batch, (mine, whole)) in zip(flat, found.items()):
        for y, row in enumerate(mine):
            share = f", {percent(row.ceiling_fraction)}" if row.ceiling_fraction else ""
            bar(axes, y, row.ns / 1e3, 0.66, 0, f"{time_text(row.ns)}{share}", across=True, label=None)
        bars_across(axes, [row.text("name") for row in mine])
        total = f": {time_text(whole.ns)}" if whole else ""
        axes.set(title=f"batch {int(size_of(batch) or 0):,}{total}", xlabel="time, µs")
        axes.set_xlim(0, 1.6 * max(row.ns for row in mine) / 1e3)
    caption = (
        "Median time of each layer within a whole pass, hot, and its share of the nearest ceiling. The heading is a"
        " pass without events between the layers."
    )
    return drawing("layers", "The layers of a pass", figure, caption)


def rates(rows):
    """Of `lenslet bench`: images per second by batch, the best input and output of each backend and math mode."""
    rows = batch_rows(rows)
    names = list(rows.by(candidate))
    if not names:
        return None
    figure, axes = one_panel(8.4, 4.2)
    for name, style in series(names).items():
        mine = rows.by(candidate)[name].by(lambda row: size_of(row.labels["batch"]))
        points = sorted((batch, max(row.number("images_per_s") for row in some)) for batch, some in mine.items())
        axes.plot(*zip(*points), label=name, **style)
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="images in a batch", ylabel="images/s")
    legend_below(figure, [axes])
    caption = (
        "Input and output on the device; of fp32 and byte input, logits and predictions the faster. Both axes are"
        " logarithmic."
    )
    return drawing("rates", "Images per second by batch", figure, caption)
