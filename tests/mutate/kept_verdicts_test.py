#!/usr/bin/env python3
"""The verdicts that docs/results keeps: `keep`, `carry` and `prune` of mutate.py, and verdicts.py."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fault_list
import kept_verdicts
import verdicts
from scratch import Scratch, fault


class Verdicts(Scratch):
    def complaints(self, status, judged=None, row=None, **keys):
        """With a fault `planted`, and kept verdicts on `judged`, by default the same fault."""
        self.faults(fault("planted", **keys))
        more = {"git": "aaa", "digest": fault_list.digest_of(judged or fault("planted", **keys)), **(row or {})}
        rows = [{"name": "planted", "status": each, **more} for each in status]
        self.write("docs/results/gpu/mutate.json", json.dumps({"rows": rows}))
        return verdicts.complaints_of(self.root)[0]

    def test_each_fault_is_judged_or_has_a_reason(self):
        self.assertEqual(self.complaints(["skipped", "killed"]), [])
        self.assertEqual(self.complaints([], unjudged="needs a GPU"), [])
        self.assertEqual(self.complaints([], caught_by=None, equivalent="same sum"), [])

    def test_what_is_missing(self):
        self.assertIn("no verdict", self.complaints(["skipped"])[0])
        self.assertIn("the verdict of docs/results is survived", self.complaints(["survived"])[0])
        self.assertIn('remove "unjudged"', self.complaints(["killed"], unjudged="needs a GPU")[0])

    def test_a_survivor_is_listed_with_its_reason(self):
        why = "2026-11-30: no test reads it"
        for kept in ([], ["survived"], ["skipped"]):
            self.assertEqual(self.complaints(kept, survived=why), [])
        self.assertEqual(
            self.verdicts(self.root),
            (0, f"0 planted faults have verdicts; 0 unjudged, 1 survived: planted\nsurvived: planted: {why}\n"),
        )
        for kept in (["killed"], ["survived", "killed"]):
            self.assertIn('remove "survived"', self.complaints(kept, survived=why)[0])
        self.assertIn('write "survived": "DATE: REASON"', self.complaints(["survived"], unjudged="new")[0])

    def test_a_verdict_counts_for_the_text_that_was_judged(self):
        for key, was in (("file", "layers/sum.h"), ("before", "sum = bias + 0;"), ("after", "sum = 1;")):
            judged = fault("planted", **{key: was})
            found = self.complaints(["killed"], judged)
            self.assertEqual(len(found), 1, found)
            self.assertIn("cpu.json: planted: judged at aaa, when its file or texts were others", found[0])
            found = self.complaints(["killed"], judged, unjudged="2026-11-30: rewritten")
            self.assertEqual(len(found), 1, found)
            self.assertIn("gpu: planted: no fault has this name and the text that was judged at aaa", found[0])
        self.assertEqual(self.complaints(["killed"], caught_by=[{"test": "layers", "filter": "Other.*"}]), [])
        self.assertIn("judged at aaa", self.complaints(["killed"], row={"digest": None})[0])

    def test_a_carried_verdict_has_its_reason(self):
        judged = fault("planted", before="total = bias;", after="total = 0;")
        carried = {"carried_to": fault_list.digest_of(fault("planted")), "carried_because": "total is now sum"}
        self.assertEqual(self.complaints(["killed"], judged, carried), [])
        self.assertIn("belong together", self.complaints(["killed"], judged, {**carried, "carried_because": ""})[0])
        carried["carried_to"] = fault_list.digest_of(fault("planted", after="sum = 1;"))
        self.assertIn("judged at aaa", self.complaints(["killed"], judged, carried)[0])

    def test_a_verdict_without_a_fault_is_removed(self):
        self.complaints(["killed"])
        self.faults(fault())
        found = verdicts.complaints_of(self.root)[0]
        self.assertEqual(len(found), 2, found)
        self.assertIn("gpu: planted: no fault has this name", found[1])

    def test_a_list_without_faults_is_refused(self):
        for root in (self.root, self.root / "none"):
            code, output = self.verdicts(root)
            self.assertEqual((code, output), (1, f"verdicts: error: {root}/tests/mutate/faults holds no fault\n"))

    def test_its_command_line(self):
        self.complaints(["killed"])
        self.assertEqual(self.verdicts(self.root), (0, "1 planted faults have verdicts; 0 unjudged, 0 survived\n"))
        code, output = self.verdicts("--help")
        self.assertEqual((code, output[:19]), (0, "usage: verdicts.py "))
        for wrong in (["--halp"], [self.root, self.root]):
            code, output = self.verdicts(*wrong)
            self.assertEqual(code, 2)
            self.assertIn("usage: verdicts.py", output)


class Keep(Scratch):
    """`keep`: the kept file has each fault's newest verdict, with the commit and the machine of its run."""

    def run_at(self, git, *rows, **machine):
        rows = [{"area": "cpu", "status": "killed", "digest": "0", **row} for row in rows]
        return {
            "schema": "lenslet.mutate/1",
            "machine": {"cpu": "a", "git": git, **machine},
            "complete": True,
            "rows": rows,
        }

    def keep(self, *runs):
        kept = self.folder / "mutate.json"
        for run in runs:
            code, output = self.mutate("keep", self.write("new.json", json.dumps(run)), kept)
            if code:
                return code, output
        return code, json.loads(kept.read_text())

    def test_a_row_has_the_commit_of_its_run(self):
        one = self.run_at("aaa", {"name": "x"}, {"name": "z", "area": "gpu", "status": "skipped"})
        two = self.run_at("bbb", {"name": "y", "area": "api"}, cpu="b")
        code, kept = self.keep(one, two)
        self.assertEqual((code, kept["schema"], kept["complete"]), (0, "lenslet.mutate/1", True))
        self.assertEqual([(row["name"], row["git"]) for row in kept["rows"]], [("y", "bbb"), ("x", "aaa")])
        self.assertEqual([(each["git"], each["cpu"]) for each in kept["machines"]], [("aaa", "a"), ("bbb", "b")])

    def test_the_newest_verdict_counts_and_old_machines_go(self):
        for status in ("killed", "survived"):
            code, kept = self.keep(
                self.run_at("aaa", {"name": "x"}), self.run_at("bbb", {"name": "x", "status": status})
            )
            self.assertEqual((code, [row["status"] for row in kept["rows"]]), (0, [status]))
            self.assertEqual([each["git"] for each in kept["machines"]], ["bbb"])

    def test_two_machines_at_a_commit_are_refused(self):
        code, output = self.keep(self.run_at("aaa", {"name": "x"}), self.run_at("aaa", {"name": "y"}, cpu="b"))
        self.assertEqual(code, 3)
        self.assertIn("two machines judged aaa", output)
        self.assertEqual(self.keep(self.run_at("bbb", {"name": "x"}), self.run_at("bbb", {"name": "y"}))[0], 0)

    def test_what_has_no_commit_or_digest_is_refused(self):
        without_digest = self.run_at("aaa", {"name": "x"})
        del without_digest["rows"][0]["digest"]
        for wrong in (self.run_at(None, {"name": "x"}), {"rows": []}, without_digest):
            code, output = self.keep(wrong)
            self.assertEqual(code, 3)
            self.assertIn("is no file of mutate", output)
        self.assertEqual(self.mutate("keep", self.folder / "none.json", self.folder / "kept.json")[0], 3)
        self.assertFalse((self.folder / "kept.json").exists())


