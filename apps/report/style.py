"""How figures look: one palette for light and dark pages, told apart by marker and line as well as by colour.

Figures are drawn with placeholder colours. In the page these become CSS variables, so that a figure follows the
reader's theme; in a file of its own they become the light theme's colours on white.
"""

import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
from drawing import slug  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

# Placeholder, light, dark. The series after Okabe and Ito's palette for all kinds of colour vision.
FOREGROUND = ("#010203", "#1a1c20", "#e4e6ea")
MUTED = ("#010204", "#5d636e", "#9aa1ad")
GRID = ("#010205", "#d9dce2", "#363b44")
PAPER = ("#fdfcfb", "#ffffff", "#16181d")
SERIES = [
    ("#0a0001", "#0072b2", "#58b0e8"),
    ("#0a0002", "#d55e00", "#f58a3c"),
    ("#0a0003", "#00805e", "#35c99b"),
    ("#0a0004", "#a8508a", "#e39ac6"),
    ("#0a0005", "#9a6b00", "#e8c04a"),
    ("#0a0006", "#5b4fc4", "#a99ff5"),
    ("#0a0007", "#4a7d1f", "#9fd06a"),
    ("#0a0008", "#7a4b32", "#cf9f85"),
]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<"]
HATCHES = ["", "//", "..", "xx", "\\\\", "++", "oo", "--"]
# The same backend has the same colour in every figure.
FAMILIES = ["direct", "im2col_gemm", "cudnn", "implicit_gemm", "winograd", "tensor_core", "depthwise", "onednn"]

INK, SOFT, LINES, BACK = FOREGROUND[0], MUTED[0], GRID[0], PAPER[0]
PUBLISHED = {"linestyle": (0, (4, 2)), "markerfacecolor": BACK, "linewidth": 1.1, "alpha": 0.9}

# A dollar in a name is a dollar, not the begin of a formula.
if "text.parse_math" in plt.rcParams:
    plt.rcParams["text.parse_math"] = False
else:  # matplotlib 3.5
    matplotlib.text.Text._preprocess_math = lambda self, text: (text, False)

plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "text.color": INK,
        "axes.titlecolor": INK,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": LINES,
        "grid.linewidth": 0.7,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.linewidth": 1.6,
        "lines.markersize": 5,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "hatch.linewidth": 0.6,
        "figure.max_open_warning": 0,
    }
)


def colour(index):
    return SERIES[index % len(SERIES)][0]


def series(names):
    """{name: keywords of a line}: backends by family, other names by position."""
    styles, free = {}, [i for i in range(len(SERIES))]
    for name in names:
        family = name.split(".")[0].split(" ")[0]
        index = FAMILIES.index(family) if family in FAMILIES else None
        if index is None or any(style["color"] == colour(index) for style in styles.values()):
            index = next((i for i in free if not any(s["color"] == colour(i) for s in styles.values())), len(styles))
        # Beyond the palette a colour comes back with another marker.
        styles[name] = {"color": colour(index), "marker": MARKERS[(index + 3 * (index // len(SERIES))) % len(MARKERS)]}
    return styles


def panels(count, width=9.6, height=3.5, columns=3, share=True):
    """`count` axes beside and below each other; those left over are removed."""
    columns = min(count, columns)
    lines = -(-count // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(width, height * lines), sharey=share, squeeze=False, constrained_layout=True
    )
    flat = list(axes.flat)
    for left_over in flat[count:]:
        left_over.remove()
    return figure, flat[:count]


def plain(value, _position=None):
    """A tick as a plain number: 0.1, 20, 5k, 2M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def log_axis(axis, ticks=None, base=10):
    """A logarithmic x or y axis with plain numbers, at `ticks` where given. Call it when everything is drawn."""
    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log", base=base)
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())
    if ticks is not None:
        axis.set_ticks(ticks)
        axis.set_minor_locator(NullLocator())
        axis.set_ticklabels([f"{tick:g}" for tick in ticks])
        return
    low, high = axis.get_view_interval()
    if low > 0 and high / low < 100:
        # Powers of ten alone would leave one label or none.
        axis.set_major_locator(
            LogLocator(base=10, subs=(1, 2, 5) if high / low > 5 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
        )


def legend_below(figure, handles_from, columns=6, extra=()):
    """One legend for all panels, under them."""
    handles, labels = [], []
    for axes in handles_from:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    for handle in extra:
        handles.append(handle)
        labels.append(handle.get_label())
    if handles:
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=min(columns, len(labels)))


def published_key(text="dashed, hollow: as published, on their hardware"):
    from matplotlib.lines import Line2D

    return Line2D([], [], color=SOFT, marker="o", label=text, **PUBLISHED)


def to_svg(figure, name):
    """The figure as SVG text with placeholder colours; ids begin with `name`, so that a page may hold many."""
    name = slug(name)
    matplotlib.rcParams["svg.hashsalt"] = name
    target = io.StringIO()
    figure.savefig(target, format="svg", bbox_inches="tight", pad_inches=0.08, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = target.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{name}-\2"', svg)
    # A hundredth of a point is enough for coordinates; what stands between tags are labels.
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag.group()), svg)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()


def _placeholders():
    names = ["ink", "soft", "grid", "paper"] + [f"s{i}" for i in range(len(SERIES))]
    return list(zip(names, [FOREGROUND, MUTED, GRID, PAPER] + SERIES))


def for_page(svg):
    """Placeholders become CSS variables of the page."""
    for name, (placeholder, _, _) in _placeholders():
        svg = svg.replace(placeholder, f"var(--{name})")
    return svg


def for_file(svg, sources):
    """Placeholders become the light theme's colours, on white: readable wherever the file is shown.

    `sources`: name and SHA-256 of each file that it was drawn from.
    """
    for _, (placeholder, light, _) in _placeholders():
        svg = svg.replace(placeholder, light)
    head = svg.index(">") + 1
    comment = "".join(f"<!-- {name.replace('-', '_')} sha256 {digest} -->\n" for name, digest in sources)
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n{comment}{svg[:head]}\n<rect width="100%" height="100%"'
        f' fill="#ffffff"/>{svg[head:]}\n'
    )


def css_variables(theme):
    """`--ink: #…;` for theme 1 (light) or 2 (dark)."""
    return " ".join(f"--{name}: {colours[theme]};" for name, colours in _placeholders())
