"""Timed calls whose answers are judged, for python_calls.py and gpu_calls.py; c_calls.c does the same in C.

Each call has other images than the one before, and its answers are poisoned first, so that an earlier or a missing
answer fails. Every call that is not timed, every one of up to JUDGED_EACH images and the last one of more is judged.
All of that happens between the timed windows. Up to JUDGED_EACH images are copied to the same place before each call,
which finds them as hot as those that a program has just written. Larger calls read one array, each from LARGE_STEP
images further on, whole pages: the alignment stays, and nearly all images are those of the call before, in the same
state of the caches. Poison touches the answers alone, 8 bytes to the 784 of an image.
"""

import itertools
import time
from pathlib import Path

import numpy as np

from side import summarise

WARM_UP, MIN_CALLS = 3, 10  # the first calls choose and allocate; a row's p10 and p90 need ten
JUDGED_EACH = 64  # images, 50 KB: a copy that leaves the caches nearly as they are; 10,000 images would displace them
JUDGED_TOGETHER = 256  # calls with new arrays: judging after every call would evict their code and data from the caches
STEP = 37  # images; prime, so that many calls pass before one has the same images
LARGE_STEP = 256  # images: 49 pages of 4 KiB
NO_LABEL = -1


class TestSet:
    """The files of c_calls.c: images, labels, and the classes of `lenslet eval`."""

    def __init__(self, folder):
        self.pixels = np.fromfile(Path(folder) / "pixels.bin", np.uint8).reshape(-1, 28, 28)
        self.labels, self.expected = (np.fromfile(Path(folder) / n, np.uint8) for n in ("labels.bin", "expected.bin"))

    def images(self, count):
        """`count` images, the test set again and again."""
        return np.ascontiguousarray(self.pixels[np.arange(count) % len(self.pixels)])

    def stock(self, count):
        """What Batches takes for calls of `count` images."""
        return self.images(count + len(self.pixels))


class Batches:
    """The images of each call of `count`, out of a `stock` in the memory that the calls read. `empty_like` makes an
    array there."""

    def __init__(self, tests, stock, count, empty_like=np.empty_like):
        self.known, self.stock, self.count, self.calls = len(tests.pixels), stock, count, 0
        self.place = empty_like(stock[:count]) if count <= JUDGED_EACH else None

    def next(self):
        """(the first image's number, the images)."""
        number, self.calls = self.calls, self.calls + 1
        if self.count > JUDGED_EACH:
            first = number * LARGE_STEP % (self.known - self.known % LARGE_STEP)
            return first, self.stock[first : first + self.count]
        first = number * STEP % self.known
        self.place[:] = self.stock[first : first + self.count]
        return first, self.place


class Verdict:
    """The answers of judged calls: how many in all, how many right, how many differ from `lenslet eval`."""

    def __init__(self, tests):
        self.tests = tests
        self.row = {"correct": 0, "differing": 0, "differing_in_a_call": 0, "judged": 0}

    def judge(self, first, answers):
        """`answers`: labels, and probabilities if there are any, of images from `first` on."""
        labels, *probabilities = map(on_host, answers)
        which = np.arange(first, first + len(labels)) % len(self.tests.labels)
        differs = labels != self.tests.expected[which]
        for array in probabilities:
            differs |= ~(array > 0)
        differing = int(np.count_nonzero(differs))
        self.row["correct"] += int(np.count_nonzero(labels == self.tests.labels[which]))
        self.row["differing"] += differing
        self.row["differing_in_a_call"] = max(self.row["differing_in_a_call"], differing)
        self.row["judged"] += len(labels)


def on_host(array):
    return array.cpu().numpy() if hasattr(array, "cpu") else array


def poison(answers):
    """Fills answers that a call returned, or that it is to write, with what no call answers. Labels and probabilities
    take turns."""
    for array, value in zip(answers, itertools.cycle((NO_LABEL, float("nan")))):
        (array.fill_ if hasattr(array, "fill_") else array.fill)(value)


def timed_calls(call, batches, verdict, min_ms, answers=(), ready=lambda: None):
    """summarise() of nanoseconds of single calls, at least MIN_CALLS and `min_ms` of them, after WARM_UP that are not
    timed. `answers` are the arrays that `call` writes, if it writes the same each time; ready() waits for what is still
    enqueued."""
    samples, spent, last, unjudged = [], 0, False, []
    together = 1 if answers else JUDGED_TOGETHER
    for number in itertools.count(-WARM_UP):
        first, images = batches.next()
        if together == 1:
            poison(answers)
        ready()
        start = time.perf_counter_ns()
        answers = call(images)
        ns = time.perf_counter_ns() - start
        if number >= 0:
            samples.append(ns)
            spent += ns
            last = len(samples) >= MIN_CALLS and spent >= min_ms * 1e6
        if number < 0 or last or batches.count <= JUDGED_EACH:
            unjudged.append((first, answers))
        if number < 0 or last or len(unjudged) == together:
            for judged in unjudged:
                verdict.judge(*judged)
                poison(judged[1])  # the memory that later calls get
            unjudged.clear()
        if last:
            return summarise(samples)
