"""`lenslet show`: the page is one file that needs nothing else, and its numbers are the model's.

python3 tests/show/show_test.py LENSLET ROOT DEVICE [TESTS…]
Exit code 77: there is no such device.
"""

import base64
import hashlib
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT, DEVICE = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(ROOT / "tests/support"))
from floats import floats_of_base64, layer_values  # noqa: E402
from tolerances import LOGIT_ERROR, LOGIT_TOLERANCE, PROBABILITY_TOLERANCE  # noqa: E402

DIGIT = ROOT / "samples" / "digit_3_a.png"


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)


def parts_of(html):
    """(Policy, style, script, data) of a page."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    style = re.search(r"<style>(.*?)</style>", html, re.S).group(1)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1)
    script = re.search(r"<script>(.*?)</script>", html, re.S).group(1)
    return policy, style, script, json.loads(data)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        file = Path(cls.folder.name) / "page.html"
        result = run("show", DIGIT, "--device", DEVICE, "--html", file)
        assert result.returncode == 0, result.stderr
        cls.html = file.read_text(encoding="utf-8")
        cls.policy, cls.style, cls.script, cls.data = parts_of(cls.html)
        cls.nodes = {node["name"]: node for node in cls.data["network"]["nodes"]}
        cls.values = layer_values(cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_it_is_small_and_loads_nothing(self):
        self.assertLess(len(self.html.encode()), 1_000_000)
        self.assertLess(len(self.html.encode()) - len(json.dumps(self.data)), 150_000)
        self.assertNotRegex(self.html, r"https?://|\bsrc=|@import|url\(")

    def test_the_policy_admits_its_own_script_and_style_only(self):
        for text, kind in ((self.script, "script"), (self.style, "style")):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertIn(f"{kind}-src 'sha256-{digest}'", self.policy)
        self.assertIn("default-src 'none'", self.policy)
        self.assertNotIn("unsafe", self.policy)

    def test_the_answer_is_that_of_classify(self):
        result = json.loads(run("classify", DIGIT, "--device", DEVICE, "--json", "-").stdout)["results"][0]
        look = self.data["look"]
        self.assertEqual(look["answer"]["number"], "3")
        self.assertEqual(look["answer"]["top"], result["top"])
        self.assertLess(look["difference_to_model"], LOGIT_TOLERANCE)
        self.assertAlmostEqual(look["probabilities"][3], result["probability"], delta=PROBABILITY_TOLERANCE)
        self.assertEqual([stage["name"] for stage in look["stages"]], ["picture", "ink", "digit"])

    def test_the_sum_of_a_convolution_gives_its_value(self):
        weights, bias = floats_of_base64(self.nodes["conv1"]["weights"]), floats_of_base64(self.nodes["conv1"]["bias"])
        image = self.values[self.data["network"]["nodes"][0]["name"]]
        for k, y, x in ((0, 0, 0), (3, 12, 7), (5, 23, 23)):
            total = bias[k] + sum(
                image[(y + r) * 28 + x + s] * weights[(k * 5 + r) * 5 + s] for r in range(5) for s in range(5)
            )
            self.assertAlmostEqual(self.values["conv1"][(k * 24 + y) * 24 + x], total, delta=1e-5)

    def test_the_sum_of_a_linear_layer_gives_its_value(self):
        weights, bias = floats_of_base64(self.nodes["fc3"]["weights"]), floats_of_base64(self.nodes["fc3"]["bias"])
        read = self.values["relu4"]
        for o in range(10):
            total = bias[o] + math.fsum(x * w for x, w in zip(read, weights[o * 84 : o * 84 + 84]))
            self.assertAlmostEqual(self.values["fc3"][o], total, delta=LOGIT_ERROR)

    def test_every_layer_has_its_values_backends_and_times(self):
        for name, node in self.nodes.items():
            self.assertEqual(len(self.values[name]), math.prod(node["shape"]))
        backends = {row["name"]: row["reason"] for row in self.nodes["conv2"]["backends"]}
        self.assertIsNone(backends["direct"])
        self.assertTrue(all(reason is None or reason for reason in backends.values()))
        profile = self.data["profile"]
        timed = {layer["name"] for layer in profile["layers"]}
        timed |= {name for layer in profile["layers"] for name in layer["with"]}
        self.assertEqual(timed, set(self.nodes) - {self.data["network"]["nodes"][0]["name"]})
        self.assertAlmostEqual(
            profile["total_ns"], profile["sum_ns"] - profile["events_ns"] + profile["residual_ns"], delta=1
        )


class Networks(unittest.TestCase):
    def page(self, *words):
        result = run("show", *words, "--device", DEVICE, "--html", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return parts_of(result.stdout)[3]

    def test_an_imported_network(self):
        data = self.page(DIGIT, "--model", ROOT / "tests/models/onnx/lenet5.onnx", "--backend", "direct")
        self.assertEqual(data["look"]["answer"]["number"], "3")
        self.assertTrue(all(data["look"]["values"]))

    def test_a_picture_that_does_not_compress_stays_small(self):
        with tempfile.TemporaryDirectory() as folder:
            noise, page = Path(folder) / "noise.ppm", Path(folder) / "noise.html"
            noise.write_bytes(b"P6 640 480 255\n" + random.Random(7).randbytes(640 * 480 * 3))
            for network in ("resnet20", "mobilenet"):
                model = ROOT / f"tests/models/onnx/{network}.onnx"
                result = run("show", noise, "--device", DEVICE, "--html", page, "--model", model)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertLess(page.stat().st_size, 1_000_000, network)

    def test_a_blank_picture_has_no_values(self):
        with tempfile.TemporaryDirectory() as folder:
            blank = Path(folder) / "a<b.pgm"
            blank.write_bytes(b"P5 40 40 255\n" + bytes([255]) * 1600)
            data = self.page(blank)
            told = run("show", blank, "--device", DEVICE, "--html", Path(folder) / "page.html").stdout
        self.assertIn("a<b.pgm: blank: no ink found, LeNet-5 on ", told)
        self.assertIsNone(data["look"]["values"])
        self.assertEqual(data["look"]["answer"]["refusal"], "blank")

    def test_wrong_pictures_and_options(self):
        self.assertEqual(run("show").returncode, 2)
        self.assertEqual(run("show", DIGIT, DIGIT).returncode, 2)
        self.assertEqual(run("show", ROOT / "CMakeLists.txt", "--html", "-").returncode, 3)
        with tempfile.TemporaryDirectory() as folder:
            digit = Path(folder) / "digit.html"
            digit.write_bytes(DIGIT.read_bytes())
            self.assertIn("name the same file", run("show", digit, "--html", digit).stderr)
            self.assertEqual(digit.read_bytes(), DIGIT.read_bytes())
        self.assertEqual(run("show", DIGIT, "--html", "-", "--backend", "conv2=nonsense").returncode, 2)


if __name__ == "__main__":
    if run("show", DIGIT, "--device", DEVICE, "--html", "-").returncode == 4:
        print(f"skipped: no device {DEVICE}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
