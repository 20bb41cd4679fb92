"""LeNet-5 in ONNX Runtime on the CPU."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from side import Side, host_windows, summarise

OPSET, IR_VERSION = 17, 8


def model(weights):
    """The network as an ONNX graph with a free batch dimension."""
    def conv(name, source):
        return [helper.make_node("Conv", [source, f"{name}.weight", f"{name}.bias"], [name]),
                helper.make_node("Relu", [name], [f"{name}.relu"]),
                helper.make_node("MaxPool", [f"{name}.relu"], [f"{name}.pool"], kernel_shape=[2, 2], strides=[2, 2])]

    def linear(name, source):
        return [helper.make_node("Gemm", [source, f"{name}.weight", f"{name}.bias"], [name], transB=1)]

    nodes = conv("conv1", "x") + conv("conv2", "conv1.pool")
    nodes += [helper.make_node("Flatten", ["conv2.pool"], ["flat"])] + linear("fc1", "flat")
    nodes += [helper.make_node("Relu", ["fc1"], ["fc1.relu"])] + linear("fc2", "fc1.relu")
    nodes += [helper.make_node("Relu", ["fc2"], ["fc2.relu"])] + linear("fc3", "fc2.relu")
    graph = helper.make_graph(
        nodes, "lenet5",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 28, 28])],
        [helper.make_tensor_value_info("fc3", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.array(values), name) for name, values in weights.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(made)
    return made.SerializeToString()


class _Session:
    def __init__(self, session, batch):
        self.session = session
        self.x = np.random.default_rng(1).standard_normal((batch, 1, 28, 28), dtype=np.float32)
        self.run()

    def run(self):
        self.session.run(None, {"x": self.x})

    def warm_up(self, min_ms):
        host_windows(self.run, 1, min_ms)

    def turn(self, count, min_ms):
        return summarise(host_windows(self.run, count, min_ms))

    def close(self):
        del self.x


class OnnxSide(Side):
    device = "cpu"

    def __init__(self, weights, threads):
        self.name, self.math, self.threads = "ONNX Runtime", "fp32", threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model(weights), options, providers=["CPUExecutionProvider"])

    def prepare(self, batch):
        return _Session(self.session, batch)

    def correct(self, normalised, labels):
        return int((self.session.run(None, {"x": normalised})[0].argmax(1) == labels).sum())
