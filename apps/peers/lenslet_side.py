"""Lenslet's side of the comparison: `lenslet bench`, once a turn, for all of its configurations of one batch."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from side import Refused, Side

# `lenslet bench` takes at least 20 windows in each turn, however short this is.
LEAST_MS, WARMUP_MS = 30, 10


def _run(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        done = subprocess.run([program, *arguments, "--json", str(path)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if not path.exists():
            raise RuntimeError(f"{' '.join([program, *arguments])} gave {done.returncode}: {done.stderr.strip()}")
        return json.loads(path.read_text())


class Bench:
    """The rows of `lenslet bench` for one device and thread count, each turn's measured once and shared by the sides."""

    def __init__(self, program, data, device, threads, options):
        self.command = ["bench", "--device", device, "--data", str(data), *options]
        if threads:
            self.command += ["--threads", str(threads)]
        self.program, self.turns = program, {}

    def turn(self, batch, number):
        key = (batch, number)
        if key not in self.turns:
            self.turns[key] = _run(self.program, [*self.command, "--batch-sizes", str(batch), "--min-time-ms",
                                                  str(LEAST_MS), "--warmup-ms", str(WARMUP_MS)])
        return self.turns[key]


class _Pass:
    def __init__(self, side, batch):
        self.side, self.batch, self.number = side, batch, 0
        self.details = {}

    def row(self):
        rows = [row for row in self.side.bench.turn(self.batch, self.number)["results"] if self.side.owns(row)]
        if not rows:
            raise Refused("lenslet bench has no such configuration")
        return rows[0]

    def warm_up(self, min_ms):
        """It warms up in each turn."""

    def turn(self, count, min_ms):
        """`lenslet bench` chooses its windows itself, and no fewer than any side is asked for."""
        row = self.row()
        self.number += 1
        if row["status"] != "PASSED":
            raise RuntimeError(f"{self.side.name}: {row['status']}: {row['reason']}")
        self.details = {"variant": row["labels"]["variant"], "setup_ns": row["setup_ns"], "error": row["error"],
                        "ceiling_fraction": row["ceiling_fraction"], "bound_by": row["bound_by"]}
        return {**{key: row["time_ns"][key] for key in ("p10", "median", "p90")}, "samples": row["samples"]}

    def close(self):
        pass


class LensletSide(Side):
    def __init__(self, bench, device, threads, plan, math, read, output):
        self.bench, self.device, self.plan, self.math = bench, device, plan, math
        self.input, self.output = read, output
        self.name = f"Lenslet, {plan}"
        if threads:
            self.threads = threads

    def owns(self, row):
        labels = row["labels"]
        return ((labels["plan"], row["math"], labels["input"], labels["output"]) ==
                (self.plan, self.math, self.input, self.output))

    def prepare(self, batch):
        work = _Pass(self, batch)
        row = work.row()
        if row["status"] == "UNSUPPORTED":
            raise Refused(row["reason"])
        return work

    def correct(self, normalised, labels):
        """Counted by lenslet bench itself on the same images; None where it offers no such configuration."""
        row = _Pass(self, 64).row()
        return row["accuracy"]["correct"] if row["accuracy"] else None


def on_gpu(program, data):
    bench = Bench(program, data, "cuda", None, ["--output", "logits,prediction"])
    sides = [LensletSide(bench, "cuda", None, "layered", "fp32", "fp32", "logits")]
    for math in ("fp32", "tf32", "fp16"):
        sides.append(LensletSide(bench, "cuda", None, "fused", math, "fp32", "logits"))
    sides.append(LensletSide(bench, "cuda", None, "fused", "fp32", "uint8", "prediction"))
    sides.append(LensletSide(bench, "cuda", None, "fused", "fp16", "uint8", "prediction"))
    return sides


def on_cpu(program, data):
    sides = []
    for threads in (1, 2):
        bench = Bench(program, data, "cpu", threads, ["--plan", "fused", "--output", "logits"])
        sides.append(LensletSide(bench, "cpu", threads, "fused", "fp32", "fp32", "logits"))
    return sides


def logits(program, device, data):
    """fp32 logits [N, 10] of the test set, by `lenslet eval`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logits.npy"
        subprocess.run([program, "eval", "--device", device, "--data", str(data), "--logits", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
        return np.load(path)


def environment(sides):
    """Version, host, devices, libraries and ceilings as the first run of `lenslet bench` told them."""
    side = next(side for side in sides if isinstance(side, LensletSide))
    document = next(iter(side.bench.turns.values()))
    return {key: document[key] for key in ("meta", "host", "devices", "libs", "ceilings")}
