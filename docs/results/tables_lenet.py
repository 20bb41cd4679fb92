"""The tables of LeNet-5: accuracy, peers, batch sizes, single calls, streaming, layers. Each is a text."""

import common
from common import PEERS_PICTURE, lack, like_for_like, load, rows_of

from results import Rows
from selection import KINDS, is_ours, layers, ours_and_theirs, side_of
from tables import markdown
from words import listed, microseconds, millions

BATCHES = "bench-batches.json"
LAYERED = "bench-layered.json"


def digits(gpu):
    peers, matrix = load(gpu, "peers.json"), load(gpu, "matrix.json")
    document = peers["digits"]
    counted = [row for row in document["correct"] if row["correct"] is not None]
    names = dict.fromkeys(row["side"].split(",")[0] for row in counted if row["math"] == "fp32")
    differing = sum(len(row["differences"]) for row in matrix.rows)
    worst = max((run["max_abs_difference_to_torch"] for run in document["lenslet_logits"]), default=None)
    logits = "" if worst is None else f" Lenslet's logits are within {worst:.1e} of PyTorch's."
    reduced = {f"{row['math']} {row['correct']:,}" for row in counted if is_ours(row) and row["math"] != "fp32"}
    return (
        f"**Digits.** In fp32 {common.digits_right(peers, matrix)} of {document['images']:,} MNIST test images are"
        f" classified correctly, by {listed(names)}. Lenslet does so on the GPU with each of the"
        f" {common.combinations(matrix)}, which give {differing} images another class.{logits}"
        f" In reduced precision it classifies correctly: {', '.join(sorted(reduced))}."
    )


# Lenslet's columns in the table of peers: side and math mode.
OURS = {
    "layered fp32": ("Lenslet, layered", "fp32"),
    "fused fp32": ("Lenslet, fused", "fp32"),
    "fused tf32": ("Lenslet, fused", "tf32"),
    "fused fp16": ("Lenslet, fused", "fp16"),
}


def peers(gpu):
    document, rows = load(gpu, "peers.json"), like_for_like(gpu, "cuda")
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in document["libraries"].items())

    def line(batch):
        """The line of a batch size; of None: each at its best."""
        here = rows if batch is None else rows.where(batch=batch)

        def cell(row, *more):
            if row is None:
                return "–"
            words = [text(row) for text in more] + [f"batch {row['batch']:,}"] * (batch is None)
            return millions(row["images_per_s"]) + (f" ({', '.join(words)})" if words else "")

        found = [here.where(side=side, math=math).fastest() for side, math in OURS.values()]
        best = [Rows(filter(None, found)).where(math=maths).fastest() for maths in KINDS.values()]
        theirs = [ours_and_theirs(here.where(math=maths))[1] for maths in KINDS.values()]
        ratios = [f"{a['images_per_s'] / b['images_per_s']:.1f}" if a and b else "–" for a, b in zip(best, theirs)]
        side, math = [side_of], [side_of, lambda row: row["math"]]
        cells = [*(cell(row, *more) for row, more in zip(theirs, (side, math))), *map(cell, found), *ratios]
        return ["best of each" if batch is None else f"{batch:,}", *cells]

    return markdown(
        f"**LeNet-5 against its peers**, {document.device}, fp32 images on the device in, fp32 logits"
        f" out, turn by turn in one run, medians, images/s ({versions}); the last line is each at its best batch:",
        ["batch", "fastest peer in fp32", "fastest peer", *OURS, "ratio, fp32", "ratio, any"],
        map(line, [*rows.values("batch"), None]),
    ) + common.picture(gpu / PEERS_PICTURE, "Images per second by batch, Lenslet and its peers")


def every_side(gpu):
    """Each side, math mode and layout at its best batch, and how it was timed; those without a time with the reason."""
    rows = [row for row in rows_of(gpu, "peers.json") if row.get("output", "logits") == "logits"]
    rows = Rows(rows).where(device="cuda")
    if not rows or "method" not in rows[0].entry:
        lack(gpu / "peers.json", "method of each row")
        return ""
    without, lines = {}, []
    for key, mine in rows.by("side", "math", "layout").items():
        timed = mine.where(status="PASSED")
        best = timed.fastest()
        if best is None:
            if not is_ours(mine[0]):  # layered() has what newer code of ours computes
                without.setdefault(key[0], f"{mine[0].status}: {mine[0]['reason']}")
            continue
        counts = f"{best['batch']:,}", f"{len(timed)} of {len(mine)}"
        lines.append([*key, millions(best["images_per_s"]), *counts, best["method"]])
    missing = "; ".join(f"{side} ({why})" for side, why in without.items())
    return markdown(
        "**Every side at its best batch**, fp32 in, logits out, and how it is timed:",
        ["side", "math", "layout", "images/s", "best batch", "timed batches", "how"],
        lines,
    ) + (f"\n\nNot measured at {common.commit(load(gpu, 'peers.json'))}: {missing}." if missing else "")


