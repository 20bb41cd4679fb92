#!/usr/bin/env python3
"""Writes mnist_8.onnx: the graph of mnist-8.onnx, which CNTK exported for the ONNX Model Zoo, with other weights.

    export.py MNIST        needs numpy and onnx; the file here is from onnx 1.16.2

Node by node and name by name it is the zoo's: IR version 3, operator set 8, every initializer an input too, a batch
frozen to 1, a weight that a Reshape makes a matrix, convolutions with SAME_UPPER and their biases as Add, and weights
as float_data and as raw_data. It reads pixels / 255.

The convolutions are random; the last layer is fitted by least squares to the first 20,000 training images in MNIST.
"""

import pathlib
import sys

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "weights"))
from lenet5 import read_mnist  # noqa: E402

TRAINING_IMAGES = 20000
RIDGE = 1.0  # of the least squares


def convolved(x, weights):
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    windows = sliding_window_view(padded, (5, 5), axis=(2, 3))  # N C H W R S
    return np.tensordot(windows, weights, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def pooled(x, side):
    n, c, h, w = x.shape
    x = x[:, :, : h // side * side, : w // side * side]
    return x.reshape(n, c, h // side, side, w // side, side).max((3, 5))


def features(x, weights):
    x = pooled(np.maximum(convolved(x, weights["Parameter5"]) + weights["Parameter6"], 0), 2)
    x = pooled(np.maximum(convolved(x, weights["Parameter87"]) + weights["Parameter88"], 0), 3)
    return x.reshape(len(x), 256)


def fitted():
    """The weights by the zoo's names; prints how many test images the network reads."""
    random = np.random.default_rng(8)
    weights = {
        "Parameter5": random.normal(0, 0.3, (8, 1, 5, 5)),
        "Parameter6": random.uniform(-0.3, 0.1, (8, 1, 1)),
        "Parameter87": random.normal(0, 0.1, (16, 8, 5, 5)),
        "Parameter88": random.uniform(-0.3, 0.1, (16, 1, 1)),
    }

    def features_of(split, count):
        images, labels = read_mnist(sys.argv[1], split)
        images = images[:count].reshape(-1, 1, 28, 28) / 255
        parts = [features(images[i : i + 1000], weights) for i in range(0, len(images), 1000)]
        return np.column_stack([np.concatenate(parts), np.ones(len(images))]), labels[:count]

    x, labels = features_of("train", TRAINING_IMAGES)
    wanted = np.where(np.arange(10) == labels[:, None], 4.0, -4.0)
    last = np.linalg.solve(x.T @ x + RIDGE * np.eye(257), x.T @ wanted)
    weights["Parameter193"], weights["Parameter194"] = last[:256].reshape(16, 4, 4, 10), last[256:].reshape(1, 10)
    x, labels = features_of("t10k", 10000)
    print(f"{int(((x @ last).argmax(1) == labels).sum())} of {len(labels)} test images")
    return {name: value.astype(np.float32) for name, value in weights.items()}


def graph_of(weights):
    nodes, shapes = [], {}

    def add(operator, name, inputs, output, shape, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], name=name, **attributes))
        shapes[output] = shape

    def convolution(name, x, weight, shape):
        add(
            "Conv",
            name,
            [x, weight],
            f"{name}_Output_0",
            shape,
            auto_pad="SAME_UPPER",
            dilations=[1, 1],
            group=1,
            kernel_shape=[5, 5],
            strides=[1, 1],
        )

    def pool(name, x, side, shape):
        add(
            "MaxPool",
            name,
            [x],
            f"{name}_Output_0",
            shape,
            auto_pad="NOTSET",
            kernel_shape=[side, side],
            pads=[0, 0, 0, 0],
            strides=[side, side],
        )

    add(
        "Reshape",
        "Times212_reshape1",
        ["Parameter193", "Parameter193_reshape1_shape"],
        "Parameter193_reshape1",
        [256, 10],
    )
    convolution("Convolution28", "Input3", "Parameter5", [1, 8, 28, 28])
    add("Add", "Plus30", ["Convolution28_Output_0", "Parameter6"], "Plus30_Output_0", [1, 8, 28, 28])
    add("Relu", "ReLU32", ["Plus30_Output_0"], "ReLU32_Output_0", [1, 8, 28, 28])
    pool("Pooling66", "ReLU32_Output_0", 2, [1, 8, 14, 14])
    convolution("Convolution110", "Pooling66_Output_0", "Parameter87", [1, 16, 14, 14])
    add("Add", "Plus112", ["Convolution110_Output_0", "Parameter88"], "Plus112_Output_0", [1, 16, 14, 14])
    add("Relu", "ReLU114", ["Plus112_Output_0"], "ReLU114_Output_0", [1, 16, 14, 14])
    pool("Pooling160", "ReLU114_Output_0", 3, [1, 16, 4, 4])
    add(
        "Reshape",
        "Times212_reshape0",
        ["Pooling160_Output_0", "Pooling160_Output_0_reshape0_shape"],
        "Pooling160_Output_0_reshape0",
        [1, 256],
    )
    add("MatMul", "Times212", ["Pooling160_Output_0_reshape0", "Parameter193_reshape1"], "Times212_Output_0", [1, 10])
    add("Add", "Plus214", ["Times212_Output_0", "Parameter194"], "Plus214_Output_0", [1, 10])

    constants = [
        numpy_helper.from_array(np.array(shape, np.int64), name)
        for name, shape in (
            ("Parameter193_reshape1_shape", [256, 10]),
            ("Pooling160_Output_0_reshape0_shape", [1, 256]),
        )
    ]
    for name, value in weights.items():
        if name == "Parameter193":
            constants.append(numpy_helper.from_array(value, name))
        else:
            constants.append(helper.make_tensor(name, TensorProto.FLOAT, value.shape, value.ravel()))
    inputs = [helper.make_tensor_value_info("Input3", TensorProto.FLOAT, [1, 1, 28, 28])]
    inputs += [helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in constants]
    inside = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    return helper.make_graph(nodes, "CNTKGraph", inputs, [inside.pop()], constants, value_info=inside)


def main():
    model = helper.make_model(
        graph_of(fitted()),
        ir_version=3,
        producer_name="CNTK",
        producer_version="2.5.1",
        opset_imports=[helper.make_opsetid("", 8)],
    )
    model.domain, model.model_version = "ai.cntk", 1
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(HERE / "mnist_8.onnx"))


if __name__ == "__main__":
    main()
