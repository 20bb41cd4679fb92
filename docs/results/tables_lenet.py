"""The tables of LeNet-5: accuracy, peers, batch sizes, single calls, streaming, layers. Each is a generator of lines."""

import json

from common import PEERS_PICTURE, combinations, lack, link, load, millions


def digits(gpu):
    document, matrix = load(gpu, "peers.json")["digits"], load(gpu, "matrix.json")
    exact = [row for row in document["correct"] if row["math"] == "fp32" and row["correct"] is not None]
    counts = {row["correct"] for row in [*exact, *matrix["rows"]] if row["correct"] is not None}
    names = dict.fromkeys(row["side"].split(",")[0] for row in exact)
    differing = sum(len(row["differences"]) for row in matrix["rows"])
    worst = max((run["max_abs_difference_to_torch"] for run in document["lenslet_logits"]), default=None)
    logits = "" if worst is None else f"; logits within {worst:.1e} of PyTorch's"
    reduced = {
        f"{row['math']} {row['correct']:,}"
        for row in document["correct"]
        if row["side"].startswith("Lenslet") and row["math"] != "fp32" and row["correct"] is not None
    }
    count = " or ".join(f"{n:,}" for n in sorted(counts))
    yield (
        f"**Digits.** {count} of {document['images']:,} MNIST test images read rightly in fp32: by"
        f" {', '.join(name for name in names)}, and on the GPU with each of the {combinations(matrix)}"
        f" ({differing} images read differently{logits}). In reduced precision:"
        f" {', '.join(sorted(reduced))}."
    )


# The columns of Lenslet in the table of peers: heading, side, math mode.
OURS = (
    ("layered fp32", "Lenslet, layered", "fp32"),
    ("fused fp32", "Lenslet, fused", "fp32"),
    ("fused tf32", "Lenslet, fused", "tf32"),
    ("fused fp16", "Lenslet, fused", "fp16"),
)


def is_ours(row):
    return row["side"].startswith("Lenslet")


def in_microseconds(ns):
    digits = 2 if ns < 1e4 else 1 if ns < 1e6 else 0
    return f"{ns / 1e3:,.{digits}f}"


def peer_rows(folder):
    return load(folder, "peers.json")["rows"]


def like_for_like(rows, device):
    """Those with a time that read fp32 and write logits."""
    return [
        row
        for row in rows
        if row["status"] == "PASSED" and row["device"] == device
        and (row["input"], row.get("output", "logits")) == ("fp32", "logits")
    ]


def fastest(rows):
    return max(rows, key=lambda row: row["images_per_s"], default=None)


def described(row):
    """A peer's side with what tells it from its other rows."""
    layout = ", channels last" if row.get("layout") == "NHWC" else ""
    return f"{row['side']}{layout}"


def peers(gpu):
    document = load(gpu, "peers.json")
    versions = ", ".join(f"{name} {version.split('+')[0]}" for name, version in document["libraries"].items())
    yield (
        f"**LeNet-5 against its peers**, {document['devices'][0]['name']}, fp32 images on the device in, fp32 logits out,"
        f" turn by turn in one run, medians, images/s ({versions}); the last line is each at its best batch:"
    )
    yield ""
    yield "| batch | fastest peer in fp32 | fastest peer | " + " | ".join(name for name, *_ in OURS) + " | ratio, fp32 | ratio, any |"
    yield "|---" * (len(OURS) + 5) + "|"
    rows = like_for_like(document["rows"], "cuda")
    for batch in [*sorted({row["batch"] for row in rows}), None]:
        here = [row for row in rows if batch in (None, row["batch"])]
        theirs = {
            "fp32": fastest(row for row in here if not is_ours(row) and row["math"] == "fp32"),
            "any": fastest(row for row in here if not is_ours(row)),
        }
        found = {name: fastest(row for row in here if (row["side"], row["math"]) == tuple(key)) for name, *key in OURS}
        ours = {
            "fp32": fastest(row for row in found.values() if row and row["math"] == "fp32"),
            "any": fastest(row for row in found.values() if row),
        }

        def cell(row, words=""):
            if row is None:
                return "–"
            at = f"batch {row['batch']:,}" if batch is None else ""
            words = ", ".join(part for part in (words, at) if part)
            return millions(row["images_per_s"]) + (f" ({words})" if words else "")

        cells = [cell(theirs["fp32"], described(theirs["fp32"]) if theirs["fp32"] else "")]
        cells += [cell(theirs["any"], f"{described(theirs['any'])}, {theirs['any']['math']}" if theirs["any"] else "")]
        cells += [cell(found[name]) for name, *_ in OURS]
        for kind in ("fp32", "any"):
            both = ours[kind] and theirs[kind]
            cells.append(f"{ours[kind]['images_per_s'] / theirs[kind]['images_per_s']:.1f}" if both else "–")
        yield f"| {'best of each' if batch is None else f'{batch:,}'} | " + " | ".join(cells) + " |"
    if (gpu / PEERS_PICTURE).exists():
        yield ""
        yield f"![Images a second by batch, Lenslet and its peers]({link(gpu / PEERS_PICTURE)})"


