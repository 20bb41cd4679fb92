"""Sections of the page, one per subject."""

import re

import beside
import figures_ladder
import figures_lenet
import figures_others
import figures_rgb
import figures_roofline
import figures_streams
import style
from look import look
from selection import algorithms, candidate, single_rows
from tables import (
    Footnotes,
    all_rows_table,
    beside_table,
    ceiling_cell,
    deep_table,
    details,
    esc,
    head,
    ladder_tables,
    rate_cell,
    rates_table,
    table,
    without_figure,
)


def section(name, title, *parts):
    body = "\n".join(part for part in parts if part)
    return (name, title, f'<section id="{name}"><h2>{esc(title)}</h2>\n{body}\n</section>') if body else None


def listed(items, css=""):
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul{css}>{lines}</ul>" if lines else ""


def hardware(source):
    """ "Quadro M4000" of "study A, Quadro M4000" and of "study A (Quadro M4000)": the page names studies by title."""
    return re.sub(r"^study [A-E](, | )?", "", source).strip("()") or "hardware that the study does not name"


def sources(rows):
    found = dict.fromkeys(hardware(row.published_source) for row in rows if row.published_source)
    return f"<p>The printed figures were measured on: {esc('; '.join(found))}.</p>" if found else ""


def drawings(group):
    """All figures of a group by name, drawn as `look` states; those whose name look.filter excludes are not begun."""
    rows = group.rows
    by_beginning = {  # of their names
        "layers": lambda: [figures_lenet.layers(rows)],
        "plans": lambda: [figures_lenet.plans(rows)],
        "ways": lambda: [figures_lenet.ways(rows)],
        "rates": lambda: [figures_lenet.rates(rows)],
        "rgb-ratio": lambda: [figures_rgb.heat_map(rows)],
        "rgb-by-size": lambda: figures_rgb.by_size(rows),
        "rgb-by-stride": lambda: [figures_rgb.by_stride(rows)],
        "gemm": lambda: figures_rgb.products(rows),
        "deep3x3": lambda: [figures_ladder.deep(rows)],
        "ladder": lambda: [figures_ladder.climb(name, some) for name, some in algorithms(rows).items()],
        "filter": lambda: figures_others.picture_filter(rows),
        "streams": lambda: [
            figures_streams.streams(rows),
            *[figures_streams.timeline(trace, f"streams-timeline-{i}") for i, trace in enumerate(group.traces)],
        ],
        "separable": lambda: [figures_streams.separable(rows)],
        "stencil": lambda: [figures_others.stencil(rows, group.ceiling("copy_bytes_per_s"))],
        "singles": lambda: [figures_others.singles(rows)],
        "roofline": lambda: [figures_roofline.roofline(group)],
    }
    found = [drawing for beginning, draw in by_beginning.items() if look.wants(beginning) for drawing in draw()]
    return {drawing.name: drawing for drawing in found if drawing}


def pictures(group):
    """All figures of a group by name, for the page, drawn once each."""
    if group.pictures is None:
        look.narrow, look.suffix = True, group.suffix
        group.pictures = drawings(group)
        look.narrow, look.suffix = False, ""
    return group.pictures


def one_drawing(drawing):
    return f'<div class="drawing" role="img" aria-label="{esc(drawing.title)}">{style.for_page(drawing)}</div>'


def names_of(group):
    """The files of a run."""
    return ", ".join(file.name for file in group.files)


def figure(drawing, group):
    """A figure, beside that of the other run if there is one."""
    markup, other = one_drawing(drawing), group.beside and pictures(group.beside).get(drawing.name)
    if other:
        sides = ((names_of(group), drawing), (names_of(group.beside), other))
        columns = "".join(f'<div><p class="soft">{esc(name)}</p>{one_drawing(side)}</div>' for name, side in sides)
        markup = f'<div class="pair">{columns}</div>'
    return (
        f'<figure id="fig-{drawing.name}"><h3>{esc(drawing.title)}</h3>{markup}'
        f"<figcaption>{esc(drawing.caption)}</figcaption></figure>"
    )


def figures(group, *beginnings):
    """The figures whose names begin with one of `beginnings`, as markup."""
    return "\n".join(figure(drawing, group) for name, drawing in pictures(group).items() if name.startswith(beginnings))


def rgb_images(group):
    rows = group.rows
    found = list(figures_rgb.artefacts(rows))
    artefacts = listed(f"<strong>{esc(title)}</strong> {esc(text)}" for title, text in found)
    heading = f"{'An artefact' if len(found) == 1 else 'Two artefacts'} of the published study of RGB images"
    rgb = rows.where(table="rgb").prefer("hot")
    return section(
        "rgb-images",
        "RGB images and matrix products",
        f"<h3>{heading}</h3>{artefacts}" if artefacts else "",
        figures(group, "rgb-", "gemm-"),
        sources(row for row in rows if row.table in ("rgb", "gemm_memory", "gemm_partition")),
        *(
            beside_table(
                rgb.where(out_channels=k),
                ["size", "stride"],
                candidate,
                f"3×3, C = 3, K = {k}, one image, kernel time, hot",
            )
            for k in rgb.values("out_channels")
        ),
        *(
            beside_table(
                rows.where(table=name).prefer("hot"),
                ["size", line],
                lambda row, edge=edge: f"{edge} {row.labels[edge]}" if edge in row.labels else "cuBLAS",
                f"Matrix product by {line} and {edge}, hot",
            )
            for name, line, edge, _ in figures_rgb.PRODUCTS
        ),
    )


