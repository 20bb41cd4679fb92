"""Figures of studies C, D and E, of single measurements, and the roofline of everything."""

from drawing import Drawing
from results import Rows, natural, per_second, shape, short, time_text
from style import (BACK, HATCHES, INK, PUBLISHED, SOFT, colour, legend_below, log_axis, panels, plt, published_key,
                   series, to_svg)


def picture_filter(rows):
    """Study C: GFLOP/s against size, a panel a stride, with copies as the study counted and without."""
    table = rows.where(table="filter").prefer("hot")
    strides = table.drawn.values("stride")
    for with_copies in (True, False):
        rate = (lambda row: row.end_to_end_gflops) if with_copies else (lambda row: row.gflops)
        if not strides or not any(rate(row) for row in table.drawn):
            continue
        styles = series(table.drawn.backends())
        figure, flat = panels(len(strides))
        published = False
        for axes, stride in zip(flat, strides):
            mine = table.where(stride=stride)
            for name, style in styles.items():
                ours = {}
                for row in mine.where(backend=name).drawn:
                    if rate(row) and "size" in row.labels:
                        size = float(row.labels["size"])
                        ours[size] = max(ours.get(size, 0), rate(row))
                if ours:
                    axes.plot(*zip(*sorted(ours.items())), label=name, **style)
                theirs = {float(row.labels["size"]): row.published_gflops for row in mine.where(backend=name)
                          if row.published_gflops and "size" in row.labels} if with_copies else {}
                if theirs:
                    published = True
                    axes.plot(*zip(*sorted(theirs.items())), **{**style, **PUBLISHED})
            log_axis(axes.xaxis, [float(s) for s in mine.values("size")], base=2)
            log_axis(axes.yaxis)
            axes.set(title=f"stride {stride}", xlabel="picture height and width")
        flat[0].set_ylabel("GFLOP/s")
        legend_below(figure, flat, extra=[published_key()] if published else [])
        name = "filter-with-copies" if with_copies else "filter-kernel"
        caption = ("From page-locked host memory and back, as the study counts: the bus is most of it." if with_copies else
                   "The same convolutions with the picture on the device already.")
        yield Drawing(name, "Filtering a picture: rate by size, " + ("copies included" if with_copies else "kernel alone"),
                      to_svg(figure, name), caption + " Both axes are logarithmic.")


