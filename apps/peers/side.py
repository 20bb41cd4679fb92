"""What every side of the comparison offers: one way of computing LeNet-5, timed in windows.

A side names itself, its arithmetic, its layout, and how it is timed. prepare(batch) sets up outside every window: it
traces, compiles, captures, chooses algorithms. It returns a pass ready to be timed, or raises NotMeasured with a
reason. Every side reads the same fp32 images and writes fp32 logits, unless its input and output name others.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

MATH_MODES = ("fp32", "tf32", "fp16")
MAX_DIFFERING = 3  # images of a whole test set that a side may classify unlike `lenslet eval` in fp32, as in `bench`
BATCH_NS, MAX_PASSES = 200e3, 256  # passes captured or compiled as one launch, as in apps/measuring/measure.cpp
REASON_LENGTH = 300  # characters
ROUND_TRIP_WARM_UP = 100  # calls before those of round_trip(), as in apps/lenslet/bench/bench_latency.cpp


def numbers(text):
    """The whole numbers of an option, such as 1,64,1024."""
    return [int(part) for part in text.split(",") if part]


def max_differing(count, known):
    """MAX_DIFFERING for `count` answers on a test set of `known` images: in proportion, rounded down; 0 for few."""
    return MAX_DIFFERING * count // known


def exit_code_of(rows):
    return 1 if any(row["status"] == "FAILED" for row in rows) else 0


def without_times(row):
    """The row without times and rates: one that is FAILED keeps none."""
    return {key: value for key, value in row.items() if not key.endswith(("_ns", "_per_s"))}


def one_line(error):
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def save(document, path, status):
    """Writes the rows so far: an interrupted run leaves a valid file with that status."""
    document["status"] = status
    with tempfile.NamedTemporaryFile("w", dir=Path(path).resolve().parent, delete=False) as file:
        file.write(json.dumps(document, indent=1) + "\n")
    os.replace(file.name, path)


def profile(program, device):
    """What `lenslet profile` writes about itself, the machine and the device that ran."""
    how = ["--device", device, "--batch-size", "1", "--min-time-ms", "1", "--json", "-"]
    done = subprocess.run([program, "profile", *how], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program} profile --device {device} gave {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def device_that_ran(document):
    """The device of a profile(), such as cpu or cuda:0: what `auto` means here. `./dev bench` reads the same key."""
    return document["ceilings"]["device"]


class NotMeasured(Exception):
    """The reason of a row without a time, and its status, such as SKIPPED or UNSUPPORTED."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def add_turns(parser, limited):
    """Options of a comparison in which sides take turns; `limited` is what --seconds limits."""
    parser.add_argument("--lenslet", default="build/release/bin/lenslet", help="the program")
    parser.add_argument("--turns", type=int, default=3, help="of each side")
    parser.add_argument("--windows", type=int, default=5, help="in each turn")
    parser.add_argument("--window-ms", type=float, default=10, help="length of a window")
    parser.add_argument("--seconds", type=float, help=f"for {limited}; what does not fit is SKIPPED [no limit]")
    parser.add_argument("--json", required=True, help="output file")


def summarise(windows):
    """{p10, median, p90, p99, samples} of one turn's windows (ns per pass), named and interpolated as in Lenslet's
    result files (framework/measuring/statistics.h)."""
    cuts = statistics.quantiles(windows, n=100, method="inclusive") if len(windows) > 1 else 99 * windows
    percents = {"p10": 10, "median": 50, "p90": 90, "p99": 99}
    return {**{key: cuts[percent - 1] for key, percent in percents.items()}, "samples": len(windows)}


def middle(turns):
    """The median of each figure over a side's turns, and the number of windows of all turns."""
    figures = {key: statistics.median(turn[key] for turn in turns) for key in turns[0] if key != "samples"}
    return {**figures, "samples": sum(turn["samples"] for turn in turns)}


class Side:
    """One peer, or Lenslet, in one math mode."""

    name = ""  # "PyTorch, CUDA graph"
    math = "fp32"
    device = "cuda"
    input = "fp32"
    output = "logits"
    layout = "NCHW"
    threads = None  # of the CPU
    method = ""  # what is timed, and with which clock
    cost = 0  # order of preparation; sides above 0 are skipped once the time of their batch is used up

    until = None  # time.monotonic() at which the time of the current batch is used up; None: no limit

    def prepare(self, batch):
        """Returns a Pass."""
        raise NotImplementedError


class Pass:
    """One batch size of a side, ready to be timed."""

    details = {}  # further keys of the row
    passes = 1  # in each call of what windows() times

    def windows(self, count, min_ms):
        """Nanoseconds of a call in at least `count` windows of at least min_ms."""
        raise NotImplementedError

    def warm_up(self, min_ms):
        self.turn(1, min_ms)

    def turn(self, count, min_ms):
        """summarise() of the windows, of one pass."""
        return summarise([ns / self.passes for ns in self.windows(count, min_ms)])

    def in_order(self, count):
        """summarise() of single passes, each alone on the device; None if the side has no device events."""
        return None

    def round_trip(self, count):
        """{way: summarise()} of single calls from host memory and back to it, by the host's clock; page-locked where
        the framework offers that."""
        return {}

    def logits(self, count):
        """Of the first `count` images of the batch, float32 [count, 10], by what was timed; None: judged elsewhere."""
        return None

    def close(self):
        """Frees what the pass holds."""
        self.__dict__.clear()


class HostPass(Pass):
    """A pass that the host's clock times: run() returns once the answers are in y [N, 10]."""

    def run(self):
        raise NotImplementedError

    def windows(self, count, min_ms):
        return host_windows(self.run, count, min_ms)

    def logits(self, count):
        return self.y[:count]


class Absent(Side):
    """A side that is not measured here: one SKIPPED row per batch size."""

    def __init__(self, name, reason, device="cuda", threads=None):
        self.name, self.reason, self.device, self.threads = name, reason, device, threads

    def prepare(self, batch):
        raise NotMeasured("SKIPPED", self.reason)


def skip_unless(batch, batches, reason):
    """Raises where `batch` is none of the `batches` that the side is measured at; None are all."""
    if batches is not None and batch not in batches:
        raise NotMeasured("SKIPPED", f"{reason} {', '.join(f'{b:,}' for b in batches)}")


def passes_of(once_ns):
    """The number of passes of that length in one launch."""
    return int(max(1, min(MAX_PASSES, BATCH_NS / max(once_ns, 1))))


def tiled(images, batch):
    """The first `batch` images, repeated from the beginning if there are too few."""
    import numpy

    return images[numpy.arange(batch) % len(images)]


def host_windows(run, count, min_ms):
    """Nanoseconds of run(), which returns when it is done, in `count` windows of at least min_ms."""
    samples = []
    while len(samples) < count:
        calls, start = 0, time.perf_counter_ns()
        while True:
            run()
            calls += 1
            elapsed = time.perf_counter_ns() - start
            if elapsed >= min_ms * 1e6:
                break
        samples.append(elapsed / calls)
    return samples


def single_calls(run, count, warm_up=0):
    """Nanoseconds of each of `count` calls, after `warm_up` calls that are not timed."""
    for _ in range(warm_up):
        run()
    samples = []
    for _ in range(count):
        start = time.perf_counter_ns()
        run()
        samples.append(time.perf_counter_ns() - start)
    return samples
