"""The first lines of the page: what was fastest, and by how much."""

import html

from results import Rows, geometric_mean, size_of
from selection import (
    HOW,
    MATH_MODES,
    batch_rows,
    batches_of_layers,
    candidate,
    cell_of,
    deep_pairs,
    heat_cells,
    labelled_candidate,
    parts_of_network,
    rgb_bandwidth,
    single_rows,
    title_of,
    way_of,
)
from words import per_second, percent, short, time_text

MAX_WINNERS = 8  # problems named one by one


def _times_as_fast(ratio):
    """ "1.80 times as fast as", or "as fast as" for what rounds to 1."""
    return f"{short(ratio)} times as fast as" if abs(ratio - 1) >= 0.005 else "as fast as"


def _ahead(best, next_best):
    """ "conv1: direct in 12.3 µs, 1.80 times as fast as onednn"."""
    if next_best is None:
        return f"{labelled_candidate(best)} in {time_text(best.ns)}"
    how = _times_as_fast(next_best.ns / best.ns)
    return f"{labelled_candidate(best)} in {time_text(best.ns)}, {how} {labelled_candidate(next_best)}"


def network_lines(rows):
    for batch, (layers, whole) in batches_of_layers(rows).items():
        total = whole.ns if whole else sum(row.ns for row in layers)
        slowest = max(layers, key=lambda row: row.ns)
        share = ""
        if slowest.ceiling_fraction:
            share = f", {percent(slowest.ceiling_fraction)} of {slowest.text('bound_by')}"
        yield (
            f"Batch {batch}: a pass takes {time_text(total)}; its longest layer is {slowest.text('name')} with"
            f" {time_text(slowest.ns)} ({slowest.backend}{share})."
        )
    found = batch_rows(rows)
    if found:
        fastest = max(found, key=lambda row: row.number("images_per_s"))
        single = found.where(batch=found.values("batch")[0]).best()
        yield (
            f"Most images per second: {fastest.number('images_per_s'):,.0f} by {labelled_candidate(fastest)} at batch"
            f" {size_of(fastest.labels['batch']):,.0f}. Batch {size_of(single.labels['batch']):,.0f}:"
            f" {labelled_candidate(single)} in {time_text(single.ns)}."
        )


def _choice(title, some):
    """ "conv1, relu1: conv1+relu1 by direct in 3.8 µs, 2.4 times as fast as conv1+relu1 by im2col_gemm"."""
    chosen = next((row for row in some if row.get("chosen") is True), some[0])
    rest = [row for row in some if row is not chosen]
    line = f"{title}: {way_of(chosen)} in {time_text(chosen.ns)}"
    if not rest:
        return f"{line}."
    return f"{line}, {_times_as_fast(rest[0].ns / chosen.ns)} {way_of(rest[0])}."


def tune_lines(rows):
    for batch, some in rows.where(table="plans").drawn.by("batch").items():
        yield _choice(f"Batch {batch}, chosen plan", sorted(some, key=lambda row: row.ns))
    parts = list(parts_of_network(rows).items())
    for name, some in parts[:MAX_WINNERS]:
        yield _choice(name, some)
    if len(parts) > MAX_WINNERS:
        yield f"{len(parts) - MAX_WINNERS} more parts of the network have several ways; the figure shows them."


def _wins(fastest):
    """ "direct wins 3, winograd wins 1", of the fastest row of each problem."""
    counts = sorted(((len(mine), name) for name, mine in Rows(fastest).by(candidate).items()), reverse=True)
    return ", ".join(f"{name} wins {count}" for count, name in counts)


def winner_lines(rows):
    """The fastest of each problem outside the studies."""
    problems = [some for some in single_rows(rows).by(title_of).values() if len(some.by(labelled_candidate)) > 1]
    for some in problems[:MAX_WINNERS]:
        best = some.best()
        rest = Rows(row for row in some if labelled_candidate(row) != labelled_candidate(best))
        yield f"{title_of(best)}: {_ahead(best, rest.best())}."
    if len(problems) > MAX_WINNERS:
        yield f"Of {len(problems)} problems {_wins(some.best() for some in problems)}."


def study_lines(group):
    rows = group.rows
    cells = [
        some for some in rows.where(table="rgb", cache="hot").drawn.by(cell_of).values() if len(some.by(candidate)) > 1
    ]
    if cells:
        yield f"RGB images, hot: of {len(cells)} cells {_wins(some.best() for some in cells)}."
    for how in HOW:
        cells = heat_cells(rows, how=how)
        if cells:
            yield (
                f"RGB images, {how}: direct is faster than the best cuDNN fp32 time in"
                f" {sum(r > 1 for r in cells.values())} of {len(cells)} cells, ×{short(min(cells.values()))} to"
                f" ×{short(max(cells.values()))}, ×{short(geometric_mean(cells.values()))} in the geometric mean."
            )
    shares = rgb_bandwidth(group)
    if shares:
        yield f"At 2048 and 4096 direct moves {min(shares):.0%} to {max(shares):.0%} of the copy bandwidth of the run."
    pairs = (("implicit_gemm fp32", "cudnn fp32"), ("winograd fp32", "cudnn fp32"), ("tensor_core tf32", "cudnn tf32"))
    for ours, theirs in pairs:
        ratios = [theirs_row.ns / ours_row.ns for ours_row, theirs_row in deep_pairs(rows, ours, theirs)]
        if ratios:
            yield (
                f"3×3 at batch 8: {ours} against {theirs} ×{short(geometric_mean(ratios))} in the geometric mean of"
                f" {len(ratios)} shapes, ×{short(min(ratios))} to ×{short(max(ratios))}."
            )
    for place, some in rows.where(table="separable").prefer("hot").drawn.by("channels", "size").items():
        block = some.where(part="block").best()
        beside = some.where(part="standard beside block").best()
        if block and beside:
            yield (
                f"Separable block, {place[0]} channels, {place[1]}²: {block.backend} in {time_text(block.ns)},"
                f" {_times_as_fast(beside.ns / block.ns)} the standard convolution ({beside.backend})."
            )


def overview(group):
    """A summary for readers in a hurry, computed from the rows: winners first, then how many rows there are."""
    rows = group.rows
    drawn = len(rows.drawn)
    points = [*network_lines(rows), *tune_lines(rows), *winner_lines(rows), *study_lines(group)]
    without = len(rows) - drawn
    points.append(f"{len(rows):,} rows: {drawn:,} with a time, {without:,} without, each with its reason below.")
    wrong = [row for row in rows if row.status in ("FAILED", "SUSPECT", "ERROR")]
    if wrong:
        points.append(
            f"{len(wrong)} of them are wrong, too fast to be true, or ended in an error: they are listed, not drawn."
        )
    return "<ul>" + "".join(f"<li>{html.escape(point)}</li>" for point in points) + "</ul>"


def ceilings_line(group):
    parts = [f"{name} {per_second(rate, 'B/s')}" for name, rate in group.bandwidths()]
    for math in MATH_MODES:
        peak, library = group.peak(math), group.ceiling(f"{math}_flops_per_s")
        if peak and peak[0] != library:
            parts.append(f"{math} {peak[1]} {per_second(peak[0], 'FLOP/s')}")
        if library:
            parts.append(f"{math} matrix product {per_second(library, 'FLOP/s')}")
    if group.ceiling("launch_ns"):
        parts.append(f"launch {time_text(group.ceiling('launch_ns'))}")
    words = f"Ceilings of the same run: {html.escape(' · '.join(parts))}." if parts else "No ceilings were measured."
    return f"<p>{words}</p>"
