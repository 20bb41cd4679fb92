"""Lenslet's side of the comparison: `lenslet bench`, once a turn, for all of its configurations of one batch."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from side import MATH_MODES, NotMeasured, Pass, Side

# `lenslet bench` takes at least 20 windows per turn, however short the requested time is.
MIN_MS, WARMUP_MS, CALLS = 30, 10, 1000
TUNING = ["--warmup-ms", "2", "--min-time-ms", "10"]
IN_ORDER = 200  # single passes behind a median (apps/lenslet/bench/bench_latency.cpp)


def _run(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        done = subprocess.run(
            [program, *arguments, "--json", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if not path.exists():
            raise RuntimeError(f"{' '.join([program, *arguments])} gave {done.returncode}: {done.stderr.strip()}")
        return json.loads(path.read_text())


class Bench:
    """The rows of `lenslet bench` for a device and thread count, measured once a turn and shared by the sides."""

    def __init__(self, program, data, device, threads, options, places="device"):
        self.places = places
        self.command = ["bench", "--device", device, *(["--data", str(data)] if data else []), *options]
        if threads:
            self.command += ["--threads", str(threads)]
        self.program, self.documents = program, {}

    def turn(self, batch, number, latency=False):
        key = (batch, number, latency)
        if key not in self.documents:
            how = ["--latency", "--calls", str(CALLS)] if latency else ["--place", self.places]
            words = ["--batch-sizes", str(batch), "--min-time-ms", str(MIN_MS), "--warmup-ms", str(WARMUP_MS), *how]
            self.documents[key] = _run(self.program, [*self.command, *words])
        return self.documents[key]


class _Pass(Pass):
    def __init__(self, side, batch):
        self.side, self.batch, self.number = side, batch, 0
        self.details = {}

    def rows(self, number, latency=False):
        document = self.side.bench.turn(self.batch, number, latency)
        rows = [row for row in document["results"] if self.side.owns(row)]
        if not rows:
            raise NotMeasured("UNSUPPORTED", "lenslet bench has no such configuration")
        return rows

    def warm_up(self, min_ms):
        """`lenslet bench` warms up in each turn."""

    def turn(self, count, min_ms):
        """`lenslet bench` chooses its number of windows, at least as many as any side's."""
        row = self.rows(self.number)[0]
        self.number += 1
        if row["status"] not in ("PASSED", "SUSPECT"):
            raise NotMeasured(row["status"], row["reason"])
        keys = ("setup_ns", "error", "ceiling_fraction", "bound_by", "replayed")
        # The row's times are medians over all turns, so one suspect turn makes them suspect.
        suspect = row["reason"] if row["status"] == "SUSPECT" else self.details.get("suspect")
        self.details = {"backend": row["backend"], **{key: row[key] for key in keys}}
        if suspect:
            self.details["suspect"] = suspect
        if row["accuracy"]:
            self.details["correct"], self.details["judged"] = row["accuracy"]["correct"], row["accuracy"]["count"]
        return {**{key: row["time_ns"][key] for key in ("p10", "median", "p90")}, "samples": row["samples"]}

    def _latency_rows(self):
        return [row for row in self.rows(0, latency=True) if row["status"] == "PASSED"]

    def in_order(self, count):
        medians = [row["stages_ns"]["in_order"] for row in self._latency_rows() if "in_order" in row["stages_ns"]]
        return {"median": medians[0], "samples": IN_ORDER} if medians else None

    def round_trip(self, count):
        trips = {}
        for row in self._latency_rows():
            shares = {key: row["time_ns"][key] for key in ("p10", "median", "p90")}
            trips[row["labels"]["mode"]] = {**shares, "p99": row["p99_ns"], "samples": row["samples"]}
        return trips


class LensletSide(Side):
    method = "`lenslet bench`: device events, batches of short passes as one CUDA graph"

    def __init__(self, bench, device, threads, plan, math, read, output):
        self.bench, self.device, self.plan, self.math = bench, device, plan, math
        self.input, self.output, self.threads = read, output, threads
        self.name = f"Lenslet, {plan}"
        if device == "cpu":
            self.method = "`lenslet bench`: host clock"

    def owns(self, row):
        labels = row["labels"]
        return (labels["plan"], row["math"], labels["input"], labels["output"]) == (
            self.plan,
            self.math,
            self.input,
            self.output,
        )

    def prepare(self, batch):
        work = _Pass(self, batch)
        row = work.rows(0)[0]
        if row["status"] not in ("PASSED", "SUSPECT"):
            raise NotMeasured(row["status"], row["reason"])
        return work


class TunedSide(LensletSide):
    """A network of an ONNX file, layer by layer, with the plan that `lenslet tune` finds for each batch size."""

    def __init__(self, program, device, threads, model, folder):
        super().__init__(
            Bench(program, None, device, threads, []), device, threads, "layered", "fp32", "fp32", "logits"
        )
        self.name, self.program, self.model, self.folder = "Lenslet, tuned", program, model, folder

    def prepare(self, batch):
        plan = str(Path(self.folder) / f"{Path(self.model).stem}-{batch}.json")
        model = ["--device", self.device, "--model", self.model]
        model += ["--threads", str(self.threads)] if self.threads else []
        _run(self.program, ["tune", *model, "--batch-size", str(batch), "--save-plan", plan, *TUNING])
        self.bench.command = ["bench", *model, "--plan", plan]
        return super().prepare(batch)


def network_side(program, device, threads, name, options):
    """LeNet-5 of those options, the whole network at once."""
    plan = ["--plan", "fused", "--math", "fp32", "--input", "fp32", "--output", "logits"]
    side = LensletSide(
        Bench(program, None, device, threads, [*plan, *options]), device, threads, "fused", "fp32", "fp32", "logits"
    )
    side.name = name
    return side


def on_gpu(program, data):
    """Sides of both plans in every math; `lenslet bench` reads the images of the folder `data` as fp32 or uint8."""
    bench = Bench(program, data, "cuda", None, ["--output", "logits,prediction"])
    sides = [LensletSide(bench, "cuda", None, "layered", math, "fp32", "logits") for math in MATH_MODES]
    for read, output in (("fp32", "logits"), ("uint8", "prediction")):
        sides += [LensletSide(bench, "cuda", None, "fused", math, read, output) for math in MATH_MODES]
    return sides


def on_cpu(program, data, threads):
    """The whole-network plan in fp32. `lenslet bench` reads the images of the folder `data` itself, as fp32."""
    bench = Bench(program, data, "cpu", threads, ["--plan", "fused", "--input", "fp32", "--output", "logits"])
    return [LensletSide(bench, "cpu", threads, "fused", "fp32", "fp32", "logits")]


def logits(program, device, data, options=()):
    """Logits [N, 10] of the test set, by `lenslet eval`: in fp32 unless `options` choose other arithmetic."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logits.npy"
        subprocess.run(
            [program, "eval", "--device", device, "--data", str(data), "--logits", str(path), *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return np.load(path)


def environment(sides):
    """Version, host, devices, libraries and ceilings as the last run of `lenslet bench` reported them."""
    ours = [side for side in sides if isinstance(side, LensletSide)]
    documents = [document for side in ours for document in side.bench.documents.values()]
    keys = ("meta", "host", "devices", "libs", "ceilings", "conditions")
    return {key: documents[-1][key] for key in keys if key in documents[-1]} if documents else {}
