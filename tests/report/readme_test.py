"""The tables of README and of the pages of results are written from the files."""

import json
import re
import shutil
import subprocess

import synthetic

import support

LADDERS = "layers/conv/gpu/ladder/CMakeLists.txt"


class Readme(support.ReportTest):
    def setUp(self):
        super().setUp()
        self.tree = tree = self.folder / "tree"
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
            source = support.ROOT / path
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / path)
        self.folders = folders = re.search(
            r"From \[[^(]*\((docs/results/[^)]*)\)[^(]*\((docs/results/[^)]*)\).*, by", (tree / "README.md").read_text()
        )
        self.assertIsNotNone(folders, "README does not say where its results come from")
        self.gpu = gpu = tree / folders.group(1)
        for name in ("reproduce.json", "sweep.json", "report.html"):
            (gpu / name).unlink(missing_ok=True)
        self.ladder = max(gpu.parent.glob("*/ladder.json"))  # the pages take the newest
        self.climb = self.ladder.read_text()
        self.ladder.unlink()
        for pattern in ("resnet50-fp*.json", "deep3x3-*.json", "ladder-*.json"):
            for path in gpu.parent.glob("*/" + pattern):
                path.unlink()
        self.resnet50 = max(gpu.parent.glob("*/resnet50-tf32.json"))
        self.without_rows = json.dumps({**json.loads(self.resnet50.read_text()), "results": []})
        self.resnet50.write_text(self.without_rows)
        self.history = history = tree / "docs" / "results" / "history.csv"
        for picture in [*gpu.glob("*.svg"), history.with_suffix(".svg")]:
            picture.unlink()
        page = gpu.parent / "README.md"  # without the names of what was removed
        rows = re.compile(r"^\| `(20[\w-]+)` \| (`.*?`) \|(.*\n)", re.M)
        page.write_text(rows.sub(self.row_of_what_is_there, page.read_text()))
        self.full, self.direct = tree / "docs" / "results.md", tree / "docs" / "kernels" / "direct.md"

    def row_of_what_is_there(self, row):
        folder, files = row[1], re.findall(r"`([^`]+)`", row[2])
        there = [f"`{name}`" for name in files if (self.gpu.parent / folder / name).exists()]
        return f"| `{folder}` | {', '.join(there)} |{row[3]}" if there else ""

    def update(self, *arguments, of=None):
        return subprocess.run(
            [support.PYTHON, "docs/results/update_readme.py", *(of or self.folders.groups()), *arguments],
            cwd=self.tree,
            capture_output=True,
            text=True,
        )

    def test_readme_is_written_from_the_files(self):
        """Each step leaves the tree as the next one expects it: copying and updating it is most of the time."""
        self.names_every_folder()
        self.states_the_commits_of_old_words()
        self.without_convbenchs_files()
        self.without_rows_that_a_table_needs()
        self.of_a_run_that_was_stopped()
        self.with_calls_of_a_later_folder()
        self.with_convbenchs_files()
        self.with_the_ladder_of_tensor_cores()
        self.with_a_later_ladder_of_implicit_gemm()
        self.with_convolutions_of_resnet50()
        self.with_deep_shapes_by_type()
        self.writes_the_tables_of_the_weights()
        self.keeps_the_history()
        self.detects_other_files()
        self.detects_numbers_written_by_hand()

    def names_every_folder(self):
        """Each device that a generated part names is that of a file in a folder that its last line names."""
        devices = {}  # by name, the folders with files of it
        for path in (support.ROOT / "docs/results").glob("20*/*.json"):  # setUp has removed files of the copy
            document = json.loads(path.read_text())
            for device in document.get("devices") or []:
                devices.setdefault(device["name"], set()).add(path.parent.name)
        found = set()
        for page in [self.tree / "README.md", *(self.tree / "docs").rglob("*.md")]:
            for _, part in re.findall(r"<!-- (\w+): begin -->(.*?)<!-- \1: end -->", page.read_text(), re.DOTALL):
                if part.strip().startswith("Not measured yet."):
                    continue
                sources = re.search(r"^From (.*), by `docs/results/update_readme.py`\.", part, re.M)
                self.assertIsNotNone(sources, page.name)
                named = set(re.findall(r"\[(20[^]]*)\]", sources.group(1)))
                for device in filter(part.__contains__, devices):
                    found.add(device)
                    self.assertTrue(named & devices[device], f"{page.name} quotes {device}, and names {named}")
        self.assertGreater(len(found), 1, "no part with figures of another device")

    def states_the_commits_of_old_words(self):
        """What a file of an older commit states, such as a refusal, stands beside that commit."""
        page = self.full.read_text()
        for name, words in (("peers", "Not measured at {}: "), ("profile-batch-10000", "(`lenslet profile` at {}, ")):
            paths = [self.gpu / f"{name}.json"] if name == "peers" else self.gpu.parent.glob(f"*/{name}.json")
            self.assertIn(words.format(json.loads(max(paths).read_text())["meta"]["git"][:8]), page)

    def without_convbenchs_files(self):
        """Without convbench's files the page omits those parts."""
        run = self.update(of=("docs/results/gone", self.folders.group(2)))
        reason = "docs/results/gone/peers.json: cannot be opened: No such file or directory\n"
        self.assertEqual((run.returncode, run.stderr), (1, reason))
        self.assertEqual(self.update("--partial").returncode, 0)
        run = self.update("--check")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def without_rows_that_a_table_needs(self):
        """If a row that a table needs is missing, nothing is written, unless the pages may name what is missing."""
        self.before, peers = (self.tree / "README.md").read_text(), (self.gpu / "peers.json").read_text()
        document = json.loads(peers)
        document["rows"] = [
            row for row in document["rows"] if row["side"].startswith("Lenslet") or row["math"] != "fp32"
        ]
        (self.gpu / "peers.json").write_text(json.dumps(document))
        run = self.update()
        self.assertEqual(run.returncode, 1)
        wanted = "peers.json has no PASSED rows of Lenslet and of a peer with fp32 in and logits out, fp32 arithmetic"
        self.assertIn(wanted, run.stderr)
        self.assertEqual((self.tree / "README.md").read_text(), self.before)
        self.assertEqual(self.update("--partial").returncode, 0)
        self.assertIn(wanted, (self.tree / "README.md").read_text())
        # Nor is it from a file of a modified tree that no row of docs/results/README.md names.
        document = json.loads(peers)
        document["meta"]["dirty"] = True
        (self.gpu / "peers.json").write_text(json.dumps(document))
        run = self.update("--partial")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{self.gpu.name}/peers.json: of a modified tree", run.stderr)
        (self.gpu / "peers.json").write_text(peers)

    def of_a_run_that_was_stopped(self):
        """A file of a part is refused without its row, and the pages mark it."""
        peers, page = (self.gpu / "peers.json").read_text(), self.gpu.parent / "README.md"
        (self.gpu / "peers.json").write_text(json.dumps({**json.loads(peers), "status": "INTERRUPTED"}))
        run = self.update()
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{self.gpu.name}/peers.json: has a part of what its command measures", run.stderr)
        before = page.read_text()
        table = "### Files of a part\n| folder | files | what ended the run, and what the file has |\n|---|---|---|\n"
        self.assertEqual(before.count(table), 1)
        page.write_text(
            before.replace(table, f"{table}| `{self.gpu.name}` | `peers.json` | a limit, after one batch |\n")
        )
        self.assertEqual(self.update().stderr, "")
        self.assertIn("The run was stopped before its end: `peers.json`.", (self.tree / "README.md").read_text())
        self.assertRegex(self.full.read_text(), r"`peers\.json` \(a part\)")
        page.write_text(before)
        (self.gpu / "peers.json").write_text(peers)
        self.assertEqual(self.update().returncode, 0)

    def writes_the_tables_of_the_weights(self):
        """The model card has the figures of the training's records, rounded to two decimals."""
        card, record = self.tree / "weights/README.md", self.tree / "weights/robust.json"
        page, kept = card.read_text(), record.read_text()
        self.assertIn("| shear | 98.95 % | 99.12 % | 99.18 % |", page)
        record.write_text(kept.replace('"shear": 98.955', '"shear": 12.345'))
        run = self.update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("README.md's results differ from the files", run.stderr)
        self.assertEqual(self.update().returncode, 0)
        self.assertIn("| shear | 12.35 % | 99.12 % |", card.read_text())
        record.write_text(kept)
        self.assertEqual(self.update().returncode, 0)
        self.assertEqual(card.read_text(), page)

    def with_calls_of_a_later_folder(self):
        """Whole calls are those of the newest folder of a GPU with them, and name it."""
        later = self.gpu.with_name("2099-01-01-later")
        later.mkdir()
        document = json.loads(max(self.gpu.parent.glob("*/calls.json")).read_text())
        for row in document["rows"]:
            row["time_ns"]["median"] = 1234
        document["devices"][0]["name"] = "A later GPU"
        (later / "calls.json").write_text(json.dumps(document))
        tensor = {"way": "tensor", "device": "cuda:0,1", "math": "fp16", "status": "PASSED", "count": 524288}
        document["gpu_rows"] = [{**tensor, "images_per_s": 5e8, "ratio_to_one": 1.985}]
        (later / "calls-several.json").write_text(json.dumps(document))
        self.assertEqual(self.update("--partial").returncode, 0)
        self.assertIn("**Several GPUs**, 2 × A later GPU: large calls by where", self.full.read_text())
        self.assertIn(
            "on each GPU, from Python | fp16 | 524,288 | 500.0 M | 1.99 times the first GPU alone |",
            self.full.read_text(),
        )
        readme = (self.tree / "README.md").read_text()
        self.assertEqual(readme.count("| 1.23; 1.23; 1.23; 1.23 |"), 2)
        self.assertEqual(readme.count("fp32, on A later GPU |"), 2)
        self.assertIn("**Large calls** by where the images lie, A later GPU", self.full.read_text())
        shutil.rmtree(later)
        self.assertEqual(self.update("--partial").returncode, 0)
        self.assertEqual((self.tree / "README.md").read_text(), self.before)
        self.assertNotIn("The ladder of implicit GEMM", self.full.read_text())
        self.assertIn("Not measured: there is no ladder.json.", self.direct.read_text())
        self.assertNotEqual(self.update("--partial", "--report").returncode, 0)

    def with_convbenchs_files(self):
        """With convbench's files the page has their parts, with pictures. The tables here are of these rows."""
        self.document = document = synthetic.everything()
        document["results"] = [
            row for row in document["results"] if (row.get("labels") or {}).get("table") in ("rgb", "ladder")
        ]
        (self.gpu / "reproduce.json").write_text(json.dumps(document))
        # A rung has the words of the tree, also where the file has older ones.
        words = re.search(r'rung\(direct 06_filters_in_shared "(.*)"\)', (self.tree / LADDERS).read_text()).group(1)
        self.assertIn(words, self.climb)
        self.ladder.write_text(self.climb.replace(words, "the words of before"))
        self.assertEqual(self.update("--check").returncode, 1)
        run = self.update("--partial", "--report")
        self.assertEqual(run.returncode, 0, run.stderr)
        row = next(
            row
            for row in document["results"]
            if row["labels"] == {"table": "rgb", "size": "4096", "stride": "1", "out_channels": "3"}
            and row["backend"] == "direct"
            and row["cache"] == "hot"
        )
        text, self.readme = self.full.read_text(), (self.tree / "README.md").read_text()
        self.assertIn(f"{row['time_ns']['median'] / 1e3:,.0f} (×8.00)", text)
        self.assertIn("faster in 30 of 30 cells", text)
        self.assertRegex(self.direct.read_text(), r"\| 07_weights_as_operands \| [^|]+ \| [0-9.]+ \|")
        # The product runs the ladder's kernel on images, and another one on the last shape, which has its own table.
        self.assertRegex(self.direct.read_text(), r"\| product \| [^|]+ (\| [0-9.]+ ){3}\|\n")
        self.assertRegex(self.direct.read_text(), r"\| product \(`tile`\) \|  \| [0-9.]+ \|\n")
        self.assertIn(f"| 06_filters_in_shared | {words} |", self.direct.read_text())
        self.assertIn("| 32, 64, 128 | 41.0 | 60.0 | 37.0 | 180 | 150 |", text)
        self.assertIn("| product | 41.0 | 111% | from 11: the taps of a filter row share one input row", text)
        self.assertIn("hot (30 cases) | `direct` | cuDNN, slower in 30 of 30 |", self.readme)
        self.assertIn("hot, TFLOP/s (8 shapes) | 60.0 effective (`winograd`) | 37.0 (cuDNN) | 1.62× |", self.readme)
        for page, contents in ((self.tree / "README.md", self.readme), (self.full, text)):
            for link in re.findall(r"\]\(((?:docs/)?(?:results|pictures)/[^)]*)\)", contents):
                self.assertTrue((page.parent / link).exists(), link)
        self.assertEqual(self.update("--check").returncode, 0)

    def with_the_ladder_of_tensor_cores(self):
        """Its climb has a file and a part of its page of its own, and the words of rows for Hopper alone."""
        page, file = self.tree / "docs/kernels/tensor_core.md", self.gpu / "ladder-tensor_core.json"
        self.assertIn("Not measured: there is no ladder-tensor_core.json.", page.read_text())
        maker = synthetic.Maker()
        for rung, backend, us in (("07_tensor_copy", "tensor_core.07_tensor_copy", 30), ("product", "tensor_core", 20)):
            labels = {"table": "ladder", "algorithm": "tensor_core", "rung": rung, "change": "the words of before"}
            row = {"problem": "mb8ic32ih64oc128oh62kh3", "math": "tf32", "layout": "NHWC", "detail": "tma, 128 x 128"}
            maker.row(us * 1e3, flops=2e9, backend=backend, labels=labels, **row)
        file.write_text(json.dumps(synthetic.document(maker.rows)))
        self.assertEqual(self.update("--partial").returncode, 0)
        words = re.search(r'rung\(tensor_core 07_tensor_copy "(.*)" HOPPER', (self.tree / LADDERS).read_text()).group(1)
        self.assertIn(f"| 07_tensor_copy | {words} | 30.0 |\n", page.read_text())
        self.assertRegex(page.read_text(), r"\| product \| 19 for all problems: [^|]+ \| 20\.0 \|\n")
        self.assertIn("It was measured before 00_naive, 01_shared_tiles,", page.read_text())
        file.unlink()
        self.assertEqual(self.update("--partial").returncode, 0)

    def with_a_later_ladder_of_implicit_gemm(self):
        """A file of its climb alone counts before that of all studies. Older rungs have their names of today."""
        later = self.gpu.with_name("2099-01-01-later")
        later.mkdir()
        maker = synthetic.Maker()
        for rung, us in (("04_block_128", 30), ("05_offset_table", 20), ("08_read_ahead", 10)):
            labels = {"table": "ladder", "algorithm": "implicit_gemm", "rung": rung, "change": "the words of before"}
            maker.row(us * 1e3, flops=2e9, backend=f"implicit_gemm.{rung}", labels=labels)
        (later / "ladder-implicit_gemm.json").write_text(json.dumps(synthetic.document(maker.rows)))
        self.assertEqual(self.update("--partial", "--report").returncode, 0)
        text = self.full.read_text()
        self.assertIn("| 08_unchecked | 100 | – | problems without padding run a kernel without checks |", text)
        self.assertIn("| 11_read_ahead | 200 | – |", text)
        self.assertIn("05_column_windows, 06_tap_offsets, 07_packed_filters, 09_double_buffer,", text)
        self.assertNotIn("the words of before", text)
        self.assertIn("](results/2099-01-01-later/ladder-implicit-gemm.svg)", text)
        self.assertEqual(self.update("--check").returncode, 0)
        shutil.rmtree(later)
        self.assertEqual(self.update("--partial").returncode, 0)

    def with_convolutions_of_resnet50(self):
        """Of each problem the faster layouts count. Where auto takes cuDNN, it has cuDNN's rows alone."""
        maker = synthetic.Maker()
        for problem, times in (
            ("mb8ic64ih56oc64oh56kh1", {"tensor_core": (10, 20), "cudnn": (30, 25)}),
            ("mb8ic64ih56oc64oh56kh3ph1", {"tensor_core": (40, 20), "cudnn": (10, 40)}),
            ("mb64ic64ih56oc64oh56kh3ph1", {"cudnn": (50, 40)}),
        ):
            for backend, medians in times.items():
                for layout, us in zip(("NCHW", "NHWC"), medians):
                    row = {"problem": problem, "backend": backend, "layout": layout, "math": "tf32"}
                    maker.row(us * 1e3, flops=2e9, **row)
        self.resnet50.write_text(json.dumps(synthetic.document(maker.rows)))
        self.assertEqual(self.update("--partial").returncode, 0)
        text = self.full.read_text()
        for line in (
            "| math | filter | batch 8 | batch 64 |",
            "| tf32 | 1×1 | 200 (×2.5; 1 of 1) | – |",
            "| tf32 | 3×3 | 100 (×0.50; 0 of 1) | 50.0 (×1.00; 0 of 1) |",
            "| tf32 | all | 141 (×1.12; 1 of 2) | 50.0 (×1.00; 0 of 1) |",
        ):
            self.assertIn(line, text)
        self.resnet50.write_text(self.without_rows)
        self.assertEqual(self.update("--partial").returncode, 0)
        self.assertNotIn("ResNet-50", self.full.read_text())

    def with_deep_shapes_by_type(self):
        """Of each type the faster layouts count; a shape without cuDNN's row has no ratio. The newest tf32 counts."""
        shapes = "mb8ic32ih64oc128oh62kh3", "mb8ic64ih64oc256oh62kh3"
        files = {name: self.resnet50.parent / f"deep3x3-{name}.json" for name in ("tf32", "fp16", "bf16")}
        for name, path in files.items():
            maker = synthetic.Maker()
            labels = {"math": "tf32"} if name == "tf32" else {"math": "fp32", "dt": name}
            for problem, times in zip(shapes, ((10, 40, 20), (20, 10, 5))):
                for backend, layout, us in zip(("tensor_core", "cudnn", "cudnn"), ("NHWC", "NCHW", "NHWC"), times):
                    if (problem, backend, name) != (shapes[1], "cudnn", "bf16"):
                        row = {"problem": problem, "backend": backend, "layout": layout, **labels}
                        maker.row(us * 1e3, flops=2e9, **row)
            path.write_text(json.dumps(synthetic.document(maker.rows)))
        self.assertEqual(self.update("--partial").returncode, 0)
        text, page = self.full.read_text(), (self.tree / "docs" / "kernels" / "tensor_core.md").read_text()
        for line in (
            "| problem | tf32 | fp16 tensors | bf16 tensors |",
            f"| `{shapes[0]}` | 200 (×2.0) | 200 (×2.0) | 200 (×2.0) |",
            f"| `{shapes[1]}` | 100 (×0.25) | 100 (×0.25) | – |",
            "| all | 141 (×0.71; 1 of 2) | 141 (×0.71; 1 of 2) | 200 (×2.0; 1 of 1) |",
            "| 32, 64, 128 | 41.0 | 60.0 | 37.0 |\n",  # without the older tf32
        ):
            self.assertIn(line, text)
        self.assertIn("(2 shapes) | 141 (`tensor_core`) | 200 (cuDNN) | 0.71× |", (self.tree / "README.md").read_text())
        self.assertIn(f"| `{shapes[1]}` | – | 20.0 | 10.0 | 5.00 | 20.0 | 5.00 | 20.0 | – |", page)
        for path in files.values():
            path.unlink()
        self.assertEqual(self.update("--partial").returncode, 0)
        self.assertNotIn("3×3 on tensor cores", self.full.read_text())

    def keeps_the_history(self):
        """The history keeps the headline figures, also those of deleted folders."""
        rows = self.history.read_text().splitlines(keepends=True)
        self.assertRegex(
            "".join(rows), rf"{self.gpu.name},[^,]*,\"3×3, 32 and 64 channels, [^\"]*fp32[^\"]*\",60,37,1.62"
        )
        gone = [row for row in rows if self.gpu.name not in row and self.folders.group(2).split("/")[-1] not in row]
        self.assertGreater(len(gone), 1, "no folder's figures but those of the pages")
        self.history.write_text("".join(rows).replace(",60,37,", ",61,37,"))
        self.assertIn("history.csv's results differ", self.update("--check").stderr)
        self.history.write_text("".join(gone))
        self.assertEqual(self.update("--check").returncode, 1)
        self.assertEqual(self.update().returncode, 0)
        self.assertEqual(self.history.read_text(), "".join(rows))

    def detects_other_files(self):
        """A page drawn from another file is detected."""
        (self.gpu / "reproduce.json").write_text(json.dumps(self.document) + "\n")
        run = self.update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("report.html", run.stderr)
        (self.gpu / "reproduce.json").write_text(json.dumps(self.document))
        self.assertEqual(self.update("--check").returncode, 0)
        profile = max(self.gpu.parent.glob("*/profile-batch-10000.json"))  # the page and the pictures take the newest
        profile.write_text(profile.read_text() + "\n")
        run = self.update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("lenet5.svg", run.stderr)
        self.assertIn("profile.svg", run.stderr)
        profile.write_text(profile.read_text()[:-1])
        peers_file = self.gpu / "peers.json"
        peers_file.write_text(peers_file.read_text() + "\n")
        self.assertIn("lenet-peers.svg", self.update("--check").stderr)
        peers_file.write_text(peers_file.read_text()[:-1])

    def detects_numbers_written_by_hand(self):
        """A number written by hand is detected too, in a table or in the text."""
        (self.tree / "README.md").write_text(
            self.readme.replace("## Results\n", "## Results\n\nIt runs at 700 M images/s.\n")
        )
        run = self.update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("It runs at 700 M images/s.", run.stderr)
        (self.tree / "README.md").write_text(self.readme.replace("| 60.0 effective", "| 90.0 effective"))
        run = self.update("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("README.md's results differ", run.stderr)
        (self.tree / "README.md").write_text(self.readme)
        # So is a figure in a table below a link to a file that does not have it.
        self.assertEqual(self.update("--check").returncode, 0)
        for name, wrong in ((self.gpu / "peers.json", "0.137"), (self.ladder, "1,860.25")):
            page = self.tree / "docs" / "scale.md"
            kept, link = page.read_text(), name.relative_to(self.tree / "docs")
            page.write_text(f"{kept}\nMeasured ([it]({link})):\n\n| batch | µs |\n|---|---|\n| 1 | {wrong} |\n")
            run = self.update("--check")
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"scale.md: {link}: {wrong}\n", run.stderr)
            page.write_text(kept)
        # So is a commit beside a link to a file of another one.
        own = json.loads((self.gpu / "peers.json").read_text())["meta"]["git"][:7]
        for git, status in ((own, 0), ("0123abc", 1)):
            page.write_text(
                f"{kept}\nMeasured at commit {git} ([it]({self.gpu.relative_to(page.parent)}/peers.json)).\n"
            )
            run = self.update("--check")
            self.assertEqual(run.returncode, status, run.stderr)
        self.assertIn("scale.md: ", run.stderr)
        self.assertIn("peers.json: 0123abc", run.stderr)
        page.write_text(kept)
