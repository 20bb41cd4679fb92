"""Times calls of the package `lenslet` with arrays of NumPy; prints one line of JSON per number of images.

    python3 python_calls.py DEVICE MATH FOLDER MIN_MS COUNT...

The counterpart of c_calls.c, with the same FOLDER and the same lines of output.
"""

import json
import sys
from pathlib import Path

import numpy as np

import lenslet
from side import single_calls, summarise

WARM_UP, MIN_CALLS = 3, 10


def main(device, math, folder, min_ms, *counts):
    pixels = np.fromfile(Path(folder) / "pixels.bin", np.uint8).reshape(-1, 28, 28)
    labels, expected = (np.fromfile(Path(folder) / name, np.uint8) for name in ("labels.bin", "expected.bin"))
    model = lenslet.Model.built_in(device=device, math=math)
    for count in map(int, counts):
        which = np.arange(count) % len(pixels)
        images = np.ascontiguousarray(pixels[which])
        answers = [None]

        def call():
            answers[0] = model.predict(images)

        once = min(single_calls(call, WARM_UP))
        calls = max(MIN_CALLS, int(float(min_ms) * 1e6 / once))
        summary = summarise(single_calls(call, calls))
        found = answers[0].labels
        row = {
            "count": count,
            **summary,
            "correct": int((found == labels[which]).sum()),
            "differing": int((found != expected[which]).sum()),
            "judged": len(found),
            "device": str(model.device),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
