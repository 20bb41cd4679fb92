"""The tables of LeNet-5: accuracy, peers, batch sizes, single calls, streaming, layers. Each is a generator of lines."""

import json

from common import link, load, millions


def digits(gpu):
    document, matrix = load(gpu, "peers.json")["digits"], load(gpu, "matrix.json")
    exact = [row for row in document["correct"] if row["math"] == "fp32" and row["correct"] is not None]
    counts = {row["correct"] for row in [*exact, *matrix["rows"]] if row["correct"] is not None}
    names = dict.fromkeys(row["side"].split(",")[0] for row in exact)
    differing = sum(len(row["differences"]) for row in matrix["rows"])
    worst = max((run["max_abs_difference_to_torch"] for run in document["lenslet_logits"]), default=None)
    logits = "" if worst is None else f"; logits within {worst:.1e} of PyTorch's"
    ran = sum(row["correct"] is not None for row in matrix["rows"])
    reduced = {
        f"{row['math']} {row['correct']:,}"
        for row in document["correct"]
        if row["side"].startswith("Lenslet") and row["math"] != "fp32" and row["correct"] is not None
    }
    count = " or ".join(f"{n:,}" for n in sorted(counts))
    yield (
        f"**Digits.** {count} of {document['images']:,} MNIST test images read rightly in fp32: by"
        f" {', '.join(name for name in names)}, and on the GPU with each of the {ran} combinations of backends"
        f" ({differing} images read differently{logits}). In reduced precision:"
        f" {', '.join(sorted(reduced))}."
    )


# The columns of Lenslet in the table of peers: heading, side, math mode, input.
OURS = (
    ("layered fp32", "Lenslet, layered", "fp32", "fp32"),
    ("fused fp32", "Lenslet, fused", "fp32", "fp32"),
    ("fused tf32", "Lenslet, fused", "tf32", "fp32"),
    ("fused fp16, uint8 in", "Lenslet, fused", "fp16", "uint8"),
)


def fastest_peer(rows):
    """The fastest row that is not Lenslet's; None where there is none."""
    peers = [row for row in rows if row["status"] == "PASSED" and not row["side"].startswith("Lenslet")]
    return max(peers, key=lambda row: row["images_per_s"], default=None)


def peers(gpu):
    document = load(gpu, "peers.json")
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in document["libraries"].items())
    yield (
        f"**LeNet-5 against its peers**, {document['devices'][0]['name']}, images resident on the device, turn by turn"
        f" in one run, medians, images/s ({versions}):"
    )
    yield ""
    yield "| batch | fastest peer in fp32 | fastest peer | " + " | ".join(name for name, *_ in OURS) + " | ratio, fp32 | ratio, any |"
    yield "|---" * (len(OURS) + 5) + "|"
    rows = [row for row in document["rows"] if row["device"] == "cuda"]
    for batch in dict.fromkeys(row["batch"] for row in rows):
        here = [row for row in rows if row["batch"] == batch]
        exact = fastest_peer([row for row in here if row["math"] == "fp32"])
        best = fastest_peer(here)
        found = {
            name: row["images_per_s"]
            for name, *key in OURS
            for row in here
            if [row["side"], row["math"], row["input"]] == key and row["status"] == "PASSED"
        }
        cells = [millions(found[name]) if name in found else "–" for name, *_ in OURS]
        ours = max(rate for name, rate in found.items() if "fp32" in name)
        yield (
            f"| {batch:,} | {millions(exact['images_per_s'])} ({exact['side']}) |"
            f" {millions(best['images_per_s'])} ({best['side']}, {best['math']}) | "
            + " | ".join(cells)
            + f" | {ours / exact['images_per_s']:.1f} | {max(found.values()) / best['images_per_s']:.1f} |"
        )
    if (gpu / "lenet-peers.svg").exists():  # drawn by apps/peers with peers.json
        yield ""
        yield f"![Images a second by batch, Lenslet and its peers]({link(gpu / 'lenet-peers.svg')})"


def bench(gpu):
    """lenslet bench over batch sizes: the fused plan with bytes in and predictions out, by math mode."""
    if not (gpu / "bench.json").exists():
        return
    document = load(gpu, "bench.json")
    rows = [
        row
        for row in document["results"]
        if row["time_ns"] and row["labels"]["input"] == "uint8" and row["labels"]["output"] == "prediction"
    ]
    maths = list(dict.fromkeys(row["math"] for row in rows))
    yield (
        f"**The fused plan over batch sizes** (`lenslet bench`), {document['devices'][0]['name']}, bytes in, class and"
        " probability out, µs a pass and images/s. In fp32 the convolutions are Winograd's, with half the products of the"
        " direct sum, so that rate is an effective one:"
    )
    yield ""
    yield "| batch | " + " | ".join(f"{math}, µs | images/s" for math in maths) + " |"
    yield "|---" * (2 * len(maths) + 1) + "|"
    for batch in dict.fromkeys(row["labels"]["batch"] for row in rows):
        cells = []
        for math in maths:
            found = [row for row in rows if row["labels"]["batch"] == batch and row["math"] == math]
            cells += [f"{found[0]['time_ns']['median'] / 1e3:,.2f}", millions(found[0]["images_per_s"])] if found else ["–"] * 2
        yield f"| {int(batch):,} | " + " | ".join(cells) + " |"