def stencil(rows, ceiling):
    """Study E: effective bandwidth by variant and boundary, a panel for 1D and one for 2D."""
    table = rows.where(table="stencil").prefer("hot")
    drawn = Rows(row for row in table.drawn if row.gbytes)
    dimensions = drawn.values("dimensions")
    if not dimensions:
        return None
    variants = drawn.values("filter")
    figure, flat = panels(len(dimensions), width=4.8 * max(2, len(dimensions)), height=3.4, share=False)
    for axes, dimension in zip(flat, dimensions):
        mine = drawn.where(dimensions=dimension)
        boundaries = mine.values("boundary")
        width = 0.8 / max(1, len(variants))
        for i, variant in enumerate(variants):
            for j, boundary in enumerate(boundaries):
                best = mine.where(filter=variant, boundary=boundary).best()
                if best:
                    position = j + width * (i - (len(variants) - 1) / 2)
                    axes.bar(position, best.gbytes, width * 0.92, color=colour(i), hatch=HATCHES[i % len(HATCHES)], edgecolor=BACK,
                             linewidth=0.5, label=variant)
                    axes.text(position, best.gbytes, f"{best.gbytes:,.0f}", ha="center", va="bottom", fontsize=7.5, color=INK)
        if ceiling:
            axes.axhline(ceiling / 1e9, color=SOFT, linewidth=1.1, linestyle=(0, (1, 2)))
            axes.annotate(f"copy: {ceiling / 1e9:,.0f} GB/s", (0, ceiling / 1e9), xytext=(-18, 3), textcoords="offset points", fontsize=8.5, color=SOFT)
        axes.set_xticks(range(len(boundaries)), [f"{boundary}" for boundary in boundaries])
        axes.set(title=f"{dimension}D", xlabel="what lies beyond the edge")
        axes.grid(axis="x", visible=False)
        axes.set_ylim(0, 1.18 * max([row.gbytes for row in mine] + [(ceiling or 0) / 1e9]))
    flat[0].set_ylabel("effective bandwidth, GB/s")
    legend_below(figure, flat)
    caption = "Input and output once, over the median time, by where the filter lies or how the input is staged. Hot."
    if ceiling:
        caption += " The dotted line is copying within the device's memory, measured in the same run; what fits a cache may pass it."
    return Drawing("stencil", "1D and 2D convolution: effective bandwidth", to_svg(figure, "stencil"), caption)


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
            axes.barh(y, ns / 1e6, 0.66, left=left / 1e6, color=colour(i + 1), hatch=HATCHES[i + 1], edgecolor=BACK, linewidth=0.5, label=f"{name} alone")
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
    caption = "Copies in, compute, copies out, in parts. On one stream they follow each other; on more, the copies of one part overlap the compute of another."
    if longest:
        caption += f" No order of the parts can beat the longest of the three alone ({time_text(longest)}, dotted); the best here takes {time_text(min(time.values()))}."
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
    figure, axes_of = plt.subplots(len(parts), 1, figsize=(9.6, 0.9 + 0.3 * sum(heights)), sharex=True, squeeze=False, constrained_layout=True,
                                   gridspec_kw={"height_ratios": heights})
    for axes, (group, streams) in zip(axes_of.flat, parts.items()):
        start = min(begin for _, spans in streams for begin, _, _ in spans)
        for y, (_, spans) in enumerate(streams):
            for begin, duration, what in spans:
                kind = kinds.index(what.rstrip("0123456789 "))
                axes.barh(y, duration / 1e3, 0.7, left=(begin - start) / 1e3, color=colour(kind + 1), hatch=HATCHES[kind + 1], edgecolor=BACK, linewidth=0.5,
                          label=kinds[kind])
        axes.set_yticks(range(len(streams)), [stream for stream, _ in streams], fontsize=8.5)
        axes.set_ylim(len(streams) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        if group:
            count = group.removeprefix("of ")
            axes.set_ylabel(f"{count} stream{'' if count == '1' else 's'}", rotation=0, ha="right", va="center")
    axes_of.flat[-1].set_xlabel("ms")
    legend_below(figure, list(axes_of.flat))
    return Drawing(name, "Streams: what ran when", to_svg(figure, name),
                   "One pass with events inside, from the trace. A span begins when its stream reaches it: where a copy waits for another one in the same "
                   "direction, the wait is in its span. All panels have one scale.")


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
            axes.barh(j, row.ns / 1e3, 0.72, color=colour(kind), hatch=HATCHES[kind], edgecolor=BACK, linewidth=0.5, label=part)
            axes.text(row.ns / 1e3, j, f" {short(row.ns / 1e3)}" + (f", ×{short(first / row.ns)}" if part == "block" else ""), va="center", fontsize=8, color=INK)
            if part == "block":
                gains.append(first / row.ns)
        axes.set_yticks(range(len(bars)), [_contender(row) for _, row in bars], fontsize=7.5)
        axes.set(title=f"C = K = {place[0]}, {place[1]}²", xlabel="time, µs", ylim=(len(bars) - 0.4, -0.6), xlim=(0, 1.35 * max(row.ns for _, row in bars) / 1e3))
        axes.grid(axis="y", visible=False)
    legend_below(figure, flat)
    caption = ("Median kernel time, hot: the fastest backend of each part, and the vendor's library. The block is a depthwise 3×3 and a 1×1 convolution after it, "
               "timed as one; it computes something else than the standard convolution, for less.")
    if gains:
        caption += f" It is ×{short(min(gains))} to ×{short(max(gains))} faster than the fastest standard convolution."
    return Drawing("separable", "Depthwise-separable blocks against standard convolutions", to_svg(figure, "separable"), caption)


def _at(rows, place):
    return Rows(row for row in rows if (row.labels.get("channels", ""), row.labels.get("size", "")) == place)


def singles(rows):
    """Rows of no study: the spread of each measurement, by what it measures."""
    table = Rows(row for row in rows if not row.table).prefer("hot").drawn
    subjects = list(dict.fromkeys(row.text("problem") or row.text("name") for row in table))
    if not subjects:
        return None
    left_out = max(0, len(subjects) - 24)
    subjects = subjects[:24]
    kept = Rows(row for row in table if (row.text("problem") or row.text("name")) in subjects)
    names = list(dict.fromkeys(_contender(row) for row in kept))
    styles = series(names)
    figure, axes = plt.subplots(figsize=(8.4, 1.0 + 0.36 * len(subjects)), constrained_layout=True)
    for row in kept:
        j = subjects.index(row.text("problem") or row.text("name"))
        name = _contender(row)
        y = j + 0.6 * ((names.index(name) + 0.5) / len(names) - 0.5)
        low, high = row.p10 or row.ns, row.p90 or row.ns
        axes.plot([low / 1e3, high / 1e3], [y, y], color=styles[name]["color"], linewidth=1.4)
        axes.plot([row.ns / 1e3], [y], linestyle="none", label=name, **styles[name])
    titles = {row.text("problem") or row.text("name"): shape(row.text("problem")) if row.text("problem") else row.text("name") for row in kept}
    # Two problems may have one short name: then both are written out.
    clear = [titles[s] if list(titles.values()).count(titles[s]) == 1 else s for s in subjects]
    axes.set_yticks(range(len(subjects)), clear, fontsize=8.5)
    axes.set_ylim(len(subjects) - 0.5, -0.5)
    log_axis(axes.xaxis)
    axes.set_xlabel("time, µs (logarithmic): median, and the line from the 10th to the 90th percentile")
    legend_below(figure, [axes], columns=5)
    return Drawing("singles", "Measurements one by one", to_svg(figure, "singles"),
                   "Hot caches where both were measured." + (f" The first 24 problems; {left_out} more are in the table of all rows." if left_out else ""))


def _contender(row):
    parts = [row.backend or row.text("name")]
    if row.text("math") not in ("", "fp32"):
        parts.append(row.text("math"))
    if row.text("layout") == "NHWC":
        parts.append("NHWC")
    return " ".join(parts)


def roofline(group):
    """Every measurement against the ceilings of the run."""
    # A ladder's first row is the processor's, under other ceilings.
    rows = Rows(row for row in group.rows.where(cache="hot").drawn if row.flops and row.bytes and row.labels.get("rung") != "cpu")
    copy, roofs = group.ceiling("copy_bytes_per_s"), [(name, group.ceiling(f"{name}_flops_per_s")) for name in ("fp32", "tf32", "fp16")]
    roofs = [(name, value) for name, value in roofs if value]
    if not rows or not (copy or roofs):
        return None
    figure, axes = plt.subplots(figsize=(9.0, 4.6), constrained_layout=True)
    intensity = [row.flops / row.bytes for row in rows]
    low, high = min(intensity) / 2, max(max(intensity) * 2, 200)
    top = max((value for _, value in roofs), default=None)
    if copy:
        end = min(high, top / copy) if top else high
        axes.plot([low, end], [low * copy / 1e9, end * copy / 1e9], color=SOFT, linewidth=1.3)
        axes.annotate(f"copy {per_second(copy, 'B/s')}", (low, low * copy / 1e9), xytext=(10, -3),
                      textcoords="offset points", fontsize=8.5, color=SOFT, va="top")
    for name, value in roofs:
        start = max(low, value / copy) if copy else low
        axes.plot([start, high], [value / 1e9] * 2, color=SOFT, linewidth=1.3)
        axes.annotate(f"{name} matrix product {per_second(value, 'FLOP/s')}", (high, value / 1e9), xytext=(-2, 3), textcoords="offset points", ha="right",
                      fontsize=8.5, color=SOFT)
    families = list(dict.fromkeys(_kind(row) for row in rows))
    styles = series(families)
    for name in families:
        mine = [row for row in rows if _kind(row) == name]
        for exact in (True, False):
            some = [row for row in mine if (row.text("math") in ("", "fp32")) == exact]
            if some:
                axes.plot([row.flops / row.bytes for row in some], [row.gflops for row in some], linestyle="none", marker=styles[name]["marker"],
                          markersize=4.5, color=styles[name]["color"], markerfacecolor=styles[name]["color"] if exact else BACK, alpha=0.8,
                          markeredgewidth=0.8, label=name if exact or not any(r.text("math") in ("", "fp32") for r in mine) else None)
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set(xlabel="operations for each byte of input, weights and output", ylabel="GFLOP/s")
    legend_below(figure, [axes], columns=6)
    caption = (f"One point a measurement with hot caches ({len(rows)} of them), filled for fp32 and hollow for tf32 and fp16, under what the machine did at best in "
               "the same run. What fits a cache may lie above the copy line; Winograd's effective rate may lie above its roof.")
    return Drawing("roofline", "Roofline", to_svg(figure, "roofline"), caption)


def _kind(row):
    """What a point of the roofline counts as."""
    tables = {"gemm_memory": "matrix product", "gemm_partition": "matrix product", "stencil": "stencil"}
    return tables.get(row.table) or ("separable block" if " + " in row.backend else row.family or "other")
