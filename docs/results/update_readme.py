"""Writes the results section of README.md from the files of one results folder, or checks that it is up to date.

    python3 docs/results/update_readme.py docs/results/2026-11-21-h200 docs/results/2026-11-21-cpu [--report | --check]

The first folder is a GPU's, with peers.json, matrix.json and profile-batch-10000.json; the second a CPU's, with
eval.json and, where it was compared, peers.json. bench.json, latency.json and stream-*.json of the first give tables of the
fused plan. Where the first also has result files of convbench (reproduce.json, ladder.json), the tables of convolutions
come from them, the RGB images' from sweep.json where there is one; --report then first draws report.html and the pictures with apps/report, which needs matplotlib. Every
number of the section comes from these files, and --check also finds a page or picture that was drawn from others.
Python's standard library alone otherwise.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
REPORT = ROOT / "apps" / "report"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
CONVBENCH = ("reproduce.json", "ladder.json", "sweep.json")  # a row of several counts as the last file has it
PAGE = "report.html"
PICTURES = {
    "rgb-ratio": "How many times faster than cuDNN direct is, by size, stride and filters",
    "ladder-implicit-gemm": "TFLOP/s and share of cuDNN, rung by rung, one line a shape",
}

sys.dont_write_bytecode = True
sys.path.insert(0, str(REPORT))
import results  # noqa: E402  (apps/report's reader of result files)
import selection  # noqa: E402
import words  # noqa: E402


def load(folder, name):
    return json.loads((folder / name).read_text())


def millions(rate):
    return f"{rate / 1e6:.2f} M" if rate < 1e7 else f"{rate / 1e6:.1f} M"


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
        yield f"![Images a second by batch, Lenslet and its peers]({(gpu / 'lenet-peers.svg').as_posix()})"


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


def convbench_files(gpu):
    return [gpu / name for name in CONVBENCH if (gpu / name).exists()]


def convbench_rows(gpu):
    """The rows of convbench's files, and their figures for the machine; None where there are no such files."""
    files = [results.load(path) for path in convbench_files(gpu)]
    return results.Group(files[0].device, files) if files else None


def picture(gpu, name):
    """A picture, where it was drawn."""
    path = gpu / f"{name}.svg"
    if path.exists():
        yield ""
        yield f"![{PICTURES[name]}]({path.as_posix()})"


