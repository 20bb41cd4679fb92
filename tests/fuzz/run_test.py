#!/usr/bin/env python3
"""What run.py does with its programs, which scripts stand in for: --jobs, findings and the summary."""

import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parent / "run.py"
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
