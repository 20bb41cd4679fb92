"""A constant that a Python script shares with C++ or C is equal there.

python3 tests/tree/constants_test.py
"""

import ast
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# (Python file, its name, C++ or C file, its name there[, how many of its units are one of Python's])
PAIRS = (
    ("apps/peers/judged_calls.py", "JUDGED_EACH", "apps/peers/c_calls.c", "kJudgedEach"),
    ("apps/peers/judged_calls.py", "LARGE_STEP", "apps/peers/c_calls.c", "kLargeStep"),
    ("apps/peers/judged_calls.py", "MIN_CALLS", "apps/peers/c_calls.c", "kMinCalls"),
    ("apps/peers/judged_calls.py", "STEP", "apps/peers/c_calls.c", "kStep"),
    ("apps/peers/judged_calls.py", "WARM_UP", "apps/peers/c_calls.c", "kWarmUp"),
    ("apps/peers/lenslet_side.py", "IN_ORDER", "apps/lenslet/bench/bench_latency.cpp", "kInOrderPasses"),
    ("apps/peers/side.py", "BATCH_NS", "apps/measuring/measure.cpp", "kBatchNs"),
    ("apps/peers/side.py", "MAX_DIFFERING", "apps/lenslet/bench/bench.cpp", "kMaxDigitsOff"),
    ("apps/peers/side.py", "MAX_PASSES", "apps/measuring/measure.cpp", "kMaxBatch"),
    ("apps/peers/side.py", "ROUND_TRIP_WARM_UP", "apps/lenslet/bench/bench_latency.cpp", "kWarmUp"),
    ("apps/report/beside.py", "HALF_WIDTH", "apps/convbench/commands/compare.cpp", "kHalfWidth"),
    ("apps/report/beside.py", "MIN_SAMPLES", "apps/convbench/commands/compare.h", "kMinComparedSamples"),
    ("apps/report/beside.py", "THRESHOLD", "apps/convbench/session/options.h", "threshold_percent", 100),
    ("apps/report/results.py", "MAX_BYTES", "apps/common/results/result_reader.cpp", "kMaxBytes"),
    ("apps/report/results.py", "SCHEMA", "apps/common/results/result_file.h", "kSchema"),
)


def value_of(text):
    """The value of an expression of literals."""
    return eval(compile(text, "an expression", "eval"), {"__builtins__": {}})


def of_python(source, name):
    """The value of a constant of a module, alone or in a tuple."""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        pairs = zip(target.elts, value.elts) if isinstance(target, ast.Tuple) else [(target, value)]
        for left, right in pairs:
            if isinstance(left, ast.Name) and left.id == name:
                return value_of(ast.unparse(right))
    raise AssertionError(f"no constant {name}")


def of_cpp(source, name):
    """The value of a constant with an initializer of literals. The name must have one."""
    found = re.findall(rf"\b{name} = ([^;,]+)[;,]", source)
    if len(found) != 1:
        raise AssertionError(f"expected one {name}, found {len(found)}")
    text = re.sub(r"\b[a-z_0-9]+\{([^}]*)\}", r"(\1)", found[0])  # size_t{1}
    return value_of(re.sub(r"(?<=\d)(?:'(?=\d)|[uUlL]+\b)", "", text))


class Constants(unittest.TestCase):
    def test_copies_are_equal(self):
        for python_file, python_name, cpp_file, cpp_name, *units in PAIRS:
            with self.subTest(python_name):
                ours = of_python((ROOT / python_file).read_text(encoding="utf-8"), python_name)
                theirs = of_cpp((ROOT / cpp_file).read_text(encoding="utf-8"), cpp_name)
                self.assertEqual(ours * units[0] if units else ours, theirs)

    def test_values_are_read(self):
        self.assertEqual(of_python("A = 1\nB, C = 200e3, 1 << 4", "C"), 16)
        source = 'constexpr int kA = 4, kB = 1\'000;\nsize_t b = size_t{64} << 20;\nconst char* kC = "x/1";  // kA'
        self.assertEqual([of_cpp(source, name) for name in ("kA", "kB", "b", "kC")], [4, 1000, 64 << 20, "x/1"])
        for source in ("constexpr int kA = 1;", "int kB = 1;\nint kB = 2;"):
            with self.assertRaises(AssertionError):
                of_cpp(source, "kB")


if __name__ == "__main__":
    unittest.main()
