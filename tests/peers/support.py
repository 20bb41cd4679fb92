"""What the tests of apps/peers share: the answers of 40 images, and stand-ins for the sides.

peers_test.py runs them, and sets the path to the scripts.
"""

import sys
from pathlib import Path

import numpy as np

import side as sides

ROOT = Path(__file__).resolve().parents[2]
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
