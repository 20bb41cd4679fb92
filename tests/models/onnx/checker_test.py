"""The ONNX project's own checker accepts the networks that the tests of the reader run.

python3 tests/models/onnx/checker_test.py     # exit 77: skipped, because the Python package onnx is not installed
"""

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


if __name__ == "__main__":
    unittest.main()
