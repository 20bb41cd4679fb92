"""The ONNX project's own checker accepts the networks that the tests of the reader run, and its schemas have the
attributes that Lenslet knows.

python3 tests/models/onnx/checker_test.py     # exit 77: skipped, because the Python package onnx is not installed
"""

import re
import sys
import unittest
from pathlib import Path

try:
    import onnx
except ImportError as reason:
    print(f"skipped: {reason} (./dev test --apps installs it)")
    sys.exit(77)


class Networks(unittest.TestCase):
    def test_are_valid_with_their_shapes(self):
        files = sorted(Path(__file__).parent.rglob("*.onnx"))
        self.assertGreaterEqual(len(files), 39)
        for file in files:
            with self.subTest(file.name):
                onnx.checker.check_model(str(file), full_check=True)


class Attributes(unittest.TestCase):
    def test_are_those_of_the_schemas(self):
        source = (Path(__file__).parents[3] / "models/onnx/read/attributes.cpp").read_text()
        rows = re.findall(r'^    \{"(\w+)",\s+"([\w ]+)"\},$', source, re.MULTILINE)
        self.assertGreater(len(rows), 40)
        newest = min(onnx.defs.onnx_opset_version(), 23)
        for op, attributes in rows:
            found = set()
            for version in range(6, newest + 1):
                try:
                    found |= set(onnx.defs.get_schema(op, version).attributes)
                except onnx.defs.SchemaError:  # the operator is newer
                    pass
            with self.subTest(op):
                known = set(attributes.split())
                self.assertLessEqual(found, known)
                if op != "Swish" and newest == 23:  # Swish is of set 24
                    self.assertEqual(found, known)


if __name__ == "__main__":
    unittest.main()
