"""The comparison with other frameworks judges what was timed, and continues when a side fails.

python3 tests/peers/peers_test.py     # exit 77: skipped, because no interpreter has NumPy
"""

import contextlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps" / "peers"))
try:
    import numpy as np
except ImportError:
    # The first python3 on PATH need not be the distribution's, for which ./dev setup --tests installs packages.
    for other in map(str, (ROOT / "build/python/venv/bin/python", "/usr/bin/python3")):
        if os.path.exists(other) and subprocess.run([other, "-c", "import numpy"], capture_output=True).returncode == 0:
            os.execv(other, [other, *sys.argv])
    print(
        "skipped: no NumPy in python3, /usr/bin/python3 or the virtual environment of ./dev python "
        "(./dev setup --tests)"
    )
    sys.exit(77)
import judged_calls  # noqa: E402
import lenet5_peers  # noqa: E402
import lenslet_side  # noqa: E402
import networks_peers  # noqa: E402
import side as sides  # noqa: E402
import user_calls  # noqa: E402

COUNT, BATCH = 40, 64
LABELS = np.arange(COUNT, dtype=np.uint8) % 10
LOGITS = np.eye(10, dtype=np.float32)[LABELS]


def stand_in(file, script, interpreter=sys.executable):
    """Writes that program, and returns its name."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!{interpreter}\n{script}")
    file.chmod(0o755)
    return str(file)


class Passed(sides.Pass):
    def __init__(self, logits):
        self.answers, self.closed = logits, False

    def warm_up(self, min_ms):
        pass

    def turn(self, count, min_ms):
        return sides.summarise([2000.0, 1000.0, 3000.0])

    def in_order(self, count):
        return sides.summarise([5000.0])

    def round_trip(self, count):
        return {"graph": sides.summarise([9000.0])}

    def logits(self, count):
        return self.answers[:count]

    def close(self):
        self.closed = True


class Peer(sides.Side):
    def __init__(self, name, work=None, error=None, cost=0):
        self.name, self.work, self.error, self.cost = name, work, error, cost

    def prepare(self, batch):
        if self.error:
            raise self.error
        return self.work


class PeersTest(unittest.TestCase):
    def rows(self, peers, until=None, latency=(), batch=BATCH, logits=LOGITS):
        arguments = types.SimpleNamespace(window_ms=1, turns=3, windows=1, calls=1, latency_batches=latency)
        timing = lenet5_peers.Timing(batch, arguments, {"labels": LABELS, "logits": logits, "ours": {}})
        for peer in peers:
            timing.prepare(peer, until)
        timing.measure()
        return {row["side"]: row for row in timing.rows}

    def test_no_side_ends_the_comparison(self):
        class Late(Passed):
            def turn(self, count, min_ms):
                raise MemoryError("no room")

        found = self.rows(
            [
                Peer("good", Passed(LOGITS)),
                Peer("refuses", error=sides.NotMeasured("UNSUPPORTED", "cannot")),
                Peer("breaks", error=ValueError("a\nb")),
                Peer("late", Late(LOGITS)),
                sides.Absent("absent", "is not here"),
                Peer("last", Passed(LOGITS)),
            ]
        )
        self.assertEqual(
            {name: (row["status"], row["reason"]) for name, row in found.items()},
            {
                "good": ("PASSED", None),
                "refuses": ("UNSUPPORTED", "cannot"),
                "breaks": ("ERROR", "ValueError: a b"),
                "late": ("ERROR", "MemoryError: no room"),
                "absent": ("SKIPPED", "is not here"),
                "last": ("PASSED", None),
            },
        )
        good = found["good"]
        self.assertEqual(good["time_ns"]["median"], 2000)
        self.assertEqual(good["images_per_s"], BATCH / 2000 * 1e9)
        self.assertEqual((good["correct"], good["judged"], good["differing"]), (COUNT, COUNT, 0))
        self.assertNotIn("in_order_ns", good)
        for name in ("refuses", "breaks", "absent"):
            self.assertNotIn("time_ns", found[name])

    def test_what_was_timed_is_judged(self):
        wrong, few, broken, once = (LOGITS.copy() for _ in range(4))
        wrong[:4], few[:3], broken[:4] = np.roll(LOGITS[:4], 1, 1), np.roll(LOGITS[:3], 1, 1), np.nan
        once[5, 2] = np.inf
        all_of = {"wrong": wrong, "few": few, "broken": broken, "once": once}
        found = self.rows([Peer(name, Passed(logits)) for name, logits in all_of.items()])
        self.assertEqual((found["wrong"]["status"], found["wrong"]["differing"]), ("FAILED", 4))
        self.assertEqual((found["few"]["status"], found["few"]["differing"]), ("PASSED", 3))
        self.assertEqual((found["broken"]["status"], found["broken"]["correct"]), ("FAILED", COUNT - 4))
        self.assertEqual(found["once"]["status"], "FAILED")
        self.assertIn("1 of 40 images have a logit that is not finite", found["once"]["reason"])
        for row in found.values():
            timed = {"time_ns", "images_per_s", "setup_ns"} & set(row)
            self.assertEqual(bool(timed), row["status"] == "PASSED", row)

    def test_a_batch_of_few_images_has_no_wrong_one(self):
        for batch in (1, 3, 13):
            wrong, broken = LOGITS.copy(), LOGITS.copy()
            wrong[batch - 1], broken[batch - 1] = np.roll(LOGITS[batch - 1], 1), np.nan
            peers = [Peer("wrong", Passed(wrong)), Peer("broken", Passed(broken)), Peer("right", Passed(LOGITS))]
            found = self.rows(peers, batch=batch)
            self.assertEqual([row["status"] for row in found.values()], ["FAILED", "FAILED", "PASSED"], batch)
        self.assertEqual([sides.max_differing(count, COUNT) for count in (1, 13, 14, 39, 40)], [0, 0, 1, 2, 3])

    def test_rounding_may_swap_logits_that_are_near_to_each_other(self):
        """As far as the bounds of Lenslet's own rows reach, and no farther."""

        def status(lead, math, bounds):
            logits = LOGITS.copy()
            logits[0, 1] = logits[0, 0] - lead
            ours = [Peer(math_of, Passed(logits)) for math_of in bounds]
            for peer in ours:
                peer.math, peer.work.details = peer.name, {"error": {"bound": bounds[peer.name]}}
            swapped = logits.copy()
            swapped[0, :2] = logits[0, 1::-1]
            other = Peer("other", Passed(swapped))
            other.math = math
            return self.rows([other, *ours], batch=1, logits=logits)["other"]["status"]

        bounds = {"fp32": 1 / 64, "fp16": 1 / 8}
        self.assertEqual(status(17 / 64, "fp16", bounds), "PASSED")
        self.assertEqual(status(19 / 64, "fp16", bounds), "FAILED")
        self.assertEqual(status(3 / 64, "fp32", bounds), "PASSED")
        self.assertEqual(status(5 / 64, "fp32", bounds), "FAILED")
        self.assertEqual(status(1 / 64, "fp16", {"fp32": 1 / 64}), "FAILED")

    def test_a_failed_row_is_exit_code_1(self):
        pixels = np.zeros((COUNT, 28, 28), np.uint8)
        for logits, code in ((LOGITS, 0), (np.roll(LOGITS, 1, 1), 1)):
            with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
                words = ["--device", "cpu", "--cpu-threads", "1", "--cpu-batches", "1", "--turns", "1"]
                words = ["lenet5_peers.py", *words, "--json", str(Path(folder) / "peers.json")]
                for where, name, value in (
                    (sys, "argv", words),
                    (sys, "stdout", io.StringIO()),
                    (lenet5_peers.shared, "read_mnist", lambda *_: (pixels, LABELS)),
                    (lenet5_peers.lenslet_side, "logits", lambda *_: LOGITS),
                    (lenet5_peers, "cpu_sides", lambda *_, logits=logits: [Peer("peer", Passed(logits))]),
                ):
                    stack.enter_context(mock.patch.object(where, name, value))
                self.assertEqual(lenet5_peers.main(), code)

    def test_one_suspect_turn_of_lenslet_makes_its_row_suspect(self):
        class Bench:
            def turn(self, batch, number, latency=False):
                keys = ("setup_ns", "error", "ceiling_fraction", "bound_by", "replayed", "accuracy")
                row = {**dict.fromkeys(keys), "backend": "b", "math": "fp32", "samples": 20}
                row["labels"] = {"plan": "fused", "input": "fp32", "output": "logits"}
                row["time_ns"] = {"p10": 1.0, "median": 2.0, "p90": 3.0}
                status, reason = ("SUSPECT", "above its ceiling") if number == 1 else ("PASSED", None)
                return {"results": [{**row, "status": status, "reason": reason}]}

        side = lenslet_side.LensletSide(Bench(), "cpu", 1, "fused", "fp32", "fp32", "logits")
        row = self.rows([side])["Lenslet, fused"]
        self.assertEqual((row["status"], row["reason"]), ("SUSPECT", "above its ceiling"))

    def test_suspect_rows_keep_their_time_and_are_marked(self):
        work = Passed(LOGITS)
        work.details = {"suspect": "above its ceiling"}
        row = self.rows([Peer("fast", work)])["fast"]
        self.assertEqual((row["status"], row["reason"]), ("SUSPECT", "above its ceiling"))
        self.assertEqual(row["time_ns"]["median"], 2000)
        self.assertTrue(work.closed)

    def test_what_does_not_fit_the_time_is_skipped(self):
        peers = [Peer("cheap", Passed(LOGITS)), Peer("dear", Passed(LOGITS), cost=1)]
        found = self.rows(peers, until=time.monotonic() - 1)
        self.assertEqual(found["cheap"]["status"], "PASSED")
        self.assertEqual(found["dear"]["status"], "SKIPPED")
        self.assertIn("--seconds", found["dear"]["reason"])
        self.assertEqual(self.rows(peers, until=time.monotonic() + 60)["dear"]["status"], "PASSED")
        self.assertEqual(lenet5_peers.shares([1, 10, 100], [10]), [1 / 6, 4 / 5, 1])

    def test_one_image_is_timed_in_order_and_there_and_back(self):
        row = self.rows([Peer("good", Passed(LOGITS))], latency=[BATCH])["good"]
        self.assertEqual(row["in_order_ns"]["median"], 5000)
        self.assertEqual(row["round_trip_ns"]["graph"]["median"], 9000)

    def test_percentiles_are_interpolated_as_in_lenslets_rows(self):
        found = sides.summarise([float(ns) for ns in range(10, -1, -1)])
        self.assertEqual(found, {"p10": 1, "median": 5, "p90": 9, "p99": 9.9, "samples": 11})
        self.assertEqual(sides.summarise([7.0])["p99"], 7)

    def test_a_launch_of_several_passes_is_shared_out(self):
        class Launch(sides.Pass):
            passes = 4

            def windows(self, count, min_ms):
                return [400.0, 1200.0, 800.0][:count]

        self.assertEqual((Launch().turn(3, 1)["median"], Launch().turn(2, 1)["samples"]), (200, 2))

    def test_no_environment_replaces_another(self):
        """`--device both`: the GPU's ceilings stay at the top, those of each number of threads stand apart."""
        document = {}

        def group(device, threads, ceiling):
            ours = lenslet_side.LensletSide(
                types.SimpleNamespace(documents={}), device, threads, "fused", "fp32", "fp32", "logits"
            )
            ours.bench.documents["a turn"] = {"ceilings": ceiling, "results": []}
            return [sides.Absent("JAX", "not installed"), ours]

        for device, threads, ceiling in (
            ("cuda", None, "GPU, early"),
            ("cuda", None, "GPU"),
            ("cpu", 1, "one"),
            ("cpu", 2, "two"),
        ):
            lenet5_peers.add_environment(document, group(device, threads, ceiling))
        self.assertEqual(document["ceilings"], "GPU")
        found = [(group["device"], group["threads"], group["ceilings"]) for group in document["environments"]]
        self.assertEqual(found, [("cuda", None, "GPU"), ("cpu", 1, "one"), ("cpu", 2, "two")])
        lenet5_peers.add_environment(document, [sides.Absent("JAX", "not installed")])
        self.assertEqual(document["ceilings"], "GPU")


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


