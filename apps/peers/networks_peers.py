"""Networks given as ONNX files, in Lenslet and in other frameworks: the same weights, turn by turn, like against like.

    python3 apps/peers/networks_peers.py --lenslet build/release/bin/lenslet --json networks.json [--device cuda|cpu]

The networks are those of networks.py, whose files lie in tests/models/onnx, and LeNet-5 from its file beside the
built-in one. Lenslet runs the plan that `lenslet tune` finds for the batch, as `lenslet bench` times it. Its peers: on
the GPU PyTorch as a CUDA graph and torch.compile, and ONNX Runtime's CUDA provider as a CUDA graph, all in two layouts
and in fp32 without TF32; on the CPU ONNX Runtime with all optimisations and IO binding. Each reads fp32 samples in
memory where it computes. Setting up and tuning is a column of its own.

What was timed is judged in the same run: a peer's outputs against the module in fp64 (without PyTorch against ONNX
Runtime in fp32), and Lenslet by `lenslet bench` against its own reference in fp64, and by `lenslet diff` against the
same outputs as its peers. A side that is not installed, fails, or does not fit into --seconds gives a row with its
status and the reason, and the comparison continues. Exit code 1: a row is FAILED.
"""

import argparse
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lenslet_side
from lenet5_peers import LIBRARIES, ROOT, Timing, add_environment, installed, print_row
from side import NotMeasured, add_turns, exit_code_of, numbers, save

SCHEMA = "lenslet.networks/1"
FILES = ROOT / "tests" / "models" / "onnx"
SAMPLES = 64  # different ones; larger batches repeat them
# Of an output in fp32, relative to the largest. The longest sums, those of ResNet-20, have 576 products. If roundings
# are independent, each errs by about √576 · 2⁻²⁴ = 1.4e-6 of its magnitude, and 20 layers by 2.9e-5. The rest is chosen
# by hand, for peers with algorithms that transform.
MAX_ERROR = 1e-4
DIGITS = "lenet5"


class NetworkTiming(Timing):
    """The rows of one network and batch size; outputs are judged against those of the module in fp64."""

    def judge(self, row, work):
        outputs = work.logits(min(self.batch, SAMPLES))
        if outputs is None:
            return
        expected = self.reference[: len(outputs)]
        error = np.abs(outputs - expected).max() / np.abs(self.reference).max()
        row["max_rel_error"], row["judged"] = float(error), len(outputs)
        if not error <= MAX_ERROR:  # also NaN
            raise NotMeasured("FAILED", f"differs from fp64 by {error:.2g} of the largest output")


def lenslet_sides(network, arguments, threads):
    """Lenslet at the plan that it tunes; for LeNet-5 the file and the built-in network, as `auto` runs them."""
    program, device = arguments.lenslet, arguments.device
    model = str(FILES / f"{network}.onnx")
    if network == DIGITS:
        return [
            lenslet_side.network_side(program, device, threads, name, options)
            for name, options in (("Lenslet, from ONNX", ["--model", model]), ("Lenslet, built in", []))
        ]
    return [lenslet_side.TunedSide(program, device, threads, model, arguments.folder)]


def peers(network, samples, arguments, threads):
    if network == DIGITS:
        return []
    if arguments.device == "cpu":
        make = {
            "ONNX Runtime": lambda: [import_module("onnx_side").FileSide(FILES / f"{network}.onnx", samples, threads)]
        }
        return installed(make, "cpu", threads)

    def torch_sides():
        made = import_module("networks").NETWORKS[network]
        return import_module("torch_side").network_sides(made, samples, arguments.autotune_batches)

    def onnx_sides():
        return import_module("onnx_gpu_side").file_sides(FILES / f"{network}.onnx", samples)

    made = installed({"PyTorch": torch_sides, "ONNX Runtime, CUDA provider": onnx_sides})
    return sorted(made, key=lambda side: side.cost)


