"""Rows as tables, for the page and for Markdown. Python's standard library alone.

In HTML each cell keeps the value that the file has, shown on hover.
"""

import html
from dataclasses import dataclass, replace

from glossary import meaning
from results import Row, Rows, natural, number
from selection import batch_rows, candidate, deep_rows, labelled_candidate
from words import bytes_text, percent, rounded_rate, shape, short, time_text

esc = html.escape


@dataclass
class Cell:
    text: str = "–"
    title: str = ""  # shown on hover: the exact value, or why there is none
    css: str = ""  # "n…": a number, right-aligned
    note: str = ""  # the number of a footnote
    head: bool = False  # names its line

    def html(self):
        tag = "th" if self.head else "td"
        attributes = " scope='row'" if self.head else f' class="{self.css}"' if self.css else ""
        attributes += f' title="{esc(self.title)}"' if self.title else ""
        return f"<{tag}{attributes}>{esc(self.text)}{f'<sup>{self.note}</sup>' if self.note else ''}</{tag}>"


def head(text):
    return Cell(text, head=True)


def numeric(text, exact=None, unit="", css="n"):
    """`exact`: the value as the file has it."""
    return Cell(text, "" if exact is None else f"{exact!r} {unit}".rstrip(), css)


def time_cell(ns, css="n"):
    return numeric(time_text(ns), ns, "ns", css)


def rate_cell(value, unit, css="n", effective=False):
    text = rounded_rate(value, unit)
    return numeric(f"{text} effective" if effective and value is not None else text, value, unit, css)


def ceiling_cell(row, css="n"):
    return numeric(percent(row.ceiling_fraction) if row.drawn else "–", css=css)


PHONE_COLUMNS = 5  # as many as a phone shows beside each other


def hidden_on_phone(cell):
    return replace(cell, css=f"{cell.css} w".lstrip())


def fastest_cell(rows):
    """The fastest of the rows, by name of its column: what a phone shows instead of a column for each."""
    timed = {name: row for name, row in rows.items() if row is not None and row.drawn and row.ns}
    if not timed:
        return Cell("–")
    name = min(timed, key=lambda name: timed[name].ns)
    return Cell(f"{name} {time_text(timed[name].ns)}", f"{timed[name].ns!r} ns")


def printed_cell(row):
    """What a study printed."""
    if row is not None and row.published_ns:
        return time_cell(row.published_ns, "n theirs w")
    return rate_cell(row.published_gflops if row is not None else None, "GFLOP/s", "n theirs w")


def column_head(text, css):
    """The head of a column; pointing at it shows the text of the glossary."""
    explained = f' title="{esc(meaning(text))}"' if meaning(text) else ""
    return f"<th scope='col'{f' class={chr(34)}{css}{chr(34)}' if css else ''}{explained}>{esc(text)}</th>"


def table(heads, lines, caption="", css="", notes=None):
    """An HTML table with its footnotes; `lines` are lists of cells. Empty if there are none."""
    if not lines:
        return ""
    # A heading is right-aligned like the numbers below it.
    right = [any(line[i].css.startswith("n") for line in lines if i < len(line)) for i in range(len(heads))]
    # A phone hides a column with its heading.
    wide = [all(line[i].css.endswith("w") for line in lines if i < len(line)) for i in range(len(heads))]
    top = "".join(column_head(text, " ".join(["n"] * n + ["w"] * w)) for text, n, w in zip(heads, right, wide))
    body = "\n".join("<tr>" + "".join(cell.html() for cell in line) + "</tr>" for line in lines)
    title = f"<caption>{esc(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table class="{css}">{title}<thead><tr>{top}</tr></thead><tbody>\n{body}\n'
        f"</tbody></table></div>{notes.markup() if notes else ''}"
    )


def markdown(title, heads, lines):
    """A Markdown table under its title, if it has one; the cells are texts."""
    head, *body = (f"| {' | '.join(line)} |" for line in [heads, *lines])
    return "\n".join([*([title, ""] if title else []), head, "|---" * len(heads) + "|", *body])


def details(summary, *parts):
    return f"<details><summary>{summary}</summary>{''.join(parts)}</details>"


