"""The report shows the data of the files in one self-contained page, whatever they lack.

python3 tests/report/report_test.py     # exit 77: skipped, because matplotlib is not installed
"""

import base64
import contextlib
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
import synthetic  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "apps" / "report" / "report.py"
LADDERS = "layers/conv/gpu/ladder/CMakeLists.txt"
VOID = {"meta", "br", "rect", "use", "path", "link", "img", "input", "hr"}
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "GFLOP/s": 1, "TFLOP/s": 1, "GB/s": 1}


def find_python():
    """The first interpreter that has matplotlib."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if (
            os.path.exists(candidate)
            and subprocess.run([candidate, "-c", "import matplotlib"], capture_output=True).returncode == 0
        ):
            return candidate
    return None


PYTHON = find_python()


class Page(HTMLParser):
    """Collects a page's elements and the errors in their nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.ids, self.tags, self.cells, self.scripts, self.words = [], [], [], [], [], [], []
        self.feed(text)
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append([attributes.get("title"), ""])
        if tag == "script":
            self.scripts.append([attributes, ""])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1][1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif "style" not in self.open:
            self.words.append(data)


class ReportTest(unittest.TestCase):
    pages = {}  # drawn once each

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lenslet-report-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, document, name="results.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def run_script(self, *arguments, environment=None, script=SCRIPT):
        return subprocess.run(
            [PYTHON, str(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def run_report(self, *arguments):
        """run_script() in this process: most of a small page's time is the start of matplotlib."""
        import report

        errors, code = io.StringIO(), 0
        with contextlib.redirect_stderr(errors):
            try:
                report.main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(arguments, code, stderr=errors.getvalue())

    def page(self, *documents):
        import page
        import results

        texts = tuple(document if isinstance(document, str) else json.dumps(document) for document in documents)
        if texts not in self.pages:
            self.pages[texts] = page.render(
                results.groups([results.File(f"results-{i}.json", text) for i, text in enumerate(texts)])
            )
        return self.pages[texts]

    def test_page_is_self_contained_and_well_formed(self):
        text = self.page(synthetic.everything())
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id appears twice")
        for tag, attributes in page.tags:
            self.assertNotIn(tag, ("link", "iframe", "object", "embed", "img"))
            for name in ("src", "href", "xlink:href", "data", "action"):
                value = attributes.get(name) or "#"
                self.assertTrue(value.startswith("#"), f"<{tag} {name}={value}>")
                self.assertIn(value[1:], ["", *page.ids], "a link within the page leads nowhere")
        self.assertEqual(re.findall(r"@import|url\((?!#)", text), [])
        self.assertEqual(
            set(re.findall(r"https?://[^\s\"'<]*", text))
            - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"},
            set(),
        )
        self.assertNotIn("<script>alert", text)
        self.assertNotRegex(text, r"#0[0a]000\d|#01020\d", "a placeholder colour was left")
        for word in (">nan<", ">None<", ">NaN<", ">inf<", "undefined"):
            self.assertNotIn(word, text)

    def test_every_number_is_the_files(self):
        document = synthetic.everything()
        page = Page(self.page(document))
        exact = {}
        for title, text in page.cells:
            match = re.match(r"^([-+.e\d]+) (\S+)$", title or "")
            shown = re.match(r"^([\d.,]+) (\S+)(?: effective)?$", text)
            if not match or not shown:
                continue
            value, unit = float(match.group(1)), match.group(2)
            exact.setdefault(unit, set()).add(value)
            as_read = float(shown.group(1).replace(",", "")) * UNITS[shown.group(2)]
            self.assertAlmostEqual(as_read / value, 1, delta=0.006, msg=f"{text} stands for {title}")
        effective = [text for _, text in page.cells if text.endswith("FLOP/s effective")]
        self.assertGreater(len(effective), 10, "Winograd's rates count products that it does not multiply")
        rows = [
            row for row in document["results"] if isinstance(row.get("time_ns"), dict) and row["time_ns"].get("p90")
        ]
        self.assertGreater(len(rows), 500)
        for row in rows:
            for which in ("p10", "median", "p90"):
                self.assertIn(row["time_ns"][which], exact["ns"], row["labels"])
            if row["end_to_end_ns"]:
                self.assertIn(row["end_to_end_ns"]["median"], exact["ns"])
            if row["published"] and row["published"]["time_ns"]:
                self.assertIn(row["published"]["time_ns"], exact["ns"])
            if row["flops"]:
                self.assertIn(row["flops"] / row["time_ns"]["median"], exact["GFLOP/s"])

    def test_rows_without_figure_keep_their_reason(self):
        document = synthetic.everything()
        page = Page(self.page(document))
        words = "".join(page.words)
        reasons = [row["reason"] for row in document["results"] if row.get("reason") and row.get("status") != "PASSED"]
        self.assertGreater(len(set(reasons)), 4)
        for reason in reasons:
            self.assertIn(reason, words)
        self.assertIn("no time was measured", words)
        self.assertIn("no status, no reason given", words)

    def test_artefacts_are_named(self):
        words = "".join(Page(self.page(synthetic.everything())).words)
        self.assertIn("64 × 64 = 4,096 threads per block", words)
        self.assertIn("did the work of stride 1 at every stride", words)

    def test_files_come_back_byte_for_byte(self):
        document = (
            json.dumps(synthetic.document([{"name": "ü </script> <!-- \u2028"}]), indent=1, ensure_ascii=False) + "\n"
        )
        page = Page(self.page(document))
        data = [text for attributes, text in page.scripts if attributes.get("id") == "raw-0"]
        self.assertEqual(gzip.decompress(base64.b64decode(data[0])).decode("utf-8"), document)

    def test_figures_are_files_of_their_own_and_the_page_is_that_of_another_process(self):
        small = self.network()
        path, html = self.write(small, "results-0.json"), self.folder / "out.html"
        run = self.run_script(path, "--html", html)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.page(small), html.read_text(encoding="utf-8"))
        document, figures = synthetic.everything(), self.folder / "figures"
        path = self.write(document, "results-0.json")
        run = self.run_report(path, "--figures", figures)
        self.assertEqual(run.returncode, 0, run.stderr)
        names = {file.stem for file in figures.iterdir()}
        self.assertEqual(
            names,
            {
                "rgb-ratio",
                "rgb-by-size-k1",
                "rgb-by-size-k3",
                "rgb-by-stride",
                "gemm-memory",
                "gemm-memory-by-tile",
                "gemm-partition",
                "gemm-partition-by-block",
                "deep3x3",
                "ladder-implicit-gemm",
                "filter-with-copies",
                "filter-kernel",
                "streams",
                "separable",
                "stencil",
                "singles",
                "roofline",
            },
        )
        for file in figures.iterdir():
            text = file.read_text(encoding="utf-8")
            ElementTree.fromstring(text)
            self.assertNotIn("var(--", text)
            self.assertNotIn("nan", text.lower().split())
        # The heat map shows the values of the file.
        cells = re.findall(r">×([\d.]+)<", (figures / "rgb-ratio.svg").read_text(encoding="utf-8"))
        direct = [
            row
            for row in document["results"]
            if row.get("labels")
            and row["labels"].get("table") == "rgb"
            and row["backend"] == "direct"
            and row.get("cache") == "hot"
        ]
        self.assertEqual(sorted(cells), sorted(f"{row['ratio_to_cudnn']:.2f}" for row in direct))
        # Tick labels keep small numbers.
        self.assertIn(">0.001<", (figures / "gemm-memory.svg").read_text(encoding="utf-8"))
        only = self.folder / "only"
        self.run_report(path, "--figures", only, "--filter", "streams,stencil")
        self.assertEqual({file.stem for file in only.iterdir()}, {"streams", "stencil"})

    def test_figures_as_png_and_pdf(self):
        path = self.write(synthetic.everything())
        for form, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
            run = self.run_script(
                path, "--figures", self.folder / form, "--format", form, "--filter", "streams,roofline"
            )
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertEqual(
                {file.name for file in (self.folder / form).iterdir()}, {f"streams.{form}", f"roofline.{form}"}
            )
            for file in (self.folder / form).iterdir():
                data = file.read_bytes()
                self.assertTrue(data.startswith(magic))
                self.assertIn(b"sha256" if form == "png" else b"Subject", data)
        self.assertEqual(self.run_report(path, "--html", self.folder / "p.html", "--format", "png").returncode, 2)

    def network(self, faster=1.0):
        """A profile of two layers, and a problem on two backends."""
        maker = synthetic.Maker()
        for name, ns in (("conv1", 20000), ("fc1", 5000)):
            maker.row(
                ns / faster,
                name=name,
                problem="mb64ic1ih28oc6kh5" if name == "conv1" else None,
                backend="direct",
                flops=1e7,
                bytes_ideal=1e6,
            )
        maker.row(26000 / faster, name="unprofiled", cache="", layout=None, math=None)
        return {**synthetic.document(maker.rows, device="cpu"), "tool": "lenslet profile", "batch": 64}

    def test_a_profile_shows_layers_by_name_and_batch(self):
        other = {**self.network(2), "batch": 1}
        text = self.page(self.network(), other)
        self.assertLess(text.index("its longest layer is conv1"), text.index(" with a time,"), "winners come first")
        self.assertIn("Batch 1: a pass takes 13.0 µs", text)
        figure = text[text.index('id="fig-layers"') : text.index('id="fig-roofline"')]
        for word in (">batch 1: 13.0 µs<", ">batch 64: 26.0 µs<", ">conv1<", ">fc1<"):
            self.assertIn(word, figure)
        self.assertNotIn("28²", figure)
        roofline = text[text.index('id="fig-roofline"') :]
        self.assertIn(">conv1, batch 64<", roofline, "points have names")

    def test_the_winner_of_each_problem_is_named_first(self):
        maker = synthetic.Maker()
        for backend, ns in (("direct", 1000), ("onednn", 3000)):
            maker.row(
                ns, name="conv1", problem='mb64ic1ih28oc6kh5n"conv1"', backend=backend, flops=1e6, bytes_ideal=1e5
            )
        text = self.page(synthetic.document(maker.rows, device="cpu"))
        self.assertRegex(text, r"<ul><li>conv1, batch 64: direct in [^<]*, ×3.00 faster than onednn\.</li>")

    def test_the_winners_of_a_sweep_are_counted_first(self):
        maker = synthetic.Maker()
        for size, fastest in ((64, "direct"), (128, "onednn"), (256, "onednn")):
            for backend in ("direct", "onednn"):
                labels = {"table": "rgb", "size": str(size), "stride": "1", "out_channels": "1"}
                problem = f"mb1ic3ih{size}oc1oh{size}kh3ph1"
                ns = 1000 if backend == fastest else 3000
                maker.row(ns, study="a", labels=labels, problem=problem, backend=backend, flops=1e6, bytes_ideal=1e5)
        text = self.page(synthetic.document(maker.rows, device="cpu"))
        self.assertIn("<ul><li>RGB images, hot: of 3 cells onednn wins 2, direct wins 1.</li>", text)

    def test_cache_ceilings_are_in_the_roofline(self):
        document = self.network()
        document["ceilings"] = {
            "copy_bytes_per_s": 2e10,
            "fp32_flops_per_s": 1e11,
            "caches": [{"name": "L1", "copy_bytes_per_s": 2e11, "read_bytes_per_s": 4e11}],
        }
        text = self.page(document)
        self.assertIn(">L1 400 GB/s<", text[text.index('id="fig-roofline"') :])
        self.assertIn("memory 20.0 GB/s · L1 400 GB/s", text)

    def test_older_files_have_the_words_of_today(self):
        import results

        for labels, backend, expected in (
            ({"plan": "fused", "variant": "mma"}, "small", ("mma", {"plan": "fused"})),
            ({"plan": "layered", "variant": ""}, "layered", ("layered", {"plan": "layered"})),
            ({"rung": "rival"}, "cudnn", ("cudnn", {"rung": "beside"})),
            ({"filter": "rival"}, "direct", ("direct", {"filter": "rival"})),
        ):
            row = results.Row({"backend": backend, "labels": labels})
            self.assertEqual((row.backend, row.labels), expected)

    def test_shapes_that_differ_in_the_stride_have_two_names(self):
        import words

        problem = "mb1ic3ih4096oc3oh{}kh3{}ph1"
        self.assertEqual(
            [words.shape(problem.format(4096, "")), words.shape(problem.format(2048, "sh2"))],
            ["C3 4096² K3", "C3 4096² K3 stride 2"],
        )

    def test_studies_have_titles_not_letters(self):
        words = "".join(Page(self.page(synthetic.everything())).words)
        self.assertEqual(re.findall(r"(?i)\bstudy [a-e]\b", words), [])
        self.assertIn("RGB images and matrix products", words)

    def test_every_figure_is_drawn_once_and_fits_a_phone(self):
        text = self.page(synthetic.everything())
        drawings = re.findall(r'<div class="drawing".*?</div>', text, re.S)
        self.assertGreater(len(drawings), 10)
        several = 0
        for drawing in drawings:
            found = re.findall(r'<svg [^>]*?width="([\d.]+)pt"[^>]*viewBox="0 ([\d.]+) [\d.]+ ([\d.]+)"', drawing)
            windows = [tuple(map(float, window)) for window in found]
            self.assertEqual(len(windows), drawing.count("<svg "))
            for width, _, height in windows:
                self.assertLess(width, 390, "points: a phone of 390 pixels shows them at two thirds")
                self.assertGreater(height, 10)
            for (_, top, height), (_, next_top, _) in zip(windows, windows[1:]):
                self.assertAlmostEqual(top + height, next_top, delta=0.02)
            # Each panel is in a window of its own.
            panels = len(re.findall(r'<g id="[^"]*axes_\d+">', drawing))
            several += len(windows) > 2 and len(windows) in (panels, panels + 1)
        self.assertGreater(several, 3)
        self.assertIn("@media (max-width: 640px)", text)

    def test_tables_fit_a_phone(self):
        text = self.page(synthetic.everything())
        tables = re.findall(r"<table .*?</table>", text, re.S)
        self.assertGreater(len(tables), 5)
        several = 0
        for table in tables:
            heads = re.findall(r"<th scope='col'([^>]*)>([^<]*)</th>", table)
            shown = [title for css, title in heads if not re.search(r'class="[^"]*\bw\b', css)]
            self.assertLessEqual(len(shown), 5, shown)
            lines = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.S)
            for line in lines:  # a hidden head has hidden cells
                hidden = len(re.findall(r'<td class="[^"]*\bw"', line))
                self.assertEqual(line.count("<t") - hidden, len(shown), line)
            if shown[-1] != "fastest":
                continue
            several += 1
            for line in lines:
                times = re.findall(r'<td class="n w" title="([\d.]+) ns">', line)
                fastest = re.search(r'<td title="([\d.]+) ns">\w', line)
                if fastest and times and "direct, with copies" not in table:
                    self.assertEqual(float(fastest.group(1)), min(map(float, times)), line)
        self.assertGreater(several, 1)

    def test_every_labelled_point_of_the_roofline_keeps_its_name(self):
        maker = synthetic.Maker()
        for i in range(10):
            maker.row(10000 + 100 * i, name=f"conv{i}", backend="direct", flops=1e8, bytes_ideal=1e6 * (1 + i / 50))
        text = self.page({**synthetic.document(maker.rows, device="cpu"), "tool": "lenslet profile", "batch": 1})
        figure = text[text.index('id="fig-roofline"') :]
        for i in range(10):
            self.assertIn(f">conv{i}, batch 1<", figure)

    def test_two_runs_side_by_side(self):
        new, old = self.write(self.network(2), "new.json"), self.write(self.network(), "old.json")
        html = self.folder / "both.html"
        run = self.run_report(new, "--beside", old, "--html", html, "--figures", self.folder / "both")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        text = html.read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id appears twice")
        self.assertIn("Of 3 rows in both runs 3 faster; the other run takes ×2.00 the time", text)
        self.assertIn("Save old.json", text)
        self.assertEqual(text.count('class="pair"'), 2)
        self.assertEqual(
            {file.stem for file in (self.folder / "both").iterdir()},
            {"layers", "layers-beside", "roofline", "roofline-beside"},
        )
        self.assertEqual(self.run_report(new, "--beside", self.folder / "gone.json", "--html", html).returncode, 3)

    def test_verdicts_are_those_of_compare(self):
        import beside
        import results

        def row(median, spread=0.001, samples=101):
            time = {name: median * (1 + step * spread) for name, step in
                    (("min", -2), ("p10", -1), ("median", 0), ("p90", 1), ("max", 2))}  # fmt: skip
            return results.Row({"time_ns": time, "samples": samples})

        for verdict, new, old in (
            ("same", row(1010), row(1000)),
            ("same", row(1000), row(1010)),
            ("slower", row(1040), row(1000)),
            ("faster", row(1000), row(1040)),
            ("unclear", row(1030), row(1000)),
            ("unclear", row(1000, spread=0.2), row(1000)),
            ("unclear", row(1000, samples=5), row(2000)),
            ("unclear", row(0), row(1000)),
            ("unclear", results.Row({"time_ns": {"median": 1000}, "samples": 101}), row(2000)),
        ):
            self.assertEqual(beside.verdict(new, old), verdict, (new.ns, old.ns))

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
                page = Page(self.page(document))
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
                self.assertEqual(Page(self.page(document)).problems, [])

    def test_a_trace_becomes_a_timeline(self):
        events = [
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": name}}
            for tid, name in ((1, "of 1: stream 0"), (2, "of 2: stream 0"), (3, "of 2: stream 1"))
        ]
        events += [
            {"name": f"{what} {tid}", "ph": "X", "pid": 1, "tid": tid, "ts": 100.0 * tid + 10 * i, "dur": 10}
            for tid in (1, 2, 3)
            for i, what in enumerate(("h2d", "conv", "d2h"))
        ]
        events += [
            None,
            {"ph": "X", "name": "no time"},
            {"ph": "X", "pid": 9, "tid": 9, "ts": 1, "dur": 1, "name": "conv 9"},
        ]
        trace = self.write({"traceEvents": events}, "trace.json")
        run = self.run_report(
            self.write(synthetic.document([])),
            trace,
            "--html",
            self.folder / "out.html",
            "--figures",
            self.folder / "figures",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("2 streams", (self.folder / "figures" / "streams-timeline-0.svg").read_text())
        self.assertIn("Save trace.json", (self.folder / "out.html").read_text())
        run = self.run_report(trace, "--html", self.folder / "alone.html")
        self.assertEqual(run.returncode, 3)
        self.assertIn("a trace alone", run.stderr)

    def test_devices_are_kept_apart(self):
        rows = [row for row in synthetic.everything()["results"] if (row.get("labels") or {}).get("table") == "stencil"]
        text = self.page(synthetic.document(rows), synthetic.document(rows[:9], device="cpu"))
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id appears twice")
        for _, attributes in page.tags:
            for name in ("href", "xlink:href"):
                self.assertIn((attributes.get(name) or "#")[1:], ["", *page.ids], f"{name} leads nowhere")
        self.assertIn("<h2>NVIDIA H200</h2>", text)
        self.assertIn("<h2>Some Processor</h2>", text)

    def test_files_committed_are_shown(self):
        """The files of a folder in one page, as ./dev bench draws them. The figures of each folder are made of its
        rows. Rendering them takes ten times as long, so only one of the last folder is rendered too."""
        import style

        def unrendered(figure, name):
            if folder == max(folders) and name.startswith("singles"):
                return to_svg(figure, name)
            style.plt.close(figure)
            made.append(name)
            return '<svg viewBox="0 0 1 1"></svg>'

        made, shown, folders, to_svg = [], 0, {}, style.to_svg
        for folder in sorted((ROOT / "docs" / "results").glob("*/")):
            texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.json"))]
            texts = [text for text in texts if json.loads(text).get("schema") == "lenslet.results/1"]
            if texts:
                folders[folder.name] = texts
        for folder, texts in folders.items():
            with self.subTest(folder), mock.patch.object(style, "to_svg", unrendered):
                text = self.page(*texts)
                self.assertEqual(Page(text).problems, [])
                self.assertEqual(text.count(">Save results-"), len(texts))
                shown += len(texts)
        self.assertGreater(shown, 5)
        self.assertGreater(len(made), 5)
        self.assertIn('id="singles-', text)  # of the last folder

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
        self.assertEqual(Page(text).problems, [])
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

    def test_outputs(self):
        good = self.write(synthetic.document([]))
        self.assertEqual(self.run_report(good).returncode, 2)
        for target in (good / "below-a-file.html", "/dev/full", "/proc/nowhere/out.html"):
            run = self.run_report(good, "--html", target)
            self.assertEqual(run.returncode, 7, f"{target}: {run.stderr}")
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertEqual([file.name for file in self.folder.iterdir()], [good.name], "something was left behind")
        self.assertEqual(
            self.run_script(good, "--html", self.folder / "by-folder.html", script=SCRIPT.parent).returncode, 0
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
                subprocess.run([PYTHON, str(SCRIPT), str(good), "--html", str(target)], stdout=output, check=True)
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

    def test_heads_of_columns_are_explained_from_the_glossary(self):
        heads = re.findall(r"<th scope='col'[^>]*>", self.page(synthetic.everything()))
        explained = [head for head in heads if "title=" in head]
        self.assertGreater(len(explained), 30, heads)
        self.assertTrue(any("limit, not a diagnosis" in head or "nearest ceiling" in head for head in explained))

    def test_readme_is_written_from_the_files(self):
        tree = self.folder / "tree"
        for path in (
            "README.md",
            "docs/results.md",
            "docs/scale.md",
            *("docs/" + name for name in ("results", "pictures", "kernels")),
            "apps/report",
            "apps/peers",
            LADDERS,
            "weights",
        ):
            source = ROOT / path
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / path)
        folders = re.search(
            r"\]\((docs/results/[^)]*)\) and [^(]*\((docs/results/[^)]*)\), by", (tree / "README.md").read_text()
        )
        self.assertIsNotNone(folders, "README does not say where its results come from")
        gpu = tree / folders.group(1)
        climb = (gpu / "ladder.json").read_text()
        for name in ("reproduce.json", "ladder.json", "sweep.json", "report.html"):
            (gpu / name).unlink(missing_ok=True)
        history = tree / "docs" / "results" / "history.csv"
        for picture in [*gpu.glob("*.svg"), history.with_suffix(".svg")]:
            picture.unlink()

        def update(*arguments, of=None):
            return subprocess.run(
                [PYTHON, "docs/results/update_readme.py", *(of or folders.groups()), *arguments],
                cwd=tree,
                capture_output=True,
                text=True,
            )

        run = update(of=("docs/results/gone", folders.group(2)))
        self.assertEqual((run.returncode, run.stderr), (1, "docs/results/gone/peers.json: No such file or directory\n"))
        # Without convbench's files the page omits those parts.
        self.assertEqual(update("--partial").returncode, 0)
        self.assertEqual(update("--check").returncode, 0)
        full, direct = tree / "docs" / "results.md", tree / "docs" / "kernels" / "direct.md"
        # If a row that a table needs is missing, nothing is written, unless the pages may name what is missing.
        before, peers = (tree / "README.md").read_text(), (gpu / "peers.json").read_text()
        document = json.loads(peers)
        document["rows"] = [
            row for row in document["rows"] if row["side"].startswith("Lenslet") or row["math"] != "fp32"
        ]
        (gpu / "peers.json").write_text(json.dumps(document))
        run = update()
        self.assertEqual(run.returncode, 1)
        wanted = "peers.json has no PASSED rows of Lenslet and of a peer with fp32 in and logits out, fp32 arithmetic"
        self.assertIn(wanted, run.stderr)
        self.assertEqual((tree / "README.md").read_text(), before)
        self.assertEqual(update("--partial").returncode, 0)
        self.assertIn(wanted, (tree / "README.md").read_text())
        # Nor is it from a file of a modified tree that no row of docs/results/README.md names.
        document = json.loads(peers)
        document["meta"]["dirty"] = True
        (gpu / "peers.json").write_text(json.dumps(document))
        run = update("--partial")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{gpu.name}/peers.json: of a modified tree", run.stderr)
        (gpu / "peers.json").write_text(peers)
        # Whole calls are those of the newest folder of a GPU with them, and name it.
        later = gpu.with_name("2099-01-01-later")
        later.mkdir()
        document = json.loads(max(gpu.parent.glob("*/calls.json")).read_text())
        for row in document["rows"]:
            row["time_ns"]["median"] = 1234
        document["devices"][0]["name"] = "A later GPU"
        (later / "calls.json").write_text(json.dumps(document))
        self.assertEqual(update("--partial").returncode, 0)
        readme = (tree / "README.md").read_text()
        self.assertEqual(readme.count("| 1.23; 1.23; 1.23; 1.23 |"), 2)
        self.assertEqual(readme.count("fp32, on A later GPU |"), 2)
        self.assertIn("**Large calls** by where the images lie, A later GPU", full.read_text())
        shutil.rmtree(later)
        self.assertEqual(update("--partial").returncode, 0)
        self.assertEqual((tree / "README.md").read_text(), before)
        self.assertNotIn("The ladder of implicit GEMM", full.read_text())
        self.assertIn("Not measured: there are no rows of `convbench ladder direct`.", direct.read_text())
        self.assertNotEqual(update("--partial", "--report").returncode, 0)
        # With them the page has them, with their pictures. The tables here are of these rows.
        document = synthetic.everything()
        document["results"] = [
            row for row in document["results"] if (row.get("labels") or {}).get("table") in ("rgb", "ladder")
        ]
        document["devices"] = json.loads(climb)["devices"]  # files of two cards would be two figures
        (gpu / "reproduce.json").write_text(json.dumps(document))
        (gpu / "ladder.json").write_text(climb)
        self.assertEqual(update("--check").returncode, 1)
        run = update("--partial", "--report")
        self.assertEqual(run.returncode, 0, run.stderr)
        row = next(
            row
            for row in document["results"]
            if row["labels"] == {"table": "rgb", "size": "4096", "stride": "1", "out_channels": "3"}
            and row["backend"] == "direct"
            and row["cache"] == "hot"
        )
        text, readme = full.read_text(), (tree / "README.md").read_text()
        self.assertIn(f"{row['time_ns']['median'] / 1e3:,.0f} (×8.00)", text)
        self.assertIn("faster in 30 of 30 cells", text)
        self.assertRegex(direct.read_text(), r"\| 07_rolling_rows \| [^|]+ \| [0-9.]+ \|")
        # The product runs the ladder's kernel on images, and another one on the last shape.
        self.assertRegex(direct.read_text(), r"\| product \| [^|]+ (\| [0-9.]+ ){3}\| [0-9.]+ \(`tile`\) \|\n")
        # A rung has the words of the tree, also where the file has older ones.
        words = re.search(r'rung\(direct 05_vector_loads "(.*)"\)', (tree / LADDERS).read_text()).group(1)
        self.assertNotIn(words, climb)
        self.assertIn(f"| 05_vector_loads | {words} |", direct.read_text())
        self.assertIn("| 32, 64, 128 | 41.0 | 60.0 | 37.0 | 180 | 150 |", text)
        self.assertIn("| product | 41.0 | 111% | from 08: the taps of a filter row share one input row", text)
        self.assertIn("hot (30 cases) | `direct` | cuDNN, slower in 30 of 30 |", readme)
        self.assertIn("hot, TFLOP/s (8 shapes) | 60.0 effective (`winograd`) | 37.0 (cuDNN) | 1.62× |", readme)
        for page, contents in ((tree / "README.md", readme), (full, text)):
            for link in re.findall(r"\]\(((?:docs/)?(?:results|pictures)/[^)]*)\)", contents):
                self.assertTrue((page.parent / link).exists(), link)
        self.assertEqual(update("--check").returncode, 0)
        # The history keeps the headline figures, also those of deleted folders.
        rows = history.read_text().splitlines(keepends=True)
        self.assertRegex("".join(rows), rf"{gpu.name},[^,]*,\"3×3, 32 and 64 channels, [^\"]*fp32[^\"]*\",60,37,1.62")
        gone = [row for row in rows if gpu.name not in row and folders.group(2).split("/")[-1] not in row]
        self.assertGreater(len(gone), 1, "no folder's figures but those of the pages")
        history.write_text("".join(rows).replace(",60,37,", ",61,37,"))
        self.assertIn("history.csv's results differ", update("--check").stderr)
        history.write_text("".join(gone))
        self.assertEqual(update("--check").returncode, 1)
        self.assertEqual(update().returncode, 0)
        self.assertEqual(history.read_text(), "".join(rows))
        # A page drawn from another file is detected.
        (gpu / "reproduce.json").write_text(json.dumps(document) + "\n")
        run = update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("report.html", run.stderr)
        (gpu / "reproduce.json").write_text(json.dumps(document))
        self.assertEqual(update("--check").returncode, 0)
        profile = gpu / "profile-batch-10000.json"
        profile.write_text(profile.read_text() + "\n")
        run = update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("lenet5.svg", run.stderr)
        self.assertIn("profile.svg", run.stderr)
        profile.write_text(profile.read_text()[:-1])
        peers_file = gpu / "peers.json"
        peers_file.write_text(peers_file.read_text() + "\n")
        self.assertIn("lenet-peers.svg", update("--check").stderr)
        peers_file.write_text(peers_file.read_text()[:-1])
        # A number written by hand is detected too, in a table or in the text.
        (tree / "README.md").write_text(readme.replace("## Results\n", "## Results\n\nIt runs at 700 M images/s.\n"))
        run = update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("It runs at 700 M images/s.", run.stderr)
        (tree / "README.md").write_text(readme.replace("| 60.0 effective", "| 90.0 effective"))
        run = update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("README.md's results differ", run.stderr)
        (tree / "README.md").write_text(readme)
        # So is a figure in a table below a link to a file that does not have it.
        self.assertEqual(update("--check").returncode, 0)
        for name, wrong in ((gpu / "peers.json", "0.137"), (gpu / "ladder.json", "1,860.25")):
            page = tree / "docs" / "scale.md"
            kept, link = page.read_text(), name.relative_to(tree / "docs")
            page.write_text(f"{kept}\nMeasured ([it]({link})):\n\n| batch | µs |\n|---|---|\n| 1 | {wrong} |\n")
            run = update("--check")
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"scale.md: {link}: {wrong}\n", run.stderr)
            page.write_text(kept)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: matplotlib is not installed (./dev setup --tests)")
        sys.exit(77)
    if PYTHON != sys.executable:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    sys.path.insert(0, str(SCRIPT.parent))
    unittest.main()
