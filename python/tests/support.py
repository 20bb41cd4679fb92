"""Comparisons, and scripts that need a process of their own."""

import subprocess
import sys

import numpy as np

# Largest error of a logit (the largest is 10.5) by math mode; fp32 rounding costs PyTorch 6.6e-6.
LOGIT_BOUND = {"fp32": 2e-5, "tf32": 0.05, "fp16": 0.05}
# Largest difference between two answers in fp32.
LOGIT_DIFFERENCE = 2 * LOGIT_BOUND["fp32"]
# Error of a softmax in fp32 (tests/support/probability_bound.h derives it).
SOFTMAX_ERROR = 2e-6


def check_logits(found, expected, bound):
    """Close wherever it can be compared: a NaN fails."""
    assert found.shape == expected.shape and found.dtype == np.float32
    assert np.all(np.abs(found.astype(np.float64) - expected) <= bound)


def softmax(logits):
    exponents = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def run_script(text, *arguments):
    """Runs Python code in a process of its own and returns what it printed; fails with its words where it fails."""
    command = [sys.executable, "-W", "ignore", "-c", text, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
