"""README's short tables. Each is a generator of lines; the full ones are in tables_lenet.py and tables_conv.py."""

import common
import results
import selection
import words
from common import lack, load, millions
from tables_lenet import fastest, in_microseconds, is_ours, like_for_like, peer_rows

KINDS = (("fp32 arithmetic", ("fp32",)), ("any arithmetic", ("fp32", "tf32", "fp16")))


def times(ratio):
    return f"{common.ratio(ratio)}×"


def line(what, ours, theirs="", ratio=None, how=""):
    return f"| {what} | {ours} | {theirs} | {'' if ratio is None else times(ratio)} | {how} |"


def named(row, value):
    """A value with the side it is of, its math mode and its batch."""
    side = row["side"].removeprefix("Lenslet, ")
    layout = ", channels last" if row.get("layout") == "NHWC" and not is_ours(row) else ""
    return f"{value} ({side}{layout}, {row['math']}, batch {row['batch']:,})"


def at_best(peer):
    return "; ".join(part for part in ("each at its best batch", peer.get("method")) if part)


def lenet_on_gpu(gpu):
    rows = like_for_like(peer_rows(gpu), "cuda")
    for kind, maths in KINDS:
        what = f"LeNet-5, fp32 in, logits out, {kind}, images/s"
        mine, theirs = (fastest(row for row in rows if row["math"] in maths and is_ours(row) == ours) for ours in (True, False))
        if mine is None or theirs is None:
            lack(gpu / "peers.json", f"PASSED rows of Lenslet and of a peer with fp32 in and logits out, {kind}")
            continue
        yield line(
            what,
            named(mine, millions(mine["images_per_s"])),
            named(theirs, millions(theirs["images_per_s"])),
            mine["images_per_s"] / theirs["images_per_s"],
            at_best(theirs),
        )


def one_image(gpu):
    """In order, pipelined, and from page-locked memory and back: fp32, fp32 in, logits out."""
    rows = [row for row in like_for_like(peer_rows(gpu), "cuda") if row["batch"] == 1 and row["math"] == "fp32"]
    ways = (
        ("in order, µs", "one pass between two events", lambda row: row.get("in_order_ns")),
        ("pipelined, µs", "captured passes over their number", lambda row: row["time_ns"] if row.get("in_order_ns") else None),
        (
            "page-locked memory to page-locked memory, µs",
            "one CUDA graph of copy, pass and copy",
            lambda row: row.get("round_trip_ns", {}).get("graph"),
        ),
    )
    for what, how, time_of in ways:
        best = {}
        for row in rows:
            time = time_of(row)
            if time and time["median"] < best.get(is_ours(row), (float("inf"),))[0]:
                best[is_ours(row)] = (time["median"], row)
        if len(best) < 2:
            lack(gpu / "peers.json", f"rows of one image, {what.removesuffix(', µs')}, of Lenslet and of a peer")
            continue
        (mine, our_row), (theirs, their_row) = best[True], best[False]
        yield line(
            f"one image, fp32, {what}",
            f"{in_microseconds(mine)} ({our_row['side'].removeprefix('Lenslet, ')})",
            f"{in_microseconds(theirs)} ({their_row['side']})",
            theirs / mine,
            how,
        )


def single_call(gpu):
    if not (gpu / "latency.json").exists():
        return
    rows = [
        row
        for row in load(gpu, "latency.json")["results"]
        if row["status"] == "PASSED" and row["labels"]["batch"] == "1" and row["math"] == "fp32"
    ]
    if not rows:
        lack(gpu / "latency.json", "PASSED row of one image in fp32")
        return
    best = min(rows, key=lambda row: row["time_ns"]["median"])
    median, p99 = best["time_ns"]["median"] / 1e3, best["p99_ns"] / 1e3
    labels = best["labels"]
    inputs = "bytes in" if labels["input"] == "uint8" else "fp32 in"
    outputs = "class out" if labels["output"] == "prediction" else "logits out"
    yield line(
        "one image, fp32, the shortest way from host memory and back, µs",
        f"{median:.1f} ({labels['mode']}; p99 {p99:.1f})",
        how=f"{inputs}, {outputs}; `lenslet bench --latency`",
    )


def user_calls(folder, where):
    """What a call takes through C and Python."""
    if not (folder / "calls.json").exists():
        lack(folder / "calls.json", "file: user_calls.py writes it")
        return
    rows = load(folder, "calls.json")["rows"]
    for caller, how in (("C", "`liblenslet.so`"), ("Python", "package `lenslet`, arrays of NumPy")):
        mine = [row for row in rows if row["caller"] == caller and row["math"] == "fp32"]
        counts = "; ".join(f"{row['count']:,}" for row in mine)
        times = [in_microseconds(row["time_ns"]["median"]) if row["status"] == "PASSED" else "–" for row in mine]
        if not mine or "–" in times:
            lack(folder / "calls.json", f"PASSED row of every count through {caller}")
        if any(time != "–" for time in times):
            yield line(
                f"a call from {caller} with {counts} pictures{where}, µs",
                "; ".join(times),
                how=f"{how}, ordinary memory, bytes in, class and probability out, fp32",
            )


