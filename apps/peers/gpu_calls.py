"""Times a user's calls beside a GPU: tensors that lie there, page-locked memory, and PyTorch doing the whole way.

    python3 gpu_calls.py DEVICE MATH FOLDER MIN_MS

DEVICE is a GPU, or several such as cuda:0,1. FOLDER is that of c_calls.c. Needs PyTorch with CUDA and the package
`lenslet`. Calls are those of judged_calls.py: each has other images, poisoned answers, and is judged as there. Prints
one line of JSON for each row:

- "tensor": predict() on a uint8 tensor on the GPU. `time_ns` is the wall time of a call among many on the same images,
  the last of which is waited for and judged; `alone_ns` that of a call that is waited for.
- "ordinary" and "page-locked": predict() on an array of NumPy.
- "PyTorch": ordinary memory, .cuda(), normalise, torch.compile, argmax, .cpu(), in the best of some chunk sizes.
- "bus": bytes copied from page-locked memory to the GPU alone, before and after the others.

On several GPUs one model takes them all, and calls from host memory have a million images for each. "bus" copies to all
at once, to each its part. "tensor" is predict() on a tensor of 262,144 images on each, enqueued by one thread; it takes
turns with the same on the first GPU alone, whose rate is `one_images_per_s`. There is no row "PyTorch".

PyTorch is imported first, so that both use the cuDNN that PyTorch brings: `libs` of its row names the files.
"""

import functools
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

import lenslet
from judged_calls import Batches, TestSet, Verdict, on_host, poison, timed_calls
from side import middle, summarise
from torch_side import set_precision

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared

MILLION = 1_000_000
TENSORS = (1, 64, 262_144)
CHUNKS = (262_144,)  # torch.compile takes half a minute for each
WINDOWS = 20
TURNS = 3  # of tensors on several GPUs and on one


def wait_for(*devices):
    """Returns when these GPUs, or else the current one, have done their work."""
    for device in devices or (None,):
        torch.cuda.synchronize(device)


class OnEach:
    """Batches of calls that read a tensor on each of several GPUs: `count` images on each, one part of the images after
    another. It judges their answers: labels and probabilities of the first part, of the second, and so on."""

    def __init__(self, tests, devices, count, verdict):
        stock, known = tests.stock(len(devices) * count), len(tests.pixels)
        self.batches = []
        for number, device in enumerate(devices):
            part = torch.from_numpy(stock[number * count : (number + 1) * count + known]).to(device)
            self.batches.append(Batches(tests, part, count, torch.empty_like))
        self.count, self.verdict = len(devices) * count, verdict

    def next(self):
        firsts, images = zip(*(batches.next() for batches in self.batches))
        return firsts[0], images

    def judge(self, first, answers):
        parts = (answers[::2], answers[1::2])
        self.verdict.judge(first, [np.concatenate([on_host(array) for array in part]) for part in parts])


def enqueued(call, min_ms, batches=None, verdict=None, answers=(), wait=wait_for):
    """summarise() of nanoseconds a call, in windows of calls that are enqueued one after another; wait() ends a window.
    With `batches` each window has other images, and the answers of its last call are judged; `answers` as for
    timed_calls()."""
    calls, samples, first, images = 1, [], 0, None
    while len(samples) < WINDOWS:
        if batches:
            first, images = batches.next()
            poison(answers)
        wait()
        start = time.perf_counter_ns()
        for _ in range(calls):
            answers = call(images)
        wait()
        ns = time.perf_counter_ns() - start
        if verdict:
            verdict.judge(first, answers)
        if ns >= min_ms * 1e6 / WINDOWS:
            samples.append(ns / calls)
        else:
            calls *= 2
    return summarise(samples)


def waited_for(call, *how, wait=wait_for):
    """timed_calls() of calls that are each waited for."""

    def whole(images):
        answers = call(images)
        wait()
        return answers

    return timed_calls(whole, *how, ready=wait)


def bus(images, devices, min_ms):
    parts = torch.from_numpy(images).pin_memory().tensor_split(len(devices))
    places = [torch.empty_like(part, device=device) for part, device in zip(parts, devices)]

    def copy(_):
        for place, part in zip(places, parts):
            place.copy_(part, non_blocking=True)

    times = enqueued(copy, min_ms, wait=functools.partial(wait_for, *devices))
    return {"way": "bus", "count": len(images), "time_ns": times, "bytes_per_s": images.nbytes / times["median"] * 1e9}


