"""LeNet-5, or the network of a file, in ONNX Runtime on the CPU."""

import numpy as np
import onnxruntime

from side import HostPass, Side, tiled

OPSET, IR_VERSION = 17, 8


def model(weights):
    """LeNet-5 as an ONNX graph with a free batch dimension."""
    import onnx  # a network of a file needs only its run-time
    from onnx import TensorProto, helper, numpy_helper

    def conv(name, source):
        return [
            helper.make_node("Conv", [source, f"{name}.weight", f"{name}.bias"], [name]),
            helper.make_node("Relu", [name], [f"{name}.relu"]),
            helper.make_node("MaxPool", [f"{name}.relu"], [f"{name}.pool"], kernel_shape=[2, 2], strides=[2, 2]),
        ]

    def linear(name, source):
        return [helper.make_node("Gemm", [source, f"{name}.weight", f"{name}.bias"], [name], transB=1)]

    nodes = conv("conv1", "x") + conv("conv2", "conv1.pool")
    nodes += [helper.make_node("Flatten", ["conv2.pool"], ["flat"])] + linear("fc1", "flat")
    nodes += [helper.make_node("Relu", ["fc1"], ["fc1.relu"])] + linear("fc2", "fc1.relu")
    nodes += [helper.make_node("Relu", ["fc2"], ["fc2.relu"])] + linear("fc3", "fc2.relu")
    graph = helper.make_graph(
        nodes,
        "lenet5",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 28, 28])],
        [helper.make_tensor_value_info("fc3", TensorProto.FLOAT, ["N", 10])],
        [numpy_helper.from_array(np.array(values), name) for name, values in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(made)
    return made.SerializeToString()


class _Bound(HostPass):
    """A session with input and output bound to fixed memory: a call creates and copies no array."""

    def __init__(self, session, images, batch):
        self.x = onnxruntime.OrtValue.ortvalue_from_numpy(tiled(images, batch), "cpu")
        self.y = np.empty((batch, 10), np.float32)
        self.out = onnxruntime.OrtValue.ortvalue_from_numpy(self.y, "cpu")
        self.binding = session.io_binding()
        self.binding.bind_ortvalue_input(session.get_inputs()[0].name, self.x)
        self.binding.bind_ortvalue_output(session.get_outputs()[0].name, self.out)
        self.session = session
        self.run()

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def logits(self, count):
        return self.out.numpy()[:count]


class OnnxSide(Side):
    device = "cpu"
    name = "ONNX Runtime"
    method = "IO binding; host clock"

    def __init__(self, weights, images, threads):
        self.open(model(weights), images, threads)

    def open(self, network, images, threads):
        """`network`: bytes, or the path of a file. The threads spin between layers, as by default."""
        self.images, self.threads = images, threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])

    def prepare(self, batch):
        return _Bound(self.session, self.images, batch)


class FileSide(OnnxSide):
    method = "all graph optimisations, IO binding; host clock"

    def __init__(self, path, samples, threads):
        self.open(str(path), samples, threads)
