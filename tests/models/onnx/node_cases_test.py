"""The ONNX project's own tests as judge: its node cases, its cases from PyTorch and its whole networks.

node_cases_test.py PROGRAM [--device CUDA] [--write]    PROGRAM is onnx_run_models; exit 77: skipped without onnx

Every case whose operators Lenslet has is run in every way that lenslet_backend.py states its inputs. What Lenslet
accepts must agree with the case's output. What it refuses in every way must stand in left_out.txt with its reason;
--write writes that file.
"""

import argparse
import re
import sys
import unittest
import warnings
from pathlib import Path

try:
    import lenslet_backend
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as reason:
    print(f"skipped: {reason} (./dev test --apps installs it)")
    sys.exit(77)

HERE = Path(__file__).parent
LEFT_OUT = HERE / "left_out.txt"
DATA = Path(onnx.__file__).parent / "backend/test/data"
CHECKED_VERSION = "1.16.2"  # left_out.txt lists the cases of this version
# The defaults of ONNX Runtime for these cases (onnxruntime/test/testdata/onnx_backend_test_series_overrides.jsonc). The
# ONNX project's own (onnx/backend/test/case/node/__init__.py) are the same RTOL and ATOL 1e-7, less than two roundings
# of values of 1 in fp32, 2^-24 = 6e-8 each: where such terms cancel, right outputs differ by more.
RTOL, ATOL = 1e-3, 1e-5


def operators():
    """Those that the importer has a rule for, as its sources list them."""
    names = set()
    for file in ("import_rules.cpp", "importer.h"):
        text = (HERE.parents[2] / "models/onnx/import" / file).read_text(encoding="utf-8")
        names.update(re.findall(r'"([A-Z][A-Za-z]+)"', text))
    return names | {"Constant", "ConstantOfShape", "Shape", "Gather"}


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def cases():
    """Yields (name, model, inputs, outputs)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            for inputs, outputs in case.data_sets:
                if all(isinstance(x, (np.ndarray, np.generic)) for x in [*inputs, *outputs]):
                    yield case.name, case.model, list(map(np.asarray, inputs)), list(map(np.asarray, outputs))
    for folder in sorted([*DATA.glob("pytorch-*/*"), *DATA.glob("simple/*")]):
        model = onnx.load(folder / "model.onnx")
        for data in sorted(folder.glob("test_data_set_*")):
            try:
                inputs = [read_tensor(data / f"input_{i}.pb") for i in range(len(list(data.glob("input_*.pb"))))]
                outputs = [read_tensor(data / f"output_{i}.pb") for i in range(len(list(data.glob("output_*.pb"))))]
            except Exception:  # a sequence or a map, which is no tensor
                continue
            yield folder.name, model, inputs, outputs
    for file in sorted(DATA.glob("light/*.onnx")):
        model = onnx.load(file)
        given = {tensor.name for tensor in model.graph.initializer}
        shapes = [
            [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            for value in model.graph.input
            if value.name not in given
        ]
        # The input by which the ONNX project computed the outputs.
        inputs = [(np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32) for shape in shapes]
        output = read_tensor(DATA / f"light/{file.stem}_output_0.pb")
        yield file.stem, model, inputs, [output]


def listed(name, reason):
    """A line of left_out.txt."""
    return re.sub(r"\s+", " ", f"{name}: {reason}")[:118].rstrip()


class Judged(unittest.TestCase):
    def setUp(self):
        self.maxDiff = None

    def test_agrees_or_refuses_with_a_reason(self):
        known, outside = operators(), {}
        passed, left_out, wrong = [], {}, []
        for name, model, inputs, outputs in cases():
            missing = sorted(
                {
                    node.op_type
                    for node in model.graph.node
                    if node.domain not in ("", "ai.onnx") or node.op_type not in known
                }
            )
            if missing:
                outside.setdefault(missing[0], []).append(name)
                continue
            accepted, reasons = 0, []
            for varied, output, reason in lenslet_backend.LensletBackend.prepare(model, OPTIONS.device).runs(inputs):
                if output is None:
                    reasons.append(reason)
                    continue
                accepted += 1
                try:
                    expected = outputs[0].astype(np.float32)
                    self.assertEqual(output.shape, expected.shape)
                    np.testing.assert_allclose(output, expected, rtol=RTOL, atol=ATOL)
                except AssertionError as error:
                    wrong.append(f"{name}, {varied} varied: {error}")
            if accepted == 0:
                left_out[name] = reasons[-1]
            else:
                passed.append(name)
        lenslet_backend.LensletBackend.close()
        print(
            f"{len(passed)} cases agree, {len(left_out)} are left out, "
            f"{sum(map(len, outside.values()))} have one of {len(outside)} operators that Lenslet lacks"
        )
        self.assertEqual(wrong, [])
        lines = [listed(name, reason) for name, reason in sorted(left_out.items())]
        heading = [
            f"# Cases of onnx {CHECKED_VERSION} whose operators Lenslet has, but which it refuses, and why.",
            "# node_cases_test.py --write writes this file.",
        ]
        text = "\n".join([*heading, *lines]) + "\n"
        if OPTIONS.write:
            LEFT_OUT.write_text(text, encoding="utf-8")
        elif onnx.__version__ == CHECKED_VERSION:
            self.assertEqual(text.splitlines(), LEFT_OUT.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--write", action="store_true")
    OPTIONS = parser.parse_args()
    lenslet_backend.LensletBackend.program = OPTIONS.program
    unittest.main(argv=sys.argv[:1])
