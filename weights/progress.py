"""What both trainings need: the time since the start, steps that fit a time, and a step as a CUDA graph."""

import argparse
import time

import torch

from bank import DEVICE

START = time.monotonic()


def log(text):
    print(f"[{time.monotonic() - START:6.1f} s] {text}", flush=True)


def steps_in_time(done, begin, end):
    """How many steps end at the time `end` if `done` began at `begin`: the schedule ends when the time does."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    now = time.monotonic()
    return max(done + 1, int(done + done / (now - begin) * (end - now)))


def capture(step, warmup=5):
    """Runs `step` a few times on a side stream, then records it as a CUDA graph and returns the graph."""
    if DEVICE == "cpu":
        return argparse.Namespace(replay=step)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warmup):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph
