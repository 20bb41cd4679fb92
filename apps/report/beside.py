"""Two runs side by side: the rows of both, with their ratios, and their figures.

The verdicts are those of `convbench compare` (docs/comparing.md, "Comparing two files").
"""

import math

from results import Rows, geometric_mean
from selection import labelled_candidate, title_of
from tables import Cell, details, head, numeric, table, time_cell
from words import short

MAX_SHOWN = 30  # rows with the largest change; the others unfold
HALF_WIDTH, MIN_SAMPLES, THRESHOLD = 1.288, 6, 0.03  # those of convbench compare
VERDICTS = ("faster", "slower", "same", "unclear")


def pairs(group, other):
    """[(row, the same row of the other run)] with a time in both, by the size of the change."""
    theirs = {row.key: row for row in other.rows.drawn}
    found = [(row, theirs[row.key]) for row in group.rows.drawn if row.key in theirs]
    return sorted(found, key=lambda pair: -max(pair[1].ns / pair[0].ns, pair[0].ns / pair[1].ns))


def quantile(time, fraction):
    """The quantile at `fraction`, interpolated linearly between the five that a row has."""
    points = [(0.0, time["min"]), (0.1, time["p10"]), (0.5, time["median"]), (0.9, time["p90"]), (1.0, time["max"])]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if fraction <= x1:
            return y0 + (y1 - y0) * (max(fraction, x0) - x0) / (x1 - x0)
    return time["max"]


def median_interval(row):
    """Returns (low, high) around the row's median; None if it has too few samples or lacks a quantile."""
    time = {name: row.stat("time_ns", name) for name in ("min", "p10", "median", "p90", "max")}
    samples = row.number("samples") or 0
    if samples < MIN_SAMPLES or None in time.values():
        return None
    offset = HALF_WIDTH / math.sqrt(samples) + 0.5 / samples
    return quantile(time, max(0.0, 0.5 - offset)), quantile(time, min(1.0, 0.5 + offset))


def verdict(row, other):
    """Returns what `row` is beside `other`: one of VERDICTS."""
    new, old = median_interval(row), median_interval(other)
    if not new or not old or min(new[0], old[0]) <= 0:
        return "unclear"
    low, high = new[0] / old[1], new[1] / old[0]
    if low > 1 + THRESHOLD:
        return "slower"
    if high < 1 / (1 + THRESHOLD):
        return "faster"
    return "same" if low >= 1 / (1 + THRESHOLD) and high <= 1 + THRESHOLD else "unclear"


def summary(found):
    """A line for the top of the page: how many rows are faster or slower than in the other run."""
    if not found:
        return "No row has a time in both runs."
    counts = Rows(found).by(lambda pair: verdict(*pair))
    parts = ", ".join(f"{len(counts[word])} {word}" for word in VERDICTS if word in counts)
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