def layered(folder):
    """The layered plan, whose kernels are backends of layers, by math mode."""
    rows = rows_of(folder, LAYERED).where(status="PASSED")
    if not rows:
        return ""
    return markdown(
        f"**The layered plan by math mode** (`lenslet bench --plan layered`), {load(folder, LAYERED).device}, fp32 in,"
        f" logits out, {int(rows[0].labels['batch']):,} images:",
        ["math", "µs per pass", "images/s", "backends"],
        ([row["math"], f"{row.ns / 1e3:.1f}", millions(row["images_per_s"]), row["detail"]] for row in rows),
    )


def one_image(gpu):
    """One image: pipelined, in order, and from page-locked memory and back."""
    rows = like_for_like(gpu, "cuda").where(batch=1)
    rows = [row for row in rows if row.get("in_order_ns") or row.get("round_trip_ns")]
    if not rows:
        lack(gpu / "peers.json", "row of one image with in_order_ns or round_trip_ns")
        return ""
    lines = []
    for row in sorted(rows, key=lambda row: (not is_ours(row), row["side"], row["math"])):
        times = [microseconds(row.stat(key, "median")) for key in ("time_ns", "in_order_ns")]
        for way, time in (row.get("round_trip_ns") or {"–": {}}).items():
            trip = [microseconds(time.get(which)) for which in ("median", "p99")]
            lines.append([side_of(row), row["math"], *times, *trip, way])
    # These sides offer no stream for events and no page-locked memory.
    by_host = dict.fromkeys(row["side"] for row in rows if "host clock" in row.get("method", ""))
    apart = ""
    if by_host:
        apart = (
            f" {', '.join(by_host)}: pipelined by the host's clock, dispatches included; not measured in order; the"
            " round trip starts and ends in ordinary memory."
        )
    return markdown(
        "**One image**, fp32 in, logits out, µs. Pipelined: captured passes over their number, in which one may begin"
        " while another ends. In order: one pass alone between two events. Round trip: one call from page-locked memory"
        f" and back, wall time.{apart}",
        ["side", "math", "pipelined", "in order", "round trip", "p99", "way"],
        lines,
    )


def calls(folder):
    """Whole calls through C and Python, ordinary memory."""
    rows = rows_of(folder, "calls.json")
    if not rows:
        return ""
    counts, lines = rows.values("count"), []
    for key, mine in rows.by("caller", "math").items():
        timed = {row["count"]: row for row in mine.where(status="PASSED")}
        if timed:
            times = [microseconds(timed[count].ns if count in timed else None) for count in counts]
            last = timed.get(counts[-1])
            lines.append([*key, *times, millions(last["images_per_s"]) if last else "–"])
    return markdown(
        f"**Whole calls**, {load(folder, 'calls.json').device}, ordinary memory, bytes in, class and probability out,"
        " wall time, µs (`apps/peers/user_calls.py`):",
        ["caller", "math", *(f"{count:,}" for count in counts), "images/s of the last"],
        lines,
    )


def calls_of_model(folder):
    """Calls through the C++ Model on the CPU, beside a pass alone."""
    if not (folder / "calls.json").exists():
        return ""
    document = load(folder, "calls.json")
    rows = [row for row in document.document.get("bench_rows") or [] if row["status"] == "PASSED"]
    if not rows:
        return ""
    return markdown(
        f"**Calls of the C++ `Model`** beside a pass alone, {common.cpu_name(document)}, {rows[0]['threads']} threads,"
        f" {rows[0]['math']}, bytes in, class and probability out, turn by turn (`lenslet bench`):",
        ["images", "images/s of calls", "of passes alone", "share"],
        (
            [
                f"{row['count']:,}",
                f"{row['images_per_s']:,.0f}",
                f"{row.get('device_images_per_s', row.get('resident_images_per_s')):,.0f}",
                f"{row.get('share_of_device', row.get('share_of_resident')):.1%}",
            ]
            for row in rows
        ),
    )


