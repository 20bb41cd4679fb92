#!/usr/bin/env python3
"""The verdicts of mutate.py, with scripts as test programs: only a test that passes without the fault can kill it."""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import catchers
import fault_list
import judging
from scratch import PYTHON_TEST, Scratch, fault

PASSES = 'echo "[       OK ] A.B (3 ms)"\n'
FAILS = 'echo "[  FAILED  ] A.B (3 ms)"; exit 1\n'
SKIPS = 'echo "[  SKIPPED ] A.B (0 ms)"; exit 77\n'
EMPTY = 'echo "no test was run: does the filter match anything?"; exit 1\n'


class Check(Scratch):
    def complaint(self, *rows):
        self.faults(*rows)
        code, output = self.mutate("check", self.root)
        self.assertEqual(code, 1 if "error" in output else 0)
        return output

    def test_a_list_that_fits(self):
        rows = (
            fault(),
            fault("other", caught_by=None, equivalent="same sum"),
            fault("new", unjudged="2026-11-30: new"),
            fault("alive", survived="2026-11-30: no test reads it"),
        )
        self.assertIn(
            "4 planted faults stand in the tree as the list has them; 1 unjudged, 1 survived: alive\n",
            self.complaint(*rows),
        )

    def test_what_is_wrong_with_an_entry(self):
        for row, words in (
            (fault(before="sum = b;"), "stands 0 times"),
            (fault(before="sum"), "stands 2 times"),
            (fault(file="layers/none.cpp"), "there is no layers/none.cpp"),
            (fault(caught_by=None), "either caught_by or equivalent"),
            (fault(caught_by=[]), "either caught_by"),
            (fault(equivalent="but why"), "either caught_by or equivalent"),
            (fault(after="sum = bias;"), "are equal"),
            (fault(side="tpu"), "cpu or gpu"),
            (fault(after=None), "missing keys ['after']"),
            (fault(why="x"), "unknown keys ['why']"),
            (fault(unjudged="new"), "unjudged is \"DATE: REASON\", found 'new'"),
            (fault(survived="2026-11-30: "), 'survived is "DATE: REASON"'),
            (fault(survived="2026-11-30: x", unjudged="2026-11-30: x"), "one of unjudged, survived and equivalent"),
            (
                fault(survived="2026-11-30: x", caught_by=None, equivalent="y"),
                "one of unjudged, survived and equivalent",
            ),
            (fault("Dropped"), "a name is of"),
            (fault("unmutated"), "a name is of"),
            (fault(caught_by=[{"test": "none", "filter": "*"}]), "lenslet_test(none"),
            (fault(caught_by=[{"test": "layers"}]), "test and filter"),
            (fault(caught_by=[{"test": "layers", "filter": "*", "tool": "lint"}]), "no tool lint"),
            (fault(caught_by=[{"python": PYTHON_TEST}]), "there is no test " + PYTHON_TEST),
        ):
            self.assertIn(words, self.complaint(row))
        self.assertIn("stands twice", self.complaint(fault(), fault()))
        self.assertIn("holds no fault", self.complaint())

    def test_broken_json(self):
        self.write("tests/mutate/faults/cpu.json", "[")
        self.assertIn("not JSON", self.mutate("check", self.root)[1])


