"""Two runs side by side: the rows of both, with their ratios, and their figures."""

from results import Rows, geometric_mean
from selection import labelled_candidate, title_of
from tables import Cell, details, head, numeric, table, time_cell
from words import short

MAX_SHOWN = 30  # rows with the largest change; the others unfold


def pairs(group, other):
    """[(row, the same row of the other run)] with a time in both, by the size of the change."""
    theirs = {row.key: row for row in other.rows.drawn}
    found = [(row, theirs[row.key]) for row in group.rows.drawn if row.key in theirs]
    return sorted(found, key=lambda pair: -max(pair[1].ns / pair[0].ns, pair[0].ns / pair[1].ns))


def verdict(row, other):
    """How row compares with other. "within the spread": their intervals from p10 to p90 overlap."""
    if (other.p10 or other.ns) > (row.p90 or row.ns):
        return "faster"
    return "slower" if (row.p10 or row.ns) > (other.p90 or other.ns) else "within the spread"


def summary(found):
    """A line for the top of the page: how many rows are faster or slower than in the other run."""
    if not found:
        return "No row has a time in both runs."
    counts = Rows(found).by(lambda pair: verdict(*pair))
    parts = ", ".join(
        f"{len(counts[word])} {word}" for word in ("faster", "slower", "within the spread") if word in counts
    )
    ratio = geometric_mean(theirs.ns / ours.ns for ours, theirs in found)
    mean = f"the other run takes ×{short(ratio)} the time in the geometric mean"
    return f"Of {len(found):,} rows in both runs {parts}; {mean}."


def _line(row, other):
    labels = [word for word in row.words() if not word.startswith("batch ")]  # the title has it
    words = (title_of(row), labelled_candidate(row) if row.backend else "", row.text("cache"), *labels)
    what = " ".join(word for word in words if word)
    ratio = other.ns / row.ns
    return [
        head(what),
        time_cell(row.ns),
        time_cell(other.ns),
        numeric(f"×{short(ratio)}", ratio),
        Cell(verdict(row, other), css="best" if verdict(row, other) == "faster" else ""),
    ]


def rows_table(found, names):
    """The rows of both, those that changed most first."""
    heads = ["what", *names, "other / this", "this is"]
    lines = [_line(*pair) for pair in found]
    first, rest = lines[:MAX_SHOWN], lines[MAX_SHOWN:]
    more = details(f"{len(rest):,} more", table(heads, rest, css="both")) if rest else ""
    return table(heads, first, "The largest changes first", css="both") + more