# How gpu_rows[] of calls.json name where the images lie.
PLACES = {
    "tensor": "PyTorch's tensor on the GPU, from Python",
    "tensor, out=": "the same, into arrays of `out=`",
    "ordinary": "ordinary memory, from Python",
    "page-locked": "page-locked memory, from Python",
    "C, page-locked": "page-locked memory, from C",
    "C, page-locked, packed": "packed pixels in page-locked memory, from C",
    "lenslet eval": "a file, by `lenslet eval` after opening it",
}


def large_calls(folder, name="calls.json"):
    """Large calls by where the images lie, beside the bus or a peer in the same run."""
    document = load(folder, name) if (folder / name).exists() else {"gpu_rows": []}
    rows, lines = document["gpu_rows"], []
    gpus = max((row.get("device", "").count(",") + 1 for row in rows), default=1)
    for way, place in PLACES.items():
        for row in rows:
            if row["way"] != way or row["status"] != "PASSED" or row["count"] < 65536:
                continue
            beside = [
                text.format(row[key])
                for key, text in (
                    ("share_of_bench", "{:.1%} of `lenslet bench`"),
                    ("share_of_bus", "{:.1%} of the bus"),
                    ("ratio_to_pytorch", "{:.1f} times PyTorch's whole way"),
                    ("ratio_to_one", "{:.2f} times the first GPU alone"),
                )
                if key in row
            ]
            where = place.replace("on the GPU", "on each GPU") if gpus > 1 else place
            lines.append([where, row["math"], f"{row['count']:,}", millions(row["images_per_s"]), *(beside or ["–"])])
    if not lines:
        return ""
    if gpus > 1:
        what = f"**Several GPUs**, {gpus} × {document.device}: large calls by where the images lie"
        beside = (
            "the bus, by plain copies from page-locked memory to all at once, and the first GPU alone with its tensor"
        )
    else:
        what = f"**Large calls** by where the images lie, {document.device}"
        beside = (
            "the bus, by plain copies from page-locked memory, and PyTorch's whole way"
            " from ordinary memory (copy, normalisation, compiled model, argmax)"
        )
    return markdown(
        f"{what}, class and probability out, wall time. Measured in the same run: {beside}"
        " (`apps/peers/user_calls.py`):",
        ["images in", "math", "images", "images/s", "compared"],
        lines,
    )


def by_math(batch, rows, maths, text_of):
    """A line of a table: the batch, then the time in µs and text_of(row) of each math mode's first row."""
    first = [next(iter(rows.where(math=math)), None) for math in maths]
    cells = [(f"{row.ns / 1e3:,.2f}", text_of(row)) if row else ("–", "–") for row in first]
    return [f"{int(batch):,}", *(text for pair in cells for text in pair)]


def bench(gpu):
    """lenslet bench over batch sizes: the whole-network plan by math mode and by kinds of input and output."""
    timed, parts = rows_of(gpu, "bench.json").drawn, []
    texts = {("uint8", "prediction"): "bytes in, class and probability out", ("fp32", "logits"): "fp32 in, logits out"}
    for (read, output), text in texts.items() if (gpu / "bench.json").exists() else ():
        rows = timed.where(input=read, output=output)
        if not rows:
            lack(gpu / "bench.json", f"PASSED row with {text}")
            continue
        maths, lines = list(rows.by("math")), []
        for batch, mine in rows.by("batch").items():
            lines.append(by_math(batch, mine, maths, lambda row: millions(row["images_per_s"])))
        parts.append(
            markdown(
                f"**The whole-network plan over batch sizes** (`lenslet bench`), {load(gpu, 'bench.json').device},"
                f" {text}, µs per pass and images/s. In fp32 the convolutions are Winograd's, with half the products of"
                " the direct sum:",
                ["batch", *(head for math in maths for head in (f"{math}, µs", "images/s"))],
                lines,
            )
        )
    return "\n\n".join(parts)