class NetworksTest(unittest.TestCase):
    def rows(self, outputs):
        """A row of a peer that gives `outputs`, where LOGITS are right."""
        arguments = types.SimpleNamespace(window_ms=1, turns=1, windows=1, calls=1, latency_batches=())
        timing = networks_peers.NetworkTiming(BATCH, arguments, LOGITS.astype(np.float64))
        timing.prepare(Peer("peer", Passed(outputs)), None)
        timing.measure()
        return timing.rows[0]

    def test_outputs_are_judged_by_their_largest_error(self):
        near, far, broken = LOGITS.copy(), LOGITS.copy(), LOGITS.copy()
        near[3, 4], far[3, 4], broken[3, 4] = 9e-5, 1.1e-4, np.nan
        self.assertEqual(self.rows(near)["status"], "PASSED")
        self.assertEqual((self.rows(far)["status"], self.rows(broken)["status"]), ("FAILED", "FAILED"))
        self.assertIn("differs from fp64", self.rows(far)["reason"])

    def test_lenslet_is_judged_by_what_diff_prints(self):
        def fault_of(line, folder):
            program = stand_in(Path(folder) / "lenslet", f"echo '{line}'\nexit 3\n", "/bin/sh")
            arguments = types.SimpleNamespace(lenslet=program, folder=folder, device="cpu")
            return networks_peers.fault_by_diff("resnet20", LOGITS, LOGITS, arguments)

        with tempfile.TemporaryDirectory() as folder:
            row = "whole pass             layered    {}  7.70e+15       0.0 %  SKIPPED     1"
            self.assertEqual(fault_of(row.format("7.15e-07"), folder), "")
            self.assertIn("0.00072", fault_of(row.format("7.24e-04"), folder))
            self.assertIn("gave 3", fault_of("nothing", folder))


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


