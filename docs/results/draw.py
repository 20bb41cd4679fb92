#!/usr/bin/env python3
"""Draws the pictures that are not on the report's page: README's two, the peers', and the history of the headlines.

    python3 docs/results/draw.py docs/results/2026-11-27-h100

docs/pictures/lenet5.svg and profile.svg show the graph of LeNet-5 and where a pass goes, by the newest
profile-batch-10000.json and weights/lenet5.safetensors. lenet-peers.svg in the folder shows its peers.json,
docs/results/history.svg shows history.csv. Each names the SHA-256 of the file that it was drawn from. Needs matplotlib;
exit code 4 without it.
"""

import argparse
import re
import sys
from pathlib import Path

import common
import history

from results import load
from selection import layers

sys.path.insert(0, str(common.ROOT / "weights"))
try:
    import figures_peers
    import lenet5
    import style
except ModuleNotFoundError as error:
    print(f"draw: {error}: apt-get install python3-matplotlib", file=sys.stderr)
    sys.exit(4)
from matplotlib.patches import FancyArrowPatch, Rectangle

CONV, LINEAR, LEFT_OVER = style.colour(0), style.colour(1), style.colour(3)


def sizes(problem):
    """The numbers of a problem string: {"ic": 6, "ih": 12, …}."""
    return {name: int(value) for name, value in re.findall(r"(mb|ic|ih|oc|oh|kh)(\d+)", problem.split('n"')[0])}


def activations(document):
    """[(what computes it, [C, H, W] or [features])] from the image to the scores."""
    problems = {row["name"]: sizes(row["problem"]) for row in layers(document.rows) if row["problem"]}
    weights, _ = lenet5.load_safetensors(common.ROOT / "weights" / "lenet5.safetensors")
    conv1, conv2 = problems["conv1"], problems["conv2"]
    last = round((weights["fc1.weight"].shape[1] / conv2["oc"]) ** 0.5)

    def conv(name, p):
        return f"{name}\n{p['oc']} filters\n{p['kh']}×{p['kh']}, ReLU"

    def pool(name, before, after):
        return f"{name}\nmax {before // after}×{before // after}"

    steps = [
        ("", [conv1["ic"], conv1["ih"], conv1["ih"]]),
        (conv("conv1", conv1), [conv1["oc"], conv1["oh"], conv1["oh"]]),
        (pool("pool1", conv1["oh"], conv2["ih"]), [conv2["ic"], conv2["ih"], conv2["ih"]]),
        (conv("conv2", conv2), [conv2["oc"], conv2["oh"], conv2["oh"]]),
        (pool("pool2", conv2["oh"], last), [conv2["oc"], last, last]),
    ]
    linear = {"fc1": "\nReLU", "fc2": "\nReLU", "fc3": ""}
    return steps + [(f"{name}\nlinear{relu}", [len(weights[f"{name}.weight"])]) for name, relu in linear.items()]


def planes(axes, x, shape):
    """Feature maps as a pile of squares; returns the right edge."""
    channels, size = shape[0], 0.055 * shape[1]
    shift = min(0.075, 0.55 / channels)
    for i in range(channels):
        corner = (x + i * shift, -size / 2 - (channels - 1) * shift / 2 + i * shift)
        look = {"facecolor": style.BACK, "edgecolor": CONV, "linewidth": 0.9, "zorder": 9 - i / 99}
        axes.add_patch(Rectangle(corner, size, size, **look))
    return x + size + (channels - 1) * shift


def column(axes, x, features):
    """A vector of `features` numbers as a bar; returns the right edge."""
    height = 0.35 + 0.0125 * features
    axes.add_patch(Rectangle((x, -height / 2), 0.16, height, facecolor=style.BACK, edgecolor=LINEAR, linewidth=1.2))
    return x + 0.16


