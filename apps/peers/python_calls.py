"""Times calls of the package `lenslet` with arrays of NumPy; prints one line of JSON per number of images.

    python3 python_calls.py [ray] DEVICE MATH FOLDER MIN_MS COUNT...

The counterpart of c_calls.c, with the same FOLDER, the same calls and the same lines of output. With `ray` the calls
are those of lenslet.ray.Predictor with the same images as batches, without Ray.
"""

import json
import sys

import lenslet
import lenslet.ray
from judged_calls import Batches, TestSet, Verdict, timed_calls


def main(*words):
    of_ray = words[0] == "ray"
    device, math, folder, min_ms, *counts = words[of_ray:]
    tests = TestSet(folder)
    model = lenslet.Model.built_in(device=device, math=math)
    call = model.predict
    if of_ray:
        predictor = lenslet.ray.Predictor(device=device, math=math)

        def call(images):
            return tuple(predictor({"image": images}).values())

    for count in map(int, counts):
        batches = Batches(tests, tests.stock(count), count)
        verdict = Verdict(tests)
        times = timed_calls(call, batches, verdict, float(min_ms))
        row = {"count": count, **times, **verdict.row, "device": str(model.device)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
