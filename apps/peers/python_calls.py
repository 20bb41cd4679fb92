"""Times calls of the package `lenslet` with arrays of NumPy; prints one line of JSON per number of images.

    python3 python_calls.py DEVICE MATH FOLDER MIN_MS COUNT...

The counterpart of c_calls.c, with the same FOLDER, the same calls and the same lines of output.
"""

import json
import sys

import lenslet
from judged_calls import Batches, TestSet, Verdict, timed_calls


def main(device, math, folder, min_ms, *counts):
    tests = TestSet(folder)
    model = lenslet.Model.built_in(device=device, math=math)
    for count in map(int, counts):
        batches = Batches(tests, tests.stock(count), count)
        verdict = Verdict(tests)
        times = timed_calls(model.predict, batches, verdict, float(min_ms))
        row = {"count": count, **times, **verdict.row, "device": str(model.device)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
