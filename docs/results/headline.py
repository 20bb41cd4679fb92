"""The figures of README's short table, which history.csv keeps. The full tables are in tables_*.py."""

from dataclasses import dataclass

import common
import results
import selection
import tables
import words
from common import in_microseconds, is_ours, lack, like_for_like, load, millions, ours_and_theirs, side_of

KINDS = {"fp32 arithmetic": ("fp32",), "any arithmetic": ("fp32", "tf32", "fp16")}


@dataclass
class Headline:
    what: str
    ours: str
    theirs: str = ""
    ratio: float = None
    how: str = ""
    values: dict = None  # {figure: (Lenslet's value, the peer's or None)}, exact; where several stand in one line

    def line(self):
        ratio = "" if self.ratio is None else f"{common.ratio(self.ratio)}×"
        return [self.what, self.ours, self.theirs, ratio, self.how]


def compared(what, mine, theirs, ours_text, theirs_text, how="", fast_is_small=False):
    """A figure of ours beside a peer's."""
    ratio = theirs / mine if fast_is_small else mine / theirs
    return Headline(what, ours_text, theirs_text, ratio, how, {what: (mine, theirs)})


def named(row, value):
    """A value with the side it is of, its math mode and its batch."""
    return f"{value} ({side_of(row).removeprefix('Lenslet, ')}, {row['math']}, batch {row['batch']:,})"


def at_best(peer):
    return "; ".join(part for part in ("each at its best batch", peer.get("method")) if part)


def lenet_on_gpu(gpu):
    rows = like_for_like(gpu, "cuda")
    for kind, maths in KINDS.items():
        what = f"LeNet-5, fp32 in, logits out, {kind}, images/s"
        mine, theirs = ours_and_theirs(row for row in rows if row["math"] in maths)
        if mine is None or theirs is None:
            lack(gpu / "peers.json", f"PASSED rows of Lenslet and of a peer with fp32 in and logits out, {kind}")
            continue
        rates = [row["images_per_s"] for row in (mine, theirs)]
        texts = [named(row, millions(row["images_per_s"])) for row in (mine, theirs)]
        yield compared(what, *rates, *texts, at_best(theirs))


def one_image(gpu):
    """In order, pipelined, and from page-locked memory and back: fp32, fp32 in, logits out."""
    rows = [row for row in like_for_like(gpu, "cuda") if row["batch"] == 1 and row["math"] == "fp32"]
    ways = (
        ("in order", "one pass between two events", lambda row: row.get("in_order_ns")),
        ("pipelined", "captured passes over their number", lambda row: row.get("in_order_ns") and row["time_ns"]),
        ("page-locked memory to page-locked memory", "one CUDA graph of copy, pass and copy",
         lambda row: row.get("round_trip_ns", {}).get("graph")),
    )
    for name, how, time_of in ways:
        timed = [(time_of(row)["median"], row) for row in rows if time_of(row)]
        sides = [[pair for pair in timed if is_ours(pair[1]) == ours] for ours in (True, False)]
        if not all(sides):
            lack(gpu / "peers.json", f"rows of one image, {name}, of Lenslet and of a peer")
            continue
        (mine, our_row), (theirs, their_row) = (min(side, key=lambda pair: pair[0]) for side in sides)
        yield compared(
            f"one image, fp32, {name}, µs",
            mine / 1e3,
            theirs / 1e3,
            f"{in_microseconds(mine)} ({our_row['side'].removeprefix('Lenslet, ')})",
            f"{in_microseconds(theirs)} ({their_row['side']})",
            how,
            fast_is_small=True,
        )


def single_call(gpu):
    if not (gpu / "latency.json").exists():
        return
    rows = [row for row in load(gpu, "latency.json")["results"] if row["status"] == "PASSED" and row["math"] == "fp32"]
    rows = [row for row in rows if row["labels"]["batch"] == "1"]
    if not rows:
        lack(gpu / "latency.json", "PASSED row of one image in fp32")
        return
    best = min(rows, key=lambda row: row["time_ns"]["median"])
    median, labels = best["time_ns"]["median"] / 1e3, best["labels"]
    inputs = "bytes in" if labels["input"] == "uint8" else "fp32 in"
    outputs = "class out" if labels["output"] == "prediction" else "logits out"
    what = "one image, fp32, the shortest way from host memory and back, µs"
    ours = f"{median:.1f} ({labels['mode']}; p99 {best['p99_ns'] / 1e3:.1f})"
    how = f"{inputs}, {outputs}; `lenslet bench --latency`"
    yield Headline(what, ours, how=how, values={what: (median, None)})


def user_calls(folder):
    """What a call takes through C and Python."""
    if not (folder / "calls.json").exists():
        lack(folder / "calls.json", "file: user_calls.py writes it")
        return
    rows = load(folder, "calls.json")["rows"]
    for caller, how in (("C", "`liblenslet.so`"), ("Python", "package `lenslet`, arrays of NumPy")):
        mine = [row for row in rows if row["caller"] == caller and row["math"] == "fp32"]
        timed = {row["count"]: row["time_ns"]["median"] for row in mine if row["status"] == "PASSED"}
        if not mine or len(timed) < len(mine):
            lack(folder / "calls.json", f"PASSED row of every count through {caller}")
        if timed:
            counts = "; ".join(f"{row['count']:,}" for row in mine)
            yield Headline(
                f"a call from {caller} with {counts} pictures, µs",
                "; ".join(in_microseconds(timed[row["count"]]) if row["count"] in timed else "–" for row in mine),
                how=f"{how}, ordinary memory, bytes in, class and probability out, fp32",
                values={f"a call from {caller} with {n:,}, µs": (ns / 1e3, None) for n, ns in timed.items()},
            )