def ladders(group):
    climbs = algorithms(group.rows)
    parts = [figures(group, "deep3x3"), deep_table(group.rows)]
    for name, some in climbs.items():
        tables = "\n".join(ladder_tables(name, some))
        parts.append(figures(group, figures_ladder.figure_name(name)))
        parts.append(details(f"{esc(name)}: every rung on every shape", tables) if tables else "")
    parts.append(sources(row for some in climbs.values() for row in some))
    return section("ladders", "Implicit GEMM, and the ladders", *parts)


def filters(group):
    some = group.rows.where(table="filter").prefer("hot")
    caption = "An RGB picture, 3 filters of 3×3, hot"
    speeds = beside_table(some, ["stride", "size"], candidate, caption, copies_as_rate=True)
    return section("filters", "Filtering a picture", figures(group, "filter-"), sources(some), speeds)


def beyond(group):
    named = ((name, group.rows.where(table=name)) for name in ("streams", "separable"))
    tables = [details(f"{name}: its {len(some)} rows", all_rows_table(some)) for name, some in named if some]
    return section("beyond", "Streams and separable blocks", figures(group, "streams", "separable"), *tables)


def stencils(group):
    notes, lines = Footnotes(), []
    for row in group.rows.where(table="stencil").prefer("hot"):
        labels = " ".join(v if k != "dimensions" else v + "D" for k, v in row.labels.items() if k != "table")
        rate = rate_cell(row.gbytes if row.drawn else None, "GB/s")
        lines.append([head(labels), notes.cell(row), rate, ceiling_cell(row)])
    heads = ["what", "time", "effective bandwidth", "of nearest ceiling"]
    speeds = table(heads, lines, "Hot", notes=notes)
    return section("stencils", "1D and 2D convolution", figures(group, "stencil"), speeds)


def side_by_side(group):
    if not group.beside:
        return None
    found = beside.pairs(group, group.beside)
    title = f"{names_of(group)} beside {names_of(group.beside)}"
    names = ["this run", "the other run"]
    return section("beside", title, f"<p>{esc(beside.summary(found))}</p>", beside.rows_table(found, names))


def networks(group):
    return section(
        "networks", "The network", figures(group, "layers", "plans", "ways", "rates"), rates_table(group.rows)
    )


def others(group):
    rest = single_rows(group.rows)
    shown = details("Their table", all_rows_table(rest)) if rest else ""
    return section("singles", "Single measurements", figures(group, "singles"), shown)


def every_row(group):
    rows = group.rows
    body = details(f"{len(rows):,} rows", all_rows_table(rows)) if rows else "<p>There are none.</p>"
    return section("rows", "Every row", body)


def environment(files):
    lines = []
    for file in files:
        meta, host = file.meta, file.host
        argv = meta.get("argv") if isinstance(meta.get("argv"), list) else []
        libs = ", ".join(f"{lib.get('name')} {lib.get('version') or '?'}" for lib in file.libs)
        facts = {
            "file": file.name,
            "command": " ".join(map(str, argv)) or file.tool,
            "when": meta.get("time_utc", "?"),
            "state": f"{file.status}{': ' + str(file.document['reason']) if file.document.get('reason') else ''}",
            "commit": f"{meta.get('git', '?')}{', modified tree' if meta.get('dirty') else ''}",
            "build": f"{meta.get('version', '?')}, {meta.get('build_type', '?')}, {meta.get('compiler', '?')}, CUDA"
            f" compiler {meta.get('cuda_compiler') or 'none'}",
            "GPUs": ", ".join(f"{d.get('name')} (sm {d.get('compute_capability')})" for d in file.devices)
            or "none used",
            "CPU": f"{host.get('cpu', '?')}, {host.get('threads_used', '?')} threads",
            "system": host.get("system", "?"),
            "libraries": libs or "none opened",
            "notes": str(file.ceilings.get("notes") or "–"),
        }
        lines.append("<dl>" + "".join(f"<dt>{esc(n)}</dt><dd>{esc(str(v))}</dd>" for n, v in facts.items()) + "</dl>")
    return "\n".join(lines)


def sections(group):
    """The non-empty sections of a device after the overview: (name, heading, markup)."""
    found = [study(group) for study in (side_by_side, networks, others, rgb_images, ladders, filters, beyond, stencils)]
    found.append(section("roofline", "Roofline", figures(group, "roofline")))
    found.append(section("without", "Rows without a figure", without_figure(group.rows)))
    return [part for part in [*found, every_row(group)] if part]