def backends_by_batch(gpu):
    """The whole-network plan at the batches where its backends change, and which of them computed."""
    rows = rows_of(gpu, BATCHES).drawn.where(input="uint8", output="prediction")
    maths, lines = list(rows.by("math")), []
    for batch, mine in rows.by("batch").items():
        lines.append(by_math(batch, mine, maths, lambda row: f"`{row.backend}`"))
    if not lines:
        return ""
    return markdown(
        f"`lenslet bench --plan fused`, {load(gpu, BATCHES).device}, bytes in, class and probability out, µs per pass:",
        ["images", *(head for math in maths for head in (math, "by"))],
        lines,
    )


def latency(gpu):
    """Single calls from page-locked host memory and back to it."""
    rows = rows_of(gpu, "latency.json").where(status="PASSED", plan="fused", input="uint8", output="prediction")
    lines = []
    for row in rows:
        times = [dict(row.stages).get(name) for name in ("pipelined", "in_order")]
        times += [row.ns, row.p10, row.p90, row["p99_ns"]]
        texts = ["–" if ns is None else f"{ns / 1e3:.2f}" for ns in times]
        lines.append([row.labels["batch"], row["math"], row.labels["mode"], *texts])
    return (
        markdown(
            f"**One call, wall time** from page-locked host memory and back to it (`lenslet bench --latency`),"
            f" {load(gpu, 'latency.json').device}, whole-network plan, bytes in, predictions out, µs:",
            ["batch", "math", "way", "pass, pipelined", "pass, in order", "median", "p10", "p90", "p99"],
            lines,
        )
        if lines
        else ""
    )


def streaming(gpu):
    """Sustained rates from page-locked host memory."""
    documents = [load(gpu, path.name) for path in sorted(gpu.glob("stream-*.json"))]
    runs = [(document, document["sustained"]) for document in documents]
    return "\n\n".join(
        f"**Sustained from page-locked host memory**, {document['device_name']}, whole-network plan in"
        f" {document['math']}, bytes in: {millions(run['images_per_s'])} images/s, {run['bus_fraction']:.1%} of the"
        f" bus's rate measured in the same run ({run['streams']} streams, chunks of {run['chunk']:,};"
        " `lenslet eval --repeat`)."
        for document, run in runs
    )


def cpu_peers(folder):
    rows = like_for_like(folder, "cpu")
    if not rows:
        return ""
    sides, lines = rows.by("side"), []
    for threads in rows.values("threads"):
        for batch in [*rows.values("batch"), None]:
            here = rows.where(threads=threads, **({"batch": batch} if batch else {}))
            best = [here.where(side=side).fastest() for side in sides]
            at = (lambda row: f" ({row['batch']:,})") if batch is None else (lambda row: "")
            cells = [f"{row['images_per_s']:,.0f}{at(row)}" if row else "–" for row in best]
            mine, theirs = ours_and_theirs(here)
            ratio = f"{mine['images_per_s'] / theirs['images_per_s']:.1f}" if mine and theirs else "–"
            lines.append([str(threads), "best" if batch is None else f"{batch:,}", *cells, ratio])
    return markdown(
        f"**CPU**, {common.cpu_name(load(folder, 'peers.json'))}, fp32, fp32 in, logits out; the frameworks take"
        " turns in one run; medians, images/s. The row `best` has each framework at its best batch:",
        ["threads", "batch", *sides, "ratio to the fastest peer"],
        lines,
    )


def profile(gpu):
    document = load(gpu, common.PROFILE)
    sums = document["sums_ns"]
    return markdown(
        f"**Where a pass of {document['batch']:,} goes**, {document.device} (`lenslet profile` at"
        f" {common.commit(document)}, {sums['uninstrumented'] / 1e3:.0f} µs,"
        f" residual {abs(sums['residual']) / sums['uninstrumented']:.1%}):",
        ["layer", "backend", "µs, hot", "of the ceiling", "nearest ceiling"],
        (
            [row["name"], row.backend, f"{row.ns / 1e3:.1f}", f"{row['ceiling_fraction']:.0%}", row["bound_by"]]
            for row in layers(document.rows)
        ),
    )


def cpu(folder):
    document = load(folder, "eval.json")
    return (
        f"**CPU.** {document['throughput']['images_per_s'] / 1e3:.0f} k images/s from bytes to logits over the test"
        f" set, {document['host']['threads_used']} threads of {common.cpu_name(document)}; {document['correct']:,} of"
        f" {document['count']:,} correct."
    )