class Here(Scratch):
    """Builds in a copy, with a stand-in for CMake that "compiles" a program which looks at the copy's source."""

    def mutate_here(self, rows, program, command, *more):
        """A program is the script `program`, with the copy's source as a comment."""
        self.faults(*rows)
        tree, build = self.folder / "tree", self.folder / "tree/build/cpu"
        self.assertEqual(self.mutate("copy", tree)[0], 0)
        program = self.script("program", program)
        cmake = self.script(
            "cmake",
            f'grep -q "does not compile" {tree}/layers/sum.cpp '
            f'&& echo "error: no such thing" && exit 1\n'
            f'for name in layers layers_gpu; do (cat {program}; sed "s/^/# /" {tree}/layers/sum.cpp) '
            f">{build}/tests/test_$name; chmod +x {build}/tests/test_$name; done\n"
            f"cat {tree}/apps/*.cpp >{build}/bin/lenslet 2>/dev/null || true\n",
        )
        for folder in ("tests", "bin"):
            (build / folder).mkdir(parents=True, exist_ok=True)
        subprocess.run([cmake], check=True)
        result = self.mutate(command, "--side", "cpu", "--tree", tree, "--build", build, "--cmake", cmake, *more)
        self.assertEqual((tree / "layers/sum.cpp").read_text(), (self.root / "layers/sum.cpp").read_text())
        return result

    def judge(self, *rows, program='grep -q "sum = bias;$" "$0" || {\n' + FAILS + "}\n" + PASSES):
        result = self.mutate_here(
            rows, program, "judge", "--out", self.folder / "logs", "--json", self.folder / "report.json"
        )
        report = self.folder / "report.json"
        document = json.loads(report.read_text()) if report.exists() else {"rows": []}
        if report.exists():
            self.assertLessEqual({"cpu", "cores", "gpus", "git", "time_utc"}, set(document["machine"]))
        digests = {row["name"]: fault_list.digest_of(row) for row in fault_list.read_faults(self.root)[0]}
        rows = document["rows"]
        self.assertEqual([row["digest"] for row in rows], [digests[row["name"]] for row in rows])
        return (*result, {row["name"]: row["status"] for row in rows})

    def test_killed_equivalent_and_of_the_other_side(self):
        code, output, status = self.judge(
            fault(), fault("same", caught_by=None, equivalent="same sum"), fault("kernel", side="gpu")
        )
        self.assertEqual(status, {"dropped_bias": "killed", "same": "equivalent", "kernel": "skipped"})
        self.assertEqual(code, 0)
        self.assertIn("3 faults: 1 killed, 0 survived, 1 equivalent, 1 skipped, 0 error", output)
        self.assertIn("kernel: skipped (needs a GPU)", output)

    def test_survived(self):
        code, output, status = self.judge(fault(), fault("other", before="sum += x;", after="sum += 0;"))
        self.assertEqual((code, status), (1, {"dropped_bias": "killed", "other": "survived"}))
        self.assertIn("survived: other (layers/sum.cpp)", output)

    def test_does_not_compile(self):
        code, output, status = self.judge(fault(after="does not compile"), fault("next_one"))
        self.assertEqual((code, status), (1, {"dropped_bias": "error", "next_one": "killed"}))
        self.assertIn("does not compile: error: no such thing", output)

    def test_a_test_that_is_red_without_the_fault_kills_nothing(self):
        for program, words in ((FAILS, "1 tests failed"), (SKIPS, "skips everything"), (EMPTY, "no test was run")):
            code, output, status = self.judge(fault(), program=program)
            self.assertEqual((code, status), (1, {"dropped_bias": "error"}), words)
            self.assertIn("without the fault: " + words, output)

    def test_a_skip_is_reported_with_its_reason(self):
        ctest = self.script(
            "ctest", 'echo "1: skipped: NumPy is not installed"\necho "1/1 Test #1: peers ...***Skipped 0.1 sec"\n'
        )
        self.faults(fault(caught_by=[{"ctest": "peers"}]))
        (self.folder / "build").mkdir()
        code, output = self.mutate(
            "judge",
            "--side",
            "cpu",
            "--tree",
            self.root,
            "--build",
            self.folder / "build",
            "--ctest",
            ctest,
            "--out",
            self.folder / "logs",
        )
        self.assertEqual(code, 1)
        self.assertIn("ctest peers without the fault: skips everything: NumPy is not installed", output)

    def judge_by_pytest(self, *lines):
        """`lines` of a shell script that runs as Python does, in the copy, and may look at the package."""
        self.write("python/lenslet/read.py", "read = 1\n")
        self.write("python/tests/test_sum.py", "def test_bias(model):\n")
        self.faults(fault(file="python/lenslet/read.py", before="1", after="2", caught_by=[{"python": PYTHON_TEST}]))
        tree, build = self.folder / "tree", self.folder / "build"
        self.mutate("copy", tree)
        self.write("lib/_core.cpython.so", "", build)
        arguments = ("--side", "cpu", "--tree", tree, "--build", build, "--out", self.folder / "logs")
        scripts = ("--cmake", self.script("cmake", "exit 0\n"), "--python", self.script("python", "\n".join(lines)))
        return self.mutate("judge", *arguments, *scripts)

    def test_pytest_kills_a_fault_of_the_package(self):
        passes, fails = f'echo "PASSED {PYTHON_TEST}"', f'{{ echo "FAILED {PYTHON_TEST} - assert"; exit 1; }}'
        looks = 'grep -q "read = 1" "$PYTHONPATH/lenslet/read.py" && test -e "$PYTHONPATH/lenslet/_core.cpython.so"'
        code, output = self.judge_by_pytest(f"{looks} || {fails}", passes)
        self.assertEqual(code, 0, output)
        self.assertIn(f"dropped_bias: killed by pytest {PYTHON_TEST}", output)
        self.assertIn("1 survived", self.judge_by_pytest(passes)[1])
        for line, words in (
            (fails, "1 tests failed"),
            ('echo "SKIPPED [1] test_sum.py:3: no usable NVIDIA GPU"', "skips everything: no usable NVIDIA GPU"),
            ("exit 4", "no test was run"),
        ):
            self.assertIn(f"pytest {PYTHON_TEST} without the fault: {words}", self.judge_by_pytest(line)[1])

    def test_a_list_that_does_not_fit_is_not_judged(self):
        self.assertIn("stands 0 times", self.judge(fault(before="sum = b;"))[1])

    def test_programs_for_another_machine(self):
        strip = self.script("strip", 'cp "$3" "$2"\n')
        rows = (
            fault(),
            fault("no_effect", before="sum += x;", after="sum += x;", side="cpu"),
            fault("in_a_program", before="sum += x;"),
            fault("kernel", side="gpu"),
        )
        rows[1].update(file="layers/unused.cpp", after="sum += 0;")
        rows[2].update(file="apps/main.cpp", after="sum += 0;")
        for name in ("layers/unused.cpp", "apps/main.cpp"):
            self.write(name, "sum += x;\n")
        folder = self.folder / "built"
        code, output = self.mutate_here(rows, PASSES, "build", "--to", folder, "--strip", strip)
        self.assertEqual(code, 1)
        self.assertIn("no_effect: changes none of the programs", output)
        self.assertIn("in_a_program: stands in lenslet, which the test runs", output)
        self.assertIn("# sum = bias;", (folder / "unmutated/test_layers").read_text())
        self.assertIn("# sum = 0;", (folder / "dropped_bias/test_layers").read_text())
        code, output = self.mutate("run", folder, "--out", self.folder / "logs")
        self.assertEqual(code, 1)
        for words in (
            "dropped_bias: survived",
            "no_effect: error",
            "in_a_program: skipped (stands in lenslet",
            "kernel: skipped (needs a GPU)",
        ):
            self.assertIn(words, output)

    def test_the_copy_follows_the_tree(self):
        self.judge(fault())
        tree = self.folder / "tree"
        (tree / "layers/sum.cpp").write_text("left mutated by a run that was killed")
        (tree / "layers/gone.cpp").write_text("of an older tree")
        self.mutate("copy", tree)
        self.assertEqual((tree / "layers/sum.cpp").read_text(), (self.root / "layers/sum.cpp").read_text())
        self.assertFalse((tree / "layers/gone.cpp").exists())
        self.assertTrue((tree / "build/cpu").exists())


