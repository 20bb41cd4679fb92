#!/usr/bin/env python3
"""The verdicts of sanitize.py: a tool that is missing, reports an error, or runs no test never passes."""

import contextlib
import io
import json
import os
import pathlib
import re
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pieces
import sanitize

RAN = "[ RUN      ] A.B\n[       OK ] A.B (3 ms)\n"
CLEAN = "========= ERROR SUMMARY: 0 errors\n"
RACE_CLEAN = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"


def verdict(text, tool="memcheck", code=0, seconds=1.0):
    piece = sanitize.Piece("p", "program")
    piece.tests = ["A.B"]
    return sanitize.judge(piece, tool, code, seconds, text, 60, "log")


class Judge(unittest.TestCase):
    def test_clean_runs_pass(self):
        self.assertEqual(verdict(RAN + CLEAN)["status"], "PASSED")
        self.assertEqual(verdict(RAN + RACE_CLEAN, "racecheck")["status"], "PASSED")

    def test_findings_fail(self):
        for tool, line in (
            ("memcheck", "========= ERROR SUMMARY: 1 error\n"),
            ("initcheck", "========= ERROR SUMMARY: 10 errors\n"),
            ("racecheck", "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n"),
            ("racecheck", CLEAN),
        ):
            row = verdict(RAN + line, tool)
            self.assertEqual((row["status"], row["reason"]), ("FAILED", "the tool reports errors"), line)

    def test_a_tool_that_never_began_fails(self):
        self.assertIn("no summary line", verdict(RAN)["reason"])
        self.assertIn("no summary line", verdict("")["reason"])
        self.assertEqual(verdict("Error: device not supported\n", code=1)["status"], "FAILED")

    def test_a_run_without_tests_fails(self):
        self.assertIn("no test was run", verdict(CLEAN)["reason"])

    def test_failed_tests_and_exit_codes_fail(self):
        self.assertIn("1 tests failed", verdict("[  FAILED  ] A.B (3 ms)\n" + CLEAN, code=1)["reason"])
        self.assertIn("exit code 99", verdict(RAN + CLEAN, code=99)["reason"])
        self.assertIn("limit", verdict(RAN + CLEAN, code=-9, seconds=60.1)["reason"])
        self.assertIn("signal 11", verdict(RAN + CLEAN, code=-11)["reason"])

    def test_skipped_is_not_passed(self):
        self.assertEqual(verdict("[  SKIPPED ] A.B (0 ms)\n" + CLEAN, code=77)["status"], "SKIPPED")

    def test_the_last_summary_counts(self):
        self.assertEqual(verdict(RAN + CLEAN + "========= ERROR SUMMARY: 2 errors\n")["status"], "FAILED")


