"""Comparisons, arrays and pictures, and scripts that need a process of their own."""

import subprocess
import sys

import numpy as np


def check_logits(found, expected, bound):
    """Close wherever it can be compared: a NaN fails."""
    assert found.shape == expected.shape and found.dtype == np.float32
    assert np.all(np.abs(found.astype(np.float64) - expected) <= bound)


def softmax(logits):
    exponents = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    room = np.zeros(array.nbytes + 1, np.uint8)
    view = np.frombuffer(room.data, array.dtype, array.size, offset=1).reshape(array.shape)
    view[...] = array
    return view


def strokes(count, paper=255, ink=0):
    """Upright strokes of 6 x 50 pixels, 30 apart: uint8 [80, 140]."""
    picture = np.full((80, 140), paper, np.uint8)
    for i in range(count):
        picture[15:65, 40 + 30 * i : 46 + 30 * i] = ink
    return picture


def run_script(text, *arguments):
    """Runs Python code in a process of its own and returns what it printed; fails with its words where it fails."""
    command = [sys.executable, "-W", "ignore", "-c", text, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