def rgb(gpu, group):
    """direct against cuDNN on one RGB image."""
    cells = selection.heat_cells(group.rows)
    if not cells:
        return
    columns = sorted({(k, stride) for k, stride, _ in cells}, key=lambda column: [results.natural(v) for v in column])
    sizes = sorted({size for _, _, size in cells}, key=results.natural)

    def best(k, stride, size):
        table = group.rows.where(table="rgb", cache="hot", math="fp32", backend="direct")
        return table.where(out_channels=k, stride=stride, size=size).best()

    ahead = sum(ratio > 1 for ratio in cells.values())
    shares = selection.rgb_bandwidth(group)
    moved = (
        f"; at 2048 and 4096 it moves {min(shares):.0%} to {max(shares):.0%} of the copy bandwidth" if shares else ""
    )
    yield (
        f"**3×3 convolution of one RGB image**, {group.device}, padding 1, fp32, hot, kernel time. `direct` in µs, and"
        f" how many times faster than cuDNN in its faster layout, measured in the same run: faster in {ahead} of"
        f" {len(cells)} cells{moved}."
    )
    yield ""
    yield "| size | " + " | ".join(f"K={k}, stride {stride}" for k, stride in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for size in sizes:
        texts = [
            (
                f"{words.short(best(k, s, size).ns / 1e3)} (×{words.short(cells[k, s, size])})"
                if (k, s, size) in cells
                else "–"
            )
            for k, s in columns
        ]
        yield f"| {size} | " + " | ".join(texts) + " |"
    yield from picture(gpu, "rgb-ratio")


def deep(gpu, group):
    """3x3 at batch 8: ours and cuDNN, fp32 and tensor cores."""
    found = selection.deep_rows(group.rows)
    wanted = [
        "implicit_gemm fp32",
        "winograd fp32",
        "cudnn fp32",
        "tensor_core tf32",
        "cudnn tf32",
        "tensor_core fp16",
        "cudnn fp16",
    ]
    names = [name for name in wanted if any(name in best for best in found.values())]
    if not names:
        return
    yield (
        f"**3×3 convolution, batch 8**, {group.device}, hot, TFLOP/s, each in its fastest layout of one run. Operations"
        " are those of the direct sum, so Winograd's rate is an effective one."
    )
    yield ""
    yield "| C, H=W, K | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for problem, best in found.items():
        c, size, k = selection.DEEP.match(problem).groups()
        rates = [words.short(best[name].gflops / 1e3) if name in best else "–" for name in names]
        yield f"| {c}, {size}, {k} | " + " | ".join(rates) + " |"
    means = [
        results.geometric_mean(best[name].gflops / 1e3 for best in found.values() if name in best) for name in names
    ]
    yield "| geometric mean | " + " | ".join(words.short(mean) for mean in means) + " |"


def ladder(gpu, group):
    """The climb of implicit_gemm."""
    rows = dict(selection.algorithms(group.rows)).get("implicit_gemm")
    steps = results.Rows(row for row in rows or [] if selection.rung_of(row) != "rival")
    rungs = list(dict.fromkeys(selection.rung_of(row) for row in steps))
    if len(rungs) < 2:
        return
    yield (
        f"**The ladder of implicit GEMM**, {group.device}, fp32, geometric means of {len(steps.problems())} shapes;"
        " `convbench ladder implicit_gemm` climbs it."
    )
    yield ""
    yield "| rung | TFLOP/s | of cuDNN | the one change |"
    yield "|---|---|---|---|"
    for rung in rungs:
        mine = results.Rows(row for row in steps if selection.rung_of(row) == rung)
        rate = results.geometric_mean(row.gflops / 1e3 for row in mine.drawn if row.gflops)
        share = results.geometric_mean(row.ratio for row in mine.drawn if row.ratio)
        change = next((row.labels["change"] for row in mine if "change" in row.labels), "")
        share_text = "–" if share is None else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
        yield f"| {rung} | {words.short(rate)} | {share_text} | {change} |"
    yield from picture(gpu, "ladder-implicit-gemm")


def page_link(gpu):
    if (gpu / PAGE).exists():
        yield (
            f"**Every figure and row**, with the environment and the files inside: [{PAGE}]({(gpu / PAGE).as_posix()}),"
            " one page that needs no network."
        )


def section(gpu, cpu_folder):
    parts = [digits(gpu), peers(gpu), bench(gpu), latency(gpu), streaming(gpu), cpu_peers(cpu_folder), profile(gpu)]
    group = convbench_rows(gpu)
    if group:
        sweep = gpu / "sweep.json"  # where there is one, its machine's figures go with its rows
        parts += [rgb(gpu, results.Group(group.device, [results.load(sweep)]) if sweep.exists() else group), deep(gpu, group), ladder(gpu, group), page_link(gpu)]
    texts = ["\n".join(part) for part in [*parts, cpu(cpu_folder)]]
    names = " and ".join(f"[{folder.name}]({folder.as_posix()})" for folder in (gpu, cpu_folder))
    return "\n\n".join(
        [BEGIN, *[text for text in texts if text], f"From {names}, by `docs/results/update_readme.py`.", END]
    )


def draw(gpu):
    """report.html and README's pictures."""
    files = [str(path) for path in convbench_files(gpu)]
    if not files:
        sys.exit(f"{gpu} has neither {' nor '.join(CONVBENCH)}: there is nothing to draw")
    for python in (sys.executable, "/usr/bin/python3"):
        command = [
            python,
            str(REPORT / "report.py"),
            "--html",
            str(gpu / PAGE),
            "--figures",
            str(gpu),
            "--only",
            ",".join(PICTURES),
            "--",
            *files,
        ]
        status = subprocess.run(command).returncode
        if status != 4:
            break
    if status:
        sys.exit(status)


def stale(gpu):
    """Pages and pictures that were drawn from other files than those that are there."""
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in convbench_files(gpu)]
    drawn = [path for path in (gpu / PAGE, *(gpu / f"{name}.svg" for name in PICTURES)) if path.exists()]
    return [path for path in drawn if not all(digest in path.read_text() for digest in digests)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where README.md differs")
    parser.add_argument("--report", action="store_true", help="draw report.html and the pictures first")
    arguments = parser.parse_args()
    if arguments.report and not arguments.check:
        draw(arguments.gpu)
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    updated = before + section(arguments.gpu, arguments.cpu) + after
    if arguments.check and updated != text:
        sys.exit("README.md's results differ from the files: run docs/results/update_readme.py")
    old = stale(arguments.gpu)
    if arguments.check and old:
        sys.exit(
            f"{', '.join(str(path) for path in old)}: drawn from other files than those beside it: run"
            " docs/results/update_readme.py --report"
        )
    if updated != text:
        README.write_text(updated)


if __name__ == "__main__":
    main()