# Functions of api/lenslet.h that c_calls.c calls. An image's class is its first byte. The variable WRONG of
# the environment selects answers that are not written: those after the first call, the last one of call 5, all of 12.
LIBRARY = """
#include <stdlib.h>
#include <string.h>
#include "lenslet.h"
struct lenslet_model { int calls; };
static lenslet_model made;
lenslet_status lenslet_options_init(lenslet_options* options, size_t size) { options->size = size; return LENSLET_OK; }
lenslet_status lenslet_model_built_in(const lenslet_options* options, lenslet_model** model) {
  (void)options;
  *model = &made;
  return LENSLET_OK;
}
void lenslet_model_destroy(lenslet_model* model) { (void)model; }
const char* lenslet_model_device(const lenslet_model* model) { (void)model; return "cpu"; }
const char* lenslet_last_error(void) { return ""; }
lenslet_status lenslet_pack_u4(const uint8_t* pixels, int64_t count, uint8_t* packed) {
  for (int64_t i = 0; i < count; ++i) packed[i * LENSLET_PACKED_BYTES] = pixels[i * LENSLET_PIXELS];
  return LENSLET_OK;
}
lenslet_status lenslet_host_alloc(size_t bytes, void** memory) { *memory = malloc(bytes); return LENSLET_OK; }
void lenslet_host_free(void* memory) { free(memory); }
static int is_wrong(int call, int last) {
  const char* wrong = getenv("WRONG");
  return (!strcmp(wrong, "later") && call > 0) || (!strcmp(wrong, "one") && call == 5 && last) ||
         (!strcmp(wrong, "end") && call == 12);
}
static lenslet_status predict(lenslet_model* model, const uint8_t* images, int64_t count, size_t bytes,
                              lenslet_prediction* answers) {
  const int call = model->calls++;
  for (int64_t i = 0; i < count; ++i) {
    if (is_wrong(call, i + 1 == count)) continue;
    answers[i].label = images[(size_t)i * bytes];
    answers[i].probability = 1;
  }
  return LENSLET_OK;
}
lenslet_status lenslet_predict_u8(lenslet_model* model, const uint8_t* pixels, int64_t count, lenslet_prediction* to) {
  return predict(model, pixels, count, LENSLET_PIXELS, to);
}
lenslet_status lenslet_predict_u4(lenslet_model* model, const uint8_t* packed, int64_t count, lenslet_prediction* to) {
  return predict(model, packed, count, LENSLET_PACKED_BYTES, to);
}
"""


