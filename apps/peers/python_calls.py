"""What a program in Python gets: calls of the package `lenslet` with arrays of NumPy, one line of JSON a number of pictures.

    python3 python_calls.py DEVICE MATH FOLDER MIN_MS COUNT...

The counterpart of c_calls.c, with the same FOLDER and the same lines of output.
"""

import json
import sys
from pathlib import Path

import lenslet
import numpy as np
from side import single_calls, summarise

WARM_UP, LEAST_CALLS = 3, 10


def main(device, math, folder, min_ms, *counts):
    pixels = np.fromfile(Path(folder) / "pixels.bin", np.uint8).reshape(-1, 28, 28)
    labels = np.fromfile(Path(folder) / "labels.bin", np.uint8)
    model = lenslet.Model.built_in(device=device, math=math)
    for count in map(int, counts):
        images = np.ascontiguousarray(pixels[np.arange(count) % len(pixels)])
        once = min(single_calls(lambda: model.predict(images), WARM_UP))
        calls = max(LEAST_CALLS, int(float(min_ms) * 1e6 / once))
        summary = summarise(single_calls(lambda: model.predict(images), calls))
        judged = min(count, len(labels))
        correct = int((model.predict(images).labels[:judged] == labels[:judged]).sum())
        row = {"count": count, **summary, "correct": correct, "judged": judged, "device": str(model.device)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
