#!/usr/bin/env python3
"""Writes mean_pool.onnx: a small network with batch normalisation, a depthwise convolution and a global mean.

write_mean_pool.py FOLDER        needs onnx and numpy from PyPI; the file here is from onnx 1.23.2
"""

import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    random = numpy.random.default_rng(1)
    nodes, constants = [], []

    def constant(name, *shape, middle=0.0, spread=0.4):
        values = middle + spread * (2 * random.random(shape) - 1)
        constants.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        return name

    def add(operator, name, inputs, **attributes):
        before = nodes[-1].output[0] if nodes else "input"
        nodes.append(helper.make_node(operator, [before, *inputs], [name + "_output"], name=name, **attributes))

    def norm(name, channels):
        add(
            "BatchNormalization",
            name,
            [
                constant(name + ".weight", channels, middle=1.0),
                constant(name + ".bias", channels),
                constant(name + ".running_mean", channels),
                constant(name + ".running_var", channels, middle=1.0),
            ],
        )

    add("Conv", "stem", [constant("stem.weight", 8, 3, 3, 3)], strides=[2, 2], pads=[1, 1, 1, 1])
    norm("norm1", 8)
    add("Relu", "relu1", [])
    add("Conv", "depthwise", [constant("depthwise.weight", 8, 1, 3, 3)], group=8, pads=[1, 1, 1, 1])
    norm("norm2", 8)
    add("Relu", "relu2", [])
    add("Conv", "pointwise", [constant("pointwise.weight", 16, 8, 1, 1), constant("pointwise.bias", 16)])
    add("Relu", "relu3", [])
    add("GlobalAveragePool", "mean", [])
    add("Flatten", "flatten", [])
    add("Gemm", "classes", [constant("classes.weight", 10, 16), constant("classes.bias", 10)], transB=1)

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "mean_pool",
        [value("input", ["batch", 3, 32, 32])],
        [value(nodes[-1].output[0], ["batch", 10])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    onnx.save(model, str(pathlib.Path(sys.argv[1]) / "mean_pool.onnx"))


if __name__ == "__main__":
    main()
