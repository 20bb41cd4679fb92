"""README's short tables. Each is a generator of lines; the full ones are in tables_lenet.py and tables_conv.py."""

import common
import results
import selection
import words
from common import load, millions
from tables_lenet import OURS, fastest_peer


def times(ratio):
    return f"{words.short(ratio, 2)}×"


def line(what, ours, theirs, ratio):
    return f"| {what} | {ours} | {theirs} | {'' if ratio is None else times(ratio)} |"


def lenet_on_gpu(gpu):
    rows = [row for row in load(gpu, "peers.json")["rows"] if row["device"] == "cuda" and row["status"] == "PASSED"]
    batches = [row["batch"] for row in rows]
    for batch in (min(batches), max(batches)):
        for maths, kind in ((("fp32",), "fp32"), (("fp32", "tf32", "fp16"), "any arithmetic")):
            here = [row for row in rows if row["batch"] == batch and row["math"] in maths]
            keys = [key for _, *key in OURS]
            mine = [row for row in here if [row["side"], row["math"], row["input"]] in keys]
            best, peer = max(mine, key=lambda row: row["images_per_s"], default=None), fastest_peer(here)
            if best is None or peer is None or (kind != "fp32" and best["math"] == peer["math"] == "fp32"):
                continue
            name = best["side"].split(", ")[-1]
            yield line(
                f"LeNet-5, batch {batch:,}, {kind}, images/s",
                f"{millions(best['images_per_s'])} ({name}{'' if kind == 'fp32' else ', ' + best['math']})",
                f"{millions(peer['images_per_s'])} ({peer['side']}{'' if kind == 'fp32' else ', ' + peer['math']})",
                best["images_per_s"] / peer["images_per_s"],
            )


def single_call(gpu):
    if not (gpu / "latency.json").exists():
        return
    rows = [
        row
        for row in load(gpu, "latency.json")["results"]
        if row["status"] == "PASSED" and row["labels"]["batch"] == "1" and row["math"] == "fp32"
    ]
    if rows:
        best = min(rows, key=lambda row: row["time_ns"]["median"])
        median, p99 = best["time_ns"]["median"] / 1e3, best["p99_ns"] / 1e3
        yield line("one image from host memory and back, fp32", f"{median:.1f} µs ({best['labels']['mode']}; p99 {p99:.1f} µs)", "", None)


def streaming(gpu):
    for path in sorted(gpu.glob("stream-*.json"))[:1]:
        document = load(gpu, path.name)
        run = document["sustained"]
        yield line(
            f"sustained from host memory, {document['math']}, images/s",
            millions(run["images_per_s"]),
            f"{run['bus_fraction']:.1%} of the bus",
            None,
        )


def lenet_on_cpu(folder):
    if not (folder / "peers.json").exists():
        return
    document = load(folder, "peers.json")
    rows = [row for row in document["rows"] if row["device"] == "cpu" and row["status"] == "PASSED"]
    cases = sorted({(row["batch"], row["threads"]) for row in rows})
    for batch, threads in dict.fromkeys((cases[0], cases[-1])) if cases else ():
        here = [row for row in rows if (row["batch"], row["threads"]) == (batch, threads)]
        peer, mine = fastest_peer(here), next((row for row in here if row["side"].startswith("Lenslet")), None)
        if peer and mine:
            yield line(
                f"{document['host']['cpu']}: batch {batch:,}, {threads} thread{'s' if threads > 1 else ''}, images/s",
                f"{mine['images_per_s']:,.0f}",
                f"{peer['images_per_s']:,.0f} ({peer['side'].split(',')[0]})",
                mine["images_per_s"] / peer["images_per_s"],
            )


def convolutions(gpu):
    group = common.rgb_group(gpu)
    cells = selection.heat_cells(group.rows) if group else {}
    if cells:
        largest = max((int(size) for _, _, size in cells))
        ratio = results.geometric_mean(cells.values())
        yield line(
            f"3×3 of one RGB image, 256 to {largest}, kernel time ({len(cells)} cases)",
            "`direct`",
            f"cuDNN; {sum(value > 1 for value in cells.values())} of {len(cells)} faster",
            ratio,
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
                f"3×3, 32 and 64 channels, batch 8, {math}, TFLOP/s ({len(both)} shapes)",
                f"{words.short(mine)} (`{ours}`)",
                f"{words.short(theirs)} (cuDNN)",
                mine / theirs,
            )


def results_table(gpu, cpu):
    document, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    counts = {row["correct"] for row in document["digits"]["correct"] if row["math"] == "fp32" and row["correct"]}
    counts |= {row["correct"] for row in matrix["rows"] if row["correct"] is not None}
    count = " or ".join(f"{n:,}" for n in sorted(counts))
    combinations = sum(row["correct"] is not None for row in matrix["rows"])
    yield (
        f"{count} of {document['digits']['images']:,} MNIST test images are read rightly, as by PyTorch with the same"
        f" weights, with each of the {combinations} combinations of backends on the GPU."
        f" On {document['devices'][0]['name']}, images resident on the device, unless the row says otherwise; rivals turn by"
        " turn in one run, medians:"
    )
    yield ""
    yield "| what | Lenslet | best of the others | |"
    yield "|---|---|---|---|"
    for part in (lenet_on_gpu(gpu), single_call(gpu), streaming(gpu), lenet_on_cpu(cpu), convolutions(gpu)):
        yield from part


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