class Footnotes:
    """Reasons under a table: a cell has the status and a number."""

    def __init__(self):
        self.reasons = []

    def cell(self, row):
        """A time, or why there is none."""
        if row is None:
            return Cell("–", "not in this run", "n")
        why = row.no_figure()
        if not why:
            return time_cell(row.ns)
        return Cell(row.status if row.status != "PASSED" else "no time", why, "why n", self.mark(why))

    def mark(self, why):
        if why not in self.reasons:
            self.reasons.append(why)
        return str(self.reasons.index(why) + 1)

    def markup(self):
        lines = "".join(f"<li>{esc(reason)}</li>" for reason in self.reasons)
        return f'<ol class="footnotes">{lines}</ol>' if lines else ""


def beside_table(rows, labels, column_of, caption, copies_as_rate=False):
    """A line for each combination of labels; for each column ours, with copies where measured, and what was printed.

    Empty where there are no rows.
    """
    if not rows:
        return ""
    places = rows.by(lambda row: tuple(row.labels.get(name, "") for name in labels))
    by_column = rows.by(column_of)
    printed = {name for name, rows in by_column.items() if any(r.published_ns or r.published_gflops for r in rows)}
    # A backend that supports no line needs no column; the reason is below the table.
    columns = {name: some for name, some in by_column.items() if some.drawn or name in printed} or by_column
    with_copies = any(row.end_to_end_ns for row in rows)
    many = len(labels) + len(columns) > PHONE_COLUMNS
    notes = Footnotes()
    heads = [name.replace("_", " ") for name in labels]
    for name in columns:
        heads += [name] + [f"{name}, with copies"] * with_copies + [f"{name}, printed"] * (name in printed)
    lines = []
    for values in sorted(places, key=lambda values: [natural(value) for value in values]):
        cells, here, of_column = [head(value) for value in values], places[values].by(column_of), {}
        for name in columns:
            candidates = here.get(name, Rows())
            row = of_column[name] = candidates.best() or next(iter(candidates), None)
            cells.append(hidden_on_phone(notes.cell(row)) if many else notes.cell(row))
            timed = row if row is not None and row.drawn else None
            if with_copies and copies_as_rate:
                rate = timed and timed.end_to_end_gflops
                cells.append(rate_cell(rate, "GFLOP/s", "n w", effective=bool(timed and timed.effective)))
            elif with_copies:
                cells.append(time_cell(timed and timed.end_to_end_ns, "n w"))
            if name in printed:
                cells.append(printed_cell(row))
        lines.append(cells + [fastest_cell(of_column)] * many)
    for name, some in by_column.items():
        for why in some.by(Row.no_figure) if name not in columns else ():
            notes.mark(f"{name}: {why}")
    return table(heads + ["fastest"] * many, lines, caption, notes=notes)


LADDER_HEADS = (
    "rung",
    "time",
    "rate",
    "of cuDNN",
    "of nearest ceiling",
    "registers",
    "shared",
    "occupancy",
    "printed",
    "the one change",
)


def ladder_tables(name, rows):
    """A table for each problem. A phone shows each rung's time, its share of cuDNN's rate and its change."""
    for problem in rows.problems():
        lines, notes = [], Footnotes()
        for row in rows.where(problem=problem):
            launch = max(row.launches, key=lambda entry: number(entry.get("registers_per_thread")) or 0, default={})
            rate = row.gflops / 1e3 if row.drawn and row.gflops else None
            lines.append(
                [
                    head(candidate(row)),
                    notes.cell(row),
                    rate_cell(rate, "TFLOP/s", "n w", effective=row.effective),
                    numeric(percent(row.ratio), row.ratio) if row.drawn and row.ratio else numeric("–"),
                    ceiling_cell(row, "n w"),
                    numeric(str(launch.get("registers_per_thread", "–")), css="n w"),
                    numeric(bytes_text(number(launch.get("shared_bytes"))), css="n w"),
                    numeric(percent(number(launch.get("occupancy"))), css="n w"),
                    time_cell(row.published_ns, "n theirs w") if row.published_ns else numeric("–", css="n w"),
                    Cell(row.labels.get("change", "")),
                ]
            )
        yield table(LADDER_HEADS, lines, f"{name} on {shape(problem)} ({problem}), hot", notes=notes)


