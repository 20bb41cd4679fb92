"""The networks of networks/, from both exporters of PyTorch, against ONNX Runtime on random inputs.

networks_test.py PROGRAM LENSLET [--device cuda]    PROGRAM is onnx_run_models; exit 77: skipped without onnxruntime

Each answers 10,000 inputs with ONNX Runtime's class, in passes of 64, and the first of them in passes of 1 and 3 too;
where ONNX Runtime itself has two classes within TIE, either is right.
`lenslet diff` then checks every layer and the whole pass against the bound that it derives.
"""

import argparse
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

try:
    import lenslet_backend
    import numpy as np
    import onnxruntime
except ImportError as reason:
    print(f"skipped: {reason} (./dev test --apps installs it)")
    sys.exit(77)

HERE = Path(__file__).parent
FILES = sorted((HERE / "networks").glob("*.onnx"))
ZOO = HERE / "zoo/mnist_8.onnx"
TIE = 2e-6  # of the largest output: two classes whose values differ by less are one to arithmetic in fp32
BATCHES = {64: 10000, 3: 600, 1: 200}  # samples of a pass: inputs


def runtime_outputs(file, inputs):
    """ONNX Runtime's outputs; `inputs` makes the inputs of that shape. A frozen batch runs sample by sample."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    batch, *sample = session.get_inputs()[0].shape
    x = inputs(sample)
    step = batch if isinstance(batch, int) else len(x)
    name = session.get_inputs()[0].name
    return x, np.concatenate([session.run(None, {name: x[i : i + step]})[0] for i in range(0, len(x), step)])


class Networks(unittest.TestCase):
    def test_answer_as_onnx_runtime(self):
        self.assertEqual(len(FILES), 30)
        random = np.random.default_rng(1)
        runner = lenslet_backend.Runner(OPTIONS.program, OPTIONS.device)
        self.addCleanup(runner.close)
        worst = ties = 0
        for file in [*FILES, ZOO]:
            x, expected = runtime_outputs(
                file, lambda shape: random.standard_normal((max(BATCHES.values()), *shape), np.float32)
            )
            classes = expected.argmax(1)
            if file != ZOO:  # trained: noise is never some digits
                self.assertEqual(len(set(classes)), 10, f"{file.name}: some class is never the answer")
            for batch, count in BATCHES.items():
                with self.subTest(file.name, batch=batch):
                    y = runner.run_file(file, x[:count], batch)
                    self.assertEqual(y.shape, expected[:count].shape)
                    other = np.flatnonzero(y.argmax(1) != classes[:count])
                    margins = expected[other, classes[other]] - expected[other, y[other].argmax(1)]
                    ties += len(other)
                    self.assertTrue(np.all(margins < TIE * np.max(np.abs(expected))), (other, margins))
                    worst = max(worst, float(np.max(np.abs(y - expected[:count])) / np.max(np.abs(expected))))
        print(
            f"{len(FILES) + 1} networks, {BATCHES} inputs by samples of a pass: differences up to {worst:.2g} of the "
            f"largest output, {ties} ties to within {TIE} of it broken the other way"
        )

    def test_stay_within_the_derived_bounds(self):
        environment = {**os.environ, "LENSLET_PYTHON": sys.executable}
        for file in FILES:
            for batch in BATCHES:
                with self.subTest(file.name, batch=batch):
                    command = [OPTIONS.lenslet, "diff", str(file), "--against", "onnxruntime", "--samples", str(batch)]
                    command += ["--batch-size", str(batch), "--device", OPTIONS.device, "--json", "-"]
                    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = json.loads(done.stdout)["comparisons"]
                    layers = [row for row in rows if row["layer"] != "whole pass"]
                    self.assertGreater(len(layers), 4)
                    self.assertEqual({row["status"] for row in layers}, {"PASSED"}, layers)
                    # The last row is a pass from the input to the output. Its bound adds up over the layers and may
                    # exceed the values, which skips the comparison.
                    self.assertIn(rows[-1]["status"], ("PASSED", "SKIPPED"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("lenslet")
    parser.add_argument("--device", default="cpu")
    OPTIONS = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