def right_outputs(network, samples):
    """Of the module in fp64 on the CPU, else of ONNX Runtime in fp32; and which."""
    try:
        import torch
    except ImportError:
        session = import_module("onnxruntime").InferenceSession(str(FILES / f"{network}.onnx"))
        return session.run(None, {session.get_inputs()[0].name: samples})[0].astype(np.float64), "ONNX Runtime, fp32"
    module = import_module("networks").NETWORKS[network]().double()
    with torch.no_grad():
        return module(torch.from_numpy(samples).double()).numpy(), "PyTorch, fp64"


def fault_by_diff(network, samples, outputs, arguments):
    """Runs `lenslet diff` on the same samples and outputs; empty, or why the network differs.

    Its exit code judges each value by a derived bound, which for the outputs alone of a deep network is too wide to
    judge by. So the difference that it prints is judged here.
    """
    path = Path(arguments.folder) / f"{network}.npz"
    np.savez(path, input=samples[:4], output=outputs[:4].astype(np.float32))
    command = [arguments.lenslet, "diff", str(FILES / f"{network}.onnx"), "--against", str(path)]
    command += ["--device", arguments.device]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^whole pass +[a-z ]+? +([0-9.e+-]+) ", done.stdout, re.MULTILINE)
    if not found:
        return f"`lenslet diff` gave {done.returncode}: {done.stderr.strip()}"
    error = float(found[1]) / float(np.abs(outputs).max())
    return "" if error <= MAX_ERROR else f"`lenslet diff`: {error:.2g} of the largest output from its peers'"


def parse_arguments():
    words = lambda text: [part for part in text.split(",") if part]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_turns(parser, "all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--networks", type=words, default=["resnet20", "mobilenet", DIGITS])
    parser.add_argument("--batches", type=numbers, default=[1, 64, 1024])
    parser.add_argument("--autotune-batches", type=numbers, default=[], help="those that max-autotune gets")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    arguments = parser.parse_args()
    arguments.latency_batches = []
    return arguments


def main():
    arguments = parse_arguments()
    threads = arguments.threads if arguments.device == "cpu" else None
    end = None if arguments.seconds is None else time.monotonic() + arguments.seconds
    rows = []
    document = {"schema": SCHEMA, "argv": sys.argv, "python": platform.python_version(), "rows": rows}
    tasks = [(network, batch) for network in arguments.networks for batch in arguments.batches]
    with tempfile.TemporaryDirectory() as arguments.folder:
        known = {}  # by network: its sides, samples and what is right
        for done, (network, batch) in enumerate(tasks):
            if network not in known:
                samples = np.random.default_rng(1).standard_normal((SAMPLES, 3, 32, 32)).astype(np.float32)
                outputs, judge = (None, "") if network == DIGITS else right_outputs(network, samples)
                sides = lenslet_sides(network, arguments, threads) + peers(network, samples, arguments, threads)
                known[network] = sides, outputs
                why = "" if network == DIGITS else fault_by_diff(network, samples, outputs, arguments)
                document.setdefault("judged_by", {})[network] = judge
                document.setdefault("diff", {})[network] = why or "PASSED"
            sides, outputs = known[network]
            now = time.monotonic()
            until = None if end is None else now + (end - now) / (len(tasks) - done)
            timing = NetworkTiming(batch, arguments, outputs)
            for side in sides:
                timing.prepare(side, until)
            timing.measure()
            for row in timing.rows:
                row["network"] = network
                if row["side"].startswith("Lenslet") and document["diff"].get(network, "PASSED") != "PASSED":
                    row.update(status="FAILED", reason=document["diff"][network])
                print_row({**row, "side": f"{network}: {row['side']}"})
            rows += timing.rows
            add_environment(document, sides)
            document["libraries"] = {
                name: sys.modules[name].__version__
                for name in LIBRARIES
                if hasattr(sys.modules.get(name), "__version__")
            }
            save(document, arguments.json, "INTERRUPTED")
    save(document, arguments.json, "COMPLETE")
    return exit_code_of(rows)


if __name__ == "__main__":
    sys.exit(main())
