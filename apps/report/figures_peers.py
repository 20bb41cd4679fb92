"""The figure of LeNet-5 by other frameworks, from peers.json of apps/peers/lenet5_peers.py."""

from style import legend_below, line_style, log_axis, one_panel


def by_batch(document):
    """Images a second by batch, one line a side, math mode and layout."""
    figure, axes = one_panel(9.6, 5.5)
    lines = {}
    for row in document["rows"]:
        if row["status"] == "PASSED" and row["device"] == "cuda":
            key = (row["side"], row["math"], row.get("layout"), row["input"])
            lines.setdefault(key, {})[row["batch"]] = row["images_per_s"]
    for index, ((side, math, layout, read), points) in enumerate(lines.items()):
        ours = side.startswith("Lenslet")
        words = [side, math] + ["channels last"] * (layout == "NHWC") + ["bytes in"] * (read == "uint8")
        look = {**line_style(index), "linewidth": 2 if ours else 1, "linestyle": "-" if ours else "--"}
        axes.plot(*zip(*sorted(points.items())), label=", ".join(words), **look)
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="batch", ylabel="images/s")
    axes.set_title(f"LeNet-5 on {document['devices'][0]['name']}, input on the device")
    legend_below(figure, [axes], columns=3)
    return figure
