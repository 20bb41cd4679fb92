"""Sections of the page, one per study."""

import figures_ladder
import figures_others
import figures_study_a
import figures_study_d
import style
from results import geometric_mean
from selection import HOW, algorithms, candidate, deep_pairs, heat_cells, rgb_bandwidth
from tables import Footnotes, all_rows_table, beside_table, ceiling_cell, deep_table, details, esc, head, ladder_tables
from tables import rate_cell, table, without_figure
from words import per_second, short, time_text


def section(name, title, *parts):
    body = "\n".join(part for part in parts if part)
    return (name, title, f'<section id="{name}"><h2>{esc(title)}</h2>\n{body}\n</section>') if body else None


def listed(items, css=""):
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul{css}>{lines}</ul>" if lines else ""


def sources(rows):
    found = dict.fromkeys(row.published_source for row in rows if row.published_source)
    return f"<p>Printed figures: {esc('; '.join(found))}.</p>" if found else ""


def drawings(group):
    """All figures of a group by name, drawn once."""
    if group.pictures is None:
        rows = group.rows
        found = [
            figures_study_a.heat_map(rows),
            *figures_study_a.by_size(rows),
            figures_study_a.by_stride(rows),
            *figures_study_a.products(rows),
            figures_ladder.deep(rows),
            *[figures_ladder.climb(name, some) for name, some in algorithms(rows).items()],
            *figures_others.picture_filter(rows),
            figures_study_d.streams(rows),
            *[figures_study_d.timeline(trace, f"streams-timeline-{i}") for i, trace in enumerate(group.traces)],
            figures_study_d.separable(rows),
            figures_others.stencil(rows, group.ceiling("copy_bytes_per_s")),
            figures_others.singles(rows),
            figures_others.roofline(group),
        ]
        group.pictures = {drawing.name: drawing for drawing in found if drawing}
    return group.pictures


def figure(drawing):
    return (
        f'<figure id="fig-{drawing.name}"><h3>{esc(drawing.title)}</h3><div class="scroll drawing" role="img"'
        f' aria-label="{esc(drawing.title)}">'
        f"{style.for_page(drawing.svg)}</div><figcaption>{esc(drawing.caption)}</figcaption></figure>"
    )


def figures(group, *beginnings):
    """The figures whose names begin with one of `beginnings`, as markup."""
    return "\n".join(figure(drawing) for name, drawing in drawings(group).items() if name.startswith(beginnings))


def study_a(group):
    rows = group.rows
    artefacts = listed(f"<strong>{esc(title)}</strong> {esc(text)}" for title, text in figures_study_a.artefacts(rows))
    rgb = rows.where(table="rgb").prefer("hot")
    return section(
        "study-a",
        "Study A: an RGB image by size and stride",
        f"<h3>Two artefacts of the study</h3>{artefacts}" if artefacts else "",
        figures(group, "rgb-", "gemm-"),
        sources(row for row in rows if row.table in ("rgb", "gemm_memory", "gemm_partition")),
        *(
            beside_table(rgb.where(out_channels=k), ["size", "stride"], candidate,
                         f"3×3, C = 3, K = {k}, one image, kernel time, hot")
            for k in rgb.values("out_channels")
        ),
        *(
            beside_table(rows.where(table=name).prefer("hot"), ["size", line],
                         lambda row, edge=edge: f"{edge} {row.labels[edge]}" if edge in row.labels else "cuBLAS",
                         f"Matrix product by {line} and {edge}, hot")
            for name, line, edge, _ in figures_study_a.PRODUCTS
        ),
    )


def study_b(group):
    ladders = algorithms(group.rows)
    parts = [figures(group, "deep3x3"), deep_table(group.rows)]
    for name, some in ladders.items():
        tables = "\n".join(ladder_tables(name, some))
        parts.append(figures(group, figures_ladder.figure_name(name)))
        parts.append(details(f"{esc(name)}: every rung on every shape", tables) if tables else "")
    parts.append(sources(row for some in ladders.values() for row in some))
    return section("study-b", "Study B: implicit GEMM, and the ladders", *parts)


def study_c(group):
    some = group.rows.where(table="filter").prefer("hot")
    caption = "An RGB picture, 3 filters of 3×3, hot"
    speeds = beside_table(some, ["stride", "size"], candidate, caption, copies_as_rate=True)
    return section("study-c", "Study C: filtering a picture", figures(group, "filter-"), sources(some), speeds)


