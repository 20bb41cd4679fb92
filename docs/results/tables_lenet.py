"""The tables of LeNet-5: accuracy, peers, batch sizes, single calls, streaming, layers. Each generates lines."""

import json

import common
from common import PEERS_PICTURE, fastest, in_microseconds, is_ours, lack, like_for_like, link, load, millions
from common import ours_and_theirs, side_of
from tables import markdown


def digits(gpu):
    peers, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    document = peers["digits"]
    counted = [row for row in document["correct"] if row["correct"] is not None]
    names = dict.fromkeys(row["side"].split(",")[0] for row in counted if row["math"] == "fp32")
    differing = sum(len(row["differences"]) for row in matrix["rows"])
    worst = max((run["max_abs_difference_to_torch"] for run in document["lenslet_logits"]), default=None)
    logits = "" if worst is None else f"; logits within {worst:.1e} of PyTorch's"
    reduced = {f"{row['math']} {row['correct']:,}" for row in counted if is_ours(row) and row["math"] != "fp32"}
    yield (
        f"**Digits.** {common.digits_right(peers, matrix)} of {document['images']:,} MNIST test images classified"
        f" correctly in fp32: by {', '.join(names)}, and on the GPU with each of the {common.combinations(matrix)}"
        f" ({differing} images classified differently{logits}). In reduced precision: {', '.join(sorted(reduced))}."
    )


# Lenslet's columns in the table of peers: side and math mode.
OURS = {
    "layered fp32": ("Lenslet, layered", "fp32"),
    "fused fp32": ("Lenslet, fused", "fp32"),
    "fused tf32": ("Lenslet, fused", "tf32"),
    "fused fp16": ("Lenslet, fused", "fp16"),
}


def peers(gpu):
    document = load(gpu, "peers.json")
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in document["libraries"].items())
    yield (
        f"**LeNet-5 against its peers**, {document['devices'][0]['name']}, fp32 images on the device in, fp32 logits"
        f" out, turn by turn in one run, medians, images/s ({versions}); the last line is each at its best batch:"
    )
    yield ""
    rows = like_for_like(gpu, "cuda")

    def line(batch):
        """The line of a batch size; of None: each at its best."""
        here = [row for row in rows if batch in (None, row["batch"])]
        columns = {name: [row for row in here if (row["side"], row["math"]) == column] for name, column in OURS.items()}
        found = {name: fastest(some) for name, some in columns.items()}

        def cell(row, words=lambda row: []):
            if row is None:
                return "–"
            words = words(row) + ([f"batch {row['batch']:,}"] if batch is None else [])
            return millions(row["images_per_s"]) + (f" ({', '.join(words)})" if words else "")

        best, theirs = [], []
        for maths in (("fp32",), ("fp32", "tf32", "fp16")):
            best.append(fastest(row for row in found.values() if row and row["math"] in maths))
            theirs.append(fastest(row for row in here if not is_ours(row) and row["math"] in maths))
        fp32, reduced = theirs
        cells = [cell(fp32, lambda row: [side_of(row)]), cell(reduced, lambda row: [side_of(row), row["math"]])]
        cells += map(cell, found.values())
        cells += [f"{a['images_per_s'] / b['images_per_s']:.1f}" if a and b else "–" for a, b in zip(best, theirs)]
        return ["best of each" if batch is None else f"{batch:,}", *cells]

    heads = ["batch", "fastest peer in fp32", "fastest peer", *OURS, "ratio, fp32", "ratio, any"]
    yield from markdown(heads, map(line, [*sorted({row["batch"] for row in rows}), None]))
    if (gpu / PEERS_PICTURE).exists():
        yield ""
        yield f"![Images a second by batch, Lenslet and its peers]({link(gpu / PEERS_PICTURE)})"


def every_side(gpu):
    """Each side, math mode and layout at its best batch, and how it was timed; those without a time with the reason."""
    rows = load(gpu, "peers.json")["rows"]
    rows = [row for row in rows if row["device"] == "cuda" and row.get("output", "logits") == "logits"]
    if not rows or "method" not in rows[0]:
        lack(gpu / "peers.json", "method of each row")
        return
    groups, without, lines = {}, {}, []
    for row in rows:
        groups.setdefault((row["side"], row["math"], row["layout"]), []).append(row)
    for key, mine in groups.items():
        timed = [row for row in mine if row["status"] == "PASSED"]
        best = fastest(timed)
        if best is None:
            without.setdefault(key[0], f"{mine[0]['status']}: {mine[0]['reason']}")
            continue
        counts = f"{best['batch']:,}", f"{len(timed)} of {len(mine)}"
        lines.append([*key, millions(best["images_per_s"]), *counts, best["method"]])
    yield "**Every side at its best batch**, fp32 in, logits out, and how it is timed:"
    yield ""
    yield from markdown(["side", "math", "layout", "images/s", "best batch", "timed batches", "how"], lines)
    if without:
        yield ""
        yield "Not measured: " + "; ".join(f"{side} ({why})" for side, why in without.items()) + "."


