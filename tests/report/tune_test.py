"""A file of `lenslet tune`: the ways to compute each part of the network, and the plans."""

import synthetic

import support


def candidate(layers, backend, median, chosen=False, status="PASSED"):
    return {
        "layers": layers,
        "backend": backend,
        "math": "fp32",
        "status": status,
        "reason": None if status == "PASSED" else "supports other shapes",
        "time_ns": None if median is None else {"p10": median * 0.9, "median": median, "p90": median * 1.1},
        "samples": 100,
        "chosen": chosen,
    }


def tuned(candidates, plans=()):
    document = synthetic.document([], device="cpu")
    del document["results"]
    kept = {"schema": "lenslet.tune/1", "tool": "lenslet tune", "batch": 4, "layer_batch": 2}
    return {**document, **kept, "candidates": candidates, "plans": list(plans)}


LENET = [
    candidate(["conv1"], "winograd", None, status="UNSUPPORTED"),
    candidate(["conv1", "relu1"], "direct", 4000, chosen=True),
    candidate(["conv1"], "direct", 3000),
    candidate(["conv1"], "gemm", 8000),
    candidate(["relu1"], "direct", 600),
    candidate(["fc1"], "gemm", 5000, chosen=True),
]


class Tune(support.ReportTest):
    def test_each_way_is_a_row_and_the_fastest_comes_first(self):
        import results
        import selection

        file = results.File("tune.json", support.json.dumps(tuned(LENET)))
        parts = selection.parts_of_network(file.rows)
        self.assertEqual(list(parts), ["conv1, relu1"], "fc1 has one way")
        self.assertEqual(
            [(selection.way_of(row), row.ns) for row in parts["conv1, relu1"]],
            [("conv1, relu1 by direct", 3600), ("conv1+relu1 by direct", 4000), ("conv1, relu1 by gemm, direct", 8600)],
        )
        self.assertEqual([row.get("chosen") for row in parts["conv1, relu1"]], [False, True, False])
        self.assertEqual(
            [row.no_figure() for row in file.rows if not row.drawn], ["UNSUPPORTED: supports other shapes"]
        )

    def test_page_and_figures(self):
        plans = [
            {"name": name, "status": "PASSED", "time_ns": {"median": ns}, "images_per_s": 1e9 / ns, "chosen": chosen}
            for name, ns, chosen in (("fused simd", 8000, True), ("layered, tuned", 16000, False))
        ]
        page = support.Page(self.page(tuned(LENET, plans)))
        self.assertEqual(page.problems, [])
        words = " ".join(page.words)
        self.assertIn("Batch 4, chosen plan: fused simd in 8.00 µs, 2.00 times as fast as layered, tuned.", words)
        self.assertIn("conv1, relu1: conv1+relu1 by direct in 4.00 µs, 0.900 times as fast as", words)
        path, figures = self.write(tuned(LENET, plans), "tune.json"), self.folder / "figures"
        run = self.run_report(path, "--figures", figures)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual({file.stem for file in figures.iterdir()}, {"ways", "plans"})
        text = (figures / "ways.svg").read_text(encoding="utf-8")
        for shown in (">conv1+relu1 by direct<", "4.00 µs, chosen<", "3.60 µs, fastest<", "8.60 µs<"):
            self.assertIn(shown, text)
        self.assertIn("8.00 µs, chosen, fastest<", (figures / "plans.svg").read_text(encoding="utf-8"))

    def test_equal_parts_are_drawn_once(self):
        import results
        import selection

        twice = [candidate([f"conv{i}"], *way) for i in (1, 2) for way in (("direct", 3000, True), ("gemm", 8000))]
        file = results.File("tune.json", support.json.dumps(tuned(twice)))
        self.assertEqual(list(selection.parts_of_network(file.rows)), ["conv1"])

    def test_what_is_missing_or_odd_is_left_out(self):
        odd = [{"layers": layers} for layers in (None, [], [1], "conv1", {})] + [None, 5, candidate(["fc1"], "x", None)]
        for candidates in (odd, None, {}, [candidate(["a", "a"], "x", 1)]):
            self.assertEqual(support.Page(self.page(tuned(candidates, [{}, {"name": 3}]))).problems, [])