def streaming(gpu):
    for path in sorted(gpu.glob("stream-*.json"))[:1]:
        document = load(gpu, path.name)
        run = document["sustained"]
        yield line(
            f"sustained from host memory, {document['math']}, images/s",
            millions(run["images_per_s"]),
            f"{run['bus_fraction']:.1%} of the bus",
            how="page-locked memory, bytes in; `lenslet eval --repeat`",
        )


def lenet_on_cpu(folder):
    """Each side at its best batch, and one image."""
    rows = like_for_like(peer_rows(folder), "cpu") if (folder / "peers.json").exists() else []
    if not rows:
        lack(folder / "peers.json", "PASSED rows on the CPU")
        return
    name = load(folder, "peers.json")["host"]["cpu"].replace("(R)", "")
    for threads in dict.fromkeys((min(row["threads"] for row in rows), max(row["threads"] for row in rows))):
        for one in (True, False):
            here = [row for row in rows if row["threads"] == threads and (row["batch"] == 1 or not one)]
            mine, theirs = (fastest(row for row in here if is_ours(row) == ours) for ours in (True, False))
            if mine is None or theirs is None:
                lack(folder / "peers.json", f"PASSED rows of Lenslet and of a peer with {threads} threads")
                continue
            yield line(
                f"{name}, {threads} thread{'s' if threads > 1 else ''}, fp32, "
                + ("one image at a time, images/s" if one else "images/s"),
                f"{mine['images_per_s']:,.0f}" + ("" if one else f" (batch {mine['batch']:,})"),
                f"{theirs['images_per_s']:,.0f} ({theirs['side']}" + ("" if one else f", batch {theirs['batch']:,}") + ")",
                mine["images_per_s"] / theirs["images_per_s"],
                "" if one else at_best(theirs),
            )


def convolutions(gpu):
    group = common.rgb_group(gpu)
    for how in selection.HOW if group else ():
        cells = selection.heat_cells(group.rows, how=how)
        if not cells:
            lack(gpu / "reproduce.json", f"rows of the RGB images of direct and cuDNN, {how}")
            continue
        largest = max((int(size) for _, _, size in cells))
        yield line(
            f"3×3 of one RGB image, 256 to {largest}, fp32, {how} ({len(cells)} cases)",
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
            yield line(
                f"3×3, 32 and 64 channels, batch 8, {math}, hot, TFLOP/s ({len(both)} shapes)",
                f"{words.short(mine)}{' effective' if ours == 'winograd' else ''} (`{ours}`)",
                f"{words.short(theirs)} (cuDNN)",
                mine / theirs,
                "operations of the direct sum over the time" if ours == "winograd" else "device events",
            )


def results_table(gpu, cpu):
    document, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    counts = {row["correct"] for row in document["digits"]["correct"] if row["math"] == "fp32" and row["correct"]}
    counts |= {row["correct"] for row in matrix["rows"] if row["correct"] is not None}
    count = " or ".join(f"{n:,}" for n in sorted(counts))
    yield (
        f"{count} of {document['digits']['images']:,} MNIST test images are read rightly, as by PyTorch with the same"
        f" weights, with each of the {common.combinations(matrix)} on the GPU. On"
        f" {document['devices'][0]['name']}, images resident on the device unless the row says otherwise; the sides of a"
        " comparison take turns in one run; medians:"
    )
    yield ""
    yield "| what | Lenslet | fastest peer | ratio | how |"
    yield "|---|---|---|---|---|"
    for part in (lenet_on_gpu(gpu), one_image(gpu), single_call(gpu), user_calls(gpu, ""), streaming(gpu)):
        yield from part
    yield from lenet_on_cpu(cpu)
    yield from convolutions(gpu)


def swap(cpu):
    """One layer's backend exchanged, all else alike: of the CPU's matrix."""
    document = load(cpu, "matrix.json")
    rows = [
        (dict(pair.split("=") for pair in row["backends"].split(",")), row)
        for row in document["rows"]
        if row["correct"] is not None and "=" in row["backends"]  # the others are the fused plan's variants
    ]
    first = rows[0][0]
    yield f"| conv2 | images/s, {document['device_name'].replace('(R)', '')} | right of {document['count']:,} | logits differ by |"
    yield "|---|---|---|---|"
    for backends, row in rows:
        if all(backends[layer] == first[layer] for layer in first if layer != "conv2"):
            yield (
                f"| `{backends['conv2']}` | {row['images_per_s']:,.0f} | {row['correct']:,} |"
                f" {row['max_logit_difference']:.1g} |"
            )
