"""The figure of LeNet-5 by other frameworks, from peers.json of apps/peers/lenet5_peers.py."""

from selection import is_ours
from style import legend_below, line_style, log_axis, one_panel


def by_batch(document):
    """Images per second by batch, one line per side, math mode and layout."""
    figure, axes = one_panel(9.6, 5.5)
    lines = document.rows.where(status="PASSED", device="cuda").by("side", "math", "layout", "input")
    for index, ((side, math, layout, read), rows) in enumerate(lines.items()):
        words = [side, math] + ["channels last"] * (layout == "NHWC") + ["bytes in"] * (read == "uint8")
        look = {"linewidth": 2, "linestyle": "-"} if is_ours(rows[0]) else {"linewidth": 1, "linestyle": "--"}
        points = sorted((row["batch"], row["images_per_s"]) for row in rows)
        axes.plot(*zip(*points), label=", ".join(words), **line_style(index), **look)
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="batch", ylabel="images/s")
    axes.set_title(f"LeNet-5 on {document.device}, input on the device")
    legend_below(figure, [axes], columns=3)
    return figure
