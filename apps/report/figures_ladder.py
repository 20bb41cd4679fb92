"""Figures of study B and of the deep 3×3 shapes: the gain of each rung, and the products compared with cuDNN."""

import re

from results import Rows, geometric_mean
from selection import MATH_MODES, climbed, deep_names, deep_rows, rung_of
from style import DOTTED, SOFT, bar, drawing, legend_below, line_style, log_axis, panels, series, slug
from words import shape, short


def figure_name(algorithm):
    return slug("ladder-" + algorithm.replace("_", "-"))


def _wrapped(rung):
    number, _, words = rung.partition("_")
    if re.match(r"^\d+$", number):
        return f"{number}\n" + words.replace("_", "\n")
    return rung.replace("_", "\n").replace(".", "\n")


def climb(name, rows):
    """TFLOP/s and share of cuDNN by rung, one line per shape."""
    drawn = Rows(row for row in climbed(rows).drawn if row.gflops)  # cuDNN is the mark in the right panel
    rungs = list(drawn.by(rung_of))
    if len(rungs) < 2:
        return None
    shares = any(row.ratio for row in drawn)
    figure, flat = panels(2 if shares else 1, width=9.6, height=4.0, share=False)
    for i, problem in enumerate(drawn.problems()):
        style = {**line_style(i), "label": shape(problem)}
        mine = drawn.where(problem=problem).by(rung_of)
        steps = [(x, mine[rung].best()) for x, rung in enumerate(rungs) if rung in mine]
        flat[0].plot([x for x, _ in steps], [row.gflops / 1e3 for _, row in steps], **style)
        if shares:
            rated = [(x, row) for x, row in steps if row.ratio]
            flat[1].plot([x for x, _ in rated], [row.ratio * 100 for _, row in rated], **style)
    log_axis(flat[0].yaxis)
    flat[0].set(title="rate (logarithmic)", ylabel="TFLOP/s")
    if shares:
        flat[1].axhline(100, **DOTTED)
        note = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": 8.5, "color": SOFT}
        flat[1].annotate(f"cuDNN {drawn[-1].text('math')}, best layout", (0, 100), **note)
        flat[1].set(title="share of cuDNN", ylabel="% of cuDNN's rate")
        flat[1].set_ylim(bottom=0)
    for axes in flat:
        axes.set_xticks(range(len(rungs)), [_wrapped(rung) for rung in rungs], fontsize=7.5)
        axes.set_xlim(-0.4, len(rungs) - 0.6)
    legend_below(figure, flat[:1], columns=4)
    last = [row.ratio for row in drawn if rung_of(row) == rungs[-1] and row.ratio]
    caption = (
        "One line per shape, one step per rung; each rung is verified against fp64 before and after it is timed. Rates"
        " count 2·N·K·P·Q·C·R·S operations."
    )
    if last:
        what = f"The product, {name}," if rungs[-1] == "product" else f"The last rung, {rungs[-1]},"
        caption += (
            f" {what} stands at ×{short(geometric_mean(last))} of cuDNN in the geometric mean of {len(last)} shapes,"
            f" ×{short(min(last))} at least."
        )
    return drawing(figure_name(name), f"The climb of {name}", figure, caption)


def deep(rows):
    found = deep_rows(rows)
    names = deep_names(found)
    kinds = {}
    for name in names:  # those of fp32 are first
        kinds.setdefault("fp32" if name.endswith("fp32") else "tensor cores: tf32 and fp16", []).append(name)
    if not kinds:
        return None
    figure, flat = panels(len(kinds), width=5.4 * len(kinds), height=3.6, share=False)
    families = series(["implicit_gemm", "winograd", "cudnn", "tensor_core"])
    shapes = [shape(problem).replace("N8 ", "").replace(" ", "\n") for problem in found]
    for axes, (title, mine) in zip(flat, kinds.items()):
        width = 0.84 / len(mine)
        for i, name in enumerate(mine):
            family, math = name.split()
            for j, best in enumerate(found.values()):
                if name in best:
                    at, rate = j + width * (i - (len(mine) - 1) / 2), best[name].gflops / 1e3
                    pattern = MATH_MODES.index(math)
                    bar(axes, at, rate, width * 0.94, pattern, color=families[family]["color"], label=name)
        axes.set_xticks(range(len(found)), shapes, fontsize=8)
        axes.set(title=title)
        axes.grid(axis="x", visible=False)
    flat[0].set_ylabel("TFLOP/s")
    legend_below(figure, flat)
    caption = (
        "Median rate, hot, each in its fastest layout of this run. Winograd's rate is effective: it counts the"
        " operations of the direct sum, of which it does fewer. tf32 and fp16 round the operands: do not compare them"
        " with fp32."
    )
    return drawing("deep3x3", "3×3 convolutions of the published implicit-GEMM study", figure, caption)
