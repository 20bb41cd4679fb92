"""What is compared: backends, layers, and two runs side by side."""

import synthetic

import support


class Winners(support.ReportTest):
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
        self.assertRegex(text, r"<ul><li>conv1, batch 64: direct in [^<]*, 3.00 times as fast as onednn\.</li>")

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

    def test_two_runs_side_by_side(self):
        new, old = self.write(self.network(2), "new.json"), self.write(self.network(), "old.json")
        html = self.folder / "both.html"
        run = self.run_report(new, "--beside", old, "--html", html, "--figures", self.folder / "both")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        text = html.read_text(encoding="utf-8")
        page = support.Page(text)
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
