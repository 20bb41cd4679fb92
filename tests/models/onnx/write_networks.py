#!/usr/bin/env python3
"""Writes two networks with random weights, whose layers follow one another.

write_networks.py FOLDER        needs onnx and numpy from PyPI; onnx 1.16.2 and 1.23.2 write the files here

mean_pool.onnx   batch normalisation, a depthwise convolution and a global mean
kernels.onnx     a layer for each kernel that no layer of LeNet-5 launches, named after it. ./dev bench --part layers
                 profiles it, so that the heads of these kernels can cite a time. On the CPU the same layers run other
                 code
"""

import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, channels, side):
        self.random = numpy.random.default_rng(1)
        self.sample = [channels, side, side]
        self.nodes, self.constants = [], []

    def keep(self, name, values):
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, name, *shape, middle=0.0):
        values = middle + 0.4 * (2 * self.random.random(shape) - 1)
        return self.keep(name, values.astype(numpy.float32))

    def add(self, operator, name, *inputs, **attributes):
        before = self.nodes[-1].output[0] if self.nodes else "input"
        self.nodes.append(helper.make_node(operator, [before, *inputs], [name + "_output"], name=name, **attributes))

    def norm(self, name, channels):
        middles = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
        inputs = [self.constant(f"{name}.{part}", channels, middle=middle) for part, middle in middles.items()]
        self.add("BatchNormalization", name, *inputs)

    def write(self, path):
        """Its last layer is `classes`."""

        def value(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        inputs, outputs = [value("input", ["batch", *self.sample])], [value("classes_output", ["batch", 10])]
        graph = helper.make_graph(self.nodes, path.stem, inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))


def classes(net, features):
    net.add("Flatten", "flatten")
    weight, bias = net.constant("classes.weight", 10, features), net.constant("classes.bias", 10)
    net.add("Gemm", "classes", weight, bias, transB=1)


def mean_pool():
    net = Network(3, 32)
    net.add("Conv", "stem", net.constant("stem.weight", 8, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    net.norm("norm1", 8)
    net.add("Relu", "relu1")
    net.add("Conv", "depthwise", net.constant("depthwise.weight", 8, 1, 3, 3), group=8, pads=[1, 1, 1, 1])
    net.norm("norm2", 8)
    net.add("Relu", "relu2")
    net.add("Conv", "pointwise", net.constant("pointwise.weight", 16, 8, 1, 1), net.constant("pointwise.bias", 16))
    net.add("Relu", "relu3")
    net.add("GlobalAveragePool", "mean")
    classes(net, 16)
    return net


def kernels():
    channels, filters = 16, 32
    net = Network(channels, 56)
    net.add("Relu", "relu_direct")
    net.add("Sigmoid", "activation_direct")
    net.add("LRN", "lrn_direct", size=5)
    net.add("Add", "pairwise_direct_same", "activation_direct_output")
    net.add("Mul", "pairwise_direct_strided", net.constant("scales", channels, 1, 1))
    net.add("Transpose", "rearrange_copy", perm=[0, 1, 3, 2])
    pads, border = numpy.array([0, 0, 1, 1, 0, 0, 1, 1], numpy.int64), numpy.array(0.5, numpy.float32)
    net.add("Pad", "rearrange_fill", net.keep("pads", pads), net.keep("border", border))
    net.add("Softmax", "softmax_direct_columns", axis=1)
    net.add("MaxPool", "pool_direct_any", kernel_shape=[3, 3])
    net.add("MaxPool", "pool_direct_2x2", kernel_shape=[2, 2], strides=[2, 2])
    net.add("Softmax", "softmax_direct", axis=-1)
    depthwise = net.constant("depthwise", channels, 1, 3, 3)
    net.add("Conv", "conv_depthwise_any", depthwise, group=channels, dilations=[2, 2], pads=[2, 2, 2, 2])
    weights = net.constant("filters", filters, channels, 3, 3), net.constant("bias", filters)
    net.add("Conv", "conv_direct_any_pool", *weights, strides=[2, 2], pads=[1, 1, 1, 1])
    net.add("Relu", "relu")
    net.add("MaxPool", "pool", kernel_shape=[3, 3], strides=[2, 2])
    net.add("GlobalAveragePool", "pool_direct_plane")
    classes(net, filters)
    return net


if __name__ == "__main__":
    for network in (mean_pool, kernels):
        network().write(pathlib.Path(sys.argv[1]) / f"{network.__name__}.onnx")
