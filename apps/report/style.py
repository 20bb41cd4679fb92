"""The parts of figures: one palette for light and dark pages (look.py); series also differ in marker and line."""

import hashlib
import io
import re
import warnings
import weakref
import zlib
from dataclasses import dataclass
from pathlib import Path

import matplotlib

from look import FOREGROUND, GRID, MUTED, PALETTE, PAPER, SERIES, drawn, look
from results import Rows

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">"]
HATCHES = ["", "//", "..", "xx", "\\\\", "++", "oo", "--", "||"]
# Their places in the palette. Any other name has the place that its letters give.
FAMILIES = ["direct", "im2col_gemm", "cudnn", "implicit_gemm", "winograd", "tensor_core", "depthwise", "onednn"]
FAMILIES += ["sliced_k", "split_gemm"]

INK, SOFT, LINES, BACK = map(drawn, (FOREGROUND, MUTED, GRID, PAPER))
NARROW = 4.4  # inches, as wide as a phone shows at the size of its text
TITLE, LINE = 19, 13  # points above the axes of a panel for its title, and above the foot of a legend's first line
APART = weakref.WeakKeyDictionary()  # {figure: its panels, if they stand on their own}
PUBLISHED = {"linestyle": (0, (4, 2)), "markerfacecolor": BACK, "linewidth": 1.1, "alpha": 0.9}
DOTTED = {"color": SOFT, "linewidth": 1.1, "linestyle": (0, (1, 2))}  # a limit

# A name longer than its figure leaves no room; the figure is drawn all the same.
warnings.filterwarnings("ignore", message="constrained_layout not applied")
# A dollar in a name is a literal dollar, not the start of a formula.
if "text.parse_math" in plt.rcParams:
    plt.rcParams["text.parse_math"] = False
else:  # matplotlib 3.5
    matplotlib.text.Text._preprocess_math = lambda self, text: (text, False)

plt.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": "DejaVu Sans"})
plt.rcParams.update({"font.size": 9.5, "legend.fontsize": 9})
plt.rcParams.update({"axes.titlesize": 10, "axes.titleweight": "bold", "axes.grid": True, "axes.axisbelow": True})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
plt.rcParams.update({"lines.linewidth": 1.6, "lines.markersize": 5, "grid.linewidth": 0.7, "hatch.linewidth": 0.6})
plt.rcParams.update({"grid.color": LINES, "figure.max_open_warning": 0})
paper = "none" if look.format == "svg" else BACK
plt.rcParams.update({f"{part}.facecolor": paper for part in ("axes", "figure", "savefig")})
TEXTS = ("axes.label", "text.", "axes.title", "xtick.label", "ytick.label")
plt.rcParams.update({f"{text}color": INK for text in TEXTS})
plt.rcParams.update({f"{line}color": SOFT for line in ("axes.edge", "xtick.", "ytick.")})


def slug(name):
    """A name for files and ids: unchanged if it is valid, else its letters and digits with a hash."""
    if re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,59}", name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50] or "figure") + "-" + digest


@dataclass
class Drawing:
    """A picture with its caption."""

    name: str  # of its file, and the prefix of ids within; a slug()
    title: str
    content: object  # SVG with placeholder colours, or the bytes of a PNG or PDF file
    caption: str  # computed from the rows that are drawn
    panels: int = 0  # that stand on their own


def drawing(name, title, figure, caption):
    if look.filter and slug(name) not in look.filter:
        plt.close(figure)
        return None
    content = to_svg(figure, slug(name) + look.suffix) if look.format == "svg" else to_bytes(figure)
    return Drawing(slug(name), title, content, caption, APART.get(figure, 0))


def colour(index):
    return drawn(SERIES[index % len(SERIES)])


