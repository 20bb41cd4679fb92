"""Figures of networks: the layers of a pass, and images per second by batch."""

from results import size_of
from selection import batch_rows, batches_of_layers, candidate, parts_of_network, way_of
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


MAX_PANELS, MAX_BARS = 12, 12  # of a figure: parts of the network, and ways to compute each


def _choices(panels_of, name, title, caption):
    """Bars across, a panel a title: the fastest first, the chosen one in another colour."""
    if not panels_of:
        return None
    max_rows = max(len(mine) for mine in panels_of.values())
    figure, flat = panels(len(panels_of), width=12, height=0.9 + 0.34 * max_rows, columns=2, share=False)
    for axes, (heading, mine) in zip(flat, panels_of.items()):
        best = min(row.ns for row in mine)
        for y, row in enumerate(mine):
            marks = ["chosen"] * (row.get("chosen") is True) + ["fastest"] * (row.ns == best)
            text = ", ".join([time_text(row.ns), *marks])
            bar(axes, y, row.ns / 1e3, 0.66, 1 if "chosen" in marks else 0, text, across=True, label=None)
        bars_across(axes, [way_of(row) for row in mine], fontsize=8)
        axes.set(title=heading, xlabel="time, µs")
        axes.set_xlim(0, 1.8 * max(row.ns for row in mine) / 1e3)
    return drawing(name, title, figure, caption)


def ways(rows):
    """Of `lenslet tune`: the time of each way to compute a part of the network, a panel a part."""
    parts = parts_of_network(rows)
    shown = {name: some[:MAX_BARS] for name, some in list(parts.items())[:MAX_PANELS]}
    caption = "Median time of each way to compute layers, the fastest first. A + joins what one kernel computes."
    if len(parts) > MAX_PANELS or any(len(some) > MAX_BARS for some in parts.values()):
        caption += f" At most {MAX_PANELS} parts and {MAX_BARS} ways of each; all are in the table of all rows."
    return _choices(shown, "ways", "The ways to compute each layer", caption)


def plans(rows):
    """Of `lenslet tune`: the time of each plan for the whole network, a panel a batch."""
    found = rows.where(table="plans").drawn.by("batch")
    shown = {f"batch {batch}": sorted(some, key=lambda row: row.ns) for batch, some in found.items()}
    caption = "Median time of a pass by each plan, the fastest first."
    return _choices(shown, "plans", "The plans of a pass", caption)


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
