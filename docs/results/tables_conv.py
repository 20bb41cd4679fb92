"""The tables of convolutions, from convbench's files. Each is a text."""

import functools
import re

from common import LADDER_PICTURE, PICTURES, ROOT, commit, convbench_group, load, loaded, newest, parts, picture

import selection
from results import Rows, geometric_mean
from tables import markdown
from words import ratio, short

DEEP = "deep3x3-{}.json"  # of convbench run on the list deep3x3.txt, by type; fp16, bf16: --dt
DEEP_TYPES = {"tf32": {"math": "tf32"}, "fp16": {"dt": "fp16"}, "bf16": {"dt": "bf16"}}  # labels of a file's rows
BATCH_1 = "batch1.json"  # of convbench run on the list batch1.txt
LADDER = "ladder.json"  # of convbench ladder direct
LADDER_IMPLICIT_GEMM = "ladder-implicit_gemm.json"  # of convbench ladder implicit_gemm
LADDER_TENSOR_CORE = "ladder-tensor_core.json"  # of convbench ladder tensor_core
RESNET_50 = (
    "resnet50-{}.json"  # of convbench run on the list resnet50.txt, by math mode with --backend auto,cudnn; fp16: --dt
)


def rgb(gpu, group):
    """direct against cuDNN on one RGB image."""
    cells = selection.heat_cells(group.rows)
    if not cells:
        return ""
    columns, sizes = selection.heat_axes(cells)
    direct = group.rows.where(table="rgb", cache="hot", math="fp32", backend="direct")

    def cell(k, stride, size):
        if (k, stride, size) not in cells:
            return "–"
        best = direct.where(out_channels=k, stride=stride, size=size).best()
        return f"{short(best.ns / 1e3)} (×{short(cells[k, stride, size])})"

    shares, items = selection.rgb_bandwidth(group), []
    spread = f"{min(shares):.0%} to {max(shares):.0%}" if shares else ""
    moved = f"; at 2048 and 4096 it moves {spread} of the copy bandwidth" if shares else ""
    for how in selection.HOW:
        found = selection.heat_cells(group.rows, how=how).values()
        if found:
            items.append(
                f"- {'with copies from page-locked memory and back, wall time' if how == 'with copies' else how}:"
                f" {ratio(geometric_mean(found))} times as fast as cuDNN ({ratio(min(found))} to"
                f" {ratio(max(found))}; faster in {sum(value > 1 for value in found)} of {len(found)})"
            )
    return "\n".join(
        [
            markdown(
                f"**3×3 convolution of one RGB image**, {group.device}, padding 1, fp32, hot, kernel time. `direct` in"
                f" µs, and how many times as fast as cuDNN in its faster layout, measured in the same run: faster in"
                f" {sum(value > 1 for value in cells.values())} of {len(cells)} cells{moved}.",
                ["size", *(f"K={k}, stride {stride}" for k, stride in columns)],
                ([size, *(cell(*column, size) for column in columns)] for size in sizes),
            ),
            "",
            *items,
        ]
    ) + picture(gpu / "rgb-ratio.svg", PICTURES["rgb-ratio"])


def deep(group, elsewhere):
    """3x3 at batch 8: ours and cuDNN, fp32 and tensor cores, without the math modes that have rows elsewhere."""
    found = selection.deep_rows(group.rows)
    names = [name for name in selection.deep_names(found) if name.split()[1] not in elsewhere]
    rates = {p: {name: best[name].gflops / 1e3 for name in names if name in best} for p, best in found.items()}
    lines = [
        [", ".join(selection.DEEP.match(problem).groups()), *(short(mine.get(name)) for name in names)]
        for problem, mine in rates.items()
    ]
    means = [geometric_mean(mine[name] for mine in rates.values() if name in mine) for name in names]
    heads = [f"{name}, effective" if name.startswith("winograd") else name for name in names]
    return (
        markdown(
            f"**3×3 convolution, batch 8**, {group.device}, hot, TFLOP/s, each in its fastest layout of one run."
            " Operations are those of the direct sum, so Winograd's rate is an effective one.",
            ["C, H=W, K", *heads],
            [*lines, ["geometric mean", *map(short, means)]],
        )
        if names
        else ""
    )


