"""Sections of the page, one a study."""

import figures_gemm
import figures_ladder
import figures_others
import figures_roofline
import figures_study_a
import figures_study_d
from results import Rows, geometric_mean
from selection import HOW, algorithms, contender, deep_rows, heat_cells, rgb_bandwidth
from tables import (
    Footnotes,
    all_rows_table,
    beside_table,
    cell,
    deep_table,
    esc,
    figure,
    ladder_tables,
    rate_cell,
    table,
)
from words import per_second, percent, short, time_text


def section(name, title, *parts):
    body = "\n".join(part for part in parts if part)
    return (name, title, f'<section id="{name}"><h2>{esc(title)}</h2>\n{body}\n</section>') if body else None


def sources(rows):
    found = list(dict.fromkeys(row.published_source for row in rows if row.published_source))
    return f"<p>Printed figures: {esc('; '.join(found))}.</p>" if found else ""


def drawings(group):
    """All figures of a group by name, drawn once."""
    if group.pictures is None:
        rows = group.rows
        found = [
            figures_study_a.heat_map(rows),
            *figures_study_a.by_size(rows),
            figures_study_a.by_stride(rows),
            *figures_gemm.gemm(rows),
            figures_ladder.deep(rows),
            *[figures_ladder.climb(name, some) for name, some in algorithms(rows)],
            *figures_others.picture_filter(rows),
            figures_study_d.streams(rows),
            *[figures_study_d.timeline(trace, f"streams-timeline-{i}") for i, trace in enumerate(group.traces)],
            figures_study_d.separable(rows),
            figures_others.stencil(rows, group.ceiling("copy_bytes_per_s")),
            figures_others.singles(rows),
            figures_roofline.roofline(group),
        ]
        group.pictures = {drawing.name: drawing for drawing in found if drawing}
    return group.pictures


def figures(group, *beginnings):
    """The figures whose names begin so, as markup."""
    return "\n".join(figure(drawing) for name, drawing in drawings(group).items() if name.startswith(beginnings))


def study_a(group):
    rows = group.rows
    artefacts = "".join(
        f"<li><strong>{esc(title)}</strong> {esc(text)}</li>" for title, text in figures_study_a.artefacts(rows)
    )
    rgb = rows.where(table="rgb").prefer("hot")
    return section(
        "study-a",
        "Study A: an RGB image by size and stride",
        f"<h3>Two artefacts of the study</h3><ul>{artefacts}</ul>" if artefacts else "",
        figures(group, "rgb-", "gemm-"),
        sources(Rows(row for row in rows if row.table in ("rgb", "gemm_memory", "gemm_partition"))),
        *[
            beside_table(
                rgb.where(out_channels=k),
                ["size", "stride"],
                contender,
                f"3×3, C = 3, K = {k}, one image, kernel time, hot",
            )
            for k in rgb.values("out_channels")
        ],
        *[
            beside_table(
                rows.where(table=name).prefer("hot"),
                labels,
                lambda row: column if row.labels.get(label) is None else f"{label} {row.labels[label]}",
                caption,
            )
            for name, labels, label, column, caption in (
                ("gemm_memory", ["size", "memory"], "tile", "cuBLAS", "Matrix product by memory and tile, hot"),
                (
                    "gemm_partition",
                    ["size", "partition"],
                    "block",
                    "cuBLAS",
                    "Matrix product by partition and block, hot",
                ),
            )
            if rows.where(table=name)
        ],
    )


def study_b(group):
    ladders = list(algorithms(group.rows))
    parts = [figures(group, "deep3x3"), deep_table(group.rows)]
    for name, some in ladders:
        parts.append(figures(group, figures_ladder.figure_name(name)))
        tables = "\n".join(ladder_tables(name, some))
        parts.append(
            f"<details><summary>{esc(name)}: every rung on every shape</summary>{tables}</details>" if tables else ""
        )
    return section(
        "study-b",
        "Study B: implicit GEMM, and the ladders",
        *parts,
        sources(Rows(row for _, some in ladders for row in some)),
    )


def study_c(group):
    some = group.rows.where(table="filter").prefer("hot")
    return section(
        "study-c",
        "Study C: filtering a picture",
        figures(group, "filter-"),
        sources(some),
        (
            beside_table(
                some, ["stride", "size"], contender, "An RGB picture, 3 filters of 3×3, hot", copies_as_rate=True
            )
            if some
            else ""
        ),
    )


def study_d(group):
    tables = [
        f"<details><summary>{esc(name)}: its {len(some)} rows</summary>{all_rows_table(some)}</details>"
        for name, some in ((name, group.rows.where(table=name)) for name in ("streams", "separable"))
        if some
    ]
    return section("study-d", "Study D: beyond LeNet", figures(group, "streams", "separable"), *tables)


