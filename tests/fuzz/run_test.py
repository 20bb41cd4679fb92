#!/usr/bin/env python3
"""What run.py does with its programs, which scripts stand in for: --jobs, findings and the summary; and the table."""

import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parent / "run.py"
SUMMARISE = RUN.parent / "summarise.py"
# Waits until `together` programs have started, then ends as libFuzzer does.
STAND_IN = """#!/usr/bin/env python3
import pathlib, sys, time
started = pathlib.Path(__file__).parent / "started"
started.mkdir(exist_ok=True)
(started / pathlib.Path(__file__).name).touch()
for _ in range(600):
    if len(list(started.iterdir())) >= {together}: break
    time.sleep(0.1)
else:
    sys.exit("nothing runs beside this program")
print("#7\\tDONE   cov: 5 ft: 6 corp: 2/9b")
print("Done 7 runs in 1 second(s)")
for name in ("number_of_executed_units", "average_exec_per_sec", "slowest_unit_time_sec", "peak_rss_mb"):
    print("stat::" + name + ": 7")
sys.exit({code})
"""
SEEDS = "#!/bin/sh\n# Some clang version 14.0.6\nexit 0\n"


class Targets(unittest.TestCase):
    def test_the_script_has_the_targets_of_the_build(self):
        cmake = (RUN.parent / "tests.cmake").read_text()
        built = re.findall(r"(?:set|APPEND)\(?\s*fuzz_targets ([\w ]+)\)", cmake)
        script = runpy.run_path(str(RUN))["TARGETS"]
        self.assertEqual(sorted(" ".join(built).split()), sorted(script))


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, day, rows):
        machine = {"cpu": name, "cores": 2, "git": "1234abcd", "time_utc": f"2026-11-{day}T00:00:00Z", "compiler": "C"}
        numbers = ("executions", "seconds", "executions_per_s", "edges", "features", "corpus_inputs", "peak_rss_mb")
        targets = [{"target": target, "finding": finding, **dict.fromkeys(numbers, day)} for target, finding in rows]
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"machine": machine, "targets": targets}))
        return path

    def summarise(self, *arguments):
        return subprocess.run([sys.executable, SUMMARISE, *arguments], capture_output=True, text=True, check=False)

    def test_each_target_has_its_newest_row(self):
        old = self.file("old", 10, [("idx", False), ("onnx", False)])
        new = self.file("new", 12, [("onnx", True)])
        for files in ((old, new), (new, old)):
            result = self.summarise(*files)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("| `idx` | old.json | 10 |", result.stdout)
            self.assertIn("| `onnx` | new.json | 12 |", result.stdout)
            self.assertEqual(result.stdout.count("`onnx`"), 1)
            self.assertRegex(result.stdout, r"`onnx` .* \| yes \|")
            self.assertIn("| 2 of new | C | 1234abcd | 2026-11-12 |", result.stdout)

    def test_a_file_without_a_newest_row_is_not_named(self):
        old, new = self.file("old", 10, [("idx", False)]), self.file("new", 12, [("idx", False)])
        self.assertNotIn("old", self.summarise(old, new).stdout)

    def test_the_text_between_the_marks_is_replaced(self):
        page = self.folder / "docs" / "page.md"
        page.parent.mkdir()
        page.write_text("before\n<!-- fuzz table: begin -->\nold text\n<!-- fuzz table: end -->\nafter\n")
        file = self.file("run", 10, [("idx", False)])
        self.assertEqual(self.summarise(file, "--page", page).returncode, 0)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"), text)
        self.assertIn("(../run.json)", text)
        self.assertNotIn("old text", text)

    def test_a_page_without_marks_is_an_error(self):
        page = self.folder / "page.md"
        page.write_text("no marks\n")
        result = self.summarise(self.file("run", 10, [("idx", False)]), "--page", page)
        self.assertEqual(result.returncode, 1)
        self.assertIn("lacks the marks", result.stderr)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.program("write_seeds", SEEDS)

    def program(self, name, text):
        path = self.build / "fuzz" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *arguments):
        command = [sys.executable, RUN, self.build, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_jobs_run_beside_one_another(self):
        for name in ("idx", "gzip", "npz"):
            self.program(name, STAND_IN.format(together=3, code=0))
        result = self.run_script("idx", "gzip", "npz", "--jobs", "3", "--json", self.build / "all.json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        document = json.loads((self.build / "all.json").read_text())
        self.assertEqual([row["target"] for row in document["targets"]], ["idx", "gzip", "npz"])
        self.assertEqual(document["machine"]["compiler"], "Some clang version 14.0.6")

    def test_a_finding_of_one_target(self):
        self.program("idx", STAND_IN.format(together=1, code=77))
        self.program("gzip", STAND_IN.format(together=1, code=0))
        result = self.run_script("idx", "gzip", "--jobs", "2")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("findings in: idx", result.stdout)
        self.assertIn("gzip: no finding", result.stdout)

    def test_no_jobs(self):
        self.assertEqual(self.run_script("idx", "--jobs", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
