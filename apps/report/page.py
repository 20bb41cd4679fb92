"""One self-contained HTML page: figures, tables, environment, and the files themselves. Nothing is loaded from anywhere."""

import base64
import gzip
import html
from pathlib import Path

import figures_ladder
import figures_others
import figures_study_a
import style
from results import Rows, bytes_text, geometric_mean, natural, number, per_second, percent, rounded_rate, shape, short, time_text
from selection import algorithms, deep_rows, heat_cells

esc = html.escape


# ------------------------------------------------------------------------------------------------------------------ pieces

def cell(text, exact=None, kind="", css=""):
    """A table cell. `exact` is the value as the file has it, shown on hover and kept for programs."""
    attributes = f' class="{css}"' if css else ""
    if exact is not None:
        attributes += f' title="{exact!r} {kind}"'.replace(" \"", '"')
    return f"<td{attributes}>{text}</td>"


def time_cell(ns, css="n"):
    return cell(time_text(ns), ns, "ns", css) if ns is not None else cell("–", css=css)


def rate_cell(value, unit, css="n"):
    return cell(rounded_rate(value, unit), value, unit, css) if value is not None else cell("–", css=css)


def table(heads, lines, caption="", css=""):
    """`lines` are lists of finished <td>s or <th>s."""
    # A head stands over its numbers, which are right-aligned.
    numeric = [any('class="n' in line[i] for line in lines if i < len(line)) for i in range(len(heads))]
    head = "".join(f"<th scope='col'{' class=n' if right else ''}>{esc(h)}</th>" for h, right in zip(heads, numeric))
    body = "\n".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    title = f"<caption>{esc(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table class="{css}">{title}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def figure(drawing):
    return (f'<figure id="fig-{drawing.name}"><h3>{esc(drawing.title)}</h3><div class="scroll drawing" role="img" aria-label="{esc(drawing.title)}">'
            f"{style.for_page(drawing.svg)}</div><figcaption>{esc(drawing.caption)}</figcaption></figure>")


def time_or_reason(row):
    """What a cell of a study's table says: a time, or why there is none."""
    if row is None:
        return '<td class="n" title="not in this run">–</td>'
    why = row.no_figure()
    if why:
        return f'<td class="why" title="{esc(why)}">{esc(why if len(why) < 60 else why[:57] + "…")}</td>'
    return time_cell(row.ns)


# ------------------------------------------------------------------------------------------------------------------ tables

def beside_table(rows, line_labels, column_of, caption):
    """One line for each combination of labels; for each column ours, with copies where measured, and what was printed."""
    lines_of = sorted({tuple(row.labels.get(name, "") for name in line_labels) for row in rows}, key=lambda line: [natural(v) for v in line])
    columns = list(dict.fromkeys(column_of(row) for row in rows))
    with_copies = any(row.end_to_end_ns for row in rows)
    printed = {column for column in columns if any((row.published_ns or row.published_gflops) and column_of(row) == column for row in rows)}
    heads = [name.replace("_", " ") for name in line_labels]
    for column in columns:
        heads += [column] + ([f"{column}, with copies"] if with_copies else []) + ([f"{column}, printed"] if column in printed else [])
    lines = []
    for line in lines_of:
        cells = [f"<th scope='row'>{esc(value)}</th>" for value in line]
        mine = rows.where(**dict(zip(line_labels, line)))
        for column in columns:
            candidates = Rows(row for row in mine if column_of(row) == column)
            row = candidates.best() or next(iter(candidates), None)
            cells.append(time_or_reason(row))
            if with_copies:
                cells.append(time_cell(row.end_to_end_ns if row is not None and row.drawn else None))
            if column in printed:
                if row is not None and row.published_ns:
                    cells.append(time_cell(row.published_ns, "n theirs"))
                else:
                    cells.append(rate_cell(row.published_gflops if row is not None else None, "GFLOP/s", "n theirs"))
        lines.append(cells)
    return table(heads, lines, caption)


def contender(row):
    """A column's title: backend, with math and layout where they are not the usual ones."""
    extra = [row.text("math")] if row.text("math") not in ("", "fp32") else []
    extra += [row.text("layout")] if row.text("layout") not in ("", "NCHW") else []
    return " ".join([row.backend or row.text("name")] + extra)


