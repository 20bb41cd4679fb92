"""Figures of study D: overlapped copies, and depthwise-separable blocks."""

from drawing import Drawing
from results import Rows, natural
from selection import contender
from style import (
    BACK,
    HATCHES,
    INK,
    SOFT,
    colour,
    legend_below,
    panels,
    plt,
    to_svg,
)
from words import short, time_text


def streams(rows):
    """Study D: a batch over one, two and more streams, above what its copies and its compute take alone."""
    table = rows.where(table="streams").prefer("hot").drawn
    time = {row.labels["streams"]: row.ns for row in table if "streams" in row.labels}
    if not time:
        return None
    counts = sorted(time, key=natural)
    parts = next((row.stages for row in table if row.stages), [])
    figure, axes = plt.subplots(figsize=(7.6, 1.0 + 0.45 * (len(counts) + bool(parts))), constrained_layout=True)
    names, y = [], 0
    if parts:
        left = 0
        for i, (name, ns) in enumerate(parts):
            axes.barh(
                y,
                ns / 1e6,
                0.66,
                left=left / 1e6,
                color=colour(i + 1),
                hatch=HATCHES[i + 1],
                edgecolor=BACK,
                linewidth=0.5,
                label=f"{name} alone",
            )
            left += ns
        axes.text(left / 1e6, y, f" {time_text(left)}", va="center", fontsize=8.5, color=INK)
        names.append("the parts alone,\none after another")
        y += 1
    first = time[counts[0]]
    for count in counts:
        axes.barh(y, time[count] / 1e6, 0.66, color=colour(0), edgecolor=BACK, label="whole batch")
        gain = f", ×{short(first / time[count])}" if count != counts[0] else ""
        axes.text(time[count] / 1e6, y, f" {time_text(time[count])}{gain}", va="center", fontsize=8.5, color=INK)
        names.append(f"{count} stream{'' if count == '1' else 's'}")
        y += 1
    longest = max((ns for _, ns in parts), default=None)
    if longest:
        axes.axvline(longest / 1e6, color=SOFT, linewidth=1.1, linestyle=(0, (1, 2)))
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="time of the whole batch, ms", ylim=(len(names) - 0.4, -0.6))
    axes.set_xlim(0, 1.25 * max([sum(ns for _, ns in parts), *time.values()]) / 1e6)
    axes.grid(axis="y", visible=False)
    legend_below(figure, [axes])
    caption = (
        "Copies in, compute, copies out, in parts. On one stream they follow each other; on more, the copies of one"
        " part overlap the compute of another."
    )
    if longest:
        caption += (
            f" No order of the parts can beat the longest of the three alone ({time_text(longest)}, dotted); the best"
            f" here takes {time_text(min(time.values()))}."
        )
    return Drawing("streams", "Copies and compute, overlapped", to_svg(figure, "streams"), caption)


def timeline(trace, name):
    """What each stream did when, a panel for each number of streams."""
    parts = {}
    for lane, spans in trace.lanes.items():
        group, _, stream = lane.rpartition(": ")
        parts.setdefault(group, []).append((stream, spans))
    kinds = list(dict.fromkeys(what.rstrip("0123456789 ") for spans in trace.lanes.values() for _, _, what in spans))
    if not kinds or len(kinds) > len(HATCHES) or sum(len(spans) for spans in trace.lanes.values()) > 2000:
        return None  # not one of streams
    heights = [len(streams) + 0.6 for streams in parts.values()]
    figure, axes_of = plt.subplots(
        len(parts),
        1,
        figsize=(9.6, 0.9 + 0.3 * sum(heights)),
        sharex=True,
        squeeze=False,
        constrained_layout=True,
        gridspec_kw={"height_ratios": heights},
    )
    for axes, (group, streams) in zip(axes_of.flat, parts.items()):
        start = min(begin for _, spans in streams for begin, _, _ in spans)
        for y, (_, spans) in enumerate(streams):
            for begin, duration, what in spans:
                kind = kinds.index(what.rstrip("0123456789 "))
                axes.barh(
                    y,
                    duration / 1e3,
                    0.7,
                    left=(begin - start) / 1e3,
                    color=colour(kind + 1),
                    hatch=HATCHES[kind + 1],
                    edgecolor=BACK,
                    linewidth=0.5,
                    label=kinds[kind],
                )
        axes.set_yticks(range(len(streams)), [stream for stream, _ in streams], fontsize=8.5)
        axes.set_ylim(len(streams) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        if group:
            count = group.removeprefix("of ")
            axes.set_ylabel(f"{count} stream{'' if count == '1' else 's'}", rotation=0, ha="right", va="center")
    axes_of.flat[-1].set_xlabel("ms")
    legend_below(figure, list(axes_of.flat))
    return Drawing(
        name,
        "Streams: what ran when",
        to_svg(figure, name),
        "One pass with events inside, from the trace. A span begins when its stream reaches it: where a copy waits for"
        " another one in the same direction, the wait is in its span. All panels have one scale.",
    )


def separable(rows):
    """Study D: a depthwise-separable block against the standard convolution that it replaces, a panel a shape."""
    table = rows.where(table="separable").prefer("hot").drawn
    places = list(dict.fromkeys((row.labels.get("channels", ""), row.labels.get("size", "")) for row in table))
    places = [place for place in places if any(row.labels.get("part") == "standard" for row in _at(table, place))][:9]
    if not places:
        return None
    figure, flat = panels(len(places), height=2.3, share=False)
    gains = []
    for axes, place in zip(flat, places):
        bars = []
        for part in ("standard", "block", "depthwise", "pointwise"):
            mine = _at(table, place).where(part=part)
            best = mine.best()
            vendor = Rows(row for row in mine if set(row.backend.split(" + ")) <= {"cudnn", "onednn"}).best()
            bars += [(part, row) for row in dict.fromkeys((best, vendor)) if row]
        first = bars[0][1].ns
        for j, (part, row) in enumerate(bars):
            kind = ("standard", "block", "depthwise", "pointwise").index(part)
            axes.barh(
                j,
                row.ns / 1e3,
                0.72,
                color=colour(kind),
                hatch=HATCHES[kind],
                edgecolor=BACK,
                linewidth=0.5,
                label=part,
            )
            axes.text(
                row.ns / 1e3,
                j,
                f" {short(row.ns / 1e3)}" + (f", ×{short(first / row.ns)}" if part == "block" else ""),
                va="center",
                fontsize=8,
                color=INK,
            )
            if part == "block":
                gains.append(first / row.ns)
        axes.set_yticks(range(len(bars)), [contender(row) for _, row in bars], fontsize=7.5)
        axes.set(
            title=f"C = K = {place[0]}, {place[1]}²",
            xlabel="time, µs",
            ylim=(len(bars) - 0.4, -0.6),
            xlim=(0, 1.35 * max(row.ns for _, row in bars) / 1e3),
        )
        axes.grid(axis="y", visible=False)
    legend_below(figure, flat)
    caption = (
        "Median kernel time, hot: the fastest backend of each part, and the vendor's library. The block is a depthwise"
        " 3×3 and a 1×1 convolution after it, timed as one; it computes something else than the standard convolution,"
        " for less."
    )
    if gains:
        caption += f" The fastest standard convolution takes {short(min(gains))} to {short(max(gains))} times as long as a block."
    return Drawing(
        "separable", "Depthwise-separable blocks against standard convolutions", to_svg(figure, "separable"), caption
    )


def _at(rows, place):
    return Rows(row for row in rows if (row.labels.get("channels", ""), row.labels.get("size", "")) == place)
