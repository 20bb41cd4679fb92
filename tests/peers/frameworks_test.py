"""Other frameworks and networks: what was timed is judged, and no side that fails ends the comparison."""

import contextlib
import io
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import lenet5_peers
import lenslet_side
import networks_peers
from support import BATCH, COUNT, LABELS, LOGITS, Passed, Peer, sides, stand_in


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