def graph(document):
    """The figure of LeNet-5's activations with their shapes, from the rows of a profile."""
    figure, axes = style.plt.subplots(figsize=(11, 2.9))
    x = 0.0
    for index, (operation, shape) in enumerate(activations(document)):
        if index > 0:
            look = {"arrowstyle": "-|>", "mutation_scale": 11, "color": style.SOFT}
            axes.add_patch(FancyArrowPatch((x + 0.06, 0), (x + 1.06, 0), **look))
            name, *rest = operation.split("\n")
            axes.text(x + 0.56, 0.1, name, ha="center", va="bottom", fontweight="bold")
            axes.text(x + 0.56, -0.1, "\n".join(rest), ha="center", va="top", fontsize=8, color=style.SOFT)
            x += 1.14
        right = planes(axes, x, shape) if len(shape) == 3 else column(axes, x, shape[0])
        axes.text((x + right) / 2, -1.42, "×".join(map(str, shape)), ha="center", va="top")
        x = right
    axes.text(0, 1.25, "image", ha="left", color=style.SOFT)
    axes.text(x, 1.25, "a score for each digit", ha="right", color=style.SOFT)
    axes.set(xlim=(-0.1, x + 0.1), ylim=(-1.75, 1.5), aspect="equal")
    axes.axis("off")
    return figure


def profile(document):
    """The figure of one pass: the time of each layer, in µs, and of the pass without events."""
    rows, sums = layers(document.rows), document["sums_ns"]
    figure, axes = style.plt.subplots(figsize=(9.6, 2.9))
    begin, events, whole = 0.0, sums["events"] / 1e3, sums["uninstrumented"] / 1e3

    def write(x, place, text, side, **more):
        axes.text(x, place, text, va="center", ha=side, fontsize=9, **more)

    for place, row in enumerate(rows):
        median = row.ns / 1e3
        axes.barh(place, median, left=begin, color=CONV if row["problem"] else LINEAR, height=0.62)
        text = f"{median:.1f} µs, {row['ceiling_fraction']:.0%} of the ceiling ({row['bound_by']})"
        if median > 0.4 * whole:
            write(begin + median / 2, place, text, "center", color=style.BACK)
        elif begin > 0.4 * whole:
            write(begin - 2, place, text, "right")
        else:
            write(begin + median + 2, place, text, "left")
        begin += median
    axes.barh(len(rows), -events, left=begin, color=LEFT_OVER, height=0.62)
    write(begin - events - 2, len(rows), f"−{events:.1f} µs: the events that time them", "right")
    axes.barh(len(rows) + 1, whole, color=style.SOFT, height=0.62)
    unexplained = f"unexplained {abs(sums['residual']) / sums['uninstrumented']:.1%}"
    text = f"a pass without events inside: {whole:.1f} µs; {unexplained}"
    write(whole / 2, len(rows) + 1, text, "center", color=style.BACK)
    names = [f"{row['name']}{' + pool' if 'pooled' in row['detail'] else ''}: {row['backend']}" for row in rows]
    axes.set_yticks(range(len(rows) + 2), [*names, "measuring", "whole pass"])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"µs, hot median; batch {document['batch']:,}, fp32, {document.device}")
    return figure


def over_folders(rows):
    """The figures of history.csv that two folders or more have, each as a multiple of its first value."""
    lines = {}
    for row in filter(history.change, rows):
        lines.setdefault(row["figure"], []).append((row["folder"][: len("2026-11-21")], history.change(row)))
    lines = {name: points for name, points in lines.items() if len(points) > 1}
    days = sorted({day for points in lines.values() for day, _ in points})
    figure, axes = style.one_panel(9.6, 4.0)
    for index, (name, points) in enumerate(lines.items()):
        x, first = [days.index(day) for day, _ in points], points[0][1]
        axes.plot(x, [value / first for _, value in points], label=name, **style.line_style(index))
    axes.set_xticks(range(len(days)), days)
    axes.set_ylabel("speed, the first value = 1")
    style.log_axis(axes.yaxis)
    style.legend_below(figure, [axes], columns=2)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path, help="a folder of a GPU's results")
    gpu = parser.parse_args().gpu
    source = common.newest(gpu, common.PROFILE) / common.PROFILE
    document = load(source)
    for path, picture in zip(common.PROFILE_PICTURES, (graph(document), profile(document))):
        style.write(path, picture, source)
    source = gpu / "peers.json"
    style.write(gpu / common.PEERS_PICTURE, figures_peers.by_batch(load(source, schema=None)), source)
    style.write(history.PICTURE, over_folders(history.read()), history.FILE)


if __name__ == "__main__":
    main()
