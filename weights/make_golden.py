#!/usr/bin/env python3
"""Makes Lenslet's golden files from the weights; every backend and every plan must reproduce them.

    golden/activations.safetensors         six drawn inputs and the activations after every layer, computed in fp64
    golden/mnist_test_logits.safetensors   logits of the 10,000 test images, PyTorch in fp32 on the CPU
    golden/mnist_test_predictions.txt      the predicted class of each test image, one line of 10,000 digits

Prints counts, the wrong images, the closest decisions and the agreement of fp32 and fp64. The inputs are drawn by this
script and hold no pixel of MNIST. Without --data only the first file is made.

Example: python3 weights/make_golden.py --data data
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from lenet5 import (
    PARAMETER_SHAPES,
    json_text,
    load_safetensors,
    normalisation_table,
    read_mnist,
    save_safetensors,
    wilson_interval,
)

HERE = Path(__file__).resolve().parent

# Strokes as polylines (x, y) in pixels; the centre of a pixel is at whole numbers, y grows downwards.
ARC = np.linspace(0, 2 * np.pi, 65)
STROKES = {
    "0": [[(14 + 5.5 * np.cos(a), 14 + 8.5 * np.sin(a)) for a in ARC]],
    "1": [[(12.5, 8.0), (15.0, 5.0), (13.5, 23.0)]],
    "3": [
        [(13 + 5 * np.cos(a), 9 + 4.2 * np.sin(a)) for a in np.linspace(-2.6, 1.57, 40)],
        [(13 + 5.5 * np.cos(a), 18 + 4.8 * np.sin(a)) for a in np.linspace(-1.57, 2.6, 40)],
    ],
    "4": [[(10.5, 5.0), (8.5, 15.0), (19.0, 14.5)], [(18.0, 6.0), (16.5, 23.0)]],
    "7": [[(8.5, 6.5), (19.0, 6.0), (13.0, 23.0)]],
}
PEN_RADIUS = 1.0  # pixels of full ink on either side of a stroke
PEN_EDGE = 1.0  # pixels over which the ink fades to nothing


def draw_strokes(polylines):
    """Draws polylines as an MNIST-like picture, bright on 0, and returns uint8 [28, 28].

    The ink of a pixel falls linearly with the distance of its centre to the nearest segment. Like MNIST, the
    picture is shifted by whole pixels until its centre of mass falls on pixel (14, 14).
    """
    y, x = np.mgrid[0:28, 0:28].astype(np.float64)
    distance = np.full((28, 28), np.inf)
    for line in polylines:
        for (x0, y0), (x1, y1) in zip(line[:-1], line[1:]):
            dx, dy = x1 - x0, y1 - y0
            t = np.clip(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0, 1)
            distance = np.minimum(distance, np.hypot(x - x0 - t * dx, y - y0 - t * dy))
    ink = np.clip((PEN_RADIUS + PEN_EDGE - distance) / PEN_EDGE, 0, 1)
    shift = [int(np.rint(14 - (axis * ink).sum() / ink.sum())) for axis in (y, x)]
    return np.rint(255 * np.roll(ink, shift, axis=(0, 1))).astype(np.uint8)


def draw_noise():
    """Returns a noise picture uint8 [28, 28] from a 32-bit linear congruential generator (Numerical Recipes)."""
    state, pixels = 2026, []
    for _ in range(28 * 28):
        state = (1664525 * state + 1013904223) % 2**32
        pixels.append(state >> 24)
    return np.array(pixels, np.uint8).reshape(28, 28)


def draw_inputs():
    """Returns (names, uint8 [6, 1, 28, 28]): five digits and one picture of noise over the whole frame."""
    pictures = [draw_strokes(lines) for lines in STROKES.values()] + [draw_noise()]
    return [*STROKES, "noise"], np.stack(pictures)[:, None]


def run_layers(x, w):
    """Runs LeNet-5 on x [N, 1, 28, 28] with weights `w` of x's type and device; returns every activation by name."""
    out = {}
    out["conv1"] = F.conv2d(x, w["conv1.weight"], w["conv1.bias"])  # [N, 6, 24, 24]
    out["relu1"] = F.relu(out["conv1"])
    out["pool1"] = F.max_pool2d(out["relu1"], 2)  # [N, 6, 12, 12]
    out["conv2"] = F.conv2d(out["pool1"], w["conv2.weight"], w["conv2.bias"])  # [N, 16, 8, 8]
    out["relu2"] = F.relu(out["conv2"])
    out["pool2"] = F.max_pool2d(out["relu2"], 2)  # [N, 16, 4, 4]
    out["fc1"] = F.linear(out["pool2"].flatten(1), w["fc1.weight"], w["fc1.bias"])  # [N, 120]
    out["relu3"] = F.relu(out["fc1"])
    out["fc2"] = F.linear(out["relu3"], w["fc2.weight"], w["fc2.bias"])  # [N, 84]
    out["relu4"] = F.relu(out["fc2"])
    out["fc3"] = F.linear(out["relu4"], w["fc3.weight"], w["fc3.bias"])  # [N, 10], the logits
    out["softmax"] = F.softmax(out["fc3"], dim=1)
    return out


