"""Where a page is written, and what is never written over."""

import json
import os
import subprocess

import synthetic

import support


class Outputs(support.ReportTest):
    def test_outputs(self):
        good = self.write(synthetic.document([]))
        self.assertEqual(self.run_report(good).returncode, 2)
        for target in (good / "below-a-file.html", "/dev/full", "/proc/nowhere/out.html"):
            run = self.run_report(good, "--html", target)
            self.assertEqual(run.returncode, 7, f"{target}: {run.stderr}")
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertEqual([file.name for file in self.folder.iterdir()], [good.name], "something was left behind")
        self.assertEqual(
            self.run_script(good, "--html", self.folder / "by-folder.html", script=support.SCRIPT.parent).returncode, 0
        )

    def test_files_that_are_read_are_kept(self):
        good = self.write(synthetic.document([]))
        before = good.read_bytes()
        link, hard = self.folder / "link.html", self.folder / "hard.html"
        link.symlink_to(good)
        os.link(good, hard)
        for target in (good, link, hard):
            for arguments in ((good, "--html", target), (hard, "--beside", good, "--html", target)):
                run = self.run_report(*arguments)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("would be written over", run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        figures = self.folder / "figures"
        everything = self.write(synthetic.everything(), "everything.json")
        self.assertEqual(self.run_report(everything, "--figures", figures, "--filter", "singles").returncode, 0)
        drawn = next(figures.iterdir())
        drawn.unlink()
        drawn.symlink_to(everything)
        run = self.run_report(everything, "--figures", figures, "--filter", "singles")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(json.loads(everything.read_text(encoding="utf-8")), synthetic.everything())
        self.assertEqual(good.read_bytes(), before)

    def test_links_and_streams_are_written_to(self):
        good, page, link, log = (self.folder / name for name in ("good.json", "page.html", "link.html", "log"))
        self.write(synthetic.document([]), good.name)
        link.symlink_to(page.name)
        self.assertEqual(self.run_report(good, "--html", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        expected = page.read_text(encoding="utf-8")
        page.chmod(0o600)
        self.assertEqual(self.run_report(good, "--html", page).returncode, 0)
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)
        stdout = self.folder / "stdout"  # as /dev/stdout, which a wrong program would replace
        stdout.symlink_to("/proc/self/fd/1")
        for target in ("-", stdout, log):
            log.write_text("kept\n", encoding="utf-8")
            inode = log.stat().st_ino
            with log.open("ab") as output:
                subprocess.run(
                    [support.PYTHON, str(support.SCRIPT), str(good), "--html", str(target)], stdout=output, check=True
                )
            self.assertEqual(log.stat().st_ino, inode, "another file was put in its place")
            self.assertEqual(log.read_text(encoding="utf-8"), "kept\n" + expected, target)
            self.assertTrue(stdout.is_symlink())
        self.assertEqual(self.run_script(good, "--html", "-").stdout, expected)

    def test_without_matplotlib(self):
        good = self.write(synthetic.document([]))
        hidden = self.folder / "hidden"
        hidden.mkdir()
        (hidden / "matplotlib.py").write_text(
            'raise ModuleNotFoundError("No module named matplotlib", name="matplotlib")\n'
        )
        run = self.run_script(good, "--html", self.folder / "out.html", environment={"PYTHONPATH": str(hidden)})
        self.assertEqual(run.returncode, 4)
        self.assertIn("apt-get install python3-matplotlib", run.stderr)
        self.assertEqual(self.run_script("--check", environment={"PYTHONPATH": str(hidden)}).returncode, 4)
        self.assertEqual(self.run_report("--check").returncode, 0)