def ladder_tables(name, rows):
    for problem in rows.problems():
        lines = []
        for row in rows.where(problem=problem):
            launch = max(row.launches, key=lambda entry: entry.get("registers_per_thread") or 0, default={})
            occupancy = launch.get("occupancy")
            change = row.labels.get("change", "")
            lines.append([
                f"<th scope='row'>{esc(contender(row))}</th>", time_or_reason(row), rate_cell(row.gflops / 1e3 if row.drawn and row.gflops else None, "TFLOP/s"),
                cell(percent(row.ratio), row.ratio, "", "n") if row.drawn and row.ratio else cell("–", css="n"),
                cell(percent(row.number("ceiling_fraction")) if row.drawn else "–", css="n"),
                cell(esc(str(launch.get("registers_per_thread", "–"))), css="n"),
                cell(bytes_text(launch.get("shared_bytes")) if launch else "–", css="n"),
                cell(percent(occupancy) if isinstance(occupancy, (int, float)) else "–", css="n"),
                time_cell(row.published_ns, "n theirs") if row.published_ns else cell("–", css="n"),
                cell(esc(change))])
        yield table(["rung", "time", "rate", "of cuDNN", "of its ceiling", "registers", "shared", "occupancy", "printed", "the one change"], lines,
                    f"{name} on {shape(problem)} ({problem}), hot")


def all_rows_table(rows):
    heads = ["study and labels", "problem or name", "backend", "math", "layout", "cache", "status", "median", "10th", "90th percentile", "samples",
             "with copies", "rate", "bandwidth", "of its ceiling", "over cuDNN", "largest error", "allowed", "workspace", "printed", "measure again"]
    lines = []
    for row in rows:
        error = row.entry.get("error") if isinstance(row.entry.get("error"), dict) else {}
        labels = " ".join(([row.study] if row.study else []) + [v if k == "table" else f"{k} {v}" for k, v in row.labels.items() if k != "change"])
        status = esc(row.status) + (f": {esc(row.text('reason'))}" if row.text("reason") else "")
        ceiling = percent(row.number("ceiling_fraction")) + (f" ({esc(row.text('bound_by'))})" if row.text("bound_by") else "")
        lines.append([
            cell(esc(labels)), cell(esc(row.text("problem") or row.text("name")), css="code"), cell(esc(row.backend)), cell(esc(row.text("math"))),
            cell(esc(row.text("layout"))), cell(esc(row.text("cache"))), cell(status, css="" if row.status == "PASSED" else "why"),
            time_cell(row.ns), time_cell(row.p10), time_cell(row.p90), cell(esc(str(row.entry.get("samples", "–"))), css="n"),
            time_cell(row.end_to_end_ns), rate_cell(row.gflops, "GFLOP/s"), rate_cell(row.gbytes, "GB/s"), cell(ceiling, css="n"),
            cell(f"×{short(row.ratio)}" if row.ratio else "–", row.ratio, "", "n"),
            cell(f"{number(error.get('max_abs')):.2g}" if number(error.get("max_abs")) is not None else "–", css="n"),
            cell(f"{number(error.get('bound')):.2g}" if number(error.get("bound")) is not None else "–", css="n"),
            cell(bytes_text(row.number("workspace_bytes")), css="n"),
            time_cell(row.published_ns, "n theirs") if row.published_ns else rate_cell(row.published_gflops, "GFLOP/s", "n theirs"),
            cell(esc(row.text("repro")), css="code")])
    return table(heads, lines, css="small")


def without_figure(rows):
    """Every row without a time, gathered by its reason."""
    reasons = {}
    for row in rows:
        why = row.no_figure()
        if why:
            reasons.setdefault(why, []).append(row.what())
    if not reasons:
        return "<p>Every row of this run has a figure.</p>"
    items = []
    for why, subjects in sorted(reasons.items(), key=lambda item: -len(item[1])):
        listed = "".join(f"<li class='code'>{esc(subject)}</li>" for subject in subjects)
        items.append(f"<details><summary>{esc(why)} <span class='soft'>({len(subjects)} row{'s' if len(subjects) != 1 else ''})</span></summary><ul>{listed}</ul></details>")
    return "\n".join(items)


