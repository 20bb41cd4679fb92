#!/usr/bin/env python3
"""docs/results/provenance.py finds a result file without schema, commit or machine, of a lost tree, or of a part."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs/results/provenance.py"
sys.path.insert(0, str(SCRIPT.parent))
import provenance  # noqa: E402

NAME = "2026-01-01-card/x.json"
RUN = {"cpu": "a", "git": "b"}
TESTS = {"schema": "lenslet.tests/1", "machine": RUN, "rows": []}
BENCH = {"schema": "lenslet.results/1", "meta": {"git": "b", "dirty": False}, "host": {"cpu": "a"}, "results": []}
KEPT = {"schema": "lenslet.mutate/1", "machines": [RUN], "rows": [{"git": "b"}]}
COMMANDS = {"schema": "lenslet.commands/1", "rows": [{"machine": RUN}]}


def row_of(files, reason):
    return f"| `2026-01-01-card` | `{files}` | {reason} |"


class Provenance(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name)

    def complaints(self, document, *rows, name=NAME, of=provenance.complaints):
        path = self.results / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        (self.results / "README.md").write_text("| file | what |\n|---|---|\n" + "".join(f"{row}\n" for row in rows))
        found = list(of(self.results))
        path.unlink()
        return found

    def test_what_states_all_is_accepted(self):
        for document in (TESTS, BENCH, KEPT, COMMANDS):
            self.assertEqual(self.complaints(document), [])
        self.assertEqual(self.complaints("<svg/>", name="2026-01-01-card/x.svg"), [])

    def test_what_is_missing(self):
        for document, words in (
            ({**TESTS, "schema": None}, "its schema is None"),
            ({**TESTS, "schema": "results"}, "its schema is results"),
            ({**TESTS, "machine": {"cpu": "a", "git": None}}, "no commit"),
            ({**TESTS, "machine": {"git": "b"}}, "no machine"),
            ({**BENCH, "meta": {}}, "no commit"),
            ({**BENCH, "host": None}, "no machine"),
            ({**KEPT, "machines": [RUN, {"cpu": "a", "git": None}]}, "no commit"),
            ({**KEPT, "rows": [{"git": "c"}]}, "a row's commit is none of those in machines[]"),
            ({**KEPT, "rows": [{}]}, "a row's commit is none of those in machines[]"),
            ({**COMMANDS, "rows": [{"machine": RUN}, {}]}, "no commit"),
            ("[]", "no JSON object"),
            ("{", "no JSON object"),
        ):
            self.assertIn(f"{NAME}: {words}", self.complaints(document)[0])
        self.assertEqual(len(self.complaints({"schema": "lenslet.tests/1"})), 2)
        self.assertIn("kept as JSON", self.complaints("69 passed", name="2026-01-01-card/tests.txt")[0])

    def test_a_modified_tree_requires_a_row(self):
        for document in (
            {**TESTS, "machine": {**RUN, "dirty": True}},
            {**BENCH, "meta": {"git": "b", "dirty": True}},
            {**KEPT, "machines": [{**RUN, "dirty": True}]},
        ):
            self.assertIn(f"{NAME}: of a modified tree", self.complaints(document)[0])
            self.assertEqual(self.complaints(document, row_of("x.json", "dirty: planted")), [])
            for other in (row_of("x.json", ""), f"see `{NAME}`", row_of("", "all"), "| `2026-01-01-card/` | | all |"):
                self.assertIn("of a modified tree", self.complaints(document, other)[0])

    def test_a_file_of_a_part_requires_a_row_of_its_table(self):
        heading, row, other = "### Files of a part", row_of("x.json", "a limit after 2 of 3"), "### Other files"
        for document in (
            {**BENCH, "status": "INTERRUPTED", "interrupted": True},
            {**BENCH, "status": "ERROR", "interrupted": False},
            {**BENCH, "interrupted": True},
            {**KEPT, "complete": False},
            {**TESTS, "complete": False},
        ):
            self.assertIn(f"{NAME}: has a part of what its command measures", self.complaints(document)[0])
            self.assertEqual(self.complaints(document, heading, row), [])
            for rows in ((row,), (other, row), (heading, other, row), (heading, row_of("x.json", ""))):
                self.assertIn(f"{NAME}: has a part", self.complaints(document, *rows)[0])
        for document in (BENCH, {**BENCH, "status": "COMPLETE", "interrupted": False}, {**KEPT, "complete": True}):
            self.assertEqual(self.complaints(document), [])
            self.assertIn("names it, but it is complete", self.complaints(document, heading, row)[0])

    def test_another_day_than_the_folders_requires_a_row(self):
        same, other = {"time_utc": "2026-01-01T23:59:59Z"}, {"time_utc": "2026-01-02T00:00:00Z"}
        for times, found in (([same], 0), ([other], 1), ([other, same], 0), ([{}], 0)):
            kept = {**KEPT, "machines": [{**RUN, **time} for time in times]}
            self.assertEqual(len(self.complaints(kept, of=provenance.of_another_day)), found, times)
        bench = {**BENCH, "meta": {**BENCH["meta"], **other}}
        said = self.complaints(bench, of=provenance.of_another_day)[0]
        self.assertIn(f"{NAME}: measured on 2026-01-02, not on its folder's day", said)
        row = row_of("x.json", "measured after midnight")
        self.assertEqual(self.complaints(bench, row, of=provenance.of_another_day), [])

    def test_a_row_without_its_file(self):
        rows = row_of("x.json`, `y.json", "dirty: planted")
        self.assertEqual(self.complaints(TESTS, rows), ["README.md: there is no 2026-01-01-card/y.json"])

    def test_a_file_that_the_page_does_not_list(self):
        def found(row):
            return self.complaints(TESTS, "", "## What a folder holds", "| file | by |", "|---|---|", row)

        missing = f'README.md: "What a folder holds" does not list {NAME}'
        self.assertEqual(found("| `y.json`, `x.json` | z |"), [])
        self.assertEqual(found("| `x-<N>.json` | `x.json` |"), [missing])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_commit_that_is_no_ancestor(self):
        def git(*arguments, at=self.results):
            words = ["git", "-C", at, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

        tree = self.results
        self.results = tree / "docs/results"
        self.results.mkdir(parents=True)
        self.assertEqual(provenance.history_of(self.results)[0], None, "no checkout")
        git("init", "--quiet")
        self.assertEqual(provenance.history_of(self.results), (None, "there is no commit"))
        for subject in ("Begin", "Go on"):
            git("commit", "--quiet", "--allow-empty", "-m", subject)
        old, head = git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")
        git("checkout", "--quiet", "-b", "other", old)
        git("commit", "--quiet", "--allow-empty", "-m", "Leave")
        side = git("rev-parse", "HEAD")
        git("checkout", "--quiet", "--detach", head)
        self.assertEqual(provenance.history_of(self.results), ([head, old], ""))
        self.assertIn("no checkout of its own", provenance.history_of(tree)[1])

        path = self.results / NAME
        path.parent.mkdir()
        for commit, found in ((old[:12], 0), (head, 0), (side[:12], 1)):
            path.write_text(json.dumps({**TESTS, "machine": {**RUN, "git": commit}}))
            said = provenance.complaints(self.results, provenance.history_of(self.results)[0])
            self.assertEqual(len(said), found, commit)
        self.assertIn(f"{NAME}: of {side[:8]}, which is no ancestor of HEAD", said[0])
        self.assertIn("a history of its own", provenance.project_history(self.results)[1])
        kept = self.results / "2026-01-01-card/kept.json"
        kept.write_text(json.dumps({**TESTS, "machine": {**RUN, "git": old}}))
        self.assertEqual(provenance.project_history(self.results), ([head, old], ""))
        kept.unlink()
        (self.results / "README.md").write_text(row_of("x.json", "of a commit that is lost") + "\n")
        self.assertEqual(provenance.complaints(self.results, [head, old]), [])

        shallow = tree / "shallow"
        git("checkout", "--quiet", "-B", "main")
        git("clone", "--quiet", "--depth", "1", "--branch", "main", tree.as_uri(), shallow)
        (shallow / "docs/results").mkdir(parents=True)
        commits, reason = provenance.history_of(shallow / "docs/results")
        self.assertIsNone(commits)
        self.assertIn("the checkout is shallow", reason)

    def test_its_command_line(self):
        def run(*arguments):
            return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)

        whole = run()
        self.assertEqual(whole.returncode, 0, whole.stdout)
        self.assertRegex(
            whole.stdout, r"^\d\d+ result files state schema, commit and machine(; skipped: commits were not .*)?\n$"
        )
        empty = run(self.results)
        self.assertEqual((empty.returncode, empty.stdout), (1, f"{self.results} holds no result file\n"))


if __name__ == "__main__":
    unittest.main()
