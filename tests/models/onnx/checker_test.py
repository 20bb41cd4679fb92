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
        folder = Path(__file__).parents[3] / "models/onnx"
        source = (folder / "read/attributes.cpp").read_text()
        rows = dict(re.findall(r'^    \{"(\w+)",\s+"([\w :]*)"\},$', source, re.MULTILINE))
        rules = (folder / "import/import_rules.cpp").read_text() + (folder / "import/importer.h").read_text()
        operators = set(re.findall(r'"([A-Z]\w+)"', rules)) & {schema.name for schema in onnx.defs.get_all_schemas()}
        self.assertGreater(len(operators), 50)
        self.assertLessEqual(operators, set(rows), "an operator without a row")
        newest = min(onnx.defs.onnx_opset_version(), 23)
        for op, words in rows.items():
            known = {}
            for word in words.split():
                name, _, last = word.partition(":")
                known[name] = int(last or 23)
            found = {}
            for version in range(6, newest + 1):
                try:
                    found.update({name: version for name in onnx.defs.get_schema(op, version).attributes})
                except onnx.defs.SchemaError:  # the operator is newer
                    pass
            with self.subTest(op):
                for name, last in found.items():
                    self.assertEqual(min(known[name], newest), last)
                if op != "Swish" and newest == 23:  # Swish is of set 24
                    self.assertEqual(set(found), set(known))


if __name__ == "__main__":
    unittest.main()
