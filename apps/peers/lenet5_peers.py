"""LeNet-5 in PyTorch, JAX, ONNX Runtime and Lenslet: the same weights and images, in one run, turn by turn.

    python3 apps/peers/lenet5_peers.py --lenslet build/release/bin/lenslet --data DIR --json peers.json [--figure peers.svg]

Correctness first: how many digits of the MNIST test set each side reads rightly, and the largest difference between
Lenslet's and PyTorch's logits. Then time, with the input resident where the side computes: PyTorch as a CUDA graph and
through torch.compile, JAX compiled by XLA, ONNX Runtime on the CPU, Lenslet's layered and fused plans by `lenslet bench`.
For each batch the sides take turns, a few windows each, so that a drift of the clocks touches all. What a side needs once
(capturing, compiling, choosing algorithms) is a column of its own. A side that is not installed, or cannot do a batch, is
a row with the reason.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared  # noqa: E402  (the scripts' common module, beside the weights)
import lenslet_side  # noqa: E402
from side import Refused, Turns  # noqa: E402

SCHEMA = "lenslet.peers/2"
ROOT = Path(__file__).resolve().parents[2]


def gpu_sides(weights, arguments, missing):
    """The peers on the GPU, those that are installed; what is not goes into `missing` with its reason."""
    sides = []
    try:
        import torch_side

        for math in ("fp32", "tf32", "fp16"):
            sides.append(torch_side.TorchGraph(weights, math))
            sides.append(torch_side.TorchCompile(weights, math, arguments.compile_batches))
    except ImportError as error:
        missing.append({"side": "PyTorch", "reason": str(error)})
    try:
        import jax_side

        sides += [jax_side.JaxSide(weights, math) for math in ("fp32", "tf32")]
    except ImportError as error:
        missing.append({"side": "JAX", "reason": str(error)})
    return sides + lenslet_side.on_gpu(arguments.lenslet, arguments.data)


def cpu_sides(weights, arguments, missing):
    """The peers on the CPU, each with one thread and with two."""
    sides = []
    try:
        import onnx_side

        sides += [onnx_side.OnnxSide(weights, threads) for threads in (1, 2)]
    except ImportError as error:
        missing.append({"side": "ONNX Runtime", "reason": str(error)})
    return sides + lenslet_side.on_cpu(arguments.lenslet, arguments.data)


def row_of(side, batch):
    row = {"side": side.name, "math": side.math, "device": side.device, "input": side.input, "batch": batch}
    if hasattr(side, "threads"):
        row["threads"] = side.threads
    return row


def measure(sides, batch, arguments):
    """One row a side: its windows over all turns, interleaved with those of the others."""
    rows, running = [], []
    for side in sides:
        row = row_of(side, batch)
        rows.append(row)
        start = time.perf_counter_ns()
        try:
            work = side.prepare(batch)
        except Refused as refused:
            row.update(status="UNSUPPORTED", reason=str(refused))
            continue
        turns = Turns(setup_ns=time.perf_counter_ns() - start)
        work.warm_up(arguments.window_ms)
        running.append((row, work, turns))
    for _ in range(arguments.turns):
        for _, work, turns in running:
            turns.summaries.append(work.turn(arguments.windows, arguments.window_ms))
    for row, work, turns in running:
        row.update(status="PASSED", time_ns=turns.summary(), setup_ns=turns.setup_ns)
        row["images_per_s"] = batch / row["time_ns"]["median"] * 1e9
        row.update(getattr(work, "details", {}))
        work.close()
    return rows


def add_ratios(rows):
    """How many times the fastest peer of the same batch and device each row of Lenslet does: in its own math mode, and at all."""
    for row in rows:
        if row["status"] != "PASSED" or not row["side"].startswith("Lenslet"):
            continue
        alike = [r for r in rows if r["status"] == "PASSED" and not r["side"].startswith("Lenslet")
                 and (r["batch"], r["device"], r.get("threads")) == (row["batch"], row["device"], row.get("threads"))]
        same = [r["images_per_s"] for r in alike if r["math"] == row["math"]]
        row["ratio_same_math"] = row["images_per_s"] / max(same) if same else None
        row["ratio_best_peer"] = row["images_per_s"] / max(r["images_per_s"] for r in alike) if alike else None


def print_row(row):
    place = row["device"] + (f", {row['threads']} threads" if row.get("threads", 1) > 1 else "")
    head = f"{row['batch']:>9,}  {row['side']:<24} {row['math']:<5} {row['input']:<6} {place:<15}"
    if row["status"] != "PASSED":
        print(f"{head} {row['status']}: {row['reason']}", flush=True)
        return
    t = row["time_ns"]
    print(f"{head} {t['median'] / 1e3:>11,.2f} us ({t['p10'] / 1e3:,.2f} .. {t['p90'] / 1e3:,.2f}) "
          f"{row['images_per_s'] / 1e6:>9.3f} M images/s", flush=True)


def check_digits(sides, arguments):
    """How many of the 10,000 test images each side reads rightly, and how far Lenslet's fp32 logits are from PyTorch's."""
    images, labels = shared.read_mnist(arguments.data, "t10k")
    normalised = shared.normalisation_table()[images][:, None]
    counts = []
    for side in sides:
        row = row_of(side, len(labels))
        row["correct"] = side.correct(normalised, labels)
        counts.append(row)
        count = "not counted" if row["correct"] is None else f"{row['correct']:,} of {len(labels):,} right"
        print(f"{side.name}, {side.math} on {side.device}: {count}", flush=True)
    document = {"images": len(labels), "correct": counts, "lenslet_logits": []}
    reference = next((s for s in sides if s.name == "PyTorch, CUDA graph" and s.math == "fp32"), None)
    if reference is not None:
        theirs = reference.logits(normalised)
        for device in ("cpu", "cuda"):
            ours = lenslet_side.logits(arguments.lenslet, device, arguments.data)
            document["lenslet_logits"].append({
                "device": device,
                "max_abs_difference_to_torch": float(np.abs(ours - theirs).max()),
                "images_read_differently": [int(i) for i in np.flatnonzero(ours.argmax(1) != theirs.argmax(1))],
            })
    return document


def save(document, path, status):
    """Writes what there is, so that a run that is ended early leaves a valid file that says so."""
    document["status"] = status
    with tempfile.NamedTemporaryFile("w", dir=Path(path).resolve().parent, delete=False) as file:
        file.write(json.dumps(document, indent=1) + "\n")
    os.replace(file.name, path)


def draw(document, path):
    """Images a second by batch, one line a side and math mode; log axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "lenslet"
    figure, axes = plt.subplots(figsize=(9, 5.5))
    lines = {}
    for row in document["rows"]:
        if row["status"] == "PASSED" and row["device"] == "cuda":
            lines.setdefault((row["side"], row["math"], row["input"]), []).append((row["batch"], row["images_per_s"]))
    for (side, math, read), points in lines.items():
        ours = side.startswith("Lenslet")
        axes.plot(*zip(*points), marker="o" if ours else "x", linewidth=2 if ours else 1,
                  linestyle="-" if ours else "--", label=f"{side}, {math}" + (", uint8 in" if read == "uint8" else ""))
    axes.set(xscale="log", yscale="log", xlabel="batch", ylabel="images/s",
             title=f"LeNet-5 on {document['devices'][0]['name']}, input on the device")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7, ncol=2)
    figure.savefig(path, metadata={"Date": None})


