#!/usr/bin/env python3
"""What command_results.py writes: a row for each command, with the verdicts of its tests."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "packaging"))
import command_results

TESTS = {
    "schema": "lenslet.tests/1",
    "seconds": 12.6,
    "rows": [{"status": status} for status in ("PASSED", "SKIPPED", "FAILED", "PASSED")],
}


class CommandResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "commands.json"
        self.tests = pathlib.Path(folder.name) / "tests.json"
        self.tests.write_text(json.dumps(TESTS))

    def run_script(self, *words):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                code = command_results.main([str(self.file), *map(str, words)])
            except SystemExit as end:
                code = end.code
        return code, errors.getvalue()

    def test_every_command_has_a_row(self):
        self.assertEqual(self.run_script("./dev demo", 90, "bare")[0], 0)
        self.assertEqual(self.run_script("./dev test", 640, "bare", self.tests)[0], 0)
        document = json.loads(self.file.read_text())
        self.assertEqual(document["schema"], "lenslet.commands/1")
        demo, test = document["rows"]
        self.assertEqual((demo["command"], demo["seconds"], demo["tests"]), ("./dev demo", 90, None))
        self.assertEqual((test["seconds"], test["test_seconds"], test["tests"]), (640, 13, 4))
        self.assertEqual((test["red"], test["skipped"], test["note"]), (1, 1, "bare"))
        self.assertTrue(test["machine"]["cpu"])

    def test_another_file_is_refused_and_kept(self):
        self.file.write_text(json.dumps(TESTS))
        code, errors = self.run_script("./dev demo", 90, "bare")
        self.assertEqual(code, 3)
        self.assertIn("expected lenslet.commands/1", errors)
        self.assertEqual(json.loads(self.file.read_text()), TESTS)
        self.file.unlink()
        self.assertEqual(self.run_script("./dev test", 90, "bare", self.tests.with_name("none"))[0], 3)
        self.assertFalse(self.file.exists())

    def test_unknown_words_are_a_usage_error(self):
        for words in ([], ["./dev demo", "soon", "bare"]):
            code, errors = self.run_script(*words)
            self.assertEqual(code, 2)
            self.assertIn("FILE COMMAND SECONDS NOTE [TESTS]", errors)


if __name__ == "__main__":
    unittest.main()