def every_side(gpu):
    """Each side, math mode and layout at its best batch, and how it was timed; those without a time with the reason."""
    rows = [row for row in peer_rows(gpu) if row["device"] == "cuda" and row.get("output", "logits") == "logits"]
    if not rows or "method" not in rows[0]:
        lack(gpu / "peers.json", "method of each row")
        return
    yield "**Every side at its best batch**, fp32 in, logits out, and how it is timed:"
    yield ""
    yield "| side | math | layout | images/s | best batch | timed batches | how |"
    yield "|---" * 7 + "|"
    without = {}
    groups = {}
    for row in rows:
        groups.setdefault((row["side"], row["math"], row["layout"]), []).append(row)
    for (side, math, layout), mine in groups.items():
        timed = [row for row in mine if row["status"] == "PASSED"]
        best = fastest(timed)
        if best is None:
            without.setdefault(side, f"{mine[0]['status']}: {mine[0]['reason']}")
            continue
        yield (
            f"| {side} | {math} | {layout} | {millions(best['images_per_s'])} | {best['batch']:,} | {len(timed)} of"
            f" {len(mine)} | {best['method']} |"
        )
    if without:
        yield ""
        yield "Not measured: " + "; ".join(f"{side} ({why})" for side, why in without.items()) + "."


def one_image(gpu):
    """One image: pipelined, in order, and from page-locked memory and back."""
    rows = [row for row in like_for_like(peer_rows(gpu), "cuda") if row["batch"] == 1]
    rows = [row for row in rows if row.get("in_order_ns") or row.get("round_trip_ns")]
    if not rows:
        lack(gpu / "peers.json", "row of one image with in_order_ns or round_trip_ns")
        return
    yield (
        "**One image**, fp32 in, logits out, µs. Pipelined: captured passes over their number, in which one may begin while"
        " another ends. In order: one pass alone between two events. Round trip: one call from page-locked memory and back,"
        " wall time."
    )
    yield ""
    yield "| side | math | pipelined | in order | round trip | p99 | way |"
    yield "|---" * 7 + "|"
    for row in sorted(rows, key=lambda row: (not is_ours(row), row["side"], row["math"])):
        alone = row.get("in_order_ns")
        head = (
            f"| {described(row)} | {row['math']} | {in_microseconds(row['time_ns']['median'])} |"
            f" {in_microseconds(alone['median']) if alone else '–'} |"
        )
        for way, time in (row.get("round_trip_ns") or {"–": None}).items():
            yield head + (f" {in_microseconds(time['median'])} | {in_microseconds(time['p99'])} | {way} |" if time else " – | – | – |")


def calls(folder, name):
    """Whole calls through C and Python, ordinary memory."""
    if not (folder / "calls.json").exists():
        return
    rows = load(folder, "calls.json")["rows"]
    yield (
        f"**Whole calls**, {name}, ordinary memory, bytes in, class and probability out, wall time, µs"
        " (`apps/peers/user_calls.py`):"
    )
    yield ""
    counts = sorted({row["count"] for row in rows})
    yield "| caller | math | " + " | ".join(f"{count:,}" for count in counts) + " | images/s of the last |"
    yield "|---" * (len(counts) + 3) + "|"
    for caller, math in dict.fromkeys((row["caller"], row["math"]) for row in rows):
        mine = {row["count"]: row for row in rows if (row["caller"], row["math"]) == (caller, math)}
        if not any(row["status"] == "PASSED" for row in mine.values()):
            continue
        cells = [in_microseconds(row["time_ns"]["median"]) if row["status"] == "PASSED" else "–" for row in
                 (mine[count] for count in counts)]
        last = mine[counts[-1]]
        cells.append(millions(last["images_per_s"]) if last["status"] == "PASSED" else "–")
        yield f"| {caller} | {math} | " + " | ".join(cells) + " |"