def im2col(group):
    """im2col_gemm beside direct: one RGB image to 3 channels."""
    table = group.rows.where(table="rgb", cache="hot", math="fp32", stride="1", out_channels="3")
    sizes = {
        size: [table.where(backend=name, size=size).best() for name in ("im2col_gemm", "cudnn", "direct")]
        for size in ("256", "1024", "4096")
    }
    return (
        markdown(
            f"{group.device}, fp32, hot, one RGB image to 3 channels, 3×3, padding 1:",
            ["size", "im2col_gemm, µs", "workspace", "times as fast as cuDNN", "direct, µs"],
            (
                [
                    size,
                    short(mine.ns / 1e3),
                    f"{short(mine.number('workspace_bytes') / 2**20)} MiB",
                    ratio(cudnn.ns / mine.ns),
                    short(direct.ns / 1e3),
                ]
                for size, (mine, cudnn, direct) in sizes.items()
            ),
        )
        if all(all(rows) for rows in sizes.values())
        else ""
    )


def rungs_of(group, algorithm):
    """{rung: its rows} of a ladder, in the order of the climb."""
    return selection.climbed(selection.algorithms(group.rows).get(algorithm, Rows())).by(selection.rung_of)


@functools.cache
def changes():
    """{(algorithm, rung): what it changes}, the rows of the tree; the rung of lenslet_conv_ladder_end is "product"."""
    text = (ROOT / "layers/conv/gpu/ladder/CMakeLists.txt").read_text()
    rows = re.findall(r'^lenslet_conv_(?:rung|ladder_end)\((\w+)(?: (\w+))? "(.*)"(?: HOPPER)?\)$', text, re.MULTILINE)
    return {(algorithm, rung or "product"): words for algorithm, rung, words in rows}


def change(algorithm, rung, rows):
    """What the rung changes, in the words of the tree, since the file keeps those of its time."""
    return changes().get((algorithm, rung), rows[0].labels.get("change", ""))


def measured_before(algorithm, rungs):
    """A sentence on the rungs of the tree that a file lacks, because it is older."""
    absent = [rung for name, rung in changes() if name == algorithm and rung not in rungs]
    return f" It was measured before {', '.join(absent)} existed: the next row includes the change." if absent else ""


def ladder_file(gpu):
    """The newest file of implicit_gemm's climb alone; it need not exist."""
    return newest(gpu, LADDER_IMPLICIT_GEMM) / LADDER_IMPLICIT_GEMM


def ladder(gpu, group):
    """The climb of implicit_gemm; without a file of it alone, by that of all studies."""
    file, stopped = ladder_file(gpu), ""
    if file.exists():
        gpu, group = file.parent, convbench_group(file.parent, (file.name,))
        stopped = parts({file: loaded[file]})
    rungs = rungs_of(group, "implicit_gemm")

    def line(rung, rows):
        rate = geometric_mean(row.gflops / 1e3 for row in rows.drawn if row.gflops)
        share = geometric_mean(row.ratio for row in rows.drawn if row.ratio)
        share_text = "–" if share is None else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
        return [rung, short(rate), share_text, change("implicit_gemm", rung, rows)]

    shapes = len({problem for rows in rungs.values() for problem in rows.problems()})
    return (
        markdown(
            f"**The ladder of implicit GEMM**, {group.device}, fp32, geometric means of {shapes} shapes;"
            f" `convbench ladder implicit_gemm` climbs it.{measured_before('implicit_gemm', rungs)}{stopped}",
            ["rung", "TFLOP/s", "of cuDNN", "the one change"],
            (line(*pair) for pair in rungs.items()),
        )
        + picture(gpu / f"{LADDER_PICTURE}.svg", PICTURES[LADDER_PICTURE])
        if len(rungs) > 1
        else ""
    )


