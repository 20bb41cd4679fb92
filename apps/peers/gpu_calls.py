"""Times a user's calls beside a GPU: tensors that lie there, page-locked memory, and PyTorch doing the whole way.

    python3 gpu_calls.py MATH FOLDER MIN_MS

FOLDER is that of c_calls.c. Needs PyTorch with CUDA and the package `lenslet`. Prints one line of JSON for each row:

- "tensor": predict() on a uint8 tensor on the GPU. `time_ns` is the wall time of a call among many, the last of which
  is waited for; `alone_ns` that of a call that is waited for.
- "ordinary" and "page-locked": predict() on an array of NumPy.
- "PyTorch": ordinary memory, .cuda(), normalise, torch.compile, argmax, .cpu(), in the best of some chunk sizes.
- "bus": bytes copied from page-locked memory to the GPU alone, before and after the others.

PyTorch is imported first, so that both use the cuDNN that PyTorch brings: `libs` of its row names the files.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

import lenslet
from side import single_calls, summarise

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared

MILLION = 1_000_000
TENSORS = (1, 64, 262_144)
CHUNKS = (262_144,)  # torch.compile takes half a minute for each
WINDOWS, MIN_CALLS = 20, 10


def enqueued(call, min_ms):
    """summarise() of nanoseconds a call, in windows of calls that are enqueued one after another."""
    calls, samples = 1, []
    while len(samples) < WINDOWS:
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        ns = time.perf_counter_ns() - start
        if ns >= min_ms * 1e6 / WINDOWS:
            samples.append(ns / calls)
        else:
            calls *= 2
    return summarise(samples)


def waited_for(call, min_ms):
    """summarise() of single calls, each waited for."""

    def whole():
        call()
        torch.cuda.synchronize()

    once = min(single_calls(whole, 3, 2))
    return summarise(single_calls(whole, max(MIN_CALLS, int(min_ms * 1e6 / once))))


class Judge:
    def __init__(self, folder):
        self.pixels = np.fromfile(Path(folder) / "pixels.bin", np.uint8).reshape(-1, 28, 28)
        self.labels, self.expected = (np.fromfile(Path(folder) / n, np.uint8) for n in ("labels.bin", "expected.bin"))

    def images(self, count):
        return np.ascontiguousarray(self.pixels[np.arange(count) % len(self.pixels)])

    def judge(self, labels):
        which = np.arange(len(labels)) % len(self.pixels)
        return {
            "correct": int((labels == self.labels[which]).sum()),
            "differing": int((labels != self.expected[which]).sum()),
            "judged": len(labels),
        }


def bus(images, min_ms):
    pinned, place = torch.from_numpy(images).pin_memory(), torch.empty(images.shape, dtype=torch.uint8, device="cuda")
    times = enqueued(lambda: place.copy_(pinned, non_blocking=True), min_ms)
    return {"way": "bus", "count": len(images), "time_ns": times, "bytes_per_s": images.nbytes / times["median"] * 1e9}


def pytorch(images, math, min_ms):
    """The best chunk size's row."""
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

    compiled, rows, tensor = torch.compile(network), [], torch.from_numpy(images)
    for chunk in CHUNKS:
        answers = [None]

        def whole():
            parts = [compiled(tensor[i : i + chunk].cuda()) for i in range(0, len(tensor) - chunk + 1, chunk)]
            answers[0] = torch.cat(parts).cpu()

        with torch.inference_mode():
            times = waited_for(whole, min_ms)
        count = len(answers[0])
        rows.append({"way": "PyTorch", "count": count, "chunk": chunk, "time_ns": times, "labels": answers[0].numpy()})
    return min(rows, key=lambda row: row["time_ns"]["median"] / row["count"])


def libraries():
    """The version of PyTorch, and of the cuDNN that this process has loaded, with its files."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcudnn" in line}
    files = sorted(path.rsplit("site-packages/")[-1] for path in mapped)
    return {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "cudnn_files": files}


def main(math, folder, min_ms):
    min_ms, judge = float(min_ms), Judge(folder)
    model = lenslet.Model.built_in(device="cuda", math=math)

    def emit(row):
        if "labels" in row:
            row.update(judge.judge(row.pop("labels")))
        row["images_per_s"] = row["count"] / row["time_ns"]["median"] * 1e9
        print(json.dumps({"math": math, **row}), flush=True)

    images = judge.images(MILLION)
    emit(bus(images, min_ms))
    for count in TENSORS:
        tensor = torch.from_numpy(images[:count]).cuda()
        place = (torch.empty(count, dtype=torch.int32, device="cuda"), torch.empty(count, device="cuda"))
        labels = model.predict(tensor).labels.cpu().numpy()
        for way, options in (("tensor", {}), ("tensor, out=", {"out": place})):
            alone = waited_for(lambda: model.predict(tensor, **options), min_ms)
            emit(
                {
                    "way": way,
                    "count": count,
                    "alone_ns": alone,
                    "labels": labels,
                    "time_ns": enqueued(lambda: model.predict(tensor, **options), min_ms),
                }
            )
    pinned = lenslet.empty_pinned(images.shape)
    pinned[:] = images
    place = (np.empty(MILLION, np.int32), np.empty(MILLION, np.float32))
    for way, array in (("ordinary", images), ("page-locked", pinned)):
        times = waited_for(lambda: model.predict(array, out=place), min_ms)
        emit({"way": way, "count": MILLION, "time_ns": times, "labels": place[0].copy()})
    emit({**pytorch(images, math, min_ms), "libs": libraries()})
    emit(bus(images, min_ms))


if __name__ == "__main__":
    main(*sys.argv[1:])
