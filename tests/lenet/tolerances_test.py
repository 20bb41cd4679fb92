"""The tolerances of tests in C++ and in Python are the same, and the figures of their derivations are right.

python3 tests/lenet/tolerances_test.py
The derivations need numpy.
"""

import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree unchanged
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "weights")]
import tolerances  # noqa: E402

try:
    import numpy as np

    import lenet5
except ImportError:
    np = None

HEADERS = ("layers/softmax/softmax_error.h", "tests/support/logit_tolerances.h")
UNIT = 2.0**-24
# Of the square of the value: a rounding to nearest is uniform in +-UNIT 2^e, the mantissa log-uniform in [1, 2).
MEAN_SQUARE = 0.18 * UNIT**2
KERNELS = {"conv1": 5, "conv2": 5, "fc1": 4, "fc2": 1, "fc3": 1}  # every layer is a convolution without padding
WINOGRAD_WEIGHT = 5.46  # WinogradF45::kDeviation (models/fused_lenet5/winograd.h)


def python_name(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name[1:]).upper()


class SameValues(unittest.TestCase):
    def test_the_module_has_the_values_of_the_headers(self):
        text = "".join((ROOT / header).read_text(encoding="utf-8") for header in HEADERS)
        values = {}
        for name, value in re.findall(r"^(?:inline )?constexpr double (k\w+) = ([^;]*);", text, re.M):
            values[name] = eval(value, {}, values)
        self.assertIn("kLogitTolerance", values)
        module = {name: value for name, value in vars(tolerances).items() if name.isupper()}
        self.assertEqual({python_name(name): value for name, value in values.items()}, module)
        bound = re.search(r"probability_bound\(double p, double logit_error\) \{\s*return ([^;]*);", text)[1]
        for p in (0.1, 0.996):
            names = {**values, "p": p, "logit_error": 0.1}
            self.assertEqual(eval(bound, {}, names), tolerances.probability_bound(p, 0.1))

    def test_the_weight_of_winograds_roundings_is_the_backends(self):
        text = (ROOT / "models/fused_lenet5/winograd.h").read_text(encoding="utf-8")
        self.assertIn(f"kDeviation = {WINOGRAD_WEIGHT};", text)


