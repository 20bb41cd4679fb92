"""The counters of a launch become a row of the file and a line of a page; what fails is named.

python3 tests/counters/counters_test.py
"""

import contextlib
import io
import json
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "apps" / "counters"), str(ROOT / "docs" / "results")]
import counters  # noqa: E402
import tables_counters  # noqa: E402

STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
NAMES = ["ID", "Kernel Name", *counters.METRICS.values(), *map(STALLED.format, ("barrier", "selected", "wait"))]
UNITS = ["", "", "us", *["%"] * (len(counters.METRICS) - 1), *["inst"] * 3]
VALUES = ["0", "conv_kernel(int, float)", "1,234.5", *["12.5"] * (len(counters.METRICS) - 1), "0.25", "1", "2.5"]
PRINTED = "\n".join(["==PROF== Connected", *(",".join(f'"{cell}"' for cell in row) for row in (NAMES, UNITS, VALUES))])

# Runs the command and writes what ncu would to the file after --log-file; as CODE and PRINTED say.
NCU = """#!{python}
import sys
words = sys.argv
open(words[words.index("--log-file") + 1], "w").write({printed!r})
sys.exit({code})
"""
LENSLET = """#!{python}
import json
meta, host, devices = {{"git": "0123abcd"}}, {{"cpu": "CPU"}}, [{{"name": "GPU"}}]
print(json.dumps({{"meta": meta, "host": host, "devices": devices, "ceilings": {{}}}}))
"""


class Counters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.script("bin/lenslet", LENSLET)
        self.ncu()

    def script(self, name, text, **more):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(python=sys.executable, **more))
        path.chmod(0o755)

    def ncu(self, printed=PRINTED, code=0):
        self.script("ncu", NCU, printed=printed, code=code)

    def measure(self, only="linear-fc1"):
        file = self.folder / "2026-01-01-gpu" / "counters.json"
        file.parent.mkdir(exist_ok=True)
        words = ["counters.py", "--build", self.folder, "--ncu", self.folder / "ncu", "--only", only, "--json", file]
        printed = io.StringIO()
        with unittest.mock.patch.object(sys, "argv", list(map(str, words))), contextlib.redirect_stdout(printed):
            self.code = counters.main()
        self.assertIn(only, printed.getvalue())
        return file

    def row(self):
        document = json.loads(self.measure().read_text())
        self.assertEqual((document["schema"], document["status"]), ("lenslet.counters/1", "COMPLETE"))
        self.assertEqual(document["meta"]["git"], "0123abcd")
        (row,) = document["rows"]
        return row

    def failed(self, reason):
        row = self.row()
        self.assertEqual((self.code, row["status"]), (1, "FAILED"))
        self.assertIn(reason, row["reason"])
        self.assertNotIn("time_ns", row)

    def test_a_launch_is_a_row(self):
        row = self.row()
        self.assertEqual((self.code, row["status"], row["kernel"]), (0, "PASSED", "conv_kernel"))
        self.assertEqual((row["time_ns"], row["issue_percent"], row["memory_percent"]), (1234500, 12.5, 12.5))
        self.assertEqual(list(row["stalls"].items()), [("wait", 2.5), ("selected", 1), ("barrier", 0.25)])

    def test_a_page_shows_it(self):
        text = tables_counters.counters("pooling_linear", self.measure().parent)
        self.assertIn("| `conv_kernel` | `lenslet profile --plan layered", text)
        self.assertIn("| 12 | wait 2.5, barrier 0.2 |", text)
        self.assertEqual(tables_counters.counters("tensor_core", self.folder / "2026-01-01-gpu"), "")

    def test_every_subject_is_on_a_page(self):
        names = [subject.name for subject in counters.SUBJECTS]
        self.assertEqual(len(set(names)), len(names))
        begins = tuple(begin for page in tables_counters.PAGES.values() for begin in page)
        self.assertEqual([name for name in names if not name.startswith(begins)], [])

    def test_without_a_launch(self):
        self.ncu(printed="==WARNING== No kernels were profiled.")
        self.failed("no launch")

    def test_without_a_metric(self):
        self.ncu(printed=PRINTED.replace("dram__", "lost__"))
        self.failed("ncu printed no dram__")

    def test_the_reason_of_ncu(self):
        self.ncu(printed="==ERROR== ERR_NVGPUCTRPERM - no permission", code=1)
        self.failed("exit code 1: ==ERROR== ERR_NVGPUCTRPERM")

    def refused(self, code, words):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as said:
            self.measure()
        self.assertEqual(ended.exception.code, code)
        self.assertIn(words, said.getvalue())

    def test_without_ncu(self):
        (self.folder / "ncu").unlink()
        self.refused(4, "ncu was not found: install Nsight Compute, or name its ncu with --ncu")

    def test_without_a_build(self):
        (self.folder / "bin" / "lenslet").unlink()
        self.refused(2, "lenslet is missing: build it (./dev build), or name the folder of another build with --build")

    def test_without_a_gpu(self):
        self.script("bin/lenslet", "#!{python}\nimport sys\nsys.exit('lenslet: error: no usable GPU')\n")
        self.refused(4, "lenslet: error: no usable GPU")

    def test_a_file_that_cannot_be_written(self):
        (self.folder / "2026-01-01-gpu" / "counters.json").mkdir(parents=True)
        self.refused(7, "counters.json cannot be written: ")

    def test_an_unknown_subject(self):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as said:
            self.measure(only="linear-fc9")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("no subject linear-fc9; there are whole-fp16", said.getvalue())


if __name__ == "__main__":
    unittest.main()