def tensors_on_each(model, tests, devices, count, min_ms):
    """The row of tensors on several GPUs. One thread enqueues the calls, on the current stream of each GPU."""

    def call(tensors):
        return [array for tensor in tensors for array in model.predict(tensor)]

    wait, verdict = functools.partial(wait_for, *devices), Verdict(tests)
    one, every = (OnEach(tests, some, count, verdict) for some in (devices[:1], devices))
    alone = waited_for(call, every, every, min_ms, wait=wait)
    turns = [[enqueued(call, min_ms, each, each, wait=wait) for each in (one, every)] for _ in range(TURNS)]
    of_one, times = map(middle, zip(*turns))
    row = {"way": "tensor", "count": every.count, "alone_ns": alone, "time_ns": times, **verdict.row}
    return {**row, "one_images_per_s": one.count / of_one["median"] * 1e9}


def pytorch(tests, stock, math, min_ms):
    """The best chunk size's row. In fp32 without TF32, which PyTorch's convolutions otherwise use."""
    set_precision(math)
    kind = {"fp32": torch.float32, "fp16": torch.float16}[math]
    arrays, _ = shared.load_safetensors(Path(__file__).resolve().parents[2] / "weights" / "lenet5.safetensors")
    weights = {name: torch.from_numpy(np.array(array)).cuda().to(kind) for name, array in arrays.items()}

    def network(pixels):
        f = torch.nn.functional
        x = ((pixels.to(torch.float32) / 255 - 0.1307) / 0.3081).to(kind)[:, None]
        for name in ("conv1", "conv2"):
            x = f.max_pool2d(f.relu(f.conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"])), 2)
        x = x.flatten(1)
        for name in ("fc1", "fc2"):
            x = f.relu(f.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"]))
        return f.linear(x, weights["fc3.weight"], weights["fc3.bias"]).argmax(1)

    compiled, rows, stock = torch.compile(network), [], torch.from_numpy(stock)
    for chunk in CHUNKS:
        count = MILLION - MILLION % chunk
        batches, verdict = Batches(tests, stock, count), Verdict(tests)

        def whole(images):
            return (torch.cat([compiled(images[i : i + chunk].cuda()) for i in range(0, count, chunk)]).cpu(),)

        with torch.inference_mode():
            times = waited_for(whole, batches, verdict, min_ms)
        rows.append({"way": "PyTorch", "count": count, "chunk": chunk, "time_ns": times, **verdict.row})
    return min(rows, key=lambda row: row["time_ns"]["median"] / row["count"])


def libraries():
    """The version of PyTorch, and of the cuDNN that this process has loaded, with its files."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcudnn" in line}
    files = sorted(path.rsplit("site-packages/")[-1] for path in mapped)
    return {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "cudnn_files": files}


def main(device, math, folder, min_ms):
    min_ms, tests = float(min_ms), TestSet(folder)
    model = lenslet.Model.built_in(device=device, math=math)
    devices = list(model.shares) or [model.device]
    several, large = len(devices) > 1, MILLION * len(devices)
    torch.cuda.set_device(devices[0])

    def emit(row):
        row["images_per_s"] = row["count"] / row["time_ns"]["median"] * 1e9
        print(json.dumps({"math": math, "device": model.device, **row}), flush=True)

    stock = tests.stock(large)
    emit(bus(stock[:large], devices, min_ms))
    if several:
        emit(tensors_on_each(model, tests, devices, TENSORS[-1], min_ms))
    for count in () if several else TENSORS:
        tensors = torch.from_numpy(tests.stock(count)).cuda()
        place = (torch.empty(count, dtype=torch.int32, device="cuda"), torch.empty(count, device="cuda"))
        for way, options, answers in (("tensor", {}, ()), ("tensor, out=", {"out": place}, place)):
            call = functools.partial(model.predict, **options)
            batches, verdict = Batches(tests, tensors, count, torch.empty_like), Verdict(tests)
            alone = waited_for(call, batches, verdict, min_ms, answers)
            times = enqueued(call, min_ms, batches, verdict, answers)
            emit({"way": way, "count": count, "alone_ns": alone, "time_ns": times, **verdict.row})
    pinned = lenslet.empty_pinned(stock.shape)
    pinned[:] = stock
    place = (np.empty(large, np.int32), np.empty(large, np.float32))
    call = functools.partial(model.predict, out=place)
    for way, array in (("ordinary", stock), ("page-locked", pinned)):
        batches, verdict = Batches(tests, array, large), Verdict(tests)
        times = waited_for(call, batches, verdict, min_ms, place)
        emit({"way": way, "count": large, "time_ns": times, **verdict.row})
    if not several:
        emit({**pytorch(tests, stock, math, min_ms), "libs": libraries()})
    emit(bus(stock[:large], devices, min_ms))


if __name__ == "__main__":
    main(*sys.argv[1:])
