"""c_calls.c and python_calls.py report each answer that is wrong."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import user_calls
from support import ROOT

# Functions of api/lenslet.h that c_calls.c calls. An image's class is its first byte. The variable WRONG of
# the environment selects answers that are not written: those after the first call, the last one of call 5, all of 12.
LIBRARY = """
#include <stdlib.h>
#include <string.h>
#include "lenslet.h"
struct lenslet_model { int calls; };
static lenslet_model made;
lenslet_status lenslet_options_init(lenslet_options* options, size_t size) { options->size = size; return LENSLET_OK; }
lenslet_status lenslet_model_built_in(const lenslet_options* options, lenslet_model** model) {
  (void)options;
  *model = &made;
  return LENSLET_OK;
}
void lenslet_model_destroy(lenslet_model* model) { (void)model; }
const char* lenslet_model_device(const lenslet_model* model) { (void)model; return "cpu"; }
const char* lenslet_last_error(void) { return ""; }
lenslet_status lenslet_pack_u4(const uint8_t* pixels, int64_t count, uint8_t* packed) {
  for (int64_t i = 0; i < count; ++i) packed[i * LENSLET_PACKED_BYTES] = pixels[i * LENSLET_PIXELS];
  return LENSLET_OK;
}
lenslet_status lenslet_host_alloc(size_t bytes, void** memory) { *memory = malloc(bytes); return LENSLET_OK; }
void lenslet_host_free(void* memory) { free(memory); }
static int is_wrong(int call, int last) {
  const char* wrong = getenv("WRONG");
  return (!strcmp(wrong, "later") && call > 0) || (!strcmp(wrong, "one") && call == 5 && last) ||
         (!strcmp(wrong, "end") && call == 12);
}
static lenslet_status predict(lenslet_model* model, const uint8_t* images, int64_t count, size_t bytes,
                              lenslet_prediction* answers) {
  const int call = model->calls++;
  for (int64_t i = 0; i < count; ++i) {
    if (is_wrong(call, i + 1 == count)) continue;
    answers[i].label = images[(size_t)i * bytes];
    answers[i].probability = 1;
  }
  return LENSLET_OK;
}
lenslet_status lenslet_predict_u8(lenslet_model* model, const uint8_t* pixels, int64_t count, lenslet_prediction* to) {
  return predict(model, pixels, count, LENSLET_PIXELS, to);
}
lenslet_status lenslet_predict_u4(lenslet_model* model, const uint8_t* packed, int64_t count, lenslet_prediction* to) {
  return predict(model, packed, count, LENSLET_PACKED_BYTES, to);
}
"""


# A package of that kind. What is not written is what the call before has given.
PACKAGE = """import os
import numpy as np
class Model:
    device = "cpu"
    @staticmethod
    def built_in(**options):
        return Model()
    def __init__(self):
        self.calls, self.arrays = 0, {}
    def predict(self, images):
        count, call = len(images), self.calls
        self.calls += 1
        before = self.arrays.get(count, (np.zeros(count, np.int32), np.ones(count, np.float32)))
        labels, probabilities = self.arrays[count] = [array.copy() for array in before]
        for i in range(count):
            wrong = {"later": call > 0, "one": call == 5 and i + 1 == count, "end": call == 12}
            if wrong.get(os.environ["WRONG"]):
                continue
            labels[i], probabilities[i] = images[i, 0, 0], 1
        return labels.copy(), probabilities.copy()
"""


RAY = """import lenslet
class Predictor:
    def __init__(self, **options):
        self.model = lenslet.Model.built_in(**options)
    def __call__(self, batch):
        return dict(zip(("label", "probability"), self.model.predict(batch["image"])))
"""


class CallersTest(unittest.TestCase):
    """c_calls.c and python_calls.py, with stand-ins for the library and the package."""

    KNOWN = 2000  # calls of many images start at seven places

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = folder = Path(cls.scratch.name)
        cls.alike = folder / "alike"  # images of one class
        cls.alike.mkdir()
        cls.write_images(folder, np.random.default_rng(1).integers(0, 10, cls.KNOWN, np.uint8))
        cls.write_images(cls.alike, np.full(cls.KNOWN, 3, np.uint8))
        (folder / "lenslet").mkdir()
        for name, text in (("__init__", PACKAGE), ("ray", RAY)):
            (folder / "lenslet" / f"{name}.py").write_text(text)
        (folder / "library.c").write_text(LIBRARY)

    @classmethod
    def write_images(cls, folder, labels):
        pixels = np.zeros((cls.KNOWN, 784), np.uint8)
        pixels[:, 0] = labels
        pixels.tofile(folder / "pixels.bin")
        for name in ("labels", "expected", "expected-packed"):
            labels.tofile(folder / f"{name}.bin")

    def faults(self, command, images, wrong, *counts):
        words = [*command, "cpu", "fp32", str(images), "0", *map(str, counts)]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "WRONG": wrong}
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [{"time_ns": row, **row} for row in map(json.loads, done.stdout.splitlines())]
        self.assertEqual([row["count"] for row in rows], list(counts))
        return [user_calls.fault_of(row, self.KNOWN) for row in rows]

    def judge(self, command):
        """A right answer passes; what is wrong in one call is found, also where all others are right."""

        def faults(wrong, *counts):
            return self.faults(command, self.folder, wrong, *counts)

        self.assertEqual(faults("none", 1, 64, 700), ["", "", ""])
        for count in (1, 64, 700):
            self.assertIn("answers of a call differ", faults("later", count)[0])
            self.assertIn("answers of a call differ", faults("end", count)[0])
        self.assertIn("1 of 1 answers of a call differ", faults("one", 1)[0])
        self.assertIn("1 of 64 answers of a call differ", faults("one", 64)[0])

    def test_python(self):
        for words in ((), ("ray",)):
            self.judge([sys.executable, "-B", str(ROOT / "apps/peers/python_calls.py"), *words])

    def test_c(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        program = str(self.folder / "c_calls")
        sources = [str(ROOT / "apps/peers/c_calls.c"), str(self.folder / "library.c")]
        subprocess.run([compiler, "-std=c99", "-I", str(ROOT / "api"), *sources, "-o", program], check=True)
        for words in ((), ("page-locked",), ("packed",)):
            self.judge([program, *words])
            # The answers of the call before would be right ones.
            for count in (1, 700):
                fault = self.faults([program, *words], self.alike, "later", count)[0]
                self.assertIn("answers of a call differ", fault)