def in_microseconds(rows, problems):
    """The best row of each problem."""
    best = [rows.where(problem=problem).best() for problem in problems]
    return ["–" if row is None else short(row.ns / 1e3) for row in best]


def kernel_of(row):
    """The kernel that a row of the product ran, by the first word of its detail."""
    return re.match(r"\w*", row["detail"] or "")[0]


def direct_ladder(folder):
    """The climb of direct, to its kernel `strip`."""
    return climb_to("strips", "direct", "fp32", folder, LADDER)


def tensor_core_ladder(folder):
    """The climb of tensor_core, to its kernel `tma`."""
    return climb_to("tma", "tensor_core", "tf32, NHWC", folder, LADDER_TENSOR_CORE)


def climb_to(kernel, algorithm, how, folder, file):
    """The climb of a ladder to that kernel of the product: one column per shape. Shapes for which the product runs
    another kernel have a table under a heading of their own: no rung leads to that kernel."""
    group = convbench_group(folder, (file,))
    rungs = rungs_of(group, algorithm) if group else {}
    if not rungs:
        return ""
    problems = Rows(row for rows in rungs.values() for row in rows).problems()
    best = {problem: rungs.get("product", Rows()).where(problem=problem).best() for problem in problems}
    kernels = {problem: kernel_of(row) if row else kernel for problem, row in best.items()}
    others = list(dict.fromkeys(other for other in kernels.values() if other != kernel))
    vendor = selection.algorithms(group.rows)[algorithm].where(backend="cudnn")

    def climb(words, to):
        mine = [problem for problem in problems if kernels[problem] == to]
        heads = {rung: [rung, change(algorithm, rung, rows)] for rung, rows in rungs.items()}
        if to != kernel:
            heads["product"] = [f"product (`{to}`)", ""]
        lines = [[*heads[rung], *in_microseconds(rows, mine)] for rung, rows in rungs.items()]
        lines += [["cuDNN", "", *in_microseconds(vendor, mine)]] if vendor else []
        if to != kernel:
            lines = [cells for cells in lines if set(cells[2:]) != {"–"}]
        if not mine:
            return ""
        return markdown(words, ["rung", "the one change", *(f"`{problem}`" for problem in mine)], lines)

    tables = [
        climb(
            f"`convbench ladder {algorithm}` measures it: {group.device}, {how}. One column per shape, hot, µs; cuDNN"
            " in its faster layout. A dash: not measured, or not supported by the rung of that run."
            f"{measured_before(algorithm, rungs)}",
            kernel,
        ),
        *(
            climb(
                f"## Rungs beside `{other}`\n`{other}`, which the product runs here, is no step of the climb: it"
                " differs from every rung in several ways. The rungs that support the shape, from the same run:",
                other,
            )
            for other in others
        ),
    ]
    return "\n\n".join(filter(None, tables))


def side_by_side(group, rows, columns, runs="all in one run"):
    """A line per problem, a column per backend, in µs; `columns`: {heading: backend, math and layout of its rows}."""
    rows = rows.where(cache="hot")
    cells = [in_microseconds(rows.where(**wanted), rows.problems()) for wanted in columns.values()]
    names = [f"`{selection.bare(problem)}`" for problem in rows.problems()]
    return (
        markdown(
            f"{group.device}, hot, µs, {runs}; cuDNN in its faster layout where no layout is named:",
            ["problem", *columns],
            zip(names, *cells),
        )
        if names
        else ""
    )


def sliced_k(folder):
    """Layers at batch 1, every backend beside cuDNN."""
    if not (folder / BATCH_1).exists():
        return ""
    document = load(folder, BATCH_1)
    own = ("sliced_k", "direct", "implicit_gemm", "winograd")
    return side_by_side(document, document.rows, {name: {"backend": name} for name in (*own, "cudnn")})