def streaming(gpu):
    for path in sorted(gpu.glob("stream-*.json"))[:1]:
        document = load(gpu, path.name)
        run = document["sustained"]
        what = f"sustained from host memory, {document['math']}, images/s"
        yield Headline(
            what,
            millions(run["images_per_s"]),
            f"{run['bus_fraction']:.1%} of the bus",
            how="page-locked memory, bytes in; `lenslet eval --repeat`",
            values={what: (run["images_per_s"], None)},
        )


def lenet_on_cpu(folder):
    """Each side at its best batch, and one image."""
    rows = like_for_like(folder, "cpu")
    if not rows:
        lack(folder / "peers.json", "PASSED rows on the CPU")
        return
    name = common.cpu_name(load(folder, "peers.json"))
    for threads in dict.fromkeys((min(row["threads"] for row in rows), max(row["threads"] for row in rows))):
        for one in (True, False):
            here = (row for row in rows if row["threads"] == threads and (row["batch"] == 1 or not one))
            mine, theirs = ours_and_theirs(here)
            if mine is None or theirs is None:
                lack(folder / "peers.json", f"PASSED rows of Lenslet and of a peer with {threads} threads")
                continue
            where = f"{name}, {threads} thread{'s' if threads > 1 else ''}, fp32"
            at = "" if one else f" (batch {mine['batch']:,})"
            peer = f"{theirs['side']}" + ("" if one else f", batch {theirs['batch']:,}")
            yield compared(
                f"{where}, {'one image at a time, ' if one else ''}images/s",
                mine["images_per_s"],
                theirs["images_per_s"],
                f"{mine['images_per_s']:,.0f}{at}",
                f"{theirs['images_per_s']:,.0f} ({peer})",
                "" if one else at_best(theirs),
            )


def convolutions(gpu):
    group = common.rgb_group(gpu)
    for how in selection.HOW if group else ():
        cells = selection.heat_cells(group.rows, how=how)
        if not cells:
            lack(gpu / "reproduce.json", f"rows of the RGB images of direct and cuDNN, {how}")
            continue
        yield Headline(
            f"3×3 of one RGB image, 256 to {max(int(size) for _, _, size in cells)}, fp32, {how} ({len(cells)} cases)",
            "`direct`",
            f"cuDNN; {sum(value > 1 for value in cells.values())} of {len(cells)} faster",
            results.geometric_mean(cells.values()),
            "wall time from page-locked memory and back" if how == "with copies" else "kernel time, device events",
        )
    group = common.convbench_group(gpu)
    found = selection.deep_rows(group.rows) if group else {}
    for math, ours in (("fp32", "winograd"), ("tf32", "tensor_core")):
        both = [best for best in found.values() if f"{ours} {math}" in best and f"cudnn {math}" in best]
        if both:
            mine, theirs = (
                results.geometric_mean(best[f"{name} {math}"].gflops / 1e3 for best in both) for name in (ours, "cudnn")
            )
            yield compared(
                f"3×3, 32 and 64 channels, batch 8, {math}, hot, TFLOP/s ({len(both)} shapes)",
                mine,
                theirs,
                f"{words.short(mine)}{' effective' if ours == 'winograd' else ''} (`{ours}`)",
                f"{words.short(theirs)} (cuDNN)",
                "operations of the direct sum over the time" if ours == "winograd" else "device events",
            )


GPU_PARTS = (lenet_on_gpu, one_image, single_call, user_calls, streaming)


def results_table(gpu, cpu):
    peers, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    yield (
        f"{common.digits_right(peers, matrix)} of {peers['digits']['images']:,} MNIST test images are classified"
        f" correctly, as by PyTorch with the same weights, with each of the {common.combinations(matrix)} on the GPU."
        f" On {common.device_name(gpu)}, images resident on the device except where a row names another way; the sides"
        " of a comparison take turns in one run; medians:"
    )
    yield ""
    parts = [*(part(gpu) for part in GPU_PARTS), lenet_on_cpu(cpu), convolutions(gpu)]
    lines = [headline.line() for part in parts for headline in part]
    yield from tables.markdown(["what", "Lenslet", "fastest peer", "ratio", "how"], lines)


def swap(cpu):
    """One layer's backend exchanged, all else alike: of the CPU's matrix."""
    document = load(cpu, "matrix.json")
    rows = [
        (dict(pair.split("=") for pair in row["backends"].split(",")), row)
        for row in document["rows"]
        if row["correct"] is not None and "=" in row["backends"]  # the others are variants of the fused plan
    ]
    first = rows[0][0]
    name, count = document["device_name"].replace("(R)", ""), document["count"]
    lines = []
    for of, row in rows:
        if all(of[layer] == first[layer] for layer in first if layer != "conv2"):
            differ = f"{row['max_logit_difference']:.1g}"
            lines.append([f"`{of['conv2']}`", f"{row['images_per_s']:,.0f}", f"{row['correct']:,}", differ])
    yield from tables.markdown(["conv2", f"images/s, {name}", f"correct, of {count:,}", "logits differ by"], lines)