class Elsewhere(Scratch):
    """Programs that a machine without a GPU built, judged on one with several."""

    def run_programs(self, mutated, unmutated=PASSES, catcher=None, tool=None, more=(), root=None, **changes):
        row = fault(side="gpu", caught_by=[catcher or {"test": "layers_gpu", "filter": "Sum.*"}], **changes)
        folder = self.folder / "built"
        for name, body in (("unmutated", unmutated), ("dropped_bias", mutated)):
            self.script(f"built/{name}/test_layers_gpu", f'echo "$CUDA_VISIBLE_DEVICES" >>{self.folder}/gpus\n' + body)
        (folder / "faults.json").write_text(
            json.dumps({"side": "gpu", "root": str(root or self.root), "faults": [dict(row, area="gpu")]})
        )
        self.script("sanitizer", tool or "exit 1")
        code, output = self.mutate(
            "run",
            folder,
            "--out",
            self.folder / "logs",
            "--json",
            self.folder / "report.json",
            "--sanitizer",
            self.folder / "sanitizer",
            *more,
        )
        report = self.folder / "report.json"
        return code, output, json.loads(report.read_text())["rows"][0]["status"] if report.exists() else None

    def test_verdicts(self):
        for body, expected in (
            (FAILS, "killed"),
            (PASSES, "survived"),
            (SKIPS, "survived"),
            (EMPTY, "error"),
            ("exit 127", "error"),
            ("kill -11 $$", "killed"),
        ):
            code, _, status = self.run_programs(body)
            self.assertEqual((code, status), (0 if expected == "killed" else 1, expected), body)

    def test_a_hang_is_killed_with_the_word(self):
        self.addCleanup(setattr, judging, "AT_LEAST", judging.AT_LEAST)
        judging.AT_LEAST = 0.5
        code, output, status = self.run_programs("exec sleep 60\n")
        self.assertEqual((code, status), (0, "killed"))
        self.assertIn("hang", output)

    def test_a_machine_without_a_gpu_judges_nothing(self):
        code, output, status = self.run_programs(SKIPS, SKIPS)
        self.assertEqual((code, status), (1, "error"))
        self.assertIn("is there a GPU?", output)

    def test_tools(self):
        catcher = {"test": "layers_gpu", "filter": "Sum.*", "tool": "racecheck"}
        clean = "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
        found = "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"
        where = 'case "$*" in *unmutated*) echo "{}";; *) echo "{}";; esac\n' + PASSES
        for tool, expected in (
            (where.format(clean, found), "killed"),
            (where.format(clean, clean), "survived"),
            (where.format(clean, ""), "error"),
            (where.format(found, found), "error"),
            (where.format("", found), "error"),
        ):
            self.assertEqual(self.run_programs(PASSES, tool=tool, catcher=catcher)[2], expected, tool)

    def test_a_missing_tool(self):
        catcher = {"test": "layers_gpu", "filter": "Sum.*", "tool": "racecheck"}
        code, output, _ = self.run_programs(PASSES, catcher=catcher, more=("--sanitizer", "/nonexistent"))
        self.assertEqual(code, 4)
        self.assertIn("is not there", output)

    def test_programs_share_the_gpus(self):
        rows = [
            fault(f"fault_{i}", side="gpu", area="gpu", caught_by=[{"test": "layers_gpu", "filter": f"{i}"}])
            for i in range(8)
        ]
        for name in ("unmutated", *(row["name"] for row in rows)):
            self.script(
                f"built/{name}/test_layers_gpu",
                f'echo "$CUDA_VISIBLE_DEVICES" >>{self.folder}/gpus\nsleep 0.1\n'
                + (PASSES if name == "unmutated" else FAILS),
            )
        (self.folder / "built/faults.json").write_text(
            json.dumps({"side": "gpu", "root": str(self.root), "faults": rows})
        )
        code, output = self.mutate("run", self.folder / "built", "--out", self.folder / "logs", "--gpus", "2")
        self.assertEqual(code, 0, output)
        self.assertEqual(set((self.folder / "gpus").read_text().split()), {"0", "1"})

    def test_a_run_keeps_its_limit_to_itself(self):
        """Threads share the options, so none of them may write there."""
        options, catcher = argparse.Namespace(gpus=2), {"test": "layers_gpu", "filter": "Sum.*"}
        with mock.patch.object(catchers.sanitize, "run_piece", side_effect=lambda *given: given[2].limit):
            found = [catchers.run_catcher(options, catcher, "program", "name", limit, 0) for limit in (30, 400)]
        self.assertEqual((found, vars(options)), ([30, 400], {"gpus": 2}))

    def test_data_files_that_are_elsewhere(self):
        code, output, _ = self.run_programs(FAILS, root="/nonexistent/tree")
        self.assertEqual(code, 2)
        self.assertIn(f"ln -s {self.root} /nonexistent/tree", output)

    def test_what_was_not_built_is_an_error(self):
        code, output, status = self.run_programs(FAILS, error="does not compile: x")
        self.assertEqual((code, status), (1, "error"))
        self.assertIn("does not compile: x", output)


if __name__ == "__main__":
    unittest.main()
