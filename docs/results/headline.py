"""The figures of README's short table, which history.csv keeps. The full tables are in tables_*.py."""

from dataclasses import dataclass

import common
import tables_conv
from common import lack, like_for_like, load, rows_of

import results
import selection
import tables
import words
from selection import KINDS, ours_and_theirs, side_of
from words import microseconds, millions


@dataclass
class Headline:
    what: str
    ours: str
    theirs: str = ""
    ratio: float = None
    how: str = ""
    values: dict = None  # {figure: (Lenslet's value, the peer's or None)}, exact, also if one row has several

    def line(self):
        ratio = "" if self.ratio is None else f"{words.ratio(self.ratio)}×"
        return [self.what, self.ours, self.theirs, ratio, self.how]


def compared(what, mine, theirs, ours_text, theirs_text, how="", fast_is_small=False):
    """A figure of ours beside a peer's."""
    ratio = theirs / mine if fast_is_small else mine / theirs
    return Headline(what, ours_text, theirs_text, ratio, how, {what: (mine, theirs)})


def at_best(peer):
    return "; ".join(part for part in ("each at its best batch", peer.get("method")) if part)


def lenet_on_gpu(gpu):
    def named(row):
        rate = millions(row["images_per_s"])
        return f"{rate} ({side_of(row).removeprefix('Lenslet, ')}, {row['math']}, batch {row['batch']:,})"

    for kind, maths in KINDS.items():
        mine, theirs = ours_and_theirs(like_for_like(gpu, "cuda").where(math=maths))
        if mine is None or theirs is None:
            lack(gpu / "peers.json", f"PASSED rows of Lenslet and of a peer with fp32 in and logits out, {kind}")
            continue
        what = f"LeNet-5, fp32 in, logits out, {kind}, images/s"
        rates = mine["images_per_s"], theirs["images_per_s"]
        yield compared(what, *rates, named(mine), named(theirs), at_best(theirs))


def one_image(gpu):
    """In order, pipelined, and from page-locked memory and back: fp32, fp32 in, logits out."""
    rows = like_for_like(gpu, "cuda").where(batch=1, math="fp32")
    ways = (
        ("in order", "one pass between two events", lambda row: row.stat("in_order_ns", "median")),
        ("pipelined", "captured passes over their number", lambda row: row.get("in_order_ns") and row.ns),
        (
            "page-locked memory to page-locked memory",
            "one CUDA graph of copy, pass and copy",
            lambda row: row.get("round_trip_ns", {}).get("graph", {}).get("median"),
        ),
    )
    for name, how, time_of in ways:
        sides = ours_and_theirs(rows, time_of)
        if not all(sides):
            lack(gpu / "peers.json", f"rows of one image, {name}, of Lenslet and of a peer")
            continue
        times = [time_of(row) for row in sides]
        texts = [f"{microseconds(ns)} ({row['side'].removeprefix('Lenslet, ')})" for ns, row in zip(times, sides)]
        values = [ns / 1e3 for ns in times]
        yield compared(f"one image, fp32, {name}, µs", *values, *texts, how, fast_is_small=True)


def single_call(gpu):
    if not (gpu / "latency.json").exists():
        return
    best = rows_of(gpu, "latency.json").where(math="fp32", batch="1").best()
    if best is None:
        lack(gpu / "latency.json", "PASSED row of one image in fp32")
        return
    labels = best.labels
    inputs = "bytes in" if labels["input"] == "uint8" else "fp32 in"
    outputs = "class out" if labels["output"] == "prediction" else "logits out"
    what = "one image, fp32, the shortest way from host memory and back, µs"
    ours = f"{best.ns / 1e3:.1f} ({labels['mode']}; p99 {best['p99_ns'] / 1e3:.1f})"
    how = f"{inputs}, {outputs}; `lenslet bench --latency`"
    yield Headline(what, ours, how=how, values={what: (best.ns / 1e3, None)})


def user_calls(folder):
    """What a call takes through C and Python."""
    if not (folder / "calls.json").exists():
        lack(folder / "calls.json", "file: user_calls.py writes it")
        return
    device = load(folder, "calls.json").device
    for caller, how in (("C", "`liblenslet.so`"), ("Python", "package `lenslet`, arrays of NumPy")):
        mine = rows_of(folder, "calls.json").where(caller=caller, math="fp32")
        timed = {row["count"]: row.ns for row in mine.where(status="PASSED")}
        if not mine or len(timed) < len(mine):
            lack(folder / "calls.json", f"PASSED row of every count through {caller}")
        if timed:
            yield Headline(
                f"a call from {caller} with {'; '.join(f'{count:,}' for count in mine.by('count'))} images, µs",
                "; ".join(microseconds(timed.get(count)) for count in mine.by("count")),
                how=f"{how}, ordinary memory, bytes in, class and probability out, fp32, on {device}",
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
            how=f"page-locked memory, bytes in; `lenslet eval --repeat`; {run['bus_fraction']:.1%} of what plain copies"
            " reached in the same run",
            values={what: (run["images_per_s"], None)},
        )


