"""Figures of studies C, D and E, of single measurements, and the roofline of everything."""

from drawing import Drawing
from results import Rows, geometric_mean, natural, shape, short, time_text
from style import (BACK, HATCHES, INK, MARKERS, PUBLISHED, SOFT, colour, legend_below, log_axis, panels, plt, published_key,
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
    """Study D: the time of one job over one, two and more streams."""
    table = rows.where(table="streams")
    time = {}
    for row in table.drawn:
        count = row.labels.get("streams")
        if count is not None:
            time.setdefault(count, row.end_to_end_ns or row.ns)
    if len(time) < 2:
        return None
    counts = sorted(time, key=natural)
    first = time[counts[0]]
    figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.45 * len(counts)), constrained_layout=True)
    for j, count in enumerate(counts):
        axes.barh(j, time[count] / 1e6, 0.66, color=colour(0), edgecolor=BACK)
        axes.text(time[count] / 1e6, j, f" {time_text(time[count])}, ×{short(first / time[count])}", va="center", fontsize=8.5, color=INK)
    axes.set_yticks(range(len(counts)), [f"{count} stream{'' if count == '1' else 's'}" for count in counts])
    axes.set(xlabel="time of the whole job, ms", ylim=(len(counts) - 0.4, -0.6), xlim=(0, 1.25 * max(time.values()) / 1e6))
    axes.grid(axis="y", visible=False)
    caption = (f"Copies in, compute, copies out. With one stream they follow each other; with more, the copies of one part overlap the compute of another: "
               f"×{short(first / min(time.values()))} at best. The time that remains is the longest of the three alone, the bus or the kernel.")
    return Drawing("streams", "Copies and compute, overlapped", to_svg(figure, "streams"), caption)


def separable(rows):
    """Study D: a depthwise-separable block against the standard convolution that it replaces."""
    table = rows.where(table="separable").prefer("hot")
    label = next((name for name in ("part", "variant", "what", "block", "kind") if table.values(name)), None)
    shapes = [name for name in next(iter(table), None).labels if name not in ("table", label)] if table else []
    groups = list(dict.fromkeys(tuple(row.labels.get(name, "") for name in shapes) for row in table.drawn))
    if not table.drawn or label is None:
        return None
    variants = list(dict.fromkeys(f"{row.labels.get(label, '')} ({row.backend})" for row in table.drawn))
    figure, axes = plt.subplots(figsize=(max(6.4, 1.5 * len(groups)), 3.6), constrained_layout=True)
    width = 0.84 / len(variants)
    for i, variant in enumerate(variants):
        for j, group in enumerate(groups):
            mine = Rows(row for row in table if f"{row.labels.get(label, '')} ({row.backend})" == variant and
                        tuple(row.labels.get(name, "") for name in shapes) == group).best()
            if mine:
                axes.bar(j + width * (i - (len(variants) - 1) / 2), mine.ns / 1e3, width * 0.94, color=colour(i), hatch=HATCHES[i % len(HATCHES)],
                         edgecolor=BACK, linewidth=0.5, label=variant)
    axes.set_xticks(range(len(groups)), ["\n".join(f"{n} {v}" for n, v in zip(shapes, group) if v) for group in groups], fontsize=8)
    log_axis(axes.yaxis)
    axes.set_ylabel("time, µs (logarithmic)")
    axes.grid(axis="x", visible=False)
    legend_below(figure, [axes], columns=3)
    return Drawing("separable", "Depthwise-separable blocks against standard convolutions", to_svg(figure, "separable"),
                   "Median kernel time, hot. A separable block is a depthwise convolution and a 1×1 convolution after it.")


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
    rows = Rows(row for row in group.rows.where(cache="hot").drawn if row.flops and row.bytes and row.gflops)
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
        axes.annotate(f"copy {copy / 1e12:.2f} TB/s" if copy > 1e12 else f"copy {copy / 1e9:.0f} GB/s", (low, low * copy / 1e9), xytext=(10, -3),
                      textcoords="offset points", fontsize=8.5, color=SOFT, va="top")
    for name, value in roofs:
        start = max(low, value / copy) if copy else low
        axes.plot([start, high], [value / 1e9] * 2, color=SOFT, linewidth=1.3)
        axes.annotate(f"{name} matrix product {value / 1e12:.3g} TFLOP/s", (high, value / 1e9), xytext=(-2, 3), textcoords="offset points", ha="right",
                      fontsize=8.5, color=SOFT)
    families = list(dict.fromkeys(row.family or "other" for row in rows))
    styles = series(families)
    for name in families:
        mine = [row for row in rows if (row.family or "other") == name]
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
