"""LeNet-5 in PyTorch: captured as a CUDA graph, and compiled with max-autotune."""

import numpy as np
import torch
import torch.nn.functional as F

from side import Refused, Side, summarise

PRECISION = {"fp32": (False, torch.float32), "tf32": (True, torch.float32), "fp16": (False, torch.float16)}


def forward(weights, x):
    """x [N, 1, 28, 28] normalised -> logits [N, 10]."""
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["conv1.weight"], weights["conv1.bias"])), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, weights["conv2.weight"], weights["conv2.bias"])), 2)
    x = F.relu(F.linear(x.flatten(1), weights["fc1.weight"], weights["fc1.bias"]))
    x = F.relu(F.linear(x, weights["fc2.weight"], weights["fc2.bias"]))
    return F.linear(x, weights["fc3.weight"], weights["fc3.bias"])


def set_precision(math):
    tf32, _ = PRECISION[math]
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def event_windows(enqueue, count, min_ms):
    """GPU nanoseconds of one pass in `count` windows of at least min_ms, passes back to back."""
    passes, samples = 1, []
    while len(samples) < count:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(passes):
            enqueue()
        end.record()
        end.synchronize()
        ms = begin.elapsed_time(end)
        if ms >= min_ms:
            samples.append(ms * 1e6 / passes)
        else:
            passes = max(passes * 2, int(passes * 1.2 * min_ms / max(ms, 1e-3)))
    return samples


class _Graph:
    """A pass captured as a CUDA graph on an input of its own."""

    def __init__(self, step, batch, dtype):
        generator = torch.Generator(device="cuda").manual_seed(1)
        self.x = torch.randn(batch, 1, 28, 28, device="cuda", generator=generator).to(dtype)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(3):
                step(self.x)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(self.graph):
            self.y = step(self.x)
        torch.cuda.synchronize()

    def warm_up(self, min_ms):
        event_windows(self.graph.replay, 1, min_ms)

    def turn(self, count, min_ms):
        return summarise(event_windows(self.graph.replay, count, min_ms))

    def close(self):
        del self.graph, self.x, self.y


class TorchGraph(Side):
    def __init__(self, weights, math):
        self.name, self.math = "PyTorch, CUDA graph", math
        self.dtype = PRECISION[math][1]
        self.weights = {k: torch.from_numpy(np.array(v)).cuda().to(self.dtype) for k, v in weights.items()}

    def step(self, x):
        return forward(self.weights, x)

    def prepare(self, batch):
        set_precision(self.math)
        return _Graph(self.step, batch, self.dtype)

    def logits(self, normalised):
        set_precision(self.math)
        with torch.no_grad():
            return self.step(torch.from_numpy(normalised).cuda().to(self.dtype)).float().cpu().numpy()

    def correct(self, normalised, labels):
        return int((self.logits(normalised).argmax(1) == labels).sum())


class TorchCompile(TorchGraph):
    """torch.compile with max-autotune, captured by us: its own CUDA-graph mode copies the input first."""

    def __init__(self, weights, math, batches):
        super().__init__(weights, math)
        self.name, self.batches = "PyTorch, torch.compile", batches

    def prepare(self, batch):
        if batch not in self.batches:
            raise Refused("compiling takes minutes: timed at " + ", ".join(f"{b:,}" for b in self.batches) + " alone")
        set_precision(self.math)
        torch._dynamo.reset()
        return _Graph(torch.compile(self.step, mode="max-autotune-no-cudagraphs", dynamic=False), batch, self.dtype)
