"""The comparison with other frameworks judges what was timed, and continues when a side fails.

python3 tests/peers/peers_test.py     # exit 77: skipped, because no interpreter has NumPy
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

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
import lenet5_peers  # noqa: E402
import lenslet_side  # noqa: E402
import networks_peers  # noqa: E402
import side as sides  # noqa: E402
import user_calls  # noqa: E402

COUNT, BATCH = 40, 64
LABELS = np.arange(COUNT, dtype=np.uint8) % 10
LOGITS = np.eye(10, dtype=np.float32)[LABELS]


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
    def rows(self, peers, until=None, latency=()):
        arguments = types.SimpleNamespace(window_ms=1, turns=3, windows=1, calls=1, latency_batches=latency)
        timing = lenet5_peers.Timing(BATCH, arguments, {"labels": LABELS, "logits": LOGITS, "ours": {}})
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
        wrong, few, broken = LOGITS.copy(), LOGITS.copy(), LOGITS.copy()
        wrong[:4], few[:3], broken[:4] = np.roll(LOGITS[:4], 1, 1), np.roll(LOGITS[:3], 1, 1), np.nan
        found = self.rows([Peer("wrong", Passed(wrong)), Peer("few", Passed(few)), Peer("broken", Passed(broken))])
        self.assertEqual((found["wrong"]["status"], found["wrong"]["differing"]), ("FAILED", 4))
        self.assertEqual((found["few"]["status"], found["few"]["differing"]), ("PASSED", 3))
        self.assertEqual((found["broken"]["status"], found["broken"]["correct"]), ("FAILED", COUNT - 4))

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
            program = Path(folder) / "lenslet"
            program.write_text(f"#!/bin/sh\necho '{line}'\nexit 3\n")
            program.chmod(0o755)
            arguments = types.SimpleNamespace(lenslet=str(program), folder=folder, device="cpu")
            return networks_peers.fault_by_diff("resnet20", LOGITS, LOGITS, arguments)

        with tempfile.TemporaryDirectory() as folder:
            row = "whole pass             layered    {}  7.70e+15       0.0 %  SKIPPED     1"
            self.assertEqual(fault_of(row.format("7.15e-07"), folder), "")
            self.assertIn("0.00072", fault_of(row.format("7.24e-04"), folder))
            self.assertIn("gave 3", fault_of("nothing", folder))


class UserCallsTest(unittest.TestCase):
    """Rows of a stand-in for c_calls.c, which prints the lines that it is given."""

    KNOWN = 100

    def rows(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "labels.bin").write_bytes(bytes(self.KNOWN))
            lines = []
            for count in user_calls.COUNTS:
                times = {key: 1000.0 for key in ("p10", "median", "p90", "p99")}
                lines.append(
                    {
                        "count": count,
                        **times,
                        "samples": 10,
                        "correct": count,
                        "differing": 0,
                        "judged": count,
                        "device": "cpu",
                        **changes.get(str(count), {}),
                    }
                )
            program = f"import sys; sys.stdout.write({''.join(json.dumps(line) + chr(10) for line in lines)!r})"
            made = user_calls.rows_of("C", lambda: [sys.executable, "-c", program], "cpu", "fp32", folder, 1)
        return {row["count"]: row for row in made}

    def test_right_answers_pass(self):
        rows = self.rows(**{"64": {"differing": 3, "correct": 61}, "10000": {"differing": 300}})
        self.assertEqual({row["status"] for row in rows.values()}, {"PASSED"})
        self.assertEqual((rows[64]["correct"], rows[64]["differing"], rows[64]["judged"]), (61, 3, 64))

    def test_wrong_answers_fail(self):
        rows = self.rows(**{"64": {"differing": 4}, "10000": {"differing": 301}, "1000000": {"judged": 10000}})
        self.assertEqual(
            {count: row["status"] for count, row in rows.items()},
            {1: "PASSED", 64: "FAILED", 10_000: "FAILED", 1_000_000: "FAILED"},
        )
        self.assertIn("4 of 64 answers differ", rows[64]["reason"])

    def test_rounds_become_one_row_of_their_middle(self):
        def round_of(ns, **changes):
            times = {"median": ns, "samples": 10}
            return [{"status": "PASSED", "count": 64, "time_ns": times, "images_per_s": 64e9 / ns, **changes}]

        (row,) = user_calls.over_rounds([round_of(1000.0), round_of(3000.0)])
        self.assertEqual((row["time_ns"], row["images_per_s"]), ({"median": 2000.0, "samples": 20}, 32e6))
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
        ]
        user_calls.add_shares(rows)
        self.assertAlmostEqual(rows[2]["share_of_bus"], 0.98)
        self.assertAlmostEqual(rows[3]["share_of_bus"], 0.5)
        self.assertAlmostEqual(rows[4]["ratio_to_pytorch"], 8)

    def test_eval_reads_a_file_of_many_images_and_is_judged(self):
        stand_in = """import json, sys
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
                program = Path(folder) / "lenslet"
                program.write_text(f"#!{sys.executable}\n" + stand_in.replace("CORRECT", str(correct)))
                program.chmod(0o755)
                row = user_calls.eval_row(str(program), "cuda", "fp16", folder, 403)
            self.assertEqual((row["status"], row["count"], row["images_per_s"]), (status, 400, 1e6), row["reason"])

    def test_a_caller_that_prints_nothing_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "labels.bin").write_bytes(bytes(4))
            rows = user_calls.rows_of(
                "C", lambda: [sys.executable, "-c", "raise SystemExit('no device')"], "cpu", "fp32", folder, 1
            )
        self.assertEqual({row["status"] for row in rows}, {"ERROR"})


if __name__ == "__main__":
    unittest.main(verbosity=0)