def deep_table(rows):
    found = deep_rows(rows)
    names = list(dict.fromkeys(name for best in found.values() for name in best))

    def rate(row):
        return numeric("–") if row is None else rate_cell(row.gflops / 1e3, "TFLOP/s", effective=row.effective)

    many = len(names) >= PHONE_COLUMNS
    lines = []
    for problem, best in found.items():
        rates = [rate(best.get(name)) for name in names]
        cells = [head(shape(problem)), *(map(hidden_on_phone, rates) if many else rates)]
        lines.append(cells + [fastest_cell(best)] * many)
    return table(["shape", *names, *["fastest"] * many], lines, "Median rate, hot, each in its fastest layout")


def _with(text, reason, form):
    return text + (form.format(reason) if reason else "")


def _error(row, key):
    value = row.stat("error", key)
    return numeric("–" if value is None else f"{value:.2g}", css="n w")


def _what(row):
    """What a row measures: its study by title, its labels, and its problem or name."""
    words = [row.study_title] * bool(row.study) + row.words()
    return Cell(" ".join([*words, row.text("problem") or row.text("name")]), row.text("repro"), "what")


ALL_COLUMNS = {
    "what": _what,
    "candidate": lambda row: Cell(candidate(row)),
    "cache": lambda row: Cell(row.text("cache")),
    "status": lambda row: Cell(_with(row.status, row.text("reason"), ": {}"), css="" if row.drawn else "why"),
    "median": lambda row: time_cell(row.ns),
    "10th": lambda row: time_cell(row.p10, "n w"),
    "90th percentile": lambda row: time_cell(row.p90, "n w"),
    "with copies": lambda row: time_cell(row.end_to_end_ns, "n w"),
    "rate": lambda row: rate_cell(row.gflops, "GFLOP/s", "n w", effective=row.effective),
    "bandwidth": lambda row: rate_cell(row.gbytes, "GB/s", "n w"),
    "of nearest ceiling": lambda row: numeric(
        _with(percent(row.ceiling_fraction), row.text("bound_by"), " ({})"), css="n w"
    ),
    "over cuDNN": lambda row: numeric(f"×{short(row.ratio)}" if row.ratio else "–", row.ratio, css="n w"),
    "largest error": lambda row: _error(row, "max_abs"),
    "allowed": lambda row: _error(row, "bound"),
    "workspace": lambda row: numeric(bytes_text(row.number("workspace_bytes")), css="n w"),
    "printed": printed_cell,
}


def all_rows_table(rows):
    """Every row; columns without content are left out. Pointing at the first cell shows the command that repeats it.

    A phone shows what was measured, the candidate, the cache state, the status and the median.
    """
    lines = [[cell(row) for cell in ALL_COLUMNS.values()] for row in rows]
    used = [i for i in range(len(ALL_COLUMNS)) if any(line[i].text not in ("", "–") for line in lines)]
    heads = list(ALL_COLUMNS)
    return table([heads[i] for i in used], [[line[i] for i in used] for line in lines], css="small rows")


def rates_table(rows):
    """Of `lenslet bench`: one line per batch, with the fastest input and output of each candidate."""
    rows = batch_rows(rows)
    names, lines = list(rows.by(candidate)), []
    for batch in rows.values("batch"):
        mine = rows.where(batch=batch)
        best, cells = mine.best(), [head(f"{float(batch):,.0f}")]
        for name in names:
            row = mine.by(candidate).get(name, Rows()).best()
            css = "n best w" if row is best else "n w"
            cells.append(numeric("–", css=css) if row is None else time_cell(row.ns, css))
        cells.append(numeric(f"{best.number('images_per_s'):,.0f}", best.number("images_per_s"), "images/s"))
        cells.append(Cell(labelled_candidate(best)))
        lines.append(cells)
    caption = "Time of a batch, of each input and output the faster"
    return table(["batch", *names, "images/s of the fastest", "which is"], lines, caption)


def without_figure(rows):
    """Every row without a time, gathered by its reason."""
    reasons = Rows(row for row in rows if row.no_figure()).by(Row.no_figure)
    items = []
    for why, some in sorted(reasons.items(), key=lambda item: -len(item[1])):
        listed = "".join(f"<li class='code'>{esc(row.what())}</li>" for row in some)
        count = f"{len(some)} row{'s' if len(some) != 1 else ''}"
        items.append(details(f"{esc(why)} <span class='soft'>({count})</span>", f"<ul>{listed}</ul>"))
    return "\n".join(items) or "<p>Every row of this run has a figure.</p>"