# ---------------------------------------------------------------------------------------------------------------- sections

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
        found = [figures_study_a.heat_map(rows), *figures_study_a.by_size(rows), figures_study_a.by_stride(rows), *figures_study_a.gemm(rows),
                 figures_ladder.deep(rows), *[figures_ladder.climb(name, some) for name, some in algorithms(rows)],
                 *figures_others.picture_filter(rows), figures_others.streams(rows),
                 *[figures_others.timeline(trace, f"streams-timeline-{i}") for i, trace in enumerate(group.traces)], figures_others.separable(rows),
                 figures_others.stencil(rows, group.ceiling("copy_bytes_per_s")), figures_others.singles(rows), figures_others.roofline(group)]
        group.pictures = {drawing.name: drawing for drawing in found if drawing}
    return group.pictures


def figures(group, *beginnings):
    """The figures whose names begin so, as markup."""
    return "\n".join(figure(drawing) for name, drawing in drawings(group).items() if name.startswith(beginnings))


def study_a(group):
    rows = group.rows
    artefacts = "".join(f"<li><strong>{esc(title)}</strong> {esc(text)}</li>" for title, text in figures_study_a.artefacts(rows))
    rgb = rows.where(table="rgb").prefer("hot")
    return section(
        "study-a", "Study A: an RGB image by size and stride",
        f"<h3>Two artefacts of the study</h3><ul>{artefacts}</ul>" if artefacts else "",
        figures(group, "rgb-", "gemm-"),
        sources(Rows(row for row in rows if row.table in ("rgb", "gemm_memory", "gemm_partition"))),
        *[beside_table(rgb.where(out_channels=k), ["size", "stride"], contender, f"3×3, C = 3, K = {k}, one image, kernel time, hot")
          for k in rgb.values("out_channels")],
        *[beside_table(rows.where(table=name).prefer("hot"), labels, lambda row: column if row.labels.get(label) is None else f"{label} {row.labels[label]}", caption)
          for name, labels, label, column, caption in (
              ("gemm_memory", ["size", "memory"], "tile", "cuBLAS", "Matrix product by memory and tile, hot"),
              ("gemm_partition", ["size", "partition"], "block", "cuBLAS", "Matrix product by partition and block, hot"))
          if rows.where(table=name)])


def study_b(group):
    ladders = list(algorithms(group.rows))
    parts = [figures(group, "deep3x3"), deep_table(group.rows)]
    for name, some in ladders:
        parts.append(figures(group, figures_ladder.figure_name(name)))
        tables = "\n".join(ladder_tables(name, some))
        parts.append(f"<details><summary>{esc(name)}: every rung on every shape</summary>{tables}</details>" if tables else "")
    return section("study-b", "Study B: implicit GEMM, and the ladders", *parts, sources(Rows(row for _, some in ladders for row in some)))


def deep_table(rows):
    found = deep_rows(rows)
    if not found:
        return ""
    names = list(dict.fromkeys(name for best in found.values() for name in best))
    lines = []
    for problem, best in found.items():
        lines.append([f"<th scope='row'>{esc(shape(problem))}</th>"] +
                     [rate_cell(best[name].gflops / 1e3, "TFLOP/s") if name in best else cell("–", css="n") for name in names])
    return table(["shape", *names], lines, "Median rate, hot, each in its fastest layout")


def study_c(group):
    some = group.rows.where(table="filter").prefer("hot")
    return section("study-c", "Study C: filtering a picture", figures(group, "filter-"), sources(some),
                   beside_table(some, ["stride", "size"], contender, "An RGB picture, 3 filters of 3×3, hot") if some else "")


def study_d(group):
    tables = [all_rows_table(some) for some in (group.rows.where(table=name) for name in ("streams", "separable")) if some]
    return section("study-d", "Study D: beyond LeNet", figures(group, "streams", "separable"), *tables)