class Carry(Scratch):
    """`carry` and `prune`, with a repository whose only commit has the fault that was judged."""

    def judged(self, old, now):
        """Keeps a verdict on `old`, commits, and lists `now`; returns the kept row."""
        self.git("init", "--quiet")
        self.faults(old)
        self.git("add", "tests")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "x")
        row = {"name": old["name"], "area": "cpu", "status": "killed", "digest": fault_list.digest_of(old)}
        row["git"] = self.git("rev-parse", "--short=8", "HEAD").strip()
        self.keep(row)
        self.write(now["file"], "sum = bias;\nsum += x;\n")
        self.faults(now)
        return row

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, text=True).stdout

    def keep(self, *rows):
        machines = [{"git": git} for git in sorted({row["git"] for row in rows})]
        document = {"schema": kept_verdicts.SCHEMA, "machines": machines, "complete": True, "rows": list(rows)}
        self.write("docs/results/gpu/mutate.json", kept_verdicts.as_json(document))

    def kept(self):
        return json.loads((self.root / "docs/results/gpu/mutate.json").read_text())

    def test_a_move_and_other_names_are_carried(self):
        old = fault(file="layers/total.cpp", before="total  = bias;", after="total = 0;")
        row = self.judged(old, fault())
        self.assertEqual(len(verdicts.complaints_of(self.root)[0]), 1)
        code, output = self.mutate("carry")
        why = "moved from layers/total.cpp, total is now sum"
        self.assertEqual((code, output), (0, f"dropped_bias, judged at {row['git']}: carried: {why}\n"))
        carried = {**row, "carried_to": fault_list.digest_of(fault()), "carried_because": why}
        self.assertEqual(self.kept()["rows"], [carried])
        self.assertEqual(verdicts.complaints_of(self.root)[0], [])
        self.assertEqual(self.mutate("carry"), (0, ""))

    def test_another_text_needs_a_reason(self):
        row = self.judged(fault(after="sum = 1;"), fault())
        before = self.kept()
        code, output = self.mutate("carry")
        self.assertEqual((code, self.kept()), (1, before))
        self.assertIn("dropped_bias, judged at " + row["git"] + ": not carried", output)
        self.assertIn("judged: layers/sum.cpp\n    'sum = bias;'\n    'sum = 1;'\n  now: layers/sum.cpp", output)
        self.assertIn("1 verdicts are on other code", output)
        self.assertEqual(self.mutate("carry", "--why", "any number will do")[0], 0)
        self.assertEqual(self.kept()["rows"][0]["carried_because"], "any number will do")
        self.assertEqual(verdicts.complaints_of(self.root)[0], [])

    def test_what_changed(self):
        for before, after, words in (
            ("a = b;", "a = c;", "x is now a, y is now b, z is now c"),
            ("x  =\n y;", "x = z;", "laid out anew"),
            ("x = y;", "x = y;", None),  # y and z became one
            ("x = y;", "z = w;", None),  # x became two
            ("x = 1;", "x = z;", None),
            ("x = y; y", "x = z;", None),
            ("x - y;", "x - z;", None),
        ):
            old = {"file": "f", "before": "x = y;", "after": "x = z;"}
            self.assertEqual(kept_verdicts.what_changed(old, {"file": "f", "before": before, "after": after}), words)

    def test_an_unknown_commit_is_named(self):
        row = self.judged(fault(after="sum = 1;"), fault())
        self.keep({**row, "git": "12345678"})
        code, output = self.mutate("carry")
        self.assertEqual(code, 3)
        self.assertIn("mutate: error: git ls-tree -r --name-only 12345678", output)

    def test_prune_removes_what_counts_for_no_fault(self):
        row = self.judged(fault(after="sum = 1;"), fault())
        good = {"name": "dropped_bias", "area": "cpu", "status": "killed", "digest": fault_list.digest_of(fault())}
        self.keep(row, {**good, "git": "bbb"}, {**good, "name": "gone", "git": "ccc"})
        code, output = self.mutate("prune")
        self.assertEqual(code, 0)
        for name, git in (("dropped_bias", row["git"]), ("gone", "ccc")):
            self.assertIn(f"gpu: {name}, judged at {git}, is removed", output)
        kept = self.kept()
        self.assertEqual((kept["rows"], kept["machines"]), ([{**good, "git": "bbb"}], [{"git": "bbb"}]))
        self.faults(
            fault(),
            fault("new", unjudged="2026-11-30: new"),
            fault("alive", survived="2026-11-30: no test reads it"),
        )
        self.assertEqual(self.mutate("prune"), (0, "without a verdict: 1 unjudged, 1 survived: alive\n"))


if __name__ == "__main__":
    unittest.main()
