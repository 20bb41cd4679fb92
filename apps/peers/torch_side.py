"""LeNet-5, or another network, in PyTorch (cuDNN and cuBLAS): as a CUDA graph, and compiled by torch.compile."""

import numpy as np
import torch
import torch.nn.functional as F

from side import ROUND_TRIP_WARM_UP, Pass, Side, passes_of, single_calls, skip_unless, summarise

PRECISION = {"fp32": (False, torch.float32), "tf32": (True, torch.float32), "fp16": (False, torch.float16)}
LAYOUTS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
HOLD_CYCLES = 200_000  # about 0.1 ms: the device is held back while events and passes are enqueued
# Images: the largest batch of which `./dev bench` times single calls. Larger batches get no graph with copies and no
# page-locked memory.
MAX_ROUND_TRIP = 64
COMPILED_AT_ONCE = 1000  # more than the sides of a batch size

pool = None  # of all graphs of the current batch size, which never run at the same time
inputs = {}  # for the current images and batch size, shared by all sides


class LeNet5(torch.nn.Module):
    """x [N, 1, 28, 28] fp32, normalised -> logits [N, 10] fp32, computed in `dtype`."""

    def __init__(self, weights, dtype, layout):
        super().__init__()
        self.dtype, self.format = dtype, LAYOUTS[layout]
        for name, value in weights.items():
            tensor = torch.from_numpy(np.array(value)).cuda().to(dtype)
            if tensor.dim() == 4:
                tensor = tensor.to(memory_format=self.format)
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(tensor, requires_grad=False))

    def forward(self, x):
        x = x.to(self.dtype, memory_format=self.format)
        x = F.max_pool2d(F.relu(F.conv2d(x, self.conv1_weight, self.conv1_bias)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, self.conv2_weight, self.conv2_bias)), 2)
        x = F.relu(F.linear(x.flatten(1), self.fc1_weight, self.fc1_bias))
        x = F.relu(F.linear(x, self.fc2_weight, self.fc2_bias))
        return F.linear(x, self.fc3_weight, self.fc3_bias).float()


