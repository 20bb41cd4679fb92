"""LeNet-5 in tinygrad with its beam search, in a separate process, so that a search can be stopped."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from side import HostPass, NotMeasured, Pass, Side, passes_of, single_calls, skip_unless

BEAM = 2
DEVICES = {"cuda": "CUDA", "cpu": "CPU"}


class TinygradSide(Side):
    """The search takes minutes for large batches: its time is limited."""

    name = "tinygrad, beam search"
    cost = 3
    method = f"TinyJit, BEAM={BEAM}; host clock to the synchronised device"

    def __init__(self, images_file, batches, search_s, device="cuda"):
        self.images_file, self.batches, self.search_s, self.device = images_file, batches, search_s, device

    def prepare(self, batch):
        skip_unless(batch, self.batches, "its search takes minutes per batch size; measured only at")
        left = self.search_s if self.until is None else self.until - time.monotonic()
        return _Child(self, batch, min(self.search_s, max(left, 1)))


class _Child(Pass):
    def __init__(self, side, batch, limit_s):
        self.process = subprocess.Popen(
            [sys.executable, __file__, side.images_file, str(batch)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "BEAM": str(BEAM), "DEV": DEVICES[side.device]},
        )
        try:
            self.details = self._answer(limit_s)
        except NotMeasured:
            self.close()
            raise

    def _answer(self, limit_s):
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        if not ready:
            raise NotMeasured("SKIPPED", f"its search was ended after {limit_s:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            words = self.process.stderr.read().strip().splitlines()
            raise NotMeasured("SKIPPED", f"its process ended: {words[-1] if words else 'no words'}")
        return json.loads(line)

    def _ask(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer(60)

    def turn(self, count, min_ms):
        return self._ask("turn", count, min_ms)

    def logits(self, count):
        import numpy

        return numpy.array(self._ask("logits", count), numpy.float32)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # with the compilers of its search
        self.process.communicate()


def forward(weights, x):
    """x [N, 1, 28, 28] fp32, normalised -> logits [N, 10]."""
    for name in ("conv1", "conv2"):
        x = x.conv2d(weights[f"{name}.weight"], weights[f"{name}.bias"]).relu().max_pool2d((2, 2))
    x = x.flatten(1)
    for name in ("fc1", "fc2", "fc3"):
        x = x.linear(weights[f"{name}.weight"].T, weights[f"{name}.bias"])
        x = x if name == "fc3" else x.relu()
    return x


def serve(images_file, batch):
    """Compiles, reports it, then answers each input line with one line until standard input ends."""
    import numpy
    from tinygrad import Device, Tensor, TinyJit

    from side import tiled

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
    import lenet5 as shared

    tensors, _ = shared.load_safetensors(Path(__file__).resolve().parents[2] / "weights" / "lenet5.safetensors")
    weights = {name: Tensor(numpy.array(value)).realize() for name, value in tensors.items()}
    x = Tensor(tiled(numpy.load(images_file), batch)).realize()
    step = TinyJit(lambda x: forward(weights, x).realize())

    def run(passes):
        for _ in range(passes):
            step(x)
        Device[Device.DEFAULT].synchronize()

    work = HostPass()
    (once,) = single_calls(lambda: run(1), 1, warm_up=3)  # the first calls include search and capture
    work.passes = passes_of(once)
    work.run = lambda: run(work.passes)
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        what, count, *rest = json.loads(line)
        if what == "turn":
            answer = work.turn(count, *rest)
        else:
            answer = step(x).numpy()[:count].tolist()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
