"""Writes the results section of README.md from the files of one results folder, or checks that it is up to date.

    python3 docs/results/update_readme.py docs/results/2026-11-21-h200 docs/results/2026-11-21-cpu [--check]

The first folder is a GPU's, with peers.json, matrix.json and profile-batch-10000.json; the second a CPU's, with eval.json. Every
number of the section comes from these files. Python's standard library alone.
"""

import argparse
import json
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def load(folder, name):
    return json.loads((folder / name).read_text())


def millions(rate):
    return f"{rate / 1e6:.2f} M" if rate < 1e7 else f"{rate / 1e6:.1f} M"


def digits(gpu):
    peers, matrix = load(gpu, "peers.json")["digits"], load(gpu, "matrix.json")
    counts = {row["correct"] for row in matrix["rows"] if row["correct"] is not None}
    same = {peers["torch_cpu_correct"], peers["torch_cuda_correct"], *counts, *(run["correct"] for run in peers["lenslet"])}
    differing = sum(len(row["differences"]) for row in matrix["rows"])
    worst = max(run["max_abs_logit_difference_to_torch_cpu"] for run in peers["lenslet"])
    ran = sum(row["correct"] is not None for row in matrix["rows"])
    count = " or ".join(f"{n:,}" for n in sorted(same))
    yield (f"**Digits.** {count} of 10,000 MNIST test images read rightly: by PyTorch on CPU and GPU, by Lenslet on the CPU, and on "
           f"the GPU with each of the {ran} combinations of backends (fp32; {differing} images read differently; logits within "
           f"{worst:.1e} of PyTorch's).")


def peers(gpu):
    document = load(gpu, "peers.json")
    yield (f"**Layered execution against PyTorch {document['torch'].split('+')[0]}** as a CUDA graph, {document['device']}, fp32, "
           "images resident on the device, turn by turn in one run, medians:")
    yield ""
    yield "| batch | PyTorch, µs a pass | Lenslet, µs a pass | PyTorch, images/s | Lenslet, images/s | ratio |"
    yield "|---|---|---|---|---|---|"
    for row in document["rows"]:
        theirs, ours = (row["batch"] / row[key] * 1e6 for key in ("torch_images_per_s", "lenslet_images_per_s"))
        yield (f"| {row['batch']:,} | {theirs:,.1f} | {ours:,.1f} | {millions(row['torch_images_per_s'])} | "
               f"{millions(row['lenslet_images_per_s'])} | {row['ratio']:.2f} |")


def profile(gpu):
    document = load(gpu, "profile-batch-10000.json")
    sums = document["sums_ns"]
    yield f"**Where a pass of {document['batch']:,} goes** (`lenslet profile`, {sums['unprofiled'] / 1e3:.0f} µs, residual {abs(sums['residual']) / sums['unprofiled']:.1%}):"
    yield ""
    yield "| layer | backend | µs, hot | of the ceiling | bound by |"
    yield "|---|---|---|---|---|"
    for row in document["results"]:
        if row["backend"] and row["cache"] == "hot":
            yield (f"| {row['name']} | {row['backend']} | {row['time_ns']['median'] / 1e3:.1f} | {row['ceiling_fraction']:.0%} | "
                   f"{row['bound_by']} |")


def cpu(folder):
    document = load(folder, "eval.json")
    host = document["host"]
    rate = document["throughput"]["images_per_s"]
    yield (f"**CPU.** {rate / 1e3:.0f} k images/s from bytes to logits over the test set, {host['threads_used']} threads of "
           f"{host['cpu'].replace('(R)', '')}; {document['correct']:,} of {document['count']:,} right.")


def section(gpu, cpu_folder):
    parts = ["\n".join(part) for part in (digits(gpu), peers(gpu), profile(gpu), cpu(cpu_folder))]
    names = " and ".join(f"[{folder.name}]({folder.as_posix()})" for folder in (gpu, cpu_folder))
    return "\n\n".join([BEGIN, *parts, f"From {names}, by `docs/results/update_readme.py`.", END])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where README.md differs")
    arguments = parser.parse_args()
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    updated = before + section(arguments.gpu, arguments.cpu) + after
    if arguments.check and updated != text:
        sys.exit("README.md's results differ from the files: run docs/results/update_readme.py")
    README.write_text(updated)


if __name__ == "__main__":
    main()
