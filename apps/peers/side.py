"""What every side of the comparison offers: one way of computing LeNet-5, timed in windows.

A side names itself, its arithmetic and its input. prepare(batch) returns a pass ready to be timed, or raises Refused with a
reason; setting up (tracing, compiling, capturing, choosing algorithms) happens there and never inside a window.
"""

import statistics
import time
from dataclasses import dataclass, field


class Refused(Exception):
    """A side that cannot do what was asked, and why."""


def summarise(windows):
    """{p10, median, p90, samples} of one turn's windows (ns a pass), as result files of Lenslet name them."""
    ordered = sorted(windows)
    at = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))]  # noqa: E731
    return {"p10": at(0.1), "median": statistics.median(ordered), "p90": at(0.9), "samples": len(ordered)}


@dataclass
class Turns:
    """What a side's turns gave, each a summary of its windows."""

    summaries: list = field(default_factory=list)
    setup_ns: float = 0.0

    def summary(self):
        """The middle turn of each figure, and the windows of all."""
        middle = {key: statistics.median(turn[key] for turn in self.summaries) for key in ("p10", "median", "p90")}
        return {**middle, "samples": sum(turn["samples"] for turn in self.summaries)}


class Side:
    """One peer, or Lenslet, in one math mode."""

    name = ""  # "PyTorch, CUDA graph"
    math = "fp32"
    device = "cuda"
    input = "fp32"

    def prepare(self, batch):
        """Returns an object with warm_up(min_ms), turn(count, min_ms) -> summarise() of at least `count` windows,
        and close()."""
        raise NotImplementedError

    def correct(self, images, labels):
        """How many of the images [N, 28, 28] uint8 it reads rightly."""
        raise NotImplementedError


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