def study_e(group):
    some = group.rows.where(table="stencil").prefer("hot")
    lines, notes = [], Footnotes()
    for row in some:
        labels = " ".join(v if k != "dimensions" else v + "D" for k, v in row.labels.items() if k != "table")
        lines.append(
            [
                f"<th scope='row'>{esc(labels)}</th>",
                notes.cell(row),
                rate_cell(row.gbytes if row.drawn else None, "GB/s"),
                cell(percent(row.number("ceiling_fraction")) if row.drawn else "–", css="n"),
            ]
        )
    return section(
        "study-e",
        "Study E: 1D and 2D convolution",
        figures(group, "stencil"),
        (
            table(["variant", "time", "effective bandwidth", "of its ceiling"], lines, "Hot") + notes.markup()
            if lines
            else ""
        ),
    )


def others(group):
    known = {"rgb", "gemm_memory", "gemm_partition", "ladder", "filter", "streams", "separable", "stencil"}
    rest = Rows(row for row in group.rows if row.table not in known)
    return section(
        "singles",
        "Single measurements",
        figures(group, "singles"),
        f"<details><summary>Their table</summary>{all_rows_table(rest)}</details>" if rest else "",
    )


def overview(group):
    """What a reader in a hurry takes away, each from the rows."""
    rows, points = group.rows, []
    drawn = len(rows.drawn)
    points.append(
        f"{len(rows):,} rows: {drawn:,} with a time, {len(rows) - drawn:,} without, each with its reason below."
    )
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
    deep = deep_rows(rows)
    for ours, theirs in (
        ("implicit_gemm fp32", "cudnn fp32"),
        ("winograd fp32", "cudnn fp32"),
        ("tensor_core tf32", "cudnn tf32"),
    ):
        ratios = [best[theirs].ns / best[ours].ns for best in deep.values() if ours in best and theirs in best]
        if ratios:
            points.append(
                f"3×3 at batch 8: {ours} against {theirs} ×{short(geometric_mean(ratios))} in the geometric mean of"
                f" {len(ratios)} shapes, ×{short(min(ratios))} to ×{short(max(ratios))}."
            )
    return f"<ul>{''.join(f'<li>{esc(point)}</li>' for point in points)}</ul>"


def ceilings_line(group):
    parts = []
    for key, name in (("copy_bytes_per_s", "copy"), ("read_bytes_per_s", "read")):
        if group.ceiling(key):
            parts.append(f"{name} {per_second(group.ceiling(key), 'B/s')}")
    for math in ("fp32", "tf32", "fp16"):
        peak, library = group.peak(math), group.ceiling(f"{math}_flops_per_s")
        if peak and peak[0] != library:
            parts.append(f"{math} {peak[1]} {per_second(peak[0], 'FLOP/s')}")
        if library:
            parts.append(f"{math} matrix product {per_second(library, 'FLOP/s')}")
    launch = group.ceiling("launch_ns")
    if launch:
        parts.append(f"launch {time_text(launch)}")
    return (
        f"<p>Ceilings measured in the same run: {esc(' · '.join(parts))}.</p>"
        if parts
        else "<p>No ceilings were measured.</p>"
    )


def environment(files):
    lines = []
    for file in files:
        meta, host = file.meta, file.host
        libs = ", ".join(f"{lib.get('name')} {lib.get('version') or '?'}" for lib in file.libs)
        devices = ", ".join(f"{d.get('name')} (sm {d.get('compute_capability')})" for d in file.devices) or "none used"
        commit = f"{meta.get('git', '?')}{', modified tree' if meta.get('dirty') else ''}"
        argv = meta.get("argv") if isinstance(meta.get("argv"), list) else []
        facts = [
            ("file", file.name),
            ("command", " ".join(str(word) for word in argv) or file.tool),
            ("when", meta.get("time_utc", "?")),
            ("state", f"{file.status}{': ' + str(file.document['reason']) if file.document.get('reason') else ''}"),
            ("commit", commit),
            (
                "build",
                (
                    f"{meta.get('version', '?')}, {meta.get('build_type', '?')}, {meta.get('compiler', '?')}, CUDA"
                    f" compiler {meta.get('cuda_compiler') or 'none'}"
                ),
            ),
            ("GPUs", devices),
            ("CPU", f"{host.get('cpu', '?')}, {host.get('threads_used', '?')} threads"),
            ("system", host.get("system", "?")),
            ("libraries", libs or "none opened"),
            ("notes", str(file.ceilings.get("notes") or "–")),
        ]
        lines.append(
            "<dl>" + "".join(f"<dt>{esc(name)}</dt><dd>{esc(str(value))}</dd>" for name, value in facts) + "</dl>"
        )
    return "\n".join(lines)
