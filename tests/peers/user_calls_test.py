"""user_calls.py and gpu_calls.py: a row of wrong answers has no time, and every call is judged."""

import contextlib
import importlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import judged_calls
import user_calls
from support import stand_in


class GpuCallsTest(unittest.TestCase):
    """gpu_calls.py, with stand-ins for PyTorch and the package."""

    @staticmethod
    def modules(torch, lenslet):
        names = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional, "lenslet": lenslet}
        return mock.patch.dict(sys.modules, names)

    def test_fp32_of_pytorch_is_no_tf32(self):
        torch = mock.MagicMock()
        torch.backends.cudnn.allow_tf32 = True
        torch.from_numpy.side_effect = InterruptedError  # after the settings
        with self.modules(torch, mock.MagicMock()):
            gpu_calls = importlib.import_module("gpu_calls")
            with self.assertRaises(InterruptedError):
                gpu_calls.pytorch(None, None, "fp32", 1)
        self.assertIs(torch.backends.cudnn.allow_tf32, False)
        self.assertIs(torch.backends.cuda.matmul.allow_tf32, False)

    def rows_of_two(self, wrong=None):
        """The judged rows of two GPUs, which compute nothing before they are waited for; `wrong` names the one whose
        answers are."""
        known, enqueued = 500, {"cuda:0": [], "cuda:1": []}
        labels = np.random.default_rng(1).integers(0, 10, known, np.uint8)

        class Tensor(np.ndarray):
            def __array_finalize__(self, base):
                self.gpu = getattr(base, "gpu", None)

            def to(self, device):
                placed = self.copy()
                placed.gpu = device
                return placed

            def tensor_split(self, parts):
                return np.array_split(self, parts)

            def pin_memory(self):
                return self

            def copy_(self, other, non_blocking):
                enqueued[self.gpu].append(lambda: np.copyto(self, other))

        class Model:
            device, shares = "cuda:0,1", dict.fromkeys(enqueued)

            def predict(self, images, out=None):
                answers = out or (np.full(len(images), -1, np.int32), np.full(len(images), np.nan, np.float32))
                where = getattr(images, "gpu", None)

                def compute():
                    answers[0][:], answers[1][:] = images[:, 0, 0] + (wrong is not None and where == wrong), 1

                if where:
                    enqueued[where].append(compute)
                else:
                    compute()
                return answers

        def wait(device):
            while enqueued[device or "cuda:0"]:
                enqueued[device or "cuda:0"].pop(0)()

        torch, lenslet = mock.MagicMock(), mock.MagicMock()
        torch.from_numpy = lambda array: array.view(Tensor)
        torch.empty_like = lambda array, device: np.empty_like(array).to(device)
        torch.cuda.synchronize.side_effect = wait
        lenslet.Model.built_in.return_value, lenslet.empty_pinned = Model(), lambda shape: np.empty(shape, np.uint8)
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, self.modules(torch, lenslet):
            pixels = np.zeros((known, 784), np.uint8)
            pixels[:, 0] = labels
            pixels.tofile(Path(folder) / "pixels.bin")
            for name in ("labels", "expected"):
                labels.tofile(Path(folder) / f"{name}.bin")
            gpu_calls = importlib.import_module("gpu_calls")
            gpu_calls.MILLION, gpu_calls.TENSORS = 300, (1, 64, 100)
            with contextlib.redirect_stdout(printed):
                gpu_calls.main("cuda:0,1", "fp16", folder, 0)
        rows = [json.loads(line) for line in printed.getvalue().splitlines()]
        return [row if row["way"] == "bus" else user_calls.verdict_on(row, known) for row in rows]

    def test_several_gpus_are_fed_at_once_waited_for_and_judged(self):
        rows = self.rows_of_two()
        found = [(row["way"], row["count"], row["device"]) for row in rows]
        ways = (("bus", 600), ("tensor", 200), ("ordinary", 600), ("page-locked", 600), ("bus", 600))
        self.assertEqual(found, [(way, count, "cuda:0,1") for way, count in ways])
        for row in rows[1:-1]:
            self.assertEqual((row["status"], row["differing"]), ("PASSED", 0), row)
        self.assertGreater(rows[1]["one_images_per_s"], 0)
        for wrong in ("cuda:0", "cuda:1"):
            row = self.rows_of_two(wrong)[1]
            self.assertEqual((row["status"], "one_images_per_s" in row), ("FAILED", False), row)


