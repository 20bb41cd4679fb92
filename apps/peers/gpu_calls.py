"""Times a user's calls beside a GPU: tensors that lie there, page-locked memory, and PyTorch doing the whole way.

    python3 gpu_calls.py MATH FOLDER MIN_MS

FOLDER is that of c_calls.c. Needs PyTorch with CUDA and the package `lenslet`. Calls are those of judged_calls.py: each
has other images, poisoned answers, and is judged as there. Prints one line of JSON for each row:

- "tensor": predict() on a uint8 tensor on the GPU. `time_ns` is the wall time of a call among many on the same images,
  the last of which is waited for and judged; `alone_ns` that of a call that is waited for.
- "ordinary" and "page-locked": predict() on an array of NumPy.
- "PyTorch": ordinary memory, .cuda(), normalise, torch.compile, argmax, .cpu(), in the best of some chunk sizes.
- "bus": bytes copied from page-locked memory to the GPU alone, before and after the others.

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
from judged_calls import Batches, TestSet, Verdict, poison, timed_calls
from side import summarise
from torch_side import set_precision

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared

MILLION = 1_000_000
TENSORS = (1, 64, 262_144)
CHUNKS = (262_144,)  # torch.compile takes half a minute for each
WINDOWS = 20


def enqueued(call, min_ms, batches=None, verdict=None, answers=()):
    """summarise() of nanoseconds a call, in windows of calls that are enqueued one after another. With `batches` each
    window has other images, and the answers of its last call are judged; `answers` as for timed_calls()."""
    calls, samples, first, images = 1, [], 0, None
    while len(samples) < WINDOWS:
        if batches:
            first, images = batches.next()
            poison(answers)
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            answers = call(images)
        torch.cuda.synchronize()
        ns = time.perf_counter_ns() - start
        if verdict:
            verdict.judge(first, answers)
        if ns >= min_ms * 1e6 / WINDOWS:
            samples.append(ns / calls)
        else:
            calls *= 2
    return summarise(samples)


def waited_for(call, *how):
    """timed_calls() of calls that are each waited for."""

    def whole(images):
        answers = call(images)
        torch.cuda.synchronize()
        return answers

    return timed_calls(whole, *how, ready=lambda: torch.cuda.synchronize())


def bus(images, min_ms):
    pinned, place = torch.from_numpy(images).pin_memory(), torch.empty(images.shape, dtype=torch.uint8, device="cuda")
    times = enqueued(lambda _: place.copy_(pinned, non_blocking=True), min_ms)
    return {"way": "bus", "count": len(images), "time_ns": times, "bytes_per_s": images.nbytes / times["median"] * 1e9}


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


def main(math, folder, min_ms):
    min_ms, tests = float(min_ms), TestSet(folder)
    model = lenslet.Model.built_in(device="cuda", math=math)

    def emit(row):
        row["images_per_s"] = row["count"] / row["time_ns"]["median"] * 1e9
        print(json.dumps({"math": math, **row}), flush=True)

    stock = tests.stock(MILLION)
    emit(bus(stock[:MILLION], min_ms))
    for count in TENSORS:
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
    place = (np.empty(MILLION, np.int32), np.empty(MILLION, np.float32))
    call = functools.partial(model.predict, out=place)
    for way, array in (("ordinary", stock), ("page-locked", pinned)):
        batches, verdict = Batches(tests, array, MILLION), Verdict(tests)
        times = waited_for(call, batches, verdict, min_ms, place)
        emit({"way": way, "count": MILLION, "time_ns": times, **verdict.row})
    emit({**pytorch(tests, stock, math, min_ms), "libs": libraries()})
    emit(bus(stock[:MILLION], min_ms))


if __name__ == "__main__":
    main(*sys.argv[1:])