def study_d(group):
    named = ((name, group.rows.where(table=name)) for name in ("streams", "separable"))
    tables = [details(f"{name}: its {len(some)} rows", all_rows_table(some)) for name, some in named if some]
    return section("study-d", "Study D: beyond LeNet", figures(group, "streams", "separable"), *tables)


def study_e(group):
    notes, lines = Footnotes(), []
    for row in group.rows.where(table="stencil").prefer("hot"):
        labels = " ".join(v if k != "dimensions" else v + "D" for k, v in row.labels.items() if k != "table")
        rate = rate_cell(row.gbytes if row.drawn else None, "GB/s")
        lines.append([head(labels), notes.cell(row), rate, ceiling_cell(row)])
    heads = ["variant", "time", "effective bandwidth", "of nearest ceiling"]
    speeds = table(heads, lines, "Hot", notes=notes)
    return section("study-e", "Study E: 1D and 2D convolution", figures(group, "stencil"), speeds)


def others(group):
    known = {"rgb", "gemm_memory", "gemm_partition", "ladder", "filter", "streams", "separable", "stencil"}
    rest = [row for row in group.rows if row.table not in known]
    shown = details("Their table", all_rows_table(rest)) if rest else ""
    return section("singles", "Single measurements", figures(group, "singles"), shown)


def every_row(group):
    rows = group.rows
    body = details(f"{len(rows):,} rows", all_rows_table(rows)) if rows else "<p>There are none.</p>"
    return section("rows", "Every row", body)


def overview(group):
    """A summary for readers in a hurry, computed from the rows."""
    rows = group.rows
    drawn = len(rows.drawn)
    points = [f"{len(rows):,} rows: {drawn:,} with a time, {len(rows) - drawn:,} without, each with its reason below."]
    wrong = [row for row in rows if row.status in ("FAILED", "SUSPECT", "ERROR")]
    if wrong:
        points.append(
            f"{len(wrong)} of them are wrong, too fast to be true, or ended in an error: they are listed, not drawn."
        )
    for how in HOW:
        cells = heat_cells(rows, how=how)
        if cells:
            points.append(
                f"RGB images, {how}: direct is faster than the best cuDNN fp32 time in"
                f" {sum(r > 1 for r in cells.values())} of {len(cells)} cells, ×{short(min(cells.values()))} to"
                f" ×{short(max(cells.values()))}, ×{short(geometric_mean(cells.values()))} in the geometric mean."
            )
    shares = rgb_bandwidth(group)
    if shares:
        points.append(
            f"At 2048 and 4096 direct moves {min(shares):.0%} to {max(shares):.0%} of the copy bandwidth of the run."
        )
    pairs = (("implicit_gemm fp32", "cudnn fp32"), ("winograd fp32", "cudnn fp32"), ("tensor_core tf32", "cudnn tf32"))
    for ours, theirs in pairs:
        ratios = [theirs_row.ns / ours_row.ns for ours_row, theirs_row in deep_pairs(rows, ours, theirs)]
        if ratios:
            points.append(
                f"3×3 at batch 8: {ours} against {theirs} ×{short(geometric_mean(ratios))} in the geometric mean of"
                f" {len(ratios)} shapes, ×{short(min(ratios))} to ×{short(max(ratios))}."
            )
    return listed(map(esc, points))


def ceilings_line(group):
    copies = {name: group.ceiling(f"{name}_bytes_per_s") for name in ("copy", "read")}
    parts = [f"{name} {per_second(rate, 'B/s')}" for name, rate in copies.items() if rate]
    for math in ("fp32", "tf32", "fp16"):
        peak, library = group.peak(math), group.ceiling(f"{math}_flops_per_s")
        if peak and peak[0] != library:
            parts.append(f"{math} {peak[1]} {per_second(peak[0], 'FLOP/s')}")
        if library:
            parts.append(f"{math} matrix product {per_second(library, 'FLOP/s')}")
    if group.ceiling("launch_ns"):
        parts.append(f"launch {time_text(group.ceiling('launch_ns'))}")
    words = f"Ceilings measured in the same run: {esc(' · '.join(parts))}." if parts else "No ceilings were measured."
    return f"<p>{words}</p>"


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
    found = [study(group) for study in (study_a, study_b, study_c, study_d, study_e, others)]
    found.append(section("roofline", "Roofline", figures(group, "roofline")))
    found.append(section("without", "Rows without a figure", without_figure(group.rows)))
    return [part for part in [*found, every_row(group)] if part]