def resnet50(folder):
    """The convolutions of ResNet-50: a line per math mode and filter, a column per batch, what auto takes by cuDNN."""
    maths = [math for math in selection.MATH_MODES if (folder / RESNET_50.format(math)).exists()]
    lines, batches, half, suspect, notes = [], [], False, 0, []
    for math in maths:
        document = load(folder, RESNET_50.format(math))
        rows = document.rows.where(cache="hot")
        name = f"{math} tensors" if any(row.text("dt") for row in rows) else math
        pairs = {}  # by batch and filter: the fastest rows of ours and cuDNN
        for problem, mine in rows.by("problem").items():
            batch, size = re.match(r"mb(\d+)ic.*?kh(\d+)", problem).groups()
            # A row above a measured ceiling has no time, and the problem's faster layout is not known without it.
            if any(row.status == "SUSPECT" for row in mine):
                suspect += 1
                continue
            theirs = mine.where(backend="cudnn").best()
            # Where auto takes cuDNN, no other backend has a row.
            ours = Rows(row for row in mine if row.backend != "cudnn").best() or (theirs if name == math else None)
            if ours and theirs:
                for key in ((batch, size), (batch, "all")):
                    pairs.setdefault(key, []).append((ours, theirs))
        batches = sorted({batch for batch, _ in pairs} | set(batches), key=int)
        half = half or (name != math and bool(pairs))
        measured = sum(len(cell) for (_, size), cell in pairs.items() if size == "all")
        ended = "" if document.status == "COMPLETE" else ", all that were measured before the run's time ended"
        notes.append(f"{name} {measured} at {commit(document)}{ended}")
        for size in sorted({size for _, size in pairs}):
            cells = [pairs.get((batch, size), ()) for batch in batches]
            lines.append([name, size if size == "all" else f"{size}×{size}", *map(against_cudnn, cells)])
    return (
        markdown(
            f"**The convolutions of ResNet-50**, {load(folder, RESNET_50.format(maths[0])).device}, hot. A cell has"
            " TFLOP/s (times as fast as cuDNN; in how many problems faster), as geometric means. Both sides are of one"
            " run, each in its faster layout. Lenslet's side is the backend that `auto` took at the commit below"
            f"{', for tensors of 16 bits `tensor_core`' if half else ''}."
            + (
                f" Problems left out, because a row is above a measured ceiling (SUSPECT): {suspect}."
                if suspect
                else ""
            )
            + f" Problems measured: {'; '.join(notes)}.",
            ["math", "filter", *(f"batch {batch}" for batch in batches)],
            lines,
        )
        if lines
        else ""
    )


def deep_types(folder):
    """The types of which the folder has a file of the deep 3x3 shapes."""
    return [name for name in DEEP_TYPES if (folder / DEEP.format(name)).exists()]


def type_title(name):
    """ "tf32", "fp16 tensors"."""
    return f"{name} tensors" if "dt" in DEEP_TYPES[name] else name


def deep_by_type(folder):
    """The deep 3x3 shapes on tensor cores: tensor_core by cuDNN, a line per shape, a column per type."""
    types = deep_types(folder)
    cells = {}  # by problem and type: the fastest rows of tensor_core and cuDNN
    for name in types:
        rows = load(folder, DEEP.format(name)).rows.where(cache="hot", **DEEP_TYPES[name])
        for problem, mine in rows.by("problem").items():
            pair = [mine.where(backend=backend).best() for backend in ("tensor_core", "cudnn")]
            if all(pair):
                cells.setdefault(problem, {})[name] = pair
    means = {name: [pair[name] for pair in cells.values() if name in pair] for name in types}
    return (
        markdown(
            f"**3×3 on tensor cores**, {load(folder, DEEP.format(types[0])).device}, batch 8, hot. A cell has TFLOP/s"
            " of `tensor_core` (times as fast as cuDNN). Both sides are of one run per type, each in its faster layout."
            " The last line has geometric means, and in how many shapes `tensor_core` is faster.",
            ["problem", *map(type_title, types)],
            [
                *(
                    [f"`{selection.bare(problem)}`", *(one_against_cudnn(pairs.get(name)) for name in types)]
                    for problem, pairs in cells.items()
                ),
                ["all", *(against_cudnn(means[name]) for name in types)],
            ],
        )
        if cells
        else ""
    )


