#!/usr/bin/env python3
"""What test_results.py reads from ctest's JUnit file: a skip has its reason, and what could not run has failed."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import test_results

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="x" tests="{}" failures="1" time="12">\n'
SKIPPED = '<skipped message="SKIP_RETURN_CODE=77"/>'


def case(name, status="run", note="", output="", seconds="0.126"):
    return (
        f'<testcase name="{name}" classname="{name}" time="{seconds}" status="{status}">{note}'
        f"<system-out>{output}</system-out></testcase>\n"
    )


class TestResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.junit, self.file = (pathlib.Path(folder.name) / name for name in ("junit.xml", "kept.json"))

    def written(self, *cases, tests=None):
        self.junit.write_text(HEAD.format(len(cases) if tests is None else tests) + "".join(cases) + "</testsuite>\n")
        code, _ = self.call(self.junit, "--json", self.file)
        self.assertEqual(code, 0)
        return json.loads(self.file.read_text())

    def call(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            return test_results.main(list(map(str, arguments))), errors.getvalue()

    def verdict(self, *arguments, **keys):
        row = self.written(case("a", *arguments, **keys))["rows"][0]
        return row["status"], row["reason"]

    def test_a_whole_file(self):
        found = self.written(case("b", "fail", '<failure message="Timeout"/>'), case("a"))
        self.assertEqual((found["schema"], found["seconds"], found["complete"]), ("lenslet.tests/1", 12, True))
        self.assertEqual(set(found["machine"]), {"cpu", "cores", "gpus", "git", "dirty", "time_utc"})
        self.assertEqual(
            found["rows"],
            [
                {"test": "a", "status": "PASSED", "seconds": 0.13, "reason": ""},
                {"test": "b", "status": "FAILED", "seconds": 0.13, "reason": "Timeout"},
            ],
        )

    def test_programs_that_were_built_elsewhere(self):
        program = self.junit.with_name("lenslet")
        for words, expected in (
            ("0123456789ab", ("01234567", False)),
            ("0123456789ab, modified", ("01234567", True)),
            ("unknown", (None, None)),
        ):
            program.write_text(f"#!/bin/sh\necho 'lenslet 0.2.0 ({words}), Release'\n")
            program.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, LENSLET_PROGRAM=str(program)):
                found = self.written(case("a"))["machine"]
            self.assertEqual((found["git"], found["dirty"]), expected)

    def test_rows_that_are_missing(self):
        self.assertFalse(self.written(case("a"), tests=2)["complete"])
        self.assertFalse(self.written()["complete"])

    def test_skips_have_their_reasons(self):
        self.assertEqual(
            self.verdict("notrun", SKIPPED, "skipped: curl is not installed\n")[1], "curl is not installed"
        )
        gtest = "a.cpp:1: Skipped\nno GPU side\n\n[  SKIPPED ] A.B (0 ms)\nb.cpp:7: Skipped\nno GPU side\n"
        self.assertEqual(self.verdict("notrun", SKIPPED, gtest), ("SKIPPED", "no GPU side"))
        unittests = "test_x (A.B) ... skipped 'no doxygen'\ntest_y (A.B) ... skipped \"no dot\"\n"
        self.assertEqual(self.verdict("notrun", SKIPPED, unittests), ("SKIPPED", "no doxygen; no dot"))
        self.assertEqual(self.verdict("notrun", SKIPPED, "silence"), ("SKIPPED", "no reason is given"))
        self.assertEqual(self.verdict("disabled"), ("SKIPPED", "disabled"))

    def test_what_passed_may_have_skipped_parts(self):
        part = "a.cpp:1: Skipped\nno GPU side\n\n[  SKIPPED ] A.B (0 ms)\n"
        self.assertEqual(self.verdict("run", "", part), ("PASSED", "no GPU side"))

    def test_what_could_not_run_failed(self):
        missing = '<skipped message="Unable to find executable"/>'
        self.assertEqual(self.verdict("notrun", missing), ("FAILED", "Unable to find executable"))
        self.assertEqual(self.verdict("fail", '<failure message=""/>'), ("FAILED", "failed"))
        self.assertEqual(self.verdict("notrun", ""), ("FAILED", "failed"))

    def test_other_files_are_refused(self):
        self.assertEqual(self.call(self.junit, "--json", self.file)[0], 3)
        for text in ("", "<testsuite", "<other/>", HEAD.format(1) + '<testcase name="a" status="run"/></testsuite>'):
            self.junit.write_text(text)
            code, errors = self.call(self.junit, "--json", self.file)
            self.assertEqual(code, 3, text)
            self.assertIn("is no JUnit file of ctest", errors)
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main()
