#!/usr/bin/env python3
"""Writes kernels.onnx: a layer for each kernel that no layer of LeNet-5 launches, named after it.

    write_kernels.py FOLDER        needs onnx and numpy from PyPI; the file here is from onnx 1.23.2

./dev bench --part layers profiles it, so that the heads of these kernels can cite a time. On the CPU the same layers
run other code.
"""

import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, FILTERS = 16, 56, 32


def main():
    random = numpy.random.default_rng(1)
    nodes, constants = [], []

    def constant(name, *shape):
        values = 0.4 * (2 * random.random(shape) - 1)
        constants.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        return name

    def add(operator, name, *inputs, **attributes):
        before = nodes[-1].output[0] if nodes else "input"
        nodes.append(helper.make_node(operator, [before, *inputs], [name + "_output"], name=name, **attributes))

    add("Relu", "relu_direct")
    add("Sigmoid", "activation_direct")
    add("LRN", "lrn_direct", size=5)
    add("Add", "pairwise_direct_same", "activation_direct_output")
    add("Mul", "pairwise_direct_strided", constant("scales", CHANNELS, 1, 1))
    add("Transpose", "rearrange_copy", perm=[0, 1, 3, 2])
    constants.append(numpy_helper.from_array(numpy.array([0, 0, 1, 1, 0, 0, 1, 1], numpy.int64), "pads"))
    constants.append(numpy_helper.from_array(numpy.array(0.5, numpy.float32), "border"))
    add("Pad", "rearrange_fill", "pads", "border")
    add("Softmax", "softmax_direct_columns", axis=1)
    add("MaxPool", "pool_direct_any", kernel_shape=[3, 3])
    add("MaxPool", "pool_direct_2x2", kernel_shape=[2, 2], strides=[2, 2])
    add("Softmax", "softmax_direct", axis=-1)
    add(
        "Conv",
        "conv_depthwise_any",
        constant("depthwise", CHANNELS, 1, 3, 3),
        group=CHANNELS,
        dilations=[2, 2],
        pads=[2, 2, 2, 2],
    )
    add(
        "Conv",
        "conv_direct_any_pool",
        constant("filters", FILTERS, CHANNELS, 3, 3),
        constant("bias", FILTERS),
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    )
    add("Relu", "relu")
    add("MaxPool", "pool", kernel_shape=[3, 3], strides=[2, 2])
    add("GlobalAveragePool", "pool_direct_plane")
    add("Flatten", "flatten")
    add("Gemm", "classes", constant("classes.weight", 10, FILTERS), constant("classes.bias", 10), transB=1)

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "kernels",
        [value("input", ["batch", CHANNELS, SIDE, SIDE])],
        [value(nodes[-1].output[0], ["batch", 10])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    onnx.save(model, str(pathlib.Path(sys.argv[1]) / "kernels.onnx"))


if __name__ == "__main__":
    main()