def one_against_cudnn(pair):
    """ "421 (×1.20)": of a row of ours and cuDNN's."""
    if not pair:
        return "–"
    ours, theirs = pair
    return f"{short(ours.gflops / 1e3)} (×{ratio(theirs.ns / ours.ns)})"


def against_cudnn(pairs):
    """ "45.6 (×1.20; 17 of 23)": of rows of auto and cuDNN."""
    if not pairs:
        return "–"
    times = [theirs.ns / ours.ns for ours, theirs in pairs]
    rate = geometric_mean(ours.gflops / 1e3 for ours, _ in pairs)
    return f"{short(rate)} (×{ratio(geometric_mean(times))}; {sum(time > 1 for time in times)} of {len(times)})"


def depthwise(group):
    """The depthwise halves of study D's blocks."""
    columns = {layout: {"backend": "depthwise", "layout": layout} for layout in ("NCHW", "NHWC")}
    rows = group.rows.where(table="separable", part="depthwise")
    return side_by_side(group, rows, {**columns, "cuDNN": {"backend": "cudnn"}})


def tensor_core(folder):
    """The deep shapes on tensor cores: tf32 in both layouts, tensors of 16 bits, each beside cuDNN's; hot, µs."""
    files = {name: load(folder, DEEP.format(name)) for name in deep_types(folder)}
    columns = {}
    for name in files:
        for title, backend in (("", "tensor_core"), ("cuDNN ", "cudnn")):
            wanted = {"backend": backend, **DEEP_TYPES[name]}
            if "dt" in wanted:
                columns[f"{title}{type_title(name)}"] = wanted
            else:
                columns |= {f"{title}{name} {layout}": {**wanted, "layout": layout} for layout in ("NCHW", "NHWC")}
    rows = Rows(row for file in files.values() for row in file.rows)
    return side_by_side(next(iter(files.values())), rows, columns, "a run per type") if files else ""


def cutlass(gpu):
    """The deep shapes of a build with CUTLASS: a line per shape, a column per cache state and backend."""
    group = convbench_group(gpu, ("cutlass.json",))
    if not group:
        return ""
    names = {"tensor_core": "tensor_core", "cuDNN": "cudnn", "CUTLASS": "cutlass"}
    columns = {
        f"{name}, {cache}": group.rows.where(backend=backend, math="tf32", cache=cache)
        for cache in ("hot", "cold")
        for name, backend in names.items()
    }
    problems = group.rows.problems()
    best = {name: [rows.where(problem=problem).best() for problem in problems] for name, rows in columns.items()}
    lines = [
        [f"`{selection.bare(problem)}`", *(short(rows[i].ns / 1e3) if rows[i] else "–" for rows in best.values())]
        for i, problem in enumerate(problems)
    ]
    means = [short(geometric_mean(row.ns / 1e3 for row in rows)) if all(rows) else "–" for rows in best.values()]
    return markdown(
        f"**With CUTLASS's convolutions for Hopper**, {group.device}, tf32, µs, all in one run; tensor_core and cuDNN"
        " in their faster layout, CUTLASS in NHWC, the one that it supports.",
        ["problem", *columns],
        [*lines, ["geometric mean", *means]],
    )


def winograd(group):
    """The deep shapes in fp32: winograd, implicit_gemm and cuDNN; hot, µs."""
    names = {"winograd": "winograd", "implicit_gemm": "implicit_gemm", "cuDNN": "cudnn"}
    columns = {name: {"backend": backend, "math": "fp32"} for name, backend in names.items()}
    return side_by_side(group, selection.algorithms(group.rows).get("implicit_gemm", Rows()), columns)