def input_of(images, batch):
    """`images` [N, C, H, W] fp32 on the GPU, repeated or cut to [batch, C, H, W] fp32, contiguous.

    Also releases the memory of other batch sizes, whose graphs are no longer replayed.
    """
    global pool
    key = (images.data_ptr(), batch)
    if key not in inputs:
        inputs.clear()
        pool = torch.cuda.graph_pool_handle()
        torch._dynamo.reset()
        inputs[key] = images.repeat(-(-batch // len(images)), 1, 1, 1)[:batch].contiguous()
    return inputs[key]


def set_precision(math):
    tf32, _ = PRECISION[math]
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def ns_between_events(enqueue, held=False):
    """GPU nanoseconds between two events around enqueue(); with `held` the device waits until all is enqueued."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    if held:
        torch.cuda._sleep(HOLD_CYCLES)
    begin.record()
    enqueue()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e6


def event_windows(enqueue, count, min_ms):
    """GPU nanoseconds of one launch in `count` windows of at least min_ms, launches back to back."""
    launches, samples = 1, []
    while len(samples) < count:
        ns = ns_between_events(lambda: [enqueue() for _ in range(launches)])
        if ns >= min_ms * 1e6:
            samples.append(ns / launches)
        else:
            launches = max(launches * 2, int(launches * 1.2 * min_ms * 1e6 / max(ns, 1e3)))
    return samples


def capture(enqueue):
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph, pool=pool):
        result = enqueue()
    return graph, result


class _GraphPass(Pass):
    """A pass captured as a CUDA graph; many short passes share one graph, as in `lenslet bench`."""

    def __init__(self, step, x):
        self.step, self.x = step, x
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(3):
                step(self.x)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph, self.y = capture(lambda: step(self.x))
        self.timed_y = self.y
        self.graph.replay()
        once = min(ns_between_events(self.graph.replay, held=True) for _ in range(3))
        self.passes, self.many = passes_of(once), self.graph
        if self.passes > 1:
            self.many, self.timed_y = capture(lambda: [step(self.x) for _ in range(self.passes)][-1])
        if len(x) <= MAX_ROUND_TRIP:
            self.host_in = self.x.cpu().pin_memory()
            self.host_out = torch.empty(self.y.shape, dtype=self.y.dtype).pin_memory()
            self.copies, _ = capture(self._there_and_back)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.details = {"passes_in_a_graph": self.passes}

    def _there_and_back(self):
        self.x.copy_(self.host_in, non_blocking=True)
        self.host_out.copy_(self.step(self.x), non_blocking=True)

    def windows(self, count, min_ms):
        return event_windows(self.many.replay, count, min_ms)

    def in_order(self, count):
        return summarise([ns_between_events(self.graph.replay, held=True) for _ in range(count)])

    def round_trip(self, count):
        """From page-locked memory to page-locked memory by one graph of copy, pass and copy; waits for the stream."""
        if len(self.x) > MAX_ROUND_TRIP:
            return {}
        stream = torch.cuda.current_stream()

        def call():
            self.copies.replay()
            stream.synchronize()

        return {"graph": summarise(single_calls(call, count, ROUND_TRIP_WARM_UP))}

    def logits(self, count):
        self.timed_y.fill_(float("nan"))
        self.many.replay()
        torch.cuda.synchronize()
        return self.timed_y[:count].cpu().numpy()

    def close(self):
        super().close()
        torch.cuda.empty_cache()


class TorchGraph(Side):
    """Eager PyTorch, captured."""

    name = "PyTorch, CUDA graph"
    method = "CUDA graph, device events"

    def __init__(self, module, images, math, layout):
        self.module, self.math, self.layout, self.images = module, math, layout, images

    @staticmethod
    def on_device(images):
        return torch.from_numpy(images).cuda()

    def step(self):
        return self.module

    def prepare(self, batch):
        set_precision(self.math)
        return _GraphPass(self.step(), input_of(self.images, batch))


class TorchCompile(TorchGraph):
    """torch.compile, captured here: its own CUDA-graph mode copies the input first."""

    def __init__(self, module, images, math, layout, mode, batches=None):
        super().__init__(module, images, math, layout)
        self.mode, self.batches, self.frozen = mode, batches, layout == "NHWC"
        self.name = "PyTorch, torch.compile" + ("" if mode == "default" else ", max-autotune")
        self.cost = 2 if mode != "default" else 1 if self.frozen else 0
        self.method = f"torch.compile, mode {mode}{', freezing' if self.frozen else ''}; CUDA graph, device events"

    def step(self):
        import torch._dynamo.config as dynamo
        import torch._inductor.config as inductor

        for limit in ("recompile_limit", "accumulated_recompile_limit"):
            if hasattr(dynamo, limit):
                setattr(dynamo, limit, COMPILED_AT_ONCE)
        inductor.freezing = self.frozen
        mode = "default" if self.mode == "default" else "max-autotune-no-cudagraphs"
        return torch.compile(self.module.eval(), mode=mode, dynamic=False)

    def prepare(self, batch):
        reason = "max-autotune tries candidates for half a minute per batch size; measured only at"
        skip_unless(batch, self.batches, reason)
        return super().prepare(batch)


def every_side(make, images, maths, autotune_batches):
    """Sides of all layouts and `maths`; `images` [N, C, H, W] fp32, make(math, layout) returns the module."""
    x = TorchGraph.on_device(images)
    every = [(make(math, layout), x, math, layout) for layout in LAYOUTS for math in maths]
    found = [TorchGraph(*one) for one in every]
    for mode in ("default", "max-autotune"):
        batches = None if mode == "default" else autotune_batches
        found += [TorchCompile(*one, mode, batches) for one in every]
    return found


def sides(weights, images, autotune_batches):
    """every_side() of LeNet-5. `images` [N, 1, 28, 28] fp32, normalised; `weights`: {name: array, fp32}."""
    return every_side(
        lambda math, layout: LeNet5(weights, PRECISION[math][1], layout), images, PRECISION, autotune_batches
    )


class InLayout(torch.nn.Module):
    """A network in a memory layout: x [N, C, H, W] contiguous -> outputs."""

    def __init__(self, network, layout):
        super().__init__()
        self.format = LAYOUTS[layout]
        self.network = network.eval().cuda().to(memory_format=self.format)

    def forward(self, x):
        return self.network(x.contiguous(memory_format=self.format))


def network_sides(network, samples, autotune_batches):
    """Of a class of networks.py, in fp32."""
    return every_side(lambda math, layout: InLayout(network(), layout), samples, ("fp32",), autotune_batches)