@unittest.skipUnless(np, "numpy is not installed")
class Derivations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parameters, _ = lenet5.load_safetensors(ROOT / "weights/lenet5.safetensors")
        golden, _ = lenet5.load_safetensors(ROOT / "weights/golden/activations.safetensors")
        random = np.random.default_rng(1)
        noise = random.integers(0, 256, (100, 28, 28))
        uneven = np.random.default_rng(7)  # the pictures of python/tests/conftest.py
        uneven = 255 * uneven.random((300, 1, 1)) * uneven.random((300, 28, 28))
        strokes = np.zeros((50, 28, 28), int)
        for picture in strokes:
            for y, x in random.integers(4, 18, (4, 2)):
                down = random.integers(2)
                steps = np.arange(6)
                picture[y + down * steps, x + (1 - down) * steps] = 255
        pixels = np.concatenate([golden["input_u8"].reshape(-1, 28, 28), noise, uneven, strokes]).astype(int)
        cls.images = lenet5.normalisation_table()[pixels].reshape(-1, 1, 28, 28)
        mnist, _ = lenet5.load_safetensors(ROOT / "weights/golden/mnist_test_logits.safetensors")
        cls.largest_logit = np.abs(mnist["logits"]).max()

    def layers(self, dtype):
        """Yields (name, weights [K, C * R * S], bias [K, 1, 1], kernel)."""
        for name, kernel in KERNELS.items():
            weights = self.parameters[name + ".weight"].astype(dtype)
            bias = self.parameters[name + ".bias"].astype(dtype)
            yield name, weights.reshape(len(weights), -1), bias[:, None, None], kernel

    @staticmethod
    def windows(x, kernel):
        """What each output multiplies, [N, C * kernel * kernel, P, Q], of x [N, C, H, W]."""
        views = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))  # [N, C, P, Q, R, S]
        n, c, p, q = views.shape[:4]
        return views.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * kernel * kernel, p, q)

    @staticmethod
    def pooled(z, *others):
        """The maxima of 2x2 cells, and what the other arrays have at the same place."""
        n, k, p, q = z.shape
        cells = [
            a.reshape(n, k, p // 2, 2, q // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, k, p // 2, q // 2, 4)
            for a in (z, *others)
        ]
        first = cells[0].argmax(-1)[..., None]
        return [np.take_along_axis(cell, first, -1)[..., 0] for cell in cells]

    def logits(self, operand, dtype=float):
        """Of the images, if operand() rounds what products read."""
        x = self.images.astype(dtype)
        for name, weights, bias, kernel in self.layers(dtype):
            z = np.einsum("kj,njpq->nkpq", operand(weights), self.windows(operand(x), kernel)) + bias
            if name != "fc3":
                z = np.maximum(z, 0)
            x = self.pooled(z)[0] if kernel == 5 else z
        return x.reshape(-1, 10)

    def rounded(self):
        """(Logits in fp64, logits in fp32, deviations by direct sums, deviations with Winograd's transforms)."""
        exact, single = self.images.astype(np.float64), self.images
        variances = [np.zeros_like(exact)] * 2
        for (name, weights, bias, kernel), (_, weights32, bias32, _) in zip(
            self.layers(np.float64), self.layers(np.float32)
        ):
            exact, single = self.windows(exact, kernel), self.windows(single, kernel)
            variances = [self.windows(variance, kernel) for variance in variances]
            shape = (len(exact), len(weights), *exact.shape[2:])
            z = np.broadcast_to(bias, shape).copy()
            z32 = np.broadcast_to(bias32, shape).copy()
            products, sums = np.zeros(shape), np.zeros(shape)
            for j in range(weights.shape[1]):
                term = weights[:, j, None, None] * exact[:, None, j]
                z += term
                z32 += weights32[:, j, None, None] * single[:, None, j]
                products += term**2
                sums += np.where(term != 0, z**2, 0)  # adding 0 is exact
            # A transformed filter is rounded once and so is each product, a transformed input four times, as in
            # models/fused_lenet5/cpu/simd.cpp.
            wide = (2**2 + 4**2) * products + sums
            local = [products + sums, WINOGRAD_WEIGHT**2 * wide if kernel == 5 else products + sums]
            variances = [
                np.einsum("kj,njpq->nkpq", weights**2, variance) + MEAN_SQUARE * own
                for variance, own in zip(variances, local)
            ]
            if name != "fc3":
                variances = [np.where(z > 0, variance, 0) for variance in variances]
                z, z32 = np.maximum(z, 0), np.maximum(z32, 0)
            if kernel == 5:
                z, z32, *variances = self.pooled(z, z32, *variances)
            exact, single = z, z32
        self.assertEqual(single.dtype, np.float32)
        return [a.reshape(-1, 10) for a in (exact, single, *map(np.sqrt, variances))]

    def test_the_mean_square_of_a_rounding(self):
        values = 2 ** np.random.default_rng(1).uniform(0, 1, 1_000_000)  # log-uniform
        errors = (values.astype(np.float32) - values) / values
        self.assertAlmostEqual(np.mean(errors**2) / UNIT**2, 0.18, delta=0.005)

    def test_an_error_in_fp32_is_eight_deviations(self):
        exact, single, direct, winograd = self.rounded()
        self.assertAlmostEqual(direct.max(), 3.0e-6, delta=0.2e-6)
        self.assertAlmostEqual(winograd.max(), 1.3e-5, delta=0.1e-5)
        self.assertAlmostEqual(tolerances.LOGIT_ERROR / winograd.max(), 8, delta=0.6)
        # fp32 itself, which the model describes: neither far from it on average nor anywhere.
        share = (single - exact) / direct
        self.assertAlmostEqual(np.sqrt(np.mean(share**2)), 1, delta=0.3)
        self.assertLess(np.abs(share).max(), 8)

    def test_an_error_in_tf32_and_fp16_is_the_mean_loss_and_a_random_part(self):
        def cut(values):  # to ten bits of the mantissa, towards 0
            return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

        exact = self.logits(lambda values: values)
        values = 2 ** np.random.default_rng(1).uniform(0, 1, 1_000_000)
        loss = np.mean((values - cut(values)) / values)
        self.assertAlmostEqual(loss, 3.5e-4, delta=0.05e-4)
        mean = 10 * loss * self.largest_logit
        self.assertAlmostEqual(mean, 0.037, delta=0.0005)
        to_nearest = np.abs(self.logits(lambda values: values.astype(np.float16).astype(np.float32)) - exact).max()
        self.assertAlmostEqual(to_nearest, 0.013, delta=0.002)
        self.assertAlmostEqual(mean + 0.013, tolerances.SHORT_LOGIT_ERROR, delta=0.001)
        self.assertLess(np.abs(self.logits(cut) - exact).max(), tolerances.SHORT_LOGIT_ERROR)

    def test_tolerances_of_probabilities(self):
        p = 0.996
        change = tolerances.probability_bound(p, tolerances.LOGIT_TOLERANCE) + tolerances.SOFTMAX_ERROR
        self.assertAlmostEqual(change, 5.6e-6, delta=0.05e-6)
        self.assertLess(change, tolerances.PROBABILITY_TOLERANCE)
        short = tolerances.probability_bound(p, tolerances.SHORT_LOGIT_TOLERANCE) + tolerances.SOFTMAX_ERROR
        self.assertAlmostEqual(short, 8.0e-4, delta=0.05e-4)
        self.assertLess(short, tolerances.SHORT_PROBABILITY_TOLERANCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