# A package of that kind. What is not written is what the call before has given.
PACKAGE = """import os
import numpy as np
class Model:
    device = "cpu"
    @staticmethod
    def built_in(**options):
        return Model()
    def __init__(self):
        self.calls, self.arrays = 0, {}
    def predict(self, images):
        count, call = len(images), self.calls
        self.calls += 1
        before = self.arrays.get(count, (np.zeros(count, np.int32), np.ones(count, np.float32)))
        labels, probabilities = self.arrays[count] = [array.copy() for array in before]
        for i in range(count):
            wrong = {"later": call > 0, "one": call == 5 and i + 1 == count, "end": call == 12}
            if wrong.get(os.environ["WRONG"]):
                continue
            labels[i], probabilities[i] = images[i, 0, 0], 1
        return labels.copy(), probabilities.copy()
"""


RAY = """import lenslet
class Predictor:
    def __init__(self, **options):
        self.model = lenslet.Model.built_in(**options)
    def __call__(self, batch):
        return dict(zip(("label", "probability"), self.model.predict(batch["image"])))
"""


class CallersTest(unittest.TestCase):
    """c_calls.c and python_calls.py, with stand-ins for the library and the package."""

    KNOWN = 2000  # calls of many images start at seven places

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = folder = Path(cls.scratch.name)
        cls.alike = folder / "alike"  # images of one class
        cls.alike.mkdir()
        cls.write_images(folder, np.random.default_rng(1).integers(0, 10, cls.KNOWN, np.uint8))
        cls.write_images(cls.alike, np.full(cls.KNOWN, 3, np.uint8))
        (folder / "lenslet").mkdir()
        for name, text in (("__init__", PACKAGE), ("ray", RAY)):
            (folder / "lenslet" / f"{name}.py").write_text(text)
        (folder / "library.c").write_text(LIBRARY)

    @classmethod
    def write_images(cls, folder, labels):
        pixels = np.zeros((cls.KNOWN, 784), np.uint8)
        pixels[:, 0] = labels
        pixels.tofile(folder / "pixels.bin")
        for name in ("labels", "expected", "expected-packed"):
            labels.tofile(folder / f"{name}.bin")

    def faults(self, command, images, wrong, *counts):
        words = [*command, "cpu", "fp32", str(images), "0", *map(str, counts)]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "WRONG": wrong}
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [{"time_ns": row, **row} for row in map(json.loads, done.stdout.splitlines())]
        self.assertEqual([row["count"] for row in rows], list(counts))
        return [user_calls.fault_of(row, self.KNOWN) for row in rows]

    def judge(self, command):
        """A right answer passes; what is wrong in one call is found, also where all others are right."""

        def faults(wrong, *counts):
            return self.faults(command, self.folder, wrong, *counts)

        self.assertEqual(faults("none", 1, 64, 700), ["", "", ""])
        for count in (1, 64, 700):
            self.assertIn("answers of a call differ", faults("later", count)[0])
            self.assertIn("answers of a call differ", faults("end", count)[0])
        self.assertIn("1 of 1 answers of a call differ", faults("one", 1)[0])
        self.assertIn("1 of 64 answers of a call differ", faults("one", 64)[0])

    def test_python(self):
        for words in ((), ("ray",)):
            self.judge([sys.executable, "-B", str(ROOT / "apps/peers/python_calls.py"), *words])

    def test_c(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        program = str(self.folder / "c_calls")
        sources = [str(ROOT / "apps/peers/c_calls.c"), str(self.folder / "library.c")]
        subprocess.run([compiler, "-std=c99", "-I", str(ROOT / "api"), *sources, "-o", program], check=True)
        for words in ((), ("page-locked",), ("packed",)):
            self.judge([program, *words])
            # The answers of the call before would be right ones.
            for count in (1, 700):
                fault = self.faults([program, *words], self.alike, "later", count)[0]
                self.assertIn("answers of a call differ", fault)


if __name__ == "__main__":
    unittest.main(verbosity=0)
