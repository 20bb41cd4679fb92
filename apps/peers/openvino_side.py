"""LeNet-5 in OpenVINO on the CPU, in fp32."""

import numpy as np
import openvino

from onnx_side import model
from side import HostPass, Side, tiled


class _Request(HostPass):
    """An inference request that reads and writes arrays in place."""

    def __init__(self, compiled, images, batch):
        self.x, self.y = tiled(images, batch), np.empty((batch, 10), np.float32)
        self.request = compiled.create_infer_request()
        self.request.set_input_tensor(openvino.Tensor(self.x, shared_memory=True))
        self.request.set_output_tensor(openvino.Tensor(self.y, shared_memory=True))
        self.run()

    def run(self):
        self.request.infer()


class OpenvinoSide(Side):
    device = "cpu"
    name = "OpenVINO"
    method = "an inference request on arrays in place; host clock"

    def __init__(self, weights, images, threads):
        self.images, self.threads, self.onnx = images, threads, model(weights)

    def prepare(self, batch):
        core = openvino.Core()
        network = core.read_model(self.onnx)
        network.reshape([batch, 1, 28, 28])
        return _Request(
            core.compile_model(
                network,
                "CPU",
                {
                    "INFERENCE_NUM_THREADS": self.threads,
                    "NUM_STREAMS": 1,
                    "INFERENCE_PRECISION_HINT": "f32",
                },
            ),
            self.images,
            batch,
        )