class WholeRuns(unittest.TestCase):
    """With a stand-in for the tool, and programs that only list tests."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        for program in sanitize.gpu_programs():
            self.program(f"test_{program}", "")
        self.program("test_framework_gpu", "GpuStream.\n  EventsMeasureWorkAndGatesHoldIt\n")

    def program(self, name, listing):
        self.script(name, f'cat <<"EOF"\n{listing}EOF\n')

    def script(self, name, body):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run_tool(self, body, *more):
        tool = self.script("tool", '[ "$1" != --version ] || exit 0\n' + body)
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            code = sanitize.main(
                ["--tests", str(self.folder), "--out", str(self.out), "--sanitizer", str(tool), "--jobs", "4", *more]
            )
        return code, err.getvalue()

    def test_clean(self):
        code, err = self.run_tool(
            f'printf "%s" "{RAN}"\ncase "$*" in *racecheck*) echo "{RACE_CLEAN}";; *) echo "{CLEAN}";; esac'
        )
        self.assertEqual((code, err), (0, ""))
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(summary["schema"], "lenslet.sanitize/1")
        self.assertEqual(set(summary["machine"]), {"cpu", "cores", "gpus", "git", "dirty", "time_utc"})
        self.assertTrue(summary["complete"])
        self.assertEqual([row["tool"] for row in summary["rows"]], list(pieces.TOOLS))
        for row in summary["rows"]:
            log = (self.out / row["log"]).read_text()
            self.assertIn("--gtest_filter=GpuStream.EventsMeasureWorkAndGatesHoldIt", log)

    def test_a_file_to_keep(self):
        kept = self.folder / "docs/results/2026-01-01-card/sanitize.json"
        kept.parent.mkdir(parents=True)
        self.run_tool(f'printf "%s" "{RAN}"; echo "{CLEAN}"', "--tool", "memcheck", "--json", str(kept))
        self.assertEqual(kept.read_text(), (self.out / "summary.json").read_text())
        row = json.loads(kept.read_text())["rows"][0]
        self.assertEqual(sanitize.kept_seconds(self.folder), {("memcheck", row["piece"]): row["seconds"]})
        later = self.folder / "docs/results/2026-01-02-card/sanitize.json"
        later.parent.mkdir()
        later.write_text(json.dumps({"rows": [{**row, "seconds": 7.5}]}))
        self.assertEqual(sanitize.kept_seconds(self.folder), {("memcheck", row["piece"]): 7.5})

    def test_one_tool_red_is_red(self):
        # racecheck prints nothing of its own
        self.assertEqual(self.run_tool(f'printf "%s" "{RAN}"; echo "{CLEAN}"')[0], 1)

    def test_out_of_time(self):
        code, _ = self.run_tool(
            f'printf "%s" "{RAN}"; echo "{CLEAN}"; exec sleep 30', "--tool", "memcheck", "--limit", "0.5"
        )
        self.assertEqual(code, 1)
        self.assertIn("limit", json.loads((self.out / "summary.json").read_text())["rows"][0]["reason"])

    def test_nothing_but_skips_is_no_gpu(self):
        code, err = self.run_tool(f'echo "[  SKIPPED ] A.B (0 ms)"; echo "{CLEAN}"; exit 77', "--tool", "memcheck")
        self.assertEqual(code, 4)
        self.assertIn("is there a GPU?", err)

    def test_a_tool_that_is_missing(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = sanitize.main(["--tests", str(self.folder), "--out", str(self.out), "--sanitizer", "/nonexistent"])
        self.assertEqual(code, 4)
        self.assertIn("is not there", err.getvalue())

    def test_a_test_in_no_piece_is_red(self):
        self.program("test_framework_gpu", "GpuNovelty.\n  DoesSomething\n")
        self.program("test_cheats_gpu", "Anything.\n  AtAll\n")
        original = pieces.RULES
        self.addCleanup(setattr, pieces, "RULES", original)
        pieces.RULES = tuple(r for r in original if r.program != "framework_gpu")
        code, err = self.run_tool("true")
        self.assertEqual(code, 1)
        self.assertIn("GpuNovelty.DoesSomething is in no piece", err)
        self.assertNotIn("Anything", err)

    def test_a_program_that_is_not_built_is_red(self):
        os.remove(self.folder / "test_conv_gpu")
        code, err = self.run_tool("true")
        self.assertEqual(code, 1)
        self.assertIn("test_conv_gpu is not built", err)


class Pieces(unittest.TestCase):
    def test_every_gpu_program_is_known(self):
        known = {row.program for row in pieces.RULES + pieces.LEFT_OUT}
        self.assertEqual(set(sanitize.gpu_programs()) - known, set())
        self.assertEqual(known - set(sanitize.gpu_programs()), set())

    def test_kernels_spared_a_tool_have_nothing_that_it_checks(self):
        for files, words in (
            (pieces.NO_BARRIER_FILES, r"__shared__|__sync|_sync\(|barrier|__shfl|cooperative_groups"),
            (pieces.NO_SHARED_FILES, r"__shared__|cooperative_groups"),
        ):
            for name in files:
                self.assertIsNone(re.search(words, (sanitize.ROOT / name).read_text()), name)

    def test_a_test_of_every_layer_has_its_tools(self):
        tools = {
            "AgreeWithTheReference/softmax_direct": set(pieces.TOOLS),
            "AgreeWithTheReference/linear_tiled": set(pieces.TOOLS),
            "AgreeWithTheReference/novel_backend": set(pieces.TOOLS),
            "AgreeWithTheReference/max_pool2d_direct": {"memcheck", "initcheck", "synccheck"},
            "AgreeWithTheReference/pairwise_direct": {"memcheck", "initcheck"},
            "AgreeOnLargeProblems/linear_tiled": {"memcheck"},
            "TakeInputsAtAnyAddress/linear_tiled": {"memcheck"},
        }
        for name, wanted in tools.items():
            rule = next(
                r
                for r in pieces.RULES
                if r.program == "layers_gpu" and re.fullmatch(r.pattern, f"Backends/LayerSubjects.{name}")
            )
            self.assertEqual(set(rule.tools), wanted, name)

    def test_kept_times_order_the_first_run(self):
        kept = sanitize.kept_seconds()
        self.assertGreater(len(kept), 100)
        self.assertGreater(kept["racecheck", "layers_gpu.AgreeWithTheReference/linear_tiled"], 1)


if __name__ == "__main__":
    unittest.main()