def latency(gpu):
    """Single calls from page-locked host memory and back to it."""
    if not (gpu / "latency.json").exists():
        return
    document = load(gpu, "latency.json")
    rows = [
        row
        for row in document["results"]
        if row["status"] == "PASSED" and (row["labels"]["plan"], row["labels"]["input"]) == ("fused", "uint8")
        and row["labels"]["output"] == "prediction"
    ]
    if not rows:
        return
    yield (
        f"**One call, wall time** from page-locked host memory and back to it (`lenslet bench --latency`),"
        f" {document['devices'][0]['name']}, fused plan, bytes in, predictions out, µs:"
    )
    yield ""
    yield "| batch | math | way | GPU | median | p10 | p90 | p99 |"
    yield "|---" * 8 + "|"
    for row in rows:
        gpu_ns = row["stages_ns"].get("gpu")
        time = row["time_ns"]
        yield (
            f"| {row['labels']['batch']} | {row['math']} | {row['labels']['mode']} |"
            f" {'–' if gpu_ns is None else f'{gpu_ns / 1e3:.2f}'} | {time['median'] / 1e3:.2f} |"
            f" {time['p10'] / 1e3:.2f} | {time['p90'] / 1e3:.2f} | {row['p99_ns'] / 1e3:.2f} |"
        )


def streaming(gpu):
    """Sustained rates from page-locked host memory."""
    for index, path in enumerate(sorted(gpu.glob("stream-*.json"))):
        if index > 0:
            yield ""
        document = json.loads(path.read_text())
        run = document["sustained"]
        yield (
            f"**Sustained from page-locked host memory**, {document['device_name']}, fused plan in {document['math']}, bytes"
            f" in: {millions(run['images_per_s'])} images/s, {run['bus_fraction']:.1%} of the bus's rate measured in the"
            f" same run ({run['streams']} streams, chunks of {run['chunk']:,}; `lenslet eval --repeat`)."
        )


def cpu_peers(folder):
    if not (folder / "peers.json").exists():
        return
    document = load(folder, "peers.json")
    rows = [row for row in document["rows"] if row["device"] == "cpu" and row["status"] == "PASSED"]
    if not rows:
        return
    cpu_name = document["host"]["cpu"].replace("(R)", "")
    yield f"**CPU**, {cpu_name}, fp32, turn by turn in one run, medians:"
    yield ""
    yield "| batch | threads | ONNX Runtime, µs | Lenslet, µs | ONNX Runtime, images/s | Lenslet, images/s | ratio |"
    yield "|---" * 7 + "|"
    for batch, threads in dict.fromkeys((row["batch"], row["threads"]) for row in rows):
        here = [row for row in rows if (row["batch"], row["threads"]) == (batch, threads)]
        theirs, ours = fastest_peer(here), next((row for row in here if row["side"].startswith("Lenslet")), None)
        if theirs is None or ours is None:
            continue
        yield (
            f"| {batch:,} | {threads} | {theirs['time_ns']['median'] / 1e3:,.1f} | {ours['time_ns']['median'] / 1e3:,.1f} |"
            f" {theirs['images_per_s']:,.0f} | {ours['images_per_s']:,.0f} |"
            f" {ours['images_per_s'] / theirs['images_per_s']:.1f} |"
        )


def profile(gpu):
    document = load(gpu, "profile-batch-10000.json")
    sums = document["sums_ns"]
    yield (
        f"**Where a pass of {document['batch']:,} goes** (`lenslet profile`, {sums['unprofiled'] / 1e3:.0f} µs,"
        f" residual {abs(sums['residual']) / sums['unprofiled']:.1%}):"
    )
    yield ""
    yield "| layer | backend | µs, hot | of the ceiling | bound by |"
    yield "|---|---|---|---|---|"
    for row in document["results"]:
        if row["backend"] and row["cache"] == "hot":
            yield (
                f"| {row['name']} | {row['backend']} | {row['time_ns']['median'] / 1e3:.1f} |"
                f" {row['ceiling_fraction']:.0%} | {row['bound_by']} |"
            )


def cpu(folder):
    document = load(folder, "eval.json")
    host = document["host"]
    rate = document["throughput"]["images_per_s"]
    yield (
        f"**CPU.** {rate / 1e3:.0f} k images/s from bytes to logits over the test set, {host['threads_used']} threads"
        f" of {host['cpu'].replace('(R)', '')}; {document['correct']:,} of {document['count']:,} right."
    )