def one_image(gpu):
    """One image: pipelined, in order, and from page-locked memory and back."""
    rows = [row for row in like_for_like(gpu, "cuda") if row["batch"] == 1]
    rows = [row for row in rows if row.get("in_order_ns") or row.get("round_trip_ns")]
    if not rows:
        lack(gpu / "peers.json", "row of one image with in_order_ns or round_trip_ns")
        return
    lines = []
    for row in sorted(rows, key=lambda row: (not is_ours(row), row["side"], row["math"])):
        both = (row["time_ns"], row.get("in_order_ns"))
        times = [in_microseconds(time["median"]) if time else "–" for time in both]
        for way, time in (row.get("round_trip_ns") or {"–": None}).items():
            trip = [in_microseconds(time[which]) if time else "–" for which in ("median", "p99")]
            lines.append([side_of(row), row["math"], *times, *trip, way])
    # These sides offer no stream for events and no page-locked memory.
    by_host = dict.fromkeys(row["side"] for row in rows if "host clock" in row.get("method", ""))
    apart = ""
    if by_host:
        apart = (
            f" {', '.join(by_host)}: pipelined by the host's clock, dispatches included; not measured in order; the"
            " round trip starts and ends in ordinary memory."
        )
    yield (
        "**One image**, fp32 in, logits out, µs. Pipelined: captured passes over their number, in which one may begin"
        " while another ends. In order: one pass alone between two events. Round trip: one call from page-locked memory"
        f" and back, wall time.{apart}"
    )
    yield ""
    yield from markdown(["side", "math", "pipelined", "in order", "round trip", "p99", "way"], lines)


def calls(folder, name):
    """Whole calls through C and Python, ordinary memory."""
    if not (folder / "calls.json").exists():
        return
    rows = load(folder, "calls.json")["rows"]
    counts = sorted({row["count"] for row in rows})
    groups = {}
    for row in rows:
        groups.setdefault((row["caller"], row["math"]), {})[row["count"]] = row if row["status"] == "PASSED" else None
    lines = []
    for key, mine in groups.items():
        if any(mine.values()):
            last = mine[counts[-1]]
            times = [in_microseconds(mine[count]["time_ns"]["median"]) if mine[count] else "–" for count in counts]
            lines.append([*key, *times, millions(last["images_per_s"]) if last else "–"])
    yield (
        f"**Whole calls**, {name}, ordinary memory, bytes in, class and probability out, wall time, µs"
        " (`apps/peers/user_calls.py`):"
    )
    yield ""
    yield from markdown(["caller", "math", *(f"{count:,}" for count in counts), "images/s of the last"], lines)


def bench(gpu):
    """lenslet bench over batch sizes: the fused plan by math mode and by kinds of input and output."""
    if not (gpu / "bench.json").exists():
        return
    document = load(gpu, "bench.json")
    timed = [row for row in document["results"] if row["time_ns"] and row["status"] == "PASSED"]
    texts = {("uint8", "prediction"): "bytes in, class and probability out", ("fp32", "logits"): "fp32 in, logits out"}
    for number, (ends, text) in enumerate(texts.items()):
        rows = [row for row in timed if (row["labels"]["input"], row["labels"]["output"]) == ends]
        if not rows:
            lack(gpu / "bench.json", f"PASSED row with {text}")
            continue
        maths = list(dict.fromkeys(row["math"] for row in rows))
        batches = {}
        for row in rows:
            times = [f"{row['time_ns']['median'] / 1e3:,.2f}", millions(row["images_per_s"])]
            batches.setdefault(row["labels"]["batch"], {}).setdefault(row["math"], times)
        if number > 0:
            yield ""
        yield (
            f"**The fused plan over batch sizes** (`lenslet bench`), {document['devices'][0]['name']}, {text}, µs a"
            " pass and images/s. In fp32 the convolutions are Winograd's, with half the products of the direct sum:"
        )
        yield ""
        heads = ["batch", *(head for math in maths for head in (f"{math}, µs", "images/s"))]
        lines = []
        for batch, mine in batches.items():
            lines.append([f"{int(batch):,}", *(cell for math in maths for cell in mine.get(math, ["–", "–"]))])
        yield from markdown(heads, lines)


