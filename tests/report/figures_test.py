"""The figures: in the page, and as files of their own."""

import re
import xml.etree.ElementTree as ElementTree

import synthetic

import support


class Figures(support.ReportTest):
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

    def test_every_labelled_point_of_the_roofline_keeps_its_name(self):
        maker = synthetic.Maker()
        for i in range(10):
            maker.row(10000 + 100 * i, name=f"conv{i}", backend="direct", flops=1e8, bytes_ideal=1e6 * (1 + i / 50))
        text = self.page({**synthetic.document(maker.rows, device="cpu"), "tool": "lenslet profile", "batch": 1})
        figure = text[text.index('id="fig-roofline"') :]
        for i in range(10):
            self.assertIn(f">conv{i}, batch 1<", figure)

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