def parse_arguments():
    numbers = lambda text: [int(part) for part in text.split(",") if part]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lenslet", default=str(ROOT / "build/release/bin/lenslet"), help="the program")
    parser.add_argument("--data", default=os.environ.get("LENSLET_MNIST_DIR", "data"), help="folder of MNIST")
    parser.add_argument("--device", choices=("cuda", "cpu", "both"), default="both")
    parser.add_argument("--batches", type=numbers, default=[1, 64, 1024, 10000, 65536, 262144], help="on the GPU")
    parser.add_argument("--compile-batches", type=numbers, default=[65536], help="those that torch.compile gets")
    parser.add_argument("--cpu-batches", type=numbers, default=[1, 64, 256, 1024])
    parser.add_argument("--turns", type=int, default=5, help="of each side")
    parser.add_argument("--windows", type=int, default=5, help="in each turn")
    parser.add_argument("--window-ms", type=float, default=10, help="length of a window")
    parser.add_argument("--json", required=True, help="output file")
    parser.add_argument("--figure", help="images/s by batch as .svg or .png; needs matplotlib")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    tensors, _ = shared.load_safetensors(ROOT / "weights" / "lenet5.safetensors")
    missing, rows = [], []
    groups = []
    if arguments.device != "cpu":
        groups.append((gpu_sides(tensors, arguments, missing), arguments.batches))
    if arguments.device != "cuda":
        groups.append((cpu_sides(tensors, arguments, missing), arguments.cpu_batches))
    document = {"schema": SCHEMA, "missing": missing}
    document["libraries"] = {name: module.__version__ for name, module in sorted(sys.modules.items())
                             if name in ("torch", "jax", "jaxlib", "onnxruntime", "numpy")}
    for entry in missing:
        print(f"{entry['side']} is not installed here: {entry['reason']}")
    document["digits"] = check_digits([side for sides, _ in groups for side in sides], arguments)
    document.update(lenslet_side.environment([side for sides, _ in groups for side in sides]))
    document["rows"] = rows
    for sides, batches in groups:
        for batch in batches:
            measured = measure(sides, batch, arguments)
            add_ratios(measured)
            rows += measured
            for row in measured:
                print_row(row)
            save(document, arguments.json, "INTERRUPTED")
    save(document, arguments.json, "COMPLETE")
    if arguments.figure:
        draw(document, arguments.figure)


if __name__ == "__main__":
    main()
