"""LeNet-5 in Lenslet and in other frameworks: the same weights and images, in one run, turn by turn, like against like.

    python3 apps/peers/lenet5_peers.py --lenslet build/release/bin/lenslet --data DIR --json peers.json
        [--figure peers.svg]

Every side reads the images of the MNIST test set as fp32, in memory where it computes, and writes fp32 logits. Rows
of Lenslet with bytes in and predictions out are compared with nothing. On the GPU: PyTorch as a CUDA graph in both
layouts, torch.compile (default; with freezing and channels last; max-autotune), JAX in both layouts, tinygrad with
its beam search. On the CPU: ONNX Runtime with IO binding, OpenVINO (pip install onnx onnxruntime openvino). A row's
`method` names what is timed and the clock.

For each batch the sides take turns, a few windows each, so that a drift of the clocks touches all. What a side needs
once (capturing, compiling, choosing algorithms) is a column of its own. What was timed is judged: its logits must be
finite, and their classes those of `lenslet eval` in fp32 (Timing.judge). A side that is not installed, fails, or does
not fit into --seconds gives a row with its status and the reason, and the comparison continues. Exit code 1: a row is
FAILED.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared
import lenslet_side
from side import (
    MAX_DIFFERING,
    Absent,
    NotMeasured,
    add_turns,
    exit_code_of,
    max_differing,
    middle,
    numbers,
    one_line,
    save,
    without_times,
)

SCHEMA = "lenslet.peers/3"
ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("torch", "triton", "jax", "jaxlib", "onnxruntime", "openvino", "tinygrad", "numpy")
# Frameworks that no script here measures; the results name them.
NEVER = {
    "TensorRT": "apps/peers has no side for it",
    "CUTLASS": "its sm_90 convolutions need channels in multiples of 16 bytes; LeNet-5's have 1 and 6",
}


def installed(makers, device="cuda", threads=None):
    """The sides of peers; `makers`: {name: function that returns its sides}. One that fails is absent."""
    sides = []
    for name, make in makers.items():
        try:
            sides += make()
        except Exception as error:  # any exception that a foreign package raises at import or set-up
            sides.append(Absent(name, one_line(error), device, threads))
    return sides


def gpu_sides(weights, images, arguments):
    """Sorted by the cost of their preparation."""

    def tinygrad_sides():
        import_module("tinygrad")
        np.save(arguments.images_file, images)
        limits = arguments.search_batches, arguments.search_seconds
        return [import_module("tinygrad_side").TinygradSide(arguments.images_file, *limits)]

    sides = lenslet_side.on_gpu(arguments.lenslet, arguments.data) + installed(
        {
            "PyTorch": lambda: import_module("torch_side").sides(weights, images, arguments.autotune_batches),
            "JAX": lambda: import_module("jax_side").sides(weights, images),
            "tinygrad, beam search": tinygrad_sides,
        }
    )
    return sorted([*sides, *(Absent(*pair) for pair in NEVER.items())], key=lambda side: side.cost)


def cpu_sides(weights, images, arguments, threads):
    return lenslet_side.on_cpu(arguments.lenslet, arguments.data, threads) + installed(
        {
            "ONNX Runtime": lambda: [import_module("onnx_side").OnnxSide(weights, images, threads)],
            "OpenVINO": lambda: [import_module("openvino_side").OpenvinoSide(weights, images, threads)],
        },
        "cpu",
        threads,
    )


def row_of(side, batch):
    keys = ("math", "device", "input", "output", "layout", "method")
    row = {"side": side.name, **{key: getattr(side, key) for key in keys}, "batch": batch}
    if side.threads:
        row["threads"] = side.threads
    return row


class Timing:
    """The rows of one batch size."""

    def __init__(self, batch, arguments, reference):
        self.batch, self.arguments, self.reference = batch, arguments, reference
        self.rows, self.running, self.torch_logits = [], [], None

    def attempt(self, row, step):
        """Calls step(); returns whether it succeeded. If not, the row gets the reason."""
        try:
            step()
            return True
        except NotMeasured as why:
            row.update(status=why.status, reason=str(why))
        except Exception as error:  # any exception of another framework: its row reports it, the others continue
            row.update(status="ERROR", reason=one_line(error))
        return False

    def prepare(self, side, until):
        row = row_of(side, self.batch)
        self.rows.append(row)
        if side.cost > 0 and until is not None and time.monotonic() > until:
            row.update(status="SKIPPED", reason="the time that --seconds left for this batch was used up")
            return
        side.until = until
        start = time.perf_counter_ns()

        def set_up():
            work = side.prepare(self.batch)
            row["setup_ns"] = time.perf_counter_ns() - start
            work.warm_up(self.arguments.window_ms)
            self.running.append((row, work, [], {}))

        self.attempt(row, set_up)

    def turn(self, work, turns, single, first):
        """Appends a summary to `turns`; the `first` turn of a batch of --latency-batches fills `single`, too."""
        turns.append(work.turn(self.arguments.windows, self.arguments.window_ms))
        if first and self.batch in self.arguments.latency_batches:  # one turn has many single calls already
            found = {
                "in_order_ns": work.in_order(self.arguments.calls),
                "round_trip_ns": work.round_trip(self.arguments.calls),
            }
            single.update({key: value for key, value in found.items() if value})

    def measure(self):
        for number in range(self.arguments.turns):
            self.running = [
                entry
                for entry in self.running
                if self.attempt(entry[0], lambda entry=entry: self.turn(*entry[1:], number == 0))
            ]
        for row, work, turns, single in self.running:
            summary = middle(turns)
            row.update(status="PASSED", reason=None, time_ns=summary, images_per_s=self.batch / summary["median"] * 1e9)
            row.update({**single, **work.details})
            suspect = row.pop("suspect", None)
            if suspect:
                row.update(status="SUSPECT", reason=suspect)
        for row, work, _, _ in self.running:
            if not self.attempt(row, lambda row=row, work=work: self.judge(row, work)):
                for key in row.keys() - without_times(row).keys():
                    del row[key]
        for _, work, _, _ in self.running:
            self.attempt({}, work.close)

    def near_tie(self, math):
        """Two logits of `lenslet eval` this near to each other may be in the other order in a correct pass.

        Each logit moves by up to the bounds that `lenslet bench` derived in this batch for `math`, and for fp32, in
        which `eval` computes. Without its row in one of them: 0.
        """
        bounds = {"fp32": 0, math: 0}
        for row in self.rows:
            if row["math"] in bounds and row["output"] == "logits" and row.get("error"):
                bounds[row["math"]] = max(bounds[row["math"]], row["error"]["bound"] or 0)
        ours, theirs = bounds["fp32"], bounds[math]
        return 2 * (ours + theirs) if ours and theirs else 0

    def judge(self, row, work):
        """Counts the correct answers of the timed passes; Lenslet's rows already have their count.

        A row is FAILED if a logit is not finite, if more than MAX_DIFFERING classes differ from those of `lenslet
        eval`, or more than their share in a part of the test set. Near ties are no part of that share.
        """
        known = len(self.reference["labels"])
        count = min(self.batch, known)
        logits = work.logits(count)
        if logits is None:
            return
        finite = np.isfinite(logits).all(1)
        classes = np.where(finite, logits.argmax(1), -1)
        expected = self.reference["logits"][:count]
        differs = classes != expected.argmax(1)
        row["correct"], row["judged"] = int((classes == self.reference["labels"][:count]).sum()), count
        row["differing"] = int(differs.sum())
        if not finite.all():
            raise NotMeasured(
                "FAILED", f"{count - int(finite.sum()):,} of {count:,} images have a logit that is not finite"
            )
        lead = expected.max(1) - expected[np.arange(count), classes]
        clearly = int((differs & (lead > self.near_tie(row["math"]))).sum())
        if row["differing"] > MAX_DIFFERING or clearly > max_differing(count, known):
            differing = f"{row['differing']:,} of {count:,} images, {clearly:,} of them no near ties,"
            raise NotMeasured("FAILED", f"reads {differing} otherwise than `lenslet eval` in fp32")
        if row["side"] == "PyTorch, CUDA graph" and (row["math"], row["layout"]) == ("fp32", "NCHW"):
            self.torch_logits = logits


def shares(batches, autotune_batches):
    """Divides the remaining time among the batches; batches with max-autotune get four times as much."""
    weights = [4 if batch in autotune_batches else 1 for batch in batches]
    return [weight / sum(weights[at:]) for at, weight in enumerate(weights)]


def print_row(row):
    place = row["device"] + (f", {row['threads']} threads" if row.get("threads", 1) > 1 else "")
    head = f"{row['batch']:>9,}  {row['side']:<38} {row['math']:<5} {row['layout']:<5} {row['input']:<6} {place:<15}"
    if "time_ns" not in row or row["status"] not in ("PASSED", "SUSPECT"):
        print(f"{head} {row['status']}: {row['reason']}", flush=True)
        return
    t = row["time_ns"]
    print(
        f"{head} {t['median'] / 1e3:>11,.2f} us ({t['p10'] / 1e3:,.2f} .. {t['p90'] / 1e3:,.2f}) "
        f"{row['images_per_s'] / 1e6:>9.3f} M images/s{'' if row['status'] == 'PASSED' else ' SUSPECT'}",
        flush=True,
    )


def digits(rows, reference, torch_logits):
    """How many test images each side classifies correctly, and how far Lenslet's fp32 logits are from PyTorch's.

    Of sides that read them all in one batch, or where Lenslet counted them.
    """
    whole = len(reference["labels"])
    keys = ("side", "math", "device", "layout", "input", "output", "correct")
    counts = {}
    for row in rows:
        if row.get("judged") == whole and row["status"] in ("PASSED", "SUSPECT"):
            counts.setdefault(tuple(row[key] for key in keys[:-1]), {key: row[key] for key in keys})
    differences = []
    if torch_logits is not None and len(torch_logits) == whole:
        for device, ours in reference["ours"].items():
            differences.append(
                {
                    "device": device,
                    "max_abs_difference_to_torch": float(np.abs(ours - torch_logits).max()),
                    "differing_images": [int(i) for i in np.flatnonzero(ours.argmax(1) != torch_logits.argmax(1))],
                }
            )
    return {"images": whole, "correct": list(counts.values()), "lenslet_logits": differences}


def add_environment(document, sides):
    """Adds the machine, as Lenslet's side of this group reports it, to `environments`; the first group's also on top.

    So the ceilings of the CPU are beside the GPU's, and those of one thread beside two.
    """
    found = lenslet_side.environment(sides)
    if not found:
        return
    ours = next(side for side in sides if side.name.startswith("Lenslet"))
    key = {"device": ours.device, "threads": ours.threads}
    groups = document.setdefault("environments", [])
    at = next((i for i, group in enumerate(groups) if {name: group[name] for name in key} == key), len(groups))
    groups[at : at + 1] = [{**key, **found}]
    if at == 0:
        document.update(found)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_turns(parser, "the GPU's batches")
    parser.add_argument("--data", default=os.environ.get("LENSLET_MNIST_DIR", "data"), help="folder of MNIST")
    parser.add_argument("--device", choices=("cuda", "cpu", "both"), default="both")
    every = [1, 64, 1024, 4096, 10000, 65536, 262144]
    parser.add_argument("--batches", type=numbers, default=every, help="on the GPU")
    parser.add_argument("--autotune-batches", type=numbers, default=[10000], help="those that max-autotune gets")
    parser.add_argument("--search-batches", type=numbers, default=[1, 10000], help="those that tinygrad gets")
    parser.add_argument("--search-seconds", type=float, default=60, help="most time of tinygrad's search for a batch")
    parser.add_argument("--latency-batches", type=numbers, default=[1], help="those with single passes and calls")
    parser.add_argument("--calls", type=int, default=1000, help="single passes and calls of a side")
    parser.add_argument("--cpu-batches", type=numbers, default=[1, 16, 64, 256, 1024, 4096])
    parser.add_argument("--cpu-threads", type=numbers, default=[1, 2])
    parser.add_argument("--figure", help="SVG file of images/s by batch; needs matplotlib")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    begin = time.monotonic()
    weights, _ = shared.load_safetensors(ROOT / "weights" / "lenet5.safetensors")
    pixels, labels = shared.read_mnist(arguments.data, "t10k")
    images = np.ascontiguousarray(shared.normalisation_table()[pixels][:, None])
    rows = []
    document = {"schema": SCHEMA, "argv": sys.argv, "python": platform.python_version(), "rows": rows}
    with tempfile.TemporaryDirectory() as folder:
        arguments.images_file = str(Path(folder) / "images.npy")
        groups = []
        if arguments.device != "cpu":
            groups.append((gpu_sides(weights, images, arguments), arguments.batches))
        if arguments.device != "cuda":
            for threads in arguments.cpu_threads:
                groups.append((cpu_sides(weights, images, arguments, threads), arguments.cpu_batches))
        document["libraries"] = {
            name: sys.modules[name].__version__ for name in LIBRARIES if hasattr(sys.modules.get(name), "__version__")
        }
        devices = {"cuda": ("cuda",), "cpu": ("cpu",), "both": ("cpu", "cuda")}[arguments.device]
        ours = {device: lenslet_side.logits(arguments.lenslet, device, arguments.data) for device in devices}
        reference = {"labels": labels, "logits": ours[devices[0]], "ours": ours}
        torch_logits = None
        for sides, batches in groups:
            order = sorted(batches, key=lambda batch: (batch > max(arguments.autotune_batches, default=0), batch))
            for batch, share in zip(order, shares(order, arguments.autotune_batches)):
                now = time.monotonic()
                until = None if arguments.seconds is None else now + share * (begin + arguments.seconds - now)
                timing = Timing(batch, arguments, reference)
                for side in sides:
                    timing.prepare(side, until)
                timing.measure()
                rows += timing.rows
                if batch >= len(labels) and timing.torch_logits is not None:
                    torch_logits = timing.torch_logits
                for row in timing.rows:
                    print_row(row)
                print(f"batch {batch:,}: {time.monotonic() - now:.0f} s", flush=True)
                add_environment(document, sides)
                document["digits"] = digits(rows, reference, torch_logits)
                save(document, arguments.json, "INTERRUPTED")
    save(document, arguments.json, "COMPLETE")
    if arguments.figure:
        sys.path.insert(0, str(ROOT / "apps" / "report"))
        import figures_peers
        import results
        import style

        figure = figures_peers.by_batch(results.load(arguments.json, schema=None))
        style.write(arguments.figure, figure, arguments.json)
    return exit_code_of(rows)


if __name__ == "__main__":
    sys.exit(main())