def latency(gpu):
    """Single calls from page-locked host memory and back to it."""
    if not (gpu / "latency.json").exists():
        return
    document = load(gpu, "latency.json")
    lines = []
    for row in document["results"]:
        labels, time = row["labels"], row["time_ns"]
        how = (labels["plan"], labels["input"], labels["output"])
        if row["status"] == "PASSED" and how == ("fused", "uint8", "prediction"):
            passes = [row["stages_ns"].get(name) for name in ("pipelined", "in_order")]
            times = [*passes, *(time[which] for which in ("median", "p10", "p90")), row["p99_ns"]]
            texts = ["–" if ns is None else f"{ns / 1e3:.2f}" for ns in times]
            lines.append([labels["batch"], row["math"], labels["mode"], *texts])
    if not lines:
        return
    yield (
        f"**One call, wall time** from page-locked host memory and back to it (`lenslet bench --latency`),"
        f" {document['devices'][0]['name']}, fused plan, bytes in, predictions out, µs:"
    )
    yield ""
    heads = ["batch", "math", "way", "pass, pipelined", "pass, in order", "median", "p10", "p90", "p99"]
    yield from markdown(heads, lines)


def streaming(gpu):
    """Sustained rates from page-locked host memory."""
    for index, path in enumerate(sorted(gpu.glob("stream-*.json"))):
        if index > 0:
            yield ""
        document = json.loads(path.read_text())
        run = document["sustained"]
        yield (
            f"**Sustained from page-locked host memory**, {document['device_name']}, fused plan in {document['math']},"
            f" bytes in: {millions(run['images_per_s'])} images/s, {run['bus_fraction']:.1%} of the bus's rate measured"
            f" in the same run ({run['streams']} streams, chunks of {run['chunk']:,}; `lenslet eval --repeat`)."
        )


def cpu_peers(folder):
    rows = like_for_like(folder, "cpu")
    if not rows:
        return
    sides = list(dict.fromkeys(row["side"] for row in rows))
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        for batch in [*sorted({row["batch"] for row in rows}), None]:
            here = [row for row in rows if row["threads"] == threads and batch in (None, row["batch"])]
            best = [fastest(row for row in here if row["side"] == side) for side in sides]
            at = (lambda row: f" ({row['batch']:,})") if batch is None else (lambda row: "")
            cells = [f"{row['images_per_s']:,.0f}{at(row)}" if row else "–" for row in best]
            mine, theirs = ours_and_theirs(here)
            ratio = f"{mine['images_per_s'] / theirs['images_per_s']:.1f}" if mine and theirs else "–"
            lines.append([str(threads), "best" if batch is None else f"{batch:,}", *cells, ratio])
    yield (
        f"**CPU**, {common.cpu_name(load(folder, 'peers.json'))}, fp32, fp32 in, logits out, turn by turn in one run,"
        " medians, images/s; a number of threads ends with each at its best batch:"
    )
    yield ""
    yield from markdown(["threads", "batch", *sides, "ratio to the fastest peer"], lines)


def profile(gpu):
    document = load(gpu, "profile-batch-10000.json")
    sums = document["sums_ns"]
    yield (
        f"**Where a pass of {document['batch']:,} goes** (`lenslet profile`, {sums['unprofiled'] / 1e3:.0f} µs,"
        f" residual {abs(sums['residual']) / sums['unprofiled']:.1%}):"
    )
    yield ""
    yield from markdown(
        ["layer", "backend", "µs, hot", "of the ceiling", "bound by"],
        (
            [row["name"], row["backend"], f"{row['time_ns']['median'] / 1e3:.1f}", f"{row['ceiling_fraction']:.0%}",
             row["bound_by"]]
            for row in document["results"]
            if row["backend"] and row["cache"] == "hot"
        ),
    )


def cpu(folder):
    document = load(folder, "eval.json")
    yield (
        f"**CPU.** {document['throughput']['images_per_s'] / 1e3:.0f} k images/s from bytes to logits over the test"
        f" set, {document['host']['threads_used']} threads of {common.cpu_name(document)}; {document['correct']:,} of"
        f" {document['count']:,} correct."
    )