def lenet_on_cpu(folder):
    """Each side at its best batch, and one image."""
    rows = like_for_like(folder, "cpu")
    if not rows:
        lack(folder / "peers.json", "PASSED rows on the CPU")
        return
    name, counts = common.cpu_name(load(folder, "peers.json")), rows.values("threads")
    for threads in dict.fromkeys((counts[0], counts[-1])):
        for one in (True, False):
            here = rows.where(threads=threads, **({"batch": 1} if one else {}))
            mine, theirs = ours_and_theirs(here)
            if mine is None or theirs is None:
                lack(folder / "peers.json", f"PASSED rows of Lenslet and of a peer with {threads} threads")
                continue
            rates = [row["images_per_s"] for row in (mine, theirs)]
            batches = ["" if one else f"batch {row['batch']:,}" for row in (mine, theirs)]
            peer = ", ".join(filter(None, (theirs["side"], batches[1])))
            yield compared(
                f"{name}, {threads} thread{'s' if threads > 1 else ''}, fp32, {'one image at a time, ' * one}images/s",
                *rates,
                f"{rates[0]:,.0f}" + (f" ({batches[0]})" if batches[0] else ""),
                f"{rates[1]:,.0f} ({peer})",
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
            f"cuDNN, slower in {sum(value > 1 for value in cells.values())} of {len(cells)}",
            results.geometric_mean(cells.values()),
            "wall time from page-locked memory and back" if how == "with copies" else "kernel time, device events",
        )
    if group := common.convbench_group(gpu):
        how = "operations of the direct sum over the time"
        yield from deep(group, "fp32", "winograd", how, " effective")


def on_tensor_cores(folder):
    """Of the file of the deep shapes in tf32; of a folder without it, of convbench's other files."""
    name = tables_conv.DEEP.format("tf32")
    if group := common.convbench_group(folder, (name,)) or common.convbench_group(folder):
        yield from deep(group, "tf32", "tensor_core", f"device events, on {group.device}")


def deep(group, math, ours, how, kind=""):
    """The deep 3x3 shapes, a backend beside cuDNN. `kind`: of the rate."""
    both = selection.deep_pairs(group.rows, f"{ours} {math}", f"cudnn {math}")
    if both:
        mine, theirs = (results.geometric_mean(row.gflops / 1e3 for row in rows) for rows in zip(*both))
        yield compared(
            f"3×3, 32 and 64 channels, batch 8, {math}, hot, TFLOP/s ({len(both)} shapes)",
            mine,
            theirs,
            f"{words.short(mine)}{kind} (`{ours}`)",
            f"{words.short(theirs)} (cuDNN)",
            how,
        )


GPU_PARTS = (lenet_on_gpu, one_image, single_call, user_calls, streaming)
CONV_PARTS = (convolutions, on_tensor_cores)


def results_table(gpu, cpu):
    peers, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    folders = {
        user_calls: common.newest(gpu, "calls.json"),
        on_tensor_cores: common.newest(gpu, tables_conv.DEEP.format("tf32")),
    }
    gpu_parts, conv_parts = ([part(folders.get(part, gpu)) for part in some] for some in (GPU_PARTS, CONV_PARTS))
    parts = [*gpu_parts, lenet_on_cpu(cpu), *conv_parts]
    return tables.markdown(
        f"Lenslet classifies {common.digits_right(peers, matrix)} of {peers['digits']['images']:,} MNIST test images"
        f" correctly, on the GPU with each of the {common.combinations(matrix)}. PyTorch with the same weights"
        f" classifies as many. Unless a row states otherwise, it was measured on an {peers.device} with the images in"
        " GPU memory. The sides of a comparison take turns in one run. Times and rates are medians:",
        ["what", "Lenslet", "fastest peer", "ratio", "how"],
        [headline.line() for part in parts for headline in part],
    )


def swap(cpu):
    """One layer's backend exchanged, all else alike: of the CPU's matrix."""
    document = load(cpu, "matrix.json")
    rows = [
        (dict(pair.split("=") for pair in row["backends"].split(",")), row)
        for row in document.rows
        if row["correct"] is not None and "=" in row["backends"]  # the others are whole-network backends
    ]
    first = rows[0][0]
    lines = [
        [f"`{of['conv2']}`", f"{row['images_per_s']:,.0f}", f"{row['correct']:,}", f"{row['max_logit_difference']:.1g}"]
        for of, row in rows
        if all(of[layer] == first[layer] for layer in first if layer != "conv2")
    ]
    name, count = document["device_name"].replace("(R)", ""), document["count"]
    heads = ["conv2", f"images/s, {name}", f"correct, of {count:,}", "logits differ from `direct`'s by at most"]
    return tables.markdown("", heads, lines)