def study_e(group):
    some = group.rows.where(table="stencil").prefer("hot")
    lines = []
    for row in some:
        labels = " ".join(v if k != "dimensions" else v + "D" for k, v in row.labels.items() if k != "table")
        lines.append([f"<th scope='row'>{esc(labels)}</th>", time_or_reason(row), rate_cell(row.gbytes if row.drawn else None, "GB/s"),
                      cell(percent(row.number("ceiling_fraction")) if row.drawn else "–", css="n")])
    return section("study-e", "Study E: 1D and 2D convolution", figures(group, "stencil"),
                   table(["variant", "time", "effective bandwidth", "of its ceiling"], lines, "Hot") if lines else "")


def others(group):
    known = {"rgb", "gemm_memory", "gemm_partition", "ladder", "filter", "streams", "separable", "stencil"}
    rest = Rows(row for row in group.rows if row.table not in known)
    return section("singles", "Single measurements", figures(group, "singles"),
                   f"<details><summary>Their table</summary>{all_rows_table(rest)}</details>" if rest else "")


def overview(group):
    """What a reader in a hurry takes away, each from the rows."""
    rows, points = group.rows, []
    drawn = len(rows.drawn)
    points.append(f"{len(rows):,} rows: {drawn:,} with a time, {len(rows) - drawn:,} without, each with its reason below.")
    wrong = [row for row in rows if row.status in ("FAILED", "SUSPECT", "ERROR")]
    if wrong:
        points.append(f"{len(wrong)} of them are wrong, too fast to be true, or ended in an error: they are listed, not drawn.")
    cells = heat_cells(rows)
    if cells:
        points.append(f"RGB images: direct is faster than the best cuDNN fp32 time in {sum(r > 1 for r in cells.values())} of {len(cells)} cells, "
                      f"×{short(min(cells.values()))} to ×{short(max(cells.values()))}.")
    deep = deep_rows(rows)
    for ours, theirs in (("implicit_gemm fp32", "cudnn fp32"), ("winograd fp32", "cudnn fp32"), ("tensor_core tf32", "cudnn tf32")):
        ratios = [best[theirs].ns / best[ours].ns for best in deep.values() if ours in best and theirs in best]
        if ratios:
            points.append(f"3×3 at batch 8: {ours} against {theirs} ×{short(geometric_mean(ratios))} in the geometric mean of {len(ratios)} shapes, "
                          f"×{short(min(ratios))} to ×{short(max(ratios))}.")
    return f"<ul>{''.join(f'<li>{esc(point)}</li>' for point in points)}</ul>"


def ceilings_line(group):
    parts = []
    for key, name, unit in (("copy_bytes_per_s", "copy", "B/s"), ("fp32_flops_per_s", "fp32 matrix product", "FLOP/s"),
                            ("tf32_flops_per_s", "tf32", "FLOP/s"), ("fp16_flops_per_s", "fp16", "FLOP/s")):
        if group.ceiling(key):
            parts.append(f"{name} {per_second(group.ceiling(key), unit)}")
    launch = group.ceiling("launch_ns")
    if launch:
        parts.append(f"launch {time_text(launch)}")
    return f"<p>Ceilings measured in the same run: {esc(' · '.join(parts))}.</p>" if parts else "<p>No ceilings were measured.</p>"


def environment(files):
    lines = []
    for file in files:
        meta, host = file.meta, file.host
        libs = ", ".join(f"{lib.get('name')} {lib.get('version') or '?'}" for lib in file.libs)
        devices = ", ".join(f"{d.get('name')} (sm {d.get('compute_capability')})" for d in file.devices) or "none used"
        commit = f"{meta.get('git', '?')}{', modified tree' if meta.get('dirty') else ''}"
        argv = meta.get("argv") if isinstance(meta.get("argv"), list) else []
        facts = [("file", file.name), ("command", " ".join(str(word) for word in argv) or file.tool), ("when", meta.get("time_utc", "?")),
                 ("state", f"{file.status}{': ' + str(file.document['reason']) if file.document.get('reason') else ''}"), ("commit", commit),
                 ("build", f"{meta.get('version', '?')}, {meta.get('build_type', '?')}, {meta.get('compiler', '?')}, CUDA compiler {meta.get('cuda_compiler') or 'none'}"),
                 ("GPUs", devices), ("CPU", f"{host.get('cpu', '?')}, {host.get('threads_used', '?')} threads"), ("system", host.get("system", "?")),
                 ("libraries", libs or "none opened"), ("notes", str(file.ceilings.get("notes") or "–"))]
        lines.append("<dl>" + "".join(f"<dt>{esc(name)}</dt><dd>{esc(str(value))}</dd>" for name, value in facts) + "</dl>")
    return "\n".join(lines)


