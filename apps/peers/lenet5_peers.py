"""LeNet-5 in PyTorch and in Lenslet: the same weights and images, in one run, turn by turn.

    python3 apps/peers/lenet5_peers.py --lenslet build/release/bin/lenslet --data DIR --json peers.json

Correctness first: the digits of the MNIST test set that each side reads, and the largest difference of the logits. Then
time: device-resident fp32 batches, PyTorch as a CUDA graph (TF32 off, cuDNN benchmark mode), Lenslet by `lenslet profile`
(one pass without events inside, GPU time). The sides take turns, so that a drift of the clocks touches both. Needs a GPU,
PyTorch and NumPy.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "weights"))
import lenet5 as shared  # noqa: E402  (the scripts' common module, beside the weights)


def forward(weights, x):
    """x [N, 1, 28, 28] normalised -> logits [N, 10]."""
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["conv1.weight"], weights["conv1.bias"])), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["conv2.weight"], weights["conv2.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), weights["fc1.weight"], weights["fc1.bias"]))
    x = F.relu(F.linear(x, weights["fc2.weight"], weights["fc2.bias"]))
    return F.linear(x, weights["fc3.weight"], weights["fc3.bias"])


class TorchGraph:
    """One forward pass captured as a CUDA graph, as fast as PyTorch runs it without changing its arithmetic."""

    def __init__(self, weights, batch):
        generator = torch.Generator(device="cuda").manual_seed(1)
        self.x = torch.randn(batch, 1, 28, 28, device="cuda", generator=generator)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                forward(weights, self.x)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = forward(weights, self.x)
        torch.cuda.synchronize()

    def window_ns(self, min_ms=40):
        """Mean GPU nanoseconds of one replay over a window of at least min_ms."""
        replays = 1
        while True:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(replays):
                self.graph.replay()
            end.record()
            end.synchronize()
            ms = begin.elapsed_time(end)
            if ms >= min_ms:
                return ms * 1e6 / replays
            replays = max(replays * 2, int(replays * 1.2 * min_ms / max(ms, 1e-3)))


def lenslet_pass(program, batch, options, folder):
    """Median GPU nanoseconds of one unprofiled pass, and the whole result document."""
    path = Path(folder) / f"profile_{batch}.json"
    command = [program, "profile", "--device", "cuda", "--batch-size", str(batch), "--cache", "hot",
               "--min-time-ms", "100", "--json", str(path), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    document = json.loads(path.read_text())
    return document["sums_ns"]["unprofiled"], document


def check_digits(program, data, folder):
    """The count of correct digits and the logits of both sides on the MNIST test set."""
    images, labels = shared.read_mnist(data, "t10k")
    x = torch.from_numpy(shared.normalisation_table()[images]).unsqueeze(1)
    weights = load_weights("cpu")
    with torch.no_grad():
        cpu = forward(weights, x).numpy()
        gpu = forward({k: v.cuda() for k, v in weights.items()}, x.cuda()).cpu().numpy()
    result = {"images": len(labels), "torch_cpu_correct": int((cpu.argmax(1) == labels).sum()),
              "torch_cuda_correct": int((gpu.argmax(1) == labels).sum()), "lenslet": []}
    for device in ("cpu", "cuda"):
        path = Path(folder) / f"logits_{device}.npy"
        subprocess.run([program, "eval", "--device", device, "--data", str(data), "--logits", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
        ours = np.load(path)
        differing = np.flatnonzero(ours.argmax(1) != cpu.argmax(1))
        top = np.sort(ours, axis=1)
        result["lenslet"].append({
            "device": device,
            "correct": int((ours.argmax(1) == labels).sum()),
            "max_abs_logit_difference_to_torch_cpu": float(np.abs(ours - cpu).max()),
            "max_abs_logit_difference_to_torch_cuda": float(np.abs(ours - gpu).max()),
            "differing_images": [{"image": int(i), "margin": float(top[i, -1] - top[i, -2])} for i in differing],
        })
    return result


def load_weights(device):
    tensors, _ = shared.load_safetensors(ROOT / "weights" / "lenet5.safetensors")
    return {name: torch.from_numpy(np.array(values)).to(device) for name, values in tensors.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lenslet", default=str(ROOT / "build/release/bin/lenslet"), help="the program")
    parser.add_argument("--data", default=os.environ.get("LENSLET_MNIST_DIR", "data"), help="folder of MNIST")
    parser.add_argument("--batches", default="1,64,1024,10000,65536", help="batch sizes to time")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each side")
    parser.add_argument("--json", required=True, help="output file")
    parser.add_argument("options", nargs="*", help="after --: further options of lenslet profile")
    arguments = parser.parse_args()

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    document = {"schema": "lenslet.peers/1", "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                "device": torch.cuda.get_device_name(), "math": "fp32", "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        document["digits"] = check_digits(arguments.lenslet, arguments.data, folder)
        weights = load_weights("cuda")
        for batch in (int(text) for text in arguments.batches.split(",")):
            with torch.no_grad():
                graph = TorchGraph(weights, batch)
            graph.window_ns()  # warm up
            torch_ns, lenslet_ns = [], []
            for _ in range(arguments.rounds):
                torch_ns.append(graph.window_ns())
                ns, profile = lenslet_pass(arguments.lenslet, batch, arguments.options, folder)
                lenslet_ns.append(ns)
            document["meta"] = profile["meta"]
            document["rows"].append({
                "batch": batch, "torch_cuda_graph_ns": torch_ns, "lenslet_ns": lenslet_ns,
                "torch_images_per_s": batch / np.median(torch_ns) * 1e9,
                "lenslet_images_per_s": batch / np.median(lenslet_ns) * 1e9,
                "ratio": float(np.median(torch_ns) / np.median(lenslet_ns)),
                "backends": {row["name"]: row["backend"] for row in profile["results"] if row["backend"]},
            })
            row = document["rows"][-1]
            print(f"batch {batch}: PyTorch {row['torch_images_per_s'] / 1e6:.2f} M images/s, Lenslet "
                  f"{row['lenslet_images_per_s'] / 1e6:.2f} M images/s, ratio {row['ratio']:.2f}", flush=True)
            del graph
    Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["digits"], indent=1))


if __name__ == "__main__":
    main()