def run_logits(images, weights, dtype, device, batch=2500):
    """Returns logits [N, 10] on the CPU for uint8 images [N, 28, 28], computed in `dtype` on `device`."""
    table = torch.from_numpy(normalisation_table())
    w = {name: torch.tensor(array).to(device, dtype) for name, array in weights.items()}
    parts = []
    for begin in range(0, len(images), batch):
        x = table[torch.tensor(images[begin : begin + batch]).int()][:, None]
        parts.append(run_layers(x.to(device, dtype), w)["fc3"].cpu())
    return torch.cat(parts)


def make_activations(weights, path):
    """Writes the drawn inputs and their activations: fp64 from the fp32 normalised input, rounded once to fp32."""
    names, pixels = draw_inputs()
    x = torch.from_numpy(normalisation_table()[pixels])
    exact = run_layers(x.double(), {name: torch.tensor(array).double() for name, array in weights.items()})
    single = run_layers(x, {name: torch.tensor(array) for name, array in weights.items()})
    tensors = {"input_u8": pixels.astype(np.float32), "input": x.numpy()}
    tensors.update({name: value.float().numpy() for name, value in exact.items()})
    save_safetensors(
        path,
        tensors,
        {
            "content": "LeNet-5 activations of six drawn inputs",
            "inputs": ",".join(names),
            "arithmetic": "fp64 on the fp32 normalised input and the fp32 weights, rounded once to fp32",
            "normalisation": "(float32(x) / 255 - 0.1307) / 0.3081, every step in fp32, real divisions",
            "layout": "N,C,H,W; flatten C,H,W",
        },
    )
    difference = {name: float((single[name].double() - exact[name]).abs().max()) for name in exact}
    return {
        "inputs": names,
        "predicted": "".join(str(int(c)) for c in exact["fc3"].argmax(1)),
        "fp32_cpu_max_abs_difference": difference,
    }


def make_mnist(weights, folder, golden):
    """Writes logits and predictions of the 10,000 test images; returns counts, margins and agreement."""
    images, labels = read_mnist(folder, "t10k")
    truth = torch.tensor(labels).long()
    runs = {"fp32_cpu": run_logits(images, weights, torch.float32, "cpu")}
    runs["fp64_cpu"] = run_logits(images, weights, torch.float64, "cpu")
    if torch.cuda.is_available():
        runs["fp32_gpu"] = run_logits(images, weights, torch.float32, "cuda")
    logits = runs["fp32_cpu"]
    predicted = logits.argmax(1)
    save_safetensors(
        golden / "mnist_test_logits.safetensors",
        {"logits": logits.numpy()},
        {"content": "LeNet-5 logits of the 10,000 MNIST test images", "arithmetic": "PyTorch fp32 on the CPU"},
    )
    (golden / "mnist_test_predictions.txt").write_text("".join(str(int(c)) for c in predicted) + "\n")

    top = runs["fp64_cpu"].topk(2, dim=1)
    margin = top.values[:, 0] - top.values[:, 1]
    closest = [
        {
            "image": int(i),
            "label": int(truth[i]),
            "first": int(top.indices[i, 0]),
            "second": int(top.indices[i, 1]),
            "margin": float(margin[i]),
        }
        for i in margin.argsort()[:5]
    ]
    correct = int((predicted == truth).sum())
    return {
        "correct": correct,
        "total": len(truth),
        "interval_95": wilson_interval(correct, len(truth)),
        "wrong": [
            {"image": int(i), "label": int(truth[i]), "predicted": int(predicted[i])}
            for i in (predicted != truth).nonzero().flatten()
        ],
        "closest": closest,
        "max_abs_logit": float(logits.abs().max()),
        "against_fp64": {
            name: {
                "max_abs_difference": float((run.double() - runs["fp64_cpu"]).abs().max()),
                "different_predictions": [
                    {"image": int(i), "margin": float(margin[i])}
                    for i in (run.argmax(1) != runs["fp64_cpu"].argmax(1)).nonzero().flatten()
                ],
            }
            for name, run in runs.items()
            if name != "fp64_cpu"
        },
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=HERE / "lenet5.safetensors", metavar="FILE")
    parser.add_argument("--out", type=Path, default=HERE / "golden", metavar="DIR")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("LENSLET_MNIST_DIR", "data")),
        metavar="DIR",
        help="folder with the MNIST test files (default: LENSLET_MNIST_DIR, then ./data)",
    )
    return parser.parse_args()


@torch.no_grad()
def main():
    args = parse_arguments()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    weights, _ = load_safetensors(args.weights)
    found = {name: array.shape for name, array in weights.items()}
    if found != PARAMETER_SHAPES:
        raise SystemExit(f"{args.weights}: expected {PARAMETER_SHAPES}, found {found}")

    args.out.mkdir(parents=True, exist_ok=True)
    summary = {"torch": torch.__version__}
    summary["activations"] = make_activations(weights, args.out / "activations.safetensors")
    if args.data.is_dir():
        summary["mnist_test"] = make_mnist(weights, args.data, args.out)
    else:
        print(f"no folder {args.data}: only the activations are made")
    print(json_text(summary), end="")


if __name__ == "__main__":
    main()
