"""The network of a file in ONNX Runtime's CUDA provider, on samples in the GPU's memory.

As fast as it can be set up: the whole graph on the GPU as one CUDA graph, the convolutions' algorithms found by
exhaustive search, both layouts, input and output bound to memory of PyTorch, and no synchronisation in a call. fp32
without TF32.
"""

import numpy as np
import onnxruntime
import torch  # before a session: the provider finds CUDA's and cuDNN's libraries in its packages

from side import NotMeasured, Pass, Side, tiled
from torch_side import event_windows

PROVIDER = "CUDAExecutionProvider"


class _BoundPass(Pass):
    def __init__(self, path, samples, batch, layout):
        self.stream = torch.cuda.Stream()
        options = {
            "user_compute_stream": str(self.stream.cuda_stream),
            "enable_cuda_graph": "1",
            "use_tf32": "0",
            "cudnn_conv_algo_search": "EXHAUSTIVE",
            "prefer_nhwc": str(int(layout == "NHWC")),
        }
        setting = onnxruntime.SessionOptions()
        setting.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        setting.log_severity_level = 3  # errors
        self.session = onnxruntime.InferenceSession(path, setting, providers=[(PROVIDER, options)])
        if self.session.get_providers()[0] != PROVIDER:
            raise NotMeasured("SKIPPED", "the CUDA provider cannot be loaded: is libcudnn or libcublas missing?")
        self.binding = self.session.io_binding()
        self.x = torch.from_numpy(tiled(samples, batch)).cuda()
        (end,) = self.session.get_outputs()
        self.y = torch.empty((batch, *end.shape[1:]), device="cuda")
        for bind, name, tensor in (
            (self.binding.bind_input, self.session.get_inputs()[0].name, self.x),
            (self.binding.bind_output, end.name, self.y),
        ):
            bind(name, "cuda", 0, np.float32, tuple(tensor.shape), tensor.data_ptr())
        self.how = onnxruntime.RunOptions()
        self.how.add_run_config_entry("disable_synchronize_execution_providers", "1")
        torch.cuda.synchronize()
        for _ in range(3):  # the first calls search and capture
            self.run()
        self.stream.synchronize()

    def run(self):
        self.session.run_with_iobinding(self.binding, self.how)

    def windows(self, count, min_ms):
        with torch.cuda.stream(self.stream):
            return event_windows(self.run, count, min_ms)

    def logits(self, count):
        with torch.cuda.stream(self.stream):
            self.y.fill_(float("nan"))
            self.run()
        self.stream.synchronize()
        return self.y[:count].cpu().numpy()


class CudaFileSide(Side):
    name = "ONNX Runtime, CUDA provider"
    method = "CUDA graph, exhaustive search, IO binding; device events"

    def __init__(self, path, samples, layout):
        self.path, self.samples, self.layout = str(path), samples, layout

    def prepare(self, batch):
        if PROVIDER not in onnxruntime.get_available_providers():
            found = f"onnxruntime {onnxruntime.__version__}"
            raise NotMeasured("SKIPPED", f"{found} has no CUDA provider here; the package onnxruntime-gpu has")
        return _BoundPass(self.path, self.samples, batch, self.layout)


def file_sides(path, samples):
    return [CudaFileSide(path, samples, layout) for layout in ("NCHW", "NHWC")]
