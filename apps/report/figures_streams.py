"""Figures of study D: overlapped copies, and depthwise-separable blocks."""

from look import look
from results import Rows, natural
from selection import candidate
from style import DOTTED, NARROW, bar, bars_across, drawing, legend_below, one_panel, panels, plt
from words import short, time_text


def _streams(count):
    return f"{count} stream{'' if count == '1' else 's'}"


def streams(rows):
    """Study D: a batch over one, two and more streams, above the times of its copies and compute alone."""
    table = rows.where(table="streams").prefer("hot").drawn
    time = {row.labels["streams"]: row.ns for row in table if "streams" in row.labels}
    if not time:
        return None
    counts = sorted(time, key=natural)
    parts = next((row.stages for row in table if row.stages), [])
    figure, axes = one_panel(7.6, 1.0 + 0.45 * (len(counts) + bool(parts)))
    names, left = [], 0
    for i, (name, ns) in enumerate(parts, 1):
        text = time_text(left + ns) if i == len(parts) else None
        bar(axes, 0, ns / 1e6, 0.66, i, text, across=True, left=left / 1e6, label=f"{name} alone")
        left += ns
    if parts:
        names.append("the parts alone,\none after another")
    for count in counts:
        gain = f", ×{short(time[counts[0]] / time[count])}" if count != counts[0] else ""
        text = f"{time_text(time[count])}{gain}"
        bar(axes, len(names), time[count] / 1e6, 0.66, 0, text, across=True, linewidth=None, label="whole batch")
        names.append(_streams(count))
    caption = (
        "Copies in, compute, copies out, in parts. On one stream they follow each other; on more, the copies of one"
        " part overlap the compute of another."
    )
    if parts:
        longest = max(ns for _, ns in parts)
        axes.axvline(longest / 1e6, **DOTTED)
        caption += (
            f" No order of the parts can beat the longest of the three alone ({time_text(longest)}, dotted); the best"
            f" here takes {time_text(min(time.values()))}."
        )
    bars_across(axes, names)
    axes.set(xlabel="time of the whole batch, ms", xlim=(0, 1.25 * max([left, *time.values()]) / 1e6))
    legend_below(figure, [axes])
    return drawing("streams", "Copies and compute, overlapped", figure, caption)


def timeline(trace, name):
    """A timeline of each stream, one panel per number of streams."""
    parts = {}
    for lane, spans in trace.lanes.items():
        group, _, stream = lane.rpartition(": ")
        parts.setdefault(group, []).append((stream, spans))
    kinds = list(dict.fromkeys(what.rstrip("0123456789 ") for spans in trace.lanes.values() for _, _, what in spans))
    if not kinds or len(kinds) >= 8 or sum(len(spans) for spans in trace.lanes.values()) > 2000:
        return None  # not one of streams
    heights = [len(streams) + 0.6 for streams in parts.values()]
    size = (NARROW if look.narrow else 9.6, 0.9 + 0.3 * sum(heights))
    figure, axes_of = plt.subplots(
        len(parts),
        1,
        figsize=size,
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
                bar(axes, y, duration / 1e3, 0.7, kind + 1, across=True, left=(begin - start) / 1e3, label=kinds[kind])
        bars_across(axes, [stream for stream, _ in streams], fontsize=8.5)
        if group:
            axes.set_ylabel(_streams(group.removeprefix("of ")), rotation=0, ha="right", va="center")
    axes_of.flat[-1].set_xlabel("ms")
    legend_below(figure, list(axes_of.flat))
    caption = (
        "One pass with events inside, from the trace. A span begins when its stream reaches it: where a copy waits for"
        " another one in the same direction, the wait is in its span. All panels have one scale."
    )
    return drawing(name, "Streams: what ran when", figure, caption)


KINDS = ("standard", "block", "depthwise", "pointwise")


def separable(rows):
    """Study D: a depthwise-separable block and the standard convolution that it replaces, one panel per shape."""
    places = rows.where(table="separable").prefer("hot").drawn.by("channels", "size")
    places = [(place, mine) for place, mine in places.items() if None not in place and mine.where(part="standard")][:9]
    if not places:
        return None
    figure, flat = panels(len(places), height=2.3, share=False)
    gains = []
    for axes, ((channels, size), mine) in zip(flat, places):
        bars = []
        for part in KINDS:
            some = mine.where(part=part)
            vendor = Rows(row for row in some if set(row.backend.split(" + ")) <= {"cudnn", "onednn"})
            bars += [(part, row) for row in dict.fromkeys((some.best(), vendor.best())) if row]
        first = (mine.where(part="standard beside block").best() or bars[0][1]).ns  # by turns with the block, if it was
        for j, (part, row) in enumerate(bars):
            gain = f", ×{short(first / row.ns)}" if part == "block" else ""
            gains += [first / row.ns] if part == "block" else []
            bar(axes, j, row.ns / 1e3, 0.72, KINDS.index(part), f"{short(row.ns / 1e3)}{gain}", across=True, label=part)
        bars_across(axes, [candidate(row) for _, row in bars], fontsize=7.5)
        axes.set(title=f"C = K = {channels}, {size}²", xlabel="time, µs")
        axes.set_xlim(0, 1.35 * max(row.ns for _, row in bars) / 1e3)
    legend_below(figure, flat)
    caption = (
        "Median kernel time, hot: the fastest backend of each part, and the vendor's library. The block is a depthwise"
        " 3×3 and a 1×1 convolution after it, timed as one; it computes something else than the standard convolution,"
        " for less."
    )
    if gains:
        caption += (
            f" The fastest standard convolution takes {short(min(gains))} to {short(max(gains))} times as long as a"
            " block."
        )
    return drawing("separable", "Depthwise-separable blocks against standard convolutions", figure, caption)