def bench(gpu):
    """lenslet bench over batch sizes: the fused plan by math mode, bytes in and predictions out, fp32 in and logits out."""
    if not (gpu / "bench.json").exists():
        return
    document = load(gpu, "bench.json")
    texts = {("uint8", "prediction"): "bytes in, class and probability out", ("fp32", "logits"): "fp32 in, logits out"}
    for number, (ends, text) in enumerate(texts.items()):
        rows = [
            row
            for row in document["results"]
            if row["time_ns"] and (row["labels"]["input"], row["labels"]["output"]) == ends and row["status"] == "PASSED"
        ]
        if not rows:
            lack(gpu / "bench.json", f"PASSED row with {text}")
            continue
        maths = list(dict.fromkeys(row["math"] for row in rows))
        if number > 0:
            yield ""
        yield (
            f"**The fused plan over batch sizes** (`lenslet bench`), {document['devices'][0]['name']}, {text}, µs a pass and"
            " images/s. In fp32 the convolutions are Winograd's, with half the products of the direct sum:"
        )
        yield ""
        yield "| batch | " + " | ".join(f"{math}, µs | images/s" for math in maths) + " |"
        yield "|---" * (2 * len(maths) + 1) + "|"
        for batch in dict.fromkeys(row["labels"]["batch"] for row in rows):
            cells = []
            for math in maths:
                found = [row for row in rows if row["labels"]["batch"] == batch and row["math"] == math]
                cells += (
                    [f"{found[0]['time_ns']['median'] / 1e3:,.2f}", millions(found[0]["images_per_s"])] if found else ["–"] * 2
                )
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
    yield "| batch | math | way | pass, pipelined | pass, in order | median | p10 | p90 | p99 |"
    yield "|---" * 9 + "|"
    for row in rows:
        passes = [row["stages_ns"].get(name) for name in ("pipelined", "in_order")]
        time = row["time_ns"]
        yield (
            f"| {row['labels']['batch']} | {row['math']} | {row['labels']['mode']} |"
            f" {' | '.join('–' if ns is None else f'{ns / 1e3:.2f}' for ns in passes)} | {time['median'] / 1e3:.2f} |"
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
    rows = like_for_like(peer_rows(folder), "cpu") if (folder / "peers.json").exists() else []
    if not rows:
        return
    sides = list(dict.fromkeys(row["side"] for row in rows))
    cpu_name = load(folder, "peers.json")["host"]["cpu"].replace("(R)", "")
    yield (
        f"**CPU**, {cpu_name}, fp32, fp32 in, logits out, turn by turn in one run, medians, images/s; a number of threads ends"
        " with each at its best batch:"
    )
    yield ""
    yield "| threads | batch | " + " | ".join(sides) + " | ratio to the fastest peer |"
    yield "|---" * (len(sides) + 3) + "|"
    for threads in sorted({row["threads"] for row in rows}):
        for batch in [*sorted({row["batch"] for row in rows}), None]:
            here = [row for row in rows if row["threads"] == threads and batch in (None, row["batch"])]
            best = {side: fastest(row for row in here if row["side"] == side) for side in sides}
            at = (lambda row: f" ({row['batch']:,})") if batch is None else (lambda row: "")
            cells = [f"{best[side]['images_per_s']:,.0f}{at(best[side])}" if best[side] else "–" for side in sides]
            mine, theirs = (fastest(row for row in here if is_ours(row) == ours) for ours in (True, False))
            ratio = f"{mine['images_per_s'] / theirs['images_per_s']:.1f}" if mine and theirs else "–"
            yield f"| {threads} | {'best' if batch is None else f'{batch:,}'} | " + " | ".join(cells) + f" | {ratio} |"


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
