"""Files that are incomplete, invalid or foreign."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from unittest import mock

import synthetic

import support


class Inputs(support.ReportTest):
    def test_parts_of_files(self):
        maker = synthetic.Maker()
        maker.rgb()
        some = maker.rows[:7]
        for what, document in (
            ("no rows", synthetic.document([])),
            ("the first rows of an interrupted run", synthetic.document(some, status="INTERRUPTED")),
            ("a device that failed", synthetic.document(some, status="ERROR", reason="launch failed: <sticky>")),
            ("a CPU's", synthetic.document(some, device="cpu")),
            ("nothing but the schema", {"schema": "lenslet.results/1", "results": []}),
            (
                "members of other types",
                {
                    "schema": "lenslet.results/1",
                    "results": [1, None, {}],
                    "meta": [],
                    "host": None,
                    "devices": {},
                    "libs": 3,
                    "ceilings": "x",
                },
            ),
        ):
            with self.subTest(what):
                page = support.Page(self.page(document))
                self.assertEqual(page.problems, [])
        self.assertIn("results-0.json (INTERRUPTED)", self.page(synthetic.document(some, status="INTERRUPTED")))
        # Every table in its smallest forms: one row, one column, no time.
        forms = {
            "one row": synthetic.of_each_table(lambda rows: rows[:1]),
            "a few rows": synthetic.few_of_each_table(),
            "no time": synthetic.of_each_table(lambda rows: [dict(row, status="ERROR", time_ns=None) for row in rows]),
        }
        for what, document in forms.items():
            with self.subTest(what):
                self.assertEqual(support.Page(self.page(document)).problems, [])

    def test_files_committed_are_shown(self):
        """The files of a folder in one page, as ./dev bench draws them. The figures of each folder are made of its
        rows. Rendering them takes ten times as long, so only the first of its kind is rendered too."""
        import style

        def unrendered(figure, name):
            if not rendered and name.startswith("singles"):
                rendered.append(to_svg(figure, name))
                return rendered[0]
            style.plt.close(figure)
            made.append(name)
            return '<svg viewBox="0 0 1 1"></svg>'

        made, rendered, shown, folders, to_svg = [], [], 0, {}, style.to_svg
        for folder in sorted((support.ROOT / "docs" / "results").glob("*/")):
            texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.json"))]
            texts = [text for text in texts if json.loads(text).get("schema") == "lenslet.results/1"]
            if texts:
                folders[folder.name] = texts
        for folder, texts in folders.items():
            with self.subTest(folder), mock.patch.object(style, "to_svg", unrendered):
                text = self.page(*texts)
                self.assertEqual(support.Page(text).problems, [])
                self.assertEqual(text.count(">Save results-"), len(texts))
                shown += len(texts)
        self.assertGreater(shown, 5)
        self.assertGreater(len(made), 5)
        self.assertEqual(len(rendered), 1)
        self.assertIn('id="singles-', rendered[0])

    def test_bad_files(self):
        good = self.write(synthetic.document([]), "good.json")
        html = self.folder / "out.html"
        for name, text, expected in (
            ("cut.json", '{"schema": "lenslet.res', "truncated"),
            ("list.json", "[]", "schema is None"),
            ("eval.json", '{"schema": "lenslet.eval/1"}', "'lenslet.eval/1'"),
            ("deep.json", "[" * 100000, "json"),
            ("rows.json", '{"schema": "lenslet.results/1"}', 'lacks the array "results"'),
        ):
            bad = self.write(text, name)
            run = self.run_report(bad, "--html", html)
            self.assertEqual(run.returncode, 3, name)
            self.assertIn(expected, run.stderr)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            self.assertFalse(html.exists())
        run = self.run_report(self.folder / "cut.json", good, "--html", html)
        self.assertEqual(run.returncode, 3)
        self.assertIn("cut.json", html.read_text(encoding="utf-8"))
        run = self.run_report(self.folder / "missing.json", "--html", html)
        self.assertEqual(run.returncode, 3)
        self.assertIn("No such file", run.stderr)
        fifo, large = self.folder / "fifo", self.folder / "large.json"
        os.mkfifo(fifo)
        with large.open("wb") as stream:
            stream.truncate((64 << 20) + 1)
        for path, expected in (
            (fifo, "fifo: expected a regular file"),
            (self.folder, "Is a directory"),
            ("/dev/zero", "zero: expected a regular file"),
            (large, "at most 67108864 bytes"),
        ):
            run = self.run_report(path, "--html", html)
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn(expected, run.stderr)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_foreign_text_and_numbers(self):
        """Draws names with formulas (an even number of dollars), controls and direction marks as they are, and sizes
        that are none; refuses numbers beyond an axis."""
        document = synthetic.few_of_each_table()
        foreign = "$\\frac{$ $x^$ \x1b[2J\u202e\ud800 <b>"
        for row in document["results"]:
            row["backend"] = (row.get("backend") or "") + foreign
            labels = row["labels"] if isinstance(row.get("labels"), dict) else {}
            row["labels"] = {k: v if k in ("table", "size") else f"{v}{foreign}" for k, v in labels.items()}
        for row in document["results"][::3]:
            if "size" in row["labels"]:
                row["labels"]["size"] = "wide" if row["backend"].startswith("direct") else "1e300"
        html, figures = self.folder / "out.html", self.folder / "figures"
        run = self.run_report(
            self.write(document),
            "--html",
            html,
            "--figures",
            figures,
            "--filter",
            "gemm-memory,filter-kernel,stencil,singles,roofline",
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertGreater(len(list(figures.iterdir())), 3)
        text = html.read_text(encoding="utf-8")
        self.assertIn("$\\frac{$ $x^$ \\x1b[2J\\xe2\\x80\\xae\\xed\\xa0\\x80 &lt;b&gt;", text)
        self.assertNotRegex(text, "[\x1b\u202e]")
        self.assertEqual(support.Page(text).problems, [])
        for figure in figures.iterdir():
            ElementTree.fromstring(figure.read_text(encoding="utf-8"))
        self.assertTrue(any("$\\frac{$" in figure.read_text(encoding="utf-8") for figure in figures.iterdir()))
        for value in ("1e308", "1" + "0" * 400, "-1" + "0" * 5000, "1e999", "NaN", "Infinity"):
            for key in ("flops", "median", "samples"):
                text = json.dumps(self.network())
                text, changes = re.subn(f'"{key}": [^,}}]+', f'"{key}": {value}', text)
                self.assertGreater(changes, 0, key)
                run = self.run_report(self.write(text, "numbers.json"), "--html", self.folder / "numbers.html")
                self.assertEqual(run.returncode, 3, f"{key} {value}: {run.stderr}")
                self.assertIn("numbers.json: ", run.stderr)
                self.assertIn("a number beyond 1e+24", run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_text_is_shortened(self):
        # Matplotlib's time to set a name grows with its square: 300,000 characters took a minute.
        import results

        path = self.write(synthetic.document([], tool="x" * 300_000))
        self.assertRegex(results.load(path).tool, "^x{500}…x{500}$")

    def test_names_that_are_not_utf8(self):
        name = os.fsdecode(b"r\xff\n.json")
        (self.folder / name).write_text(json.dumps(synthetic.document([])), encoding="utf-8")
        html = self.folder / os.fsdecode(b"p\xfe.html")
        run = self.run_report(self.folder / name, "--html", html)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("r\\xff\\x0a.json", html.read_text(encoding="utf-8"))
        self.assertEqual(len(list(self.folder.iterdir())), 2, "something was left behind")
        (self.folder / name).write_text("{", encoding="utf-8")
        run = self.run_report(self.folder / name, "--html", html)
        self.assertEqual(run.returncode, 3)
        self.assertIn("r\\xff\\x0a.json: not JSON", run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