def embedded(files):
    """The files as they are, in the page; a button hands each back byte for byte."""
    parts = []
    for i, file in enumerate(files):
        # Compressed, because a page is kept and sent; as base64, so that no byte of it can end the element.
        data = base64.b64encode(gzip.compress(file.raw.encode("utf-8"), mtime=0)).decode("ascii")
        parts.append(f'<p><a class="button" download="{esc(file.name)}" data-file="raw-{i}" href="#raw">Save {esc(file.name)}</a> '
                     f'<span class="soft">{bytes_text(len(file.raw.encode("utf-8")))}, sha256 <span class="code">{file.sha256}</span></span></p>'
                     f'<script type="application/gzip+base64" id="raw-{i}" data-name="{esc(file.name)}">{data}</script>')
    return "\n".join(parts)


SCRIPT = """
document.querySelectorAll('a[data-file]').forEach(async function (link) {
  var text = atob(document.getElementById(link.dataset.file).textContent), bytes = new Uint8Array(text.length);
  for (var i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  var blob = new Blob([bytes], {type: 'application/gzip'});
  if (window.DecompressionStream)
    blob = await new Response(blob.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
  else
    link.download += '.gz';
  link.href = URL.createObjectURL(blob);
});
"""


def stylesheet():
    css = (Path(__file__).with_name("page.css")).read_text(encoding="utf-8")
    return f":root {{ {style.css_variables(1)} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {style.css_variables(2)} }} }}\n{css}"


def render(groups, problems=()):
    """The page; `problems` are notes about files that could not be read."""
    files = [file for group in groups for file in group.files]
    traces = [trace for group in groups for trace in group.traces]
    title = f"Lenslet: {', '.join(group.device for group in groups)}"
    warnings = [f"{file.name} is not complete ({file.status}): what it has is shown." for file in files if file.status != "COMPLETE"]
    warnings += [f"{file.name} was measured with a modified tree." for file in files if file.meta.get("dirty")]
    warnings += list(problems)
    body, contents = [], []
    for i, group in enumerate(groups):
        prefix = f"device-{i}-" if len(groups) > 1 else ""
        parts = [section("overview", "In short" if len(groups) == 1 else group.device, overview(group), ceilings_line(group)),
                 study_a(group), study_b(group), study_c(group), study_d(group), study_e(group), others(group),
                 section("roofline", "Roofline", figures(group, "roofline")),
                 section("without", "Rows without a figure", without_figure(group.rows)),
                 section("rows", "Every row", f"<details><summary>{len(group.rows):,} rows</summary>{all_rows_table(group.rows)}</details>" if group.rows else "<p>There are none.</p>")]
        for name, heading, markup in [part for part in parts if part]:
            if prefix:
                markup = markup.replace(' id="', f' id="{prefix}').replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')
            body.append(markup)
            contents.append(f'<a href="#{prefix}{name}">{esc(heading)}</a>')
    contents += ['<a href="#environment">Environment</a>', '<a href="#raw">Files</a>']
    notes = "".join(f"<li>{esc(warning)}</li>" for warning in warnings)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{esc(title)}</title>
<style>
{stylesheet()}
</style>
</head>
<body>
<header><h1>{esc(title)}</h1>
<p class="soft">{esc('; '.join(dict.fromkeys(f"{file.tool}, {file.meta.get('time_utc', 'time unknown')}" for file in files)))}. Medians of verified runs on random data;
what each number means and how it is taken is in docs/measuring.md of the tree. Hover over a number for the exact value.</p>
{f'<ul class="notes">{notes}</ul>' if notes else ''}
<nav aria-label="Contents">{' '.join(contents)}</nav></header>
<main>
{chr(10).join(body)}
<section id="environment"><h2>Environment</h2>
{environment(files)}
</section>
<section id="raw"><h2>Files</h2>
<p>The result files that every figure and table of this page was made from.</p>
{embedded(files + traces)}
</section>
</main>
<script>{SCRIPT}</script>
</body>
</html>
"""