def line_style(index):
    """Beyond the palette a colour comes back with another marker."""
    return {"color": colour(index), "marker": MARKERS[(index + 3 * (index // len(SERIES))) % len(MARKERS)]}


def series(names):
    """{name: keywords of a line}: a name has one colour in all figures, unless another name has it in this one."""
    styles = {}
    for name in names:
        used = [style["color"] for style in styles.values()]
        family = name.split(".")[0].split(" ")[0]
        index = FAMILIES.index(family) if family in FAMILIES else zlib.crc32(family.encode()) % len(SERIES)
        if colour(index) in used:
            index = next((i for i in range(len(SERIES)) if colour(i) not in used), len(styles))
        styles[name] = line_style(index)
    return styles


def panels(count, width=9.6, height=3.5, columns=3, share=True):
    """`count` axes beside and below each other; those left over are removed."""
    columns = 1 if look.narrow else min(count, columns)
    width, height = (min(width, NARROW), min(height, 2.9)) if look.narrow else (width, height)
    lines = -(-count // columns)
    size = (width, height * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, sharey=share, squeeze=False, constrained_layout=True)
    flat = list(axes.flat)
    for left_over in flat[count:]:
        left_over.remove()
    APART[figure] = count
    return figure, flat[:count]


def one_panel(width, height):
    width = min(width, NARROW) if look.narrow else width
    figure, axes = plt.subplots(figsize=(width, height), constrained_layout=True)
    APART[figure] = 1
    return figure, axes


def bar(axes, at, value, width, index, text=None, across=False, pattern=None, **more):
    """A bar in the colour and hatching of `index`, along x where `across`, with `text` at its end."""
    more = {"color": colour(index), "hatch": HATCHES[(index if pattern is None else pattern) % len(HATCHES)], **more}
    (axes.barh if across else axes.bar)(at, value, width, edgecolor=BACK, **{"linewidth": 0.5, **more})
    if text is not None and across:
        axes.text(value + more.get("left", 0), at, f" {text}", va="center", fontsize=8.5, color=INK)
    elif text is not None:
        axes.text(at, value, text, ha="center", va="bottom", fontsize=8, color=INK)


def bars_across(axes, names, **settings):
    """The y axis of bars drawn `across`: a name a bar, the first on top."""
    axes.set_yticks(range(len(names)), names, **settings)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def with_printed(axes, ours, theirs, label, style):
    """A line through {x: y}, and dashed what a study printed; returns whether it printed something."""
    if ours:
        axes.plot(*zip(*sorted(ours.items())), label=label, **style)
    if theirs:
        axes.plot(*zip(*sorted(theirs.items())), **{**style, **PUBLISHED})
    return bool(theirs)


def size_panels(
    rows, panel, titles, line, styles, value, printed, best=min, labels=str, xlabel="", ylabel="", reference=()
):
    """A panel a value of the label `panel`, a line a value of `line` over the label "size", and what studies printed.

    `titles`: {value of `panel`: title}; `value` and `printed` are functions of a row, of which the `best` of a size is
    drawn; `reference`: rows of a library, a line in every panel. Both axes are logarithmic.
    """

    def points(some, of):
        sizes = Rows(row for row in some if row.size and of(row)).by(lambda row: row.size)
        return {size: best(map(of, mine)) for size, mine in sizes.items()}

    figure, flat = panels(len(titles))
    dashed = False
    for axes, (key, title) in zip(flat, titles.items()):
        mine = rows.where(**{panel: key})
        for name, style in styles.items():
            some = mine.where(**{line: name})
            dashed |= with_printed(axes, points(some.drawn, value), points(some, printed), labels(name), style)
        if reference:
            axes.plot(*zip(*sorted(points(reference, value).items())), color=SOFT, linewidth=1.2, label="cuBLAS")
        log_axis(axes.xaxis, [float(size) for size in mine.sizes()], base=2)
        log_axis(axes.yaxis)
        axes.set(title=title, xlabel=xlabel)
    flat[0].set_ylabel(ylabel)
    legend_below(figure, flat, printed=dashed)
    return figure, dashed


def plain(value, _position=None):
    """A tick as a plain number: 0.1, 20, 5k, 2M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def log_axis(axis, ticks=None, base=10):
    """A logarithmic x or y axis with plain numbers, at `ticks` where given. Call it when everything is drawn.

    It has no minor ticks: they take as long to draw as all the rest of a figure.
    """
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log", base=base)
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())
    if ticks is not None:
        axis.set_ticks(ticks)
        axis.set_ticklabels([f"{tick:g}" for tick in ticks])
        return
    low, high = axis.get_view_interval()
    if low > 0 and high / low < 100:
        # Powers of ten alone would give only one label, or none.
        subs = (1, 2, 5) if high / low > 5 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
        axis.set_major_locator(LogLocator(base=10, subs=subs))


def legend_below(figure, handles_from, columns=6, printed=False):
    """One legend for all panels, under them; `printed`: with the key of what studies printed."""
    handles = {}
    for axes in handles_from:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if printed:
        key = Line2D([], [], color=SOFT, marker="o", **PUBLISHED)
        handles["dashed, hollow: as published, on their hardware"] = key
    if handles and look.narrow:
        columns = 1 if max(map(len, handles)) > 30 else 2 if max(map(len, handles)) > 9 else 3
    if handles:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncol": min(columns, len(handles))}
        figure.legend(handles.values(), handles.keys(), **below)


def to_bytes(figure):
    """The figure as a file of look.format, which names the files that it was drawn from."""
    target, words = io.BytesIO(), "; ".join(f"{name} sha256 {digest}" for name, digest in look.sources)
    times = {"CreationDate": None, "ModDate": None, "Subject": words} if look.format == "pdf" else {"Source": words}
    figure.savefig(target, format=look.format, dpi=200, bbox_inches="tight", pad_inches=0.08, metadata=times)
    plt.close(figure)
    return target.getvalue()


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
    # Coordinates need a hundredth of a point; text between tags is a label.
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag.group()), svg)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()


def strips(drawing):
    """The drawing as one window a panel, and one for the legend below: CSS puts as many beside each other as fit.

    The first window contains the drawing; the others show their part of it.
    """
    svg = drawing.content
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    corners = re.findall(r'<g id="[^"]*axes_\d+">\s*<g id="[^"]*">\s*<path d="M \S+ \S+\s+L \S+ \S+\s+L \S+ (\S+)', svg)
    legend = re.search(r'legend_1">.*?<text [^>]*\by="([\d.]+)"', svg, re.S)
    cuts = [0, *(float(top) - TITLE for top in corners[1 : drawing.panels])]
    cuts += [float(legend[1]) - LINE, height] if legend else [height]
    head, content = re.match(r"<svg[^>]*>", svg)[0], svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    head = re.sub(r' (width|height|viewBox)="[^"]*"', "", head)
    whole = f"{drawing.name}-{hashlib.sha256(content.encode()).hexdigest()[:6]}"
    parts = [f'<g id="{whole}">{content}</g>'] + [f'<use href="#{whole}"/>'] * (len(cuts) - 2)
    boxes = [
        f'width="{width:g}pt" height="{end - begin:.2f}pt" viewBox="0 {begin:.2f} {width:g} {end - begin:.2f}"'
        for begin, end in zip(cuts, cuts[1:])
    ]
    return "".join(f"{head[:-1]} {box}>{part}</svg>" for box, part in zip(boxes, parts))


def for_page(drawing):
    """The narrow drawing as markup: panels beside each other where they fit, the page's CSS variables as colours."""
    svg = strips(drawing) if drawing.panels else drawing.content
    for name, (placeholder, _, _) in PALETTE:
        svg = svg.replace(placeholder, f"var(--{name})")
    return svg


def for_file(svg, sources):
    """Placeholders become the light theme's colours, on white: readable wherever the file is shown.

    `sources`: name and SHA-256 of each file that it was drawn from.
    """
    for _, (placeholder, light, _) in PALETTE:
        svg = svg.replace(placeholder, light)
    head = svg.index(">") + 1
    comment = "".join(f"<!-- {name.replace('-', '_')} sha256 {digest} -->\n" for name, digest in sources)
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n{comment}{svg[:head]}\n<rect width="100%" height="100%"'
        f' fill="#ffffff"/>{svg[head:]}\n'
    )


def write(path, figure, source):
    """A figure as an SVG file that names the SHA-256 of `source`, the file that it was drawn from."""
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    Path(path).write_text(for_file(to_svg(figure, Path(path).stem), [(Path(source).name, digest)]))


def css_variables(theme):
    """`--ink: #…;` for theme 1 (light) or 2 (dark)."""
    return " ".join(f"--{name}: {colours[theme]};" for name, colours in PALETTE)
