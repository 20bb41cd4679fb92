"""Tables of the page: each cell keeps the value that the file has, shown on hover."""

import html

import style
from results import Rows, natural, number
from selection import contender, deep_rows
from words import bytes_text, percent, rounded_rate, shape, short, time_text

esc = html.escape


def cell(text, exact=None, kind="", css=""):
    """A table cell. `exact` is the value as the file has it, shown on hover and kept for programs."""
    attributes = f' class="{css}"' if css else ""
    if exact is not None:
        attributes += f' title="{exact!r} {kind}"'.replace(' "', '"')
    return f"<td{attributes}>{text}</td>"


def time_cell(ns, css="n"):
    return cell(time_text(ns), ns, "ns", css) if ns is not None else cell("–", css=css)


def rate_cell(value, unit, css="n", effective=False):
    if value is None:
        return cell("–", css=css)
    return cell(rounded_rate(value, unit) + (" effective" if effective else ""), value, unit, css)


def table(heads, lines, caption="", css=""):
    """`lines` are lists of finished <td>s or <th>s."""
    # A head stands over its numbers, which are right-aligned.
    numeric = [any('class="n' in line[i] for line in lines if i < len(line)) for i in range(len(heads))]
    head = "".join(f"<th scope='col'{' class=n' if right else ''}>{esc(h)}</th>" for h, right in zip(heads, numeric))
    body = "\n".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    title = f"<caption>{esc(caption)}</caption>" if caption else ""
    return (
        '<div class="scroll"><table'
        f' class="{css}">{title}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


def figure(drawing):
    return (
        f'<figure id="fig-{drawing.name}"><h3>{esc(drawing.title)}</h3><div class="scroll drawing" role="img"'
        f' aria-label="{esc(drawing.title)}">'
        f"{style.for_page(drawing.svg)}</div><figcaption>{esc(drawing.caption)}</figcaption></figure>"
    )


class Footnotes:
    """Reasons under a table: a cell says the status alone, with a number."""

    def __init__(self):
        self.reasons = []

    def cell(self, row):
        """A time, or why there is none."""
        if row is None:
            return '<td class="n" title="not in this run">–</td>'
        why = row.no_figure()
        if not why:
            return time_cell(row.ns)
        status = row.status if row.status != "PASSED" else "no time"
        return f'<td class="why n" title="{esc(why)}">{esc(status)}{self.mark(why)}</td>'

    def mark(self, why):
        if why not in self.reasons:
            self.reasons.append(why)
        return f"<sup>{self.reasons.index(why) + 1}</sup>"

    def markup(self):
        lines = "".join(f"<li>{esc(reason)}</li>" for reason in self.reasons)
        return f'<ol class="footnotes">{lines}</ol>' if lines else ""


def beside_table(rows, line_labels, column_of, caption, copies_as_rate=False):
    """A line for each combination of labels; for each column ours, with copies where measured, and what was printed."""
    lines_of = sorted(
        {tuple(row.labels.get(name, "") for name in line_labels) for row in rows},
        key=lambda line: [natural(v) for v in line],
    )
    all_columns = list(dict.fromkeys(column_of(row) for row in rows))
    # A backend that serves no line at all needs no column; its reason is under the table.
    columns = [
        column
        for column in all_columns
        if any(column_of(row) == column and (row.drawn or row.published_ns or row.published_gflops) for row in rows)
    ]
    columns = columns or all_columns
    notes = Footnotes()
    with_copies = any(row.end_to_end_ns for row in rows)
    printed = {
        column
        for column in columns
        if any((row.published_ns or row.published_gflops) and column_of(row) == column for row in rows)
    }
    heads = [name.replace("_", " ") for name in line_labels]
    for column in columns:
        heads += (
            [column]
            + ([f"{column}, with copies"] if with_copies else [])
            + ([f"{column}, printed"] if column in printed else [])
        )
    lines = []
    for line in lines_of:
        cells = [f"<th scope='row'>{esc(value)}</th>" for value in line]
        mine = rows.where(**dict(zip(line_labels, line)))
        for column in columns:
            candidates = Rows(row for row in mine if column_of(row) == column)
            row = candidates.best() or next(iter(candidates), None)
            cells.append(notes.cell(row))
            if with_copies:
                whole = row if row is not None and row.drawn else None
                if copies_as_rate:
                    effective = bool(whole and whole.effective)
                    cells.append(rate_cell(whole and whole.end_to_end_gflops, "GFLOP/s", effective=effective))
                else:
                    cells.append(time_cell(whole and whole.end_to_end_ns))
            if column in printed:
                if row is not None and row.published_ns:
                    cells.append(time_cell(row.published_ns, "n theirs"))
                else:
                    cells.append(rate_cell(row.published_gflops if row is not None else None, "GFLOP/s", "n theirs"))
        lines.append(cells)
    for column in all_columns:
        if column not in columns:
            for why in dict.fromkeys(row.no_figure() for row in rows if column_of(row) == column):
                notes.mark(f"{column}: {why}")
    return table(heads, lines, caption) + notes.markup()


def ladder_tables(name, rows):
    for problem in rows.problems():
        lines, notes = [], Footnotes()
        for row in rows.where(problem=problem):
            launch = max(row.launches, key=lambda entry: number(entry.get("registers_per_thread")) or 0, default={})
            occupancy = number(launch.get("occupancy"))
            change = row.labels.get("change", "")
            lines.append(
                [
                    f"<th scope='row'>{esc(contender(row))}</th>",
                    notes.cell(row),
                    rate_cell(row.gflops / 1e3 if row.drawn and row.gflops else None, "TFLOP/s", effective=row.effective),
                    cell(percent(row.ratio), row.ratio, "", "n") if row.drawn and row.ratio else cell("–", css="n"),
                    cell(percent(row.number("ceiling_fraction")) if row.drawn else "–", css="n"),
                    cell(esc(str(launch.get("registers_per_thread", "–"))), css="n"),
                    cell(bytes_text(number(launch.get("shared_bytes"))), css="n"),
                    cell(percent(occupancy), css="n"),
                    time_cell(row.published_ns, "n theirs") if row.published_ns else cell("–", css="n"),
                    cell(esc(change)),
                ]
            )
        yield table(
            [
                "rung",
                "time",
                "rate",
                "of cuDNN",
                "of its ceiling",
                "registers",
                "shared",
                "occupancy",
                "printed",
                "the one change",
            ],
            lines,
            f"{name} on {shape(problem)} ({problem}), hot",
        ) + notes.markup()


def deep_table(rows):
    found = deep_rows(rows)
    if not found:
        return ""
    names = list(dict.fromkeys(name for best in found.values() for name in best))
    lines = []
    for problem, best in found.items():
        lines.append(
            [f"<th scope='row'>{esc(shape(problem))}</th>"]
            + [
                rate_cell(best[name].gflops / 1e3, "TFLOP/s", effective=best[name].effective)
                if name in best
                else cell("–", css="n")
                for name in names
            ]
        )
    return table(["shape", *names], lines, "Median rate, hot, each in its fastest layout")


def all_rows_table(rows):
    heads = [
        "study and labels",
        "problem or name",
        "backend",
        "math",
        "layout",
        "cache",
        "status",
        "median",
        "10th",
        "90th percentile",
        "samples",
        "with copies",
        "rate",
        "bandwidth",
        "of its ceiling",
        "over cuDNN",
        "largest error",
        "allowed",
        "workspace",
        "printed",
        "measure again",
    ]
    lines = []
    for row in rows:
        error = row.entry.get("error") if isinstance(row.entry.get("error"), dict) else {}
        labels = " ".join(
            ([row.study] if row.study else [])
            + [v if k == "table" else f"{k} {v}" for k, v in row.labels.items() if k != "change"]
        )
        status = esc(row.status) + (f": {esc(row.text('reason'))}" if row.text("reason") else "")
        ceiling = percent(row.number("ceiling_fraction")) + (
            f" ({esc(row.text('bound_by'))})" if row.text("bound_by") else ""
        )
        lines.append(
            [
                cell(esc(labels)),
                cell(esc(row.text("problem") or row.text("name")), css="code"),
                cell(esc(row.backend)),
                cell(esc(row.text("math"))),
                cell(esc(row.text("layout"))),
                cell(esc(row.text("cache"))),
                cell(status, css="" if row.status == "PASSED" else "why"),
                time_cell(row.ns),
                time_cell(row.p10),
                time_cell(row.p90),
                cell(esc(str(row.entry.get("samples", "–"))), css="n"),
                time_cell(row.end_to_end_ns),
                rate_cell(row.gflops, "GFLOP/s", effective=row.effective),
                rate_cell(row.gbytes, "GB/s"),
                cell(ceiling, css="n"),
                cell(f"×{short(row.ratio)}" if row.ratio else "–", row.ratio, "", "n"),
                cell(
                    f"{number(error.get('max_abs')):.2g}" if number(error.get("max_abs")) is not None else "–", css="n"
                ),
                cell(f"{number(error.get('bound')):.2g}" if number(error.get("bound")) is not None else "–", css="n"),
                cell(bytes_text(row.number("workspace_bytes")), css="n"),
                (
                    time_cell(row.published_ns, "n theirs")
                    if row.published_ns
                    else rate_cell(row.published_gflops, "GFLOP/s", "n theirs")
                ),
                cell(esc(row.text("repro")), css="code"),
            ]
        )
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
        items.append(
            f"<details><summary>{esc(why)} <span class='soft'>({len(subjects)}"
            f" row{'s' if len(subjects) != 1 else ''})</span></summary><ul>{listed}</ul></details>"
        )
    return "\n".join(items)