class UserCallsTest(unittest.TestCase):
    """Rows of a stand-in for c_calls.c, which prints the lines that it is given."""

    KNOWN, SAMPLES = 10_000, 10

    def rows(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "labels.bin").write_bytes(bytes(self.KNOWN))
            lines = []
            for count in user_calls.COUNTS:
                times = {key: 1000.0 for key in ("p10", "median", "p90", "p99")}
                judged = count * (judged_calls.WARM_UP + (self.SAMPLES if count <= judged_calls.JUDGED_EACH else 1))
                lines.append(
                    {
                        "count": count,
                        **times,
                        "samples": self.SAMPLES,
                        "correct": judged,
                        "differing": 0,
                        "differing_in_a_call": 0,
                        "judged": judged,
                        "device": "cpu",
                        **changes.get(str(count), {}),
                    }
                )
            program = f"import sys; sys.stdout.write({''.join(json.dumps(line) + chr(10) for line in lines)!r})"
            made = user_calls.rows_of("C", lambda: [sys.executable, "-c", program], "cpu", "fp32", folder, 1)
        return {row["count"]: row for row in made}

    def test_right_answers_pass(self):
        rows = self.rows(**{"10000": {"differing_in_a_call": 3}, "1000000": {"differing_in_a_call": 300}})
        self.assertEqual({row["status"] for row in rows.values()}, {"PASSED"})
        self.assertEqual((rows[64]["correct"], rows[64]["differing"], rows[64]["judged"]), (64 * 13, 0, 64 * 13))
        self.assertEqual((rows[64]["time_ns"]["median"], rows[64]["images_per_s"]), (1000, 64e6))

    def test_wrong_answers_fail_and_have_no_time(self):
        wrong = {str(count): {"differing_in_a_call": count * 3 // 10_000 + 1} for count in user_calls.COUNTS}
        rows = self.rows(**wrong)
        self.assertEqual({row["status"] for row in rows.values()}, {"FAILED"})
        self.assertIn("1 of 64 answers of a call differ", rows[64]["reason"])
        for row in rows.values():
            self.assertFalse({"time_ns", "images_per_s"} & set(row), row)

    def test_calls_that_were_not_judged_fail(self):
        rows = self.rows(**{"64": {"judged": 64 * 12}, "10000": {"judged": 30_000}})
        self.assertEqual(
            [rows[count]["status"] for count in user_calls.COUNTS], ["PASSED", "FAILED", "FAILED", "PASSED"]
        )
        self.assertIn("13 calls of 64", rows[64]["reason"])

    def test_rounds_become_one_row_of_their_middle(self):
        def round_of(ns, **changes):
            times, judged = {"median": ns, "samples": 10}, {"correct": 830, "differing": 3, "judged": 832}
            row = {"status": "PASSED", "count": 64, "time_ns": times, "images_per_s": 64e9 / ns, **judged}
            return [{**row, "differing_in_a_call": 1, **changes}]

        (row,) = user_calls.over_rounds([round_of(1000.0), round_of(3000.0, differing=4, differing_in_a_call=2)])
        self.assertEqual((row["time_ns"], row["images_per_s"]), ({"median": 2000.0, "samples": 20}, 32e6))
        self.assertEqual([row[key] for key in ("judged", "correct", "differing")], [1664, 1660, 7])
        self.assertEqual(row["differing_in_a_call"], 2)
        (row,) = user_calls.over_rounds([round_of(1000.0), round_of(3000.0, status="FAILED")])
        self.assertEqual(row["status"], "FAILED")

    def test_shares_are_of_the_best_rate_of_the_bus(self):
        def row(way, **keys):
            return {"way": way, "status": "PASSED", "math": "fp16", **keys}

        rows = [
            row("bus", bytes_per_s=30e9),
            row("bus", bytes_per_s=39.2e9),
            row(user_calls.PAGE_LOCKED, images_per_s=49e6),
            row(user_calls.PACKED, images_per_s=50e6),
            row("ordinary", images_per_s=40e6),
            row("PyTorch", images_per_s=5e6),
            row("tensor", images_per_s=9e6, one_images_per_s=5e6),
        ]
        user_calls.add_shares(rows)
        self.assertAlmostEqual(rows[2]["share_of_bus"], 0.98)
        self.assertAlmostEqual(rows[3]["share_of_bus"], 0.5)
        self.assertAlmostEqual(rows[4]["ratio_to_pytorch"], 8)
        self.assertAlmostEqual(rows[6]["ratio_to_one"], 1.8)

    def test_rays_class_is_compared_with_predict_of_the_same_images(self):
        def row(caller, count, rate, math="fp32"):
            return {"caller": caller, "count": count, "math": math, "images_per_s": rate, "status": "PASSED"}

        rows = [row("C", 64, 9.0), row("Python", 64, 8.0), row("Python", 64, 20.0, "fp16"), row("Python", 1, 2.0)]
        rows.append(row(user_calls.RAY, 64, 6.0))
        user_calls.add_share_of_predict(rows)
        self.assertEqual([row.get("share_of_predict") for row in rows], [None] * 4 + [0.75])

    def test_lists_of_gpus(self):
        for text, devices in (("cuda:0,1", ["cuda:0", "cuda:1"]), ("cuda:1", ["cuda:1"]), ("cuda", ["cuda"])):
            self.assertEqual(user_calls.devices_of(text), devices)

    def test_eval_reads_a_file_of_many_images_and_is_judged(self):
        script = """import json, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
images = open(options["--data"] + "/t10k-images-idx3-ubyte", "rb").read()
labels = open(options["--data"] + "/t10k-labels-idx1-ubyte", "rb").read()
count = int.from_bytes(images[4:8], "big")
assert len(images) == 16 + 784 * count and len(labels) == 8 + count, (len(images), len(labels))
result = {"count": count, "correct": CORRECT, "batch": 10, "throughput": {"images_per_s": 1e6}}
open(options["--json"], "w").write(json.dumps(result))
"""
        for correct, status in ((400, "PASSED"), (392, "PASSED"), (99, "FAILED")):
            with tempfile.TemporaryDirectory() as folder:
                for name, size in (("pixels", 784 * 4), ("labels", 4), ("expected", 4)):
                    (Path(folder) / f"{name}.bin").write_bytes(bytes(size))
                program = stand_in(Path(folder) / "lenslet", script.replace("CORRECT", str(correct)))
                row = user_calls.eval_row(program, "cuda", "fp16", folder, 403)
            self.assertEqual((row["status"], row["count"]), (status, 400), row["reason"])
            self.assertEqual(row.get("images_per_s"), 1e6 if status == "PASSED" else None)

    def test_calls_of_the_model_stand_beside_a_pass_alone(self):
        """Both places of `lenslet bench`, in its own words."""
        script = """import json, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
row = {"status": "PASSED"} if options["--batch-sizes"] != "1024" else {"status": "SUSPECT", "reason": "too fast"}
rows = [{**row, "labels": {"place": place}, "time_ns": {"median": ns}}
        for place, ns in (("device", 1000.0), ("host", 4000.0)) if place in options["--place"].split(",")]
open(options["--json"], "w").write(json.dumps({"results": rows}))
"""
        with tempfile.TemporaryDirectory() as folder:
            rows = user_calls.bench_rows(stand_in(Path(folder) / "lenslet", script), folder, "cpu")
        late = next(row for row in rows if row["count"] == 1024)
        self.assertEqual(late["status"], "ERROR")
        self.assertIn("no PASSED row of both places, but SUSPECT: too fast", late["reason"])
        rows.remove(late)
        self.assertEqual({row["status"] for row in rows}, {"PASSED"})
        self.assertEqual({row["share_of_device"] for row in rows}, {0.25})

    def test_auto_is_the_device_that_ran_in_every_part(self):
        script = """import json, sys
import numpy as np
command, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
print(command, options["--device"], file=open("LOG", "a"))
if command == "profile":
    print(json.dumps({"ceilings": {"device": "DEVICE"}}))
elif command == "eval":
    np.save(options["--logits"], np.zeros((4, 10), np.float32))
else:
    row = {"status": "PASSED", "time_ns": {"median": 1.0}}
    rows = [{**row, "labels": {"place": place}} for place in ("device", "host")]
    open(options["--json"], "w").write(json.dumps({"results": rows, "meta": {}}))
"""
        for device, part, other in (("cuda:0", "gpu_rows", "bench_rows"), ("cpu", "bench_rows", "gpu_rows")):
            with tempfile.TemporaryDirectory() as folder:
                log, file = (Path(folder) / name for name in ("log", "calls.json"))
                text = script.replace("DEVICE", device).replace("LOG", str(log))
                stand_in(Path(folder) / "bin/lenslet", text)
                command = ["user_calls.py", "--build", folder, "--device", "auto", "--eval-images", "0"]
                command += ["--data", folder, "--json", str(file)]
                images = np.zeros((4, 28, 28), np.uint8), np.zeros(4, np.uint8)
                with (
                    mock.patch.object(sys, "argv", command),
                    mock.patch.object(user_calls.shared, "read_mnist", return_value=images),
                    contextlib.redirect_stdout(io.StringIO()),
                ):
                    user_calls.main()
                document = json.loads(file.read_text())
                self.assertTrue(document[part], document)
                self.assertEqual(document[other], [])
                self.assertEqual({row["device"] for row in document["rows"]}, {device})
                ran = log.read_text().splitlines()
            self.assertEqual(ran[0], "profile auto")
            self.assertEqual({line.split()[1] for line in ran[1:]} - {"cuda"}, {device})

    def test_a_caller_that_prints_nothing_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "labels.bin").write_bytes(bytes(4))
            rows = user_calls.rows_of(
                "C", lambda: [sys.executable, "-c", "raise SystemExit('no device')"], "cpu", "fp32", folder, 1
            )
        self.assertEqual({row["status"] for row in rows}, {"ERROR"})
