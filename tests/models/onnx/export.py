#!/usr/bin/env python3
"""Writes the ONNX files beside this script with PyTorch's tracing exporter: opset 13, a free batch, weights inside.

    export.py FOLDER        needs torch; the files here are from torch 1.13 (Debian 12, python3-torch)

lenet5.onnx      LeNet-5 with the weights of weights/lenet5.safetensors
separable.onnx   a network with a depthwise convolution and a global mean
resnet20.onnx    ResNet-20 for CIFAR-10, and
mobilenet.onnx   a network of MobileNetV2's kind: both with random weights, kept as float16 before a Cast; the modules
                 are those of apps/peers/networks.py, which compares their speed
"""

import json
import pathlib
import struct
import sys

import torch
from torch.nn.utils import parametrize

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "apps" / "peers"))
from networks import NETWORKS, SHAPE  # noqa: E402


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = bytearray(data[8 + length + begin : 8 + length + end])
            tensors[name] = torch.frombuffer(values, dtype=torch.float32).reshape(entry["shape"]).clone()
    return tensors


class LeNet5(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5)
        self.conv2 = torch.nn.Conv2d(6, 16, 5)
        self.fc1 = torch.nn.Linear(256, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Separable(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise = torch.nn.Conv2d(3, 3, 3, padding=1, groups=3, bias=False)
        self.norm = torch.nn.BatchNorm2d(3)
        self.pointwise = torch.nn.Conv2d(3, 8, 1)
        self.classes = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.pointwise(torch.nn.functional.relu6(self.norm(self.depthwise(x)))))
        return torch.softmax(self.classes(x.mean((2, 3))), 1)


class FromHalf(torch.nn.Module):
    """A parameter kept in fp16."""

    def forward(self, value):
        return value.float()


def halved(model):
    """The same model, with its parameters in fp16 and a cast before each use."""
    for layer in list(model.half().modules()):
        for name, _ in list(layer.named_parameters(recurse=False)):
            parametrize.register_parametrization(layer, name, FromHalf(), unsafe=True)
    return model


def export(model, shape, path, fold=True):
    torch.onnx.export(
        model.eval(),
        (torch.zeros(shape),),
        str(path),
        opset_version=13,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}},
        do_constant_folding=fold,
    )


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    lenet5 = LeNet5()
    lenet5.load_state_dict(read_safetensors(ROOT / "weights" / "lenet5.safetensors"))
    export(lenet5, (1, 1, 28, 28), folder / "lenet5.onnx")
    export(Separable(), (1, 3, 32, 32), folder / "separable.onnx")
    for name, network in NETWORKS.items():
        export(halved(network()), (1, *SHAPE), folder / f"{name}.onnx", fold=False)


if __name__ == "__main__":
    main()
