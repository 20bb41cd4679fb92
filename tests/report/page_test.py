"""What the page shows: the data of the files, and nothing but them."""

import base64
import gzip
import json
import re

import synthetic

import support

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "GFLOP/s": 1, "TFLOP/s": 1, "GB/s": 1}


class PageContents(support.ReportTest):
    def test_page_is_self_contained_and_well_formed(self):
        text = self.page(synthetic.everything())
        page = support.Page(text)
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
        page = support.Page(self.page(document))
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
        page = support.Page(self.page(document))
        words = "".join(page.words)
        reasons = [row["reason"] for row in document["results"] if row.get("reason") and row.get("status") != "PASSED"]
        self.assertGreater(len(set(reasons)), 4)
        for reason in reasons:
            self.assertIn(reason, words)
        self.assertIn("no time was measured", words)
        self.assertIn("no status, no reason given", words)

    def test_artefacts_are_named(self):
        words = "".join(support.Page(self.page(synthetic.everything())).words)
        self.assertIn("64 × 64 = 4,096 threads per block", words)
        self.assertIn("did the work of stride 1 at every stride", words)
        self.assertIn("Two artefacts of the published study", words)

    def test_one_artefact_is_not_called_two(self):
        document = synthetic.everything()
        document["results"] = [
            row for row in document["results"] if (row.get("labels") or {}).get("table") != "gemm_partition"
        ]
        words = "".join(support.Page(self.page(document)).words)
        self.assertIn("An artefact of the published study", words)
        self.assertNotIn("artefacts", words)

    def test_files_come_back_byte_for_byte(self):
        document = (
            json.dumps(synthetic.document([{"name": "ü </script> <!-- \u2028"}]), indent=1, ensure_ascii=False) + "\n"
        )
        page = support.Page(self.page(document))
        data = [text for attributes, text in page.scripts if attributes.get("id") == "raw-0"]
        self.assertEqual(gzip.decompress(base64.b64decode(data[0])).decode("utf-8"), document)

    def test_studies_have_titles_not_letters(self):
        words = "".join(support.Page(self.page(synthetic.everything())).words)
        self.assertEqual(re.findall(r"(?i)\bstudy [a-e]\b", words), [])
        self.assertIn("RGB images and matrix products", words)

    def test_heads_of_columns_are_explained_from_the_glossary(self):
        heads = re.findall(r"<th scope='col'[^>]*>", self.page(synthetic.everything()))
        explained = [head for head in heads if "title=" in head]
        self.assertGreater(len(explained), 30, heads)
        self.assertTrue(any("limit, not a diagnosis" in head or "nearest ceiling" in head for head in explained))

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

    def test_older_files_have_the_words_of_today(self):
        import results

        for labels, backend, expected in (
            ({"plan": "fused", "variant": "mma"}, "small", ("mma", {"plan": "fused"})),
            ({"plan": "layered", "variant": ""}, "layered", ("layered", {"plan": "layered"})),
            ({"plan": "fused", "place": "resident"}, "mma", ("mma", {"plan": "fused", "place": "device"})),
            ({"variant": "mma", "place": "resident"}, "small", ("mma", {"place": "device"})),
            ({"mode": "resident"}, "resident", ("resident", {"mode": "resident"})),
            ({"rung": "rival"}, "cudnn", ("cudnn", {"rung": "beside"})),
            (
                {"rung": "05_vector_loads"},
                "direct.05_vector_loads",
                ("direct.06_filters_in_shared", {"rung": "06_filters_in_shared"}),
            ),
            (
                {"rung": "05_offset_table"},
                "implicit_gemm.05_offset_table",
                ("implicit_gemm.08_unchecked", {"rung": "08_unchecked"}),
            ),
            (
                {"rung": "05_tap_offsets"},
                "implicit_gemm.05_tap_offsets",
                ("implicit_gemm.06_tap_offsets", {"rung": "06_tap_offsets"}),
            ),
            ({"rung": "03_swizzle"}, "tensor_core.03_swizzle", ("tensor_core.05_ldmatrix", {"rung": "05_ldmatrix"})),
            ({"rung": "04_swizzle"}, "tensor_core.04_swizzle", ("tensor_core.04_swizzle", {"rung": "04_swizzle"})),
            ({"filter": "rival"}, "direct", ("direct", {"filter": "rival"})),
        ):
            row = results.Row({"backend": backend, "labels": labels})
            self.assertEqual((row.backend, row.labels), expected)
        self.assertEqual(results.Row({"name": "unprofiled"})["name"], "uninstrumented")
        document = {"sums_ns": {"layers": 2, "unprofiled": 1}, "rows": []}
        old = results.File("old.json", "", document, schema=None)
        self.assertEqual(old["sums_ns"], {"layers": 2, "uninstrumented": 1})

    def test_shapes_that_differ_in_the_stride_have_two_names(self):
        import words

        problem = "mb1ic3ih4096oc3oh{}kh3{}ph1"
        self.assertEqual(
            [words.shape(problem.format(4096, "")), words.shape(problem.format(2048, "sh2"))],
            ["C3 4096² K3", "C3 4096² K3 stride 2"],
        )

    def test_devices_are_kept_apart(self):
        rows = [row for row in synthetic.everything()["results"] if (row.get("labels") or {}).get("table") == "stencil"]
        text = self.page(synthetic.document(rows), synthetic.document(rows[:9], device="cpu"))
        page = support.Page(text)
        self.assertEqual(page.problems, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id appears twice")
        for _, attributes in page.tags:
            for name in ("href", "xlink:href"):
                self.assertIn((attributes.get(name) or "#")[1:], ["", *page.ids], f"{name} leads nowhere")
        self.assertIn("<h2>NVIDIA H200</h2>", text)
        self.assertIn("<h2>Some Processor</h2>", text)
