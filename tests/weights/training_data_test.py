"""What the robust weights are trained on and chosen from (weights/*.py).

python3 tests/weights/training_data_test.py     # exit 77: skipped, because PyTorch is not installed
"""

import json
import math
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parents[2] / "weights"
sys.path.insert(0, str(WEIGHTS))
try:
    import numpy as np
    import torch
except ImportError as reason:
    print(f"skipped: {reason} (./dev test --apps installs it)")
    sys.exit(77)
import bank  # noqa: E402
import choice  # noqa: E402
import corruptions  # noqa: E402
import lenet5  # noqa: E402
import outliers  # noqa: E402
import skeletons  # noqa: E402
import train_lenet5  # noqa: E402


def bars(n):
    """n pictures of a bar, bytes [n, 784]."""
    images = torch.zeros(n, 28, 28, dtype=torch.uint8)
    images[:, 5:24, 12:16] = 255
    return images.view(n, 784)


def read_by_mnist(images):
    """The digits that the built-in set mnist reads in images [n, 28, 28]."""
    tensors = lenet5.load_safetensors(WEIGHTS / "lenet5.safetensors")[0]
    w = {name: torch.tensor(value.copy()) for name, value in tensors.items()}
    table = torch.from_numpy(lenet5.normalisation_table())
    x = table[(images * 255).round().long()].view(-1, 1, 28, 28)
    f = torch.nn.functional
    for layer in ("conv1", "conv2"):
        x = f.max_pool2d(f.relu(f.conv2d(x, w[f"{layer}.weight"], w[f"{layer}.bias"])), 2)
    x = x.flatten(1)
    for layer in ("fc1", "fc2"):
        x = f.relu(f.linear(x, w[f"{layer}.weight"], w[f"{layer}.bias"]))
    return f.linear(x, w["fc3.weight"], w["fc3.bias"]).argmax(1)


class TrainingData(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def check(self, images, n):
        self.assertEqual(images.shape, (n, 28, 28))
        self.assertTrue(torch.isfinite(images).all())
        self.assertGreaterEqual(images.min(), 0)
        self.assertLessEqual(images.max(), 1)

    def test_as_many_digits_are_refused_as_keep_99_percent_for_sure(self):
        # Exact sums in fractions: P(X <= 38) = 0.0466 and P(X <= 39) = 0.0636 of 5,000.
        for count in (300, 1000, 5000):
            refused, share = choice.refused_digits(count), Fraction(1, 100)
            at_most = sum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(refused + 1))
            one_more = math.comb(count, refused + 1) * share ** (refused + 1) * (1 - share) ** (count - refused - 1)
            self.assertLessEqual(at_most, Fraction(1, 20), count)
            self.assertGreater(at_most + one_more, Fraction(1, 20), count)
        self.assertEqual(choice.refused_digits(5000), 38)

    def test_records_have_a_line_for_each_student(self):
        record = {"lr": [0.001, 0.003], "students": [{"seed": 1, "wrong": 19}, {"seed": 2, "wrong": None}], "x": "{\n"}
        text = lenet5.json_text(record)
        self.assertEqual(json.loads(text), record)
        self.assertEqual(
            text.splitlines()[1:5],
            [' "lr": [0.001, 0.003],', ' "students": [', '  {"seed": 1, "wrong": 19},', '  {"seed": 2, "wrong": null}'],
        )

    def test_a_corruption_changes_a_picture_by_its_own_strength(self):
        n = 16
        clean = bars(n).view(n, 28, 28).float() / 255
        for kind, family in enumerate(corruptions.FAMILIES):
            with self.subTest(family.__name__):
                torch.manual_seed(1)
                spoilt = corruptions.corrupt(clean.clone(), only=torch.full((n,), kind))
                self.check(spoilt, n)
                changed = (spoilt - clean).abs().amax((1, 2)) > 1e-3
                self.assertGreater(changed.float().mean(), 0.6)
                self.assertGreater(len({picture.tobytes() for picture in spoilt.numpy()}), 2)

    def test_outliers_are_pictures(self):
        paths = outliers.Paths(skeletons.LETTERS, "cpu")
        for kind, name in enumerate(outliers.KINDS):
            with self.subTest(name):
                torch.manual_seed(1)
                images = outliers.outliers(12, bars(3), bars(4), bars(5), paths, torch.full((12,), kind))
                self.check(images, 12)
                self.assertGreater(len({picture.tobytes() for picture in images.numpy()}), 6)

    def test_written_digits_match_their_labels(self):
        torch.manual_seed(1)
        paths = outliers.Paths(skeletons.DIGITS, "cpu")
        self.assertEqual(sorted(set(paths.names)), list("0123456789"))
        images, index = outliers.written(paths, 400)
        self.check(images, 400)
        labels = torch.tensor([int(paths.names[k]) for k in index])
        self.assertGreater((read_by_mnist(images) == labels).float().mean(), 0.8)  # the set not trained on them

    def test_bars_are_the_plainest_one(self):
        images = outliers.bars(60, "cpu")
        self.check(images, 60)
        ink = images > 0.5
        tall, wide = ink.any(2).sum(1), ink.any(1).sum(1)
        self.assertGreaterEqual(int(tall.min()), 18)
        self.assertLessEqual(int(wide.max()), 8)
        self.assertGreater((read_by_mnist(images) == 1).float().mean(), 0.9)

    def test_each_kind_of_letters_has_pixels_of_its_own(self):
        paths = outliers.Paths(skeletons.LETTERS, "cpu")
        none, some = torch.zeros(2, 784, dtype=torch.uint8), bars(2)
        kinds = list(outliers.KINDS)
        for name, pixels in (("letters", (some, none)), ("hands", (none, some))):
            images = outliers.outliers(60, *pixels, bars(5), paths, torch.full((60,), kinds.index(name)))
            drawn = (images.amax((1, 2)) > 0.5).float().mean()
            self.assertGreater(drawn, 0.9, name)  # the tenth that is corrupted may be faint

    def glyphs(self, **hand_share):
        """Glyphs of 20 fonts, two pictures each; the digits of fonts that imitate handwriting have labels from 10."""
        fonts = np.repeat(np.arange(20, dtype=np.int32), 2)
        marks = np.repeat(np.arange(40, dtype=np.uint8)[:, None], 784, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "glyphs.npz"
            chars, labels = np.array(["A"] * 38 + ["S", "A"]), fonts % 10
            np.savez(path, letters=marks, letter_font=fonts, letter_char=chars, hands=marks + 100, hand_font=fonts,
                     hand_char=chars, digits=marks, digit_font=fonts, digit_labels=labels, hand_digits=marks + 200,
                     hand_digit_font=fonts, hand_digit_labels=labels + 10)  # fmt: skip
            return outliers.Glyphs(path, "cpu", **hand_share)

    def test_digits_of_fonts_like_handwriting_are_learnt_only_on_request(self):
        for arguments, expected in (({}, 0), ({"hand_share": 0.5}, 20), ({"hand_share": 1.0}, 40)):
            images, labels = self.glyphs(**arguments).more_digits(40)
            self.check(images, 40)
            self.assertEqual(int((labels >= 10).sum()), expected)

    def test_every_tenth_font_of_a_kind_is_kept_for_validation(self):
        glyphs = self.glyphs()
        self.assertEqual(glyphs.valid_letters[:, 0].tolist(), [0, 1, 20, 21])
        self.assertEqual(glyphs.valid_hands[:, 0].tolist(), [100, 101, 120, 121])
        self.assertEqual(glyphs.valid_labels.tolist(), [0, 0, 0, 0])
        self.assertEqual(glyphs.valid_hand_digits[:, 0].tolist(), [200, 201, 220, 221])
        self.assertEqual((len(glyphs.digits), len(glyphs.hand_digits)), (36, 36))
        for learnt, confused in ((glyphs.letters, 38), (glyphs.hands, 138)):
            self.assertEqual(len(learnt), 35 + outliers.MORE_OF_CONFUSED)
            self.assertEqual(int((learnt[:, 0] == confused).sum()), outliers.MORE_OF_CONFUSED)

    def test_no_letter_is_written_like_a_digit(self):
        self.assertFalse(set("OoIl0123456789") & set(outliers.Paths(skeletons.LETTERS, "cpu").names))

    def test_a_batch_holds_the_digits_first_and_targets_are_theirs(self):
        images = bank.Bank(80, [0.5, 0.25, 0.25], 11)
        index = images.draw(16, reach=0.5)
        part = torch.searchsorted(torch.tensor([20, 40, 60, 80]), index.cpu(), right=True)
        self.assertEqual(part.tolist(), [0] * 8 + [2] * 4 + [3] * 4)
        self.assertEqual(tuple(images.targets.shape), (80, 11))

    def test_ink_is_placed_as_in_mnist(self):
        small = torch.zeros(4, 28, 28)
        small[:, 2:10, 20:23] = 1
        placed = outliers.centred(small)
        rows = (placed[0] > 0.5).any(1).nonzero()[:, 0]
        self.assertIn(int(rows[-1] - rows[0]) + 1, range(18, 23))
        y, x = np.mgrid[:28, :28]
        mass = placed[0].numpy()
        for axis in (x, y):
            self.assertLess(abs(float((axis * mass).sum() / mass.sum()) - 14), 1.2)

    def test_only_students_of_one_start_are_averaged(self):
        flat = torch.tensor([[1.0], [2.0], [6.0], [40.0]])
        students = [{"init": init, "seed": seed} for seed, init in enumerate("aaab")]
        means, rows = train_lenet5.with_averages(flat, students)
        self.assertEqual(means.flatten().tolist(), [1, 2, 6, 40, 1.5, 3.5, 4, 3])
        self.assertEqual([row.get("average_of") for row in rows], [None] * 4 + [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
        random = [{"init": train_lenet5.RANDOM, "seed": seed} for seed in range(4)]
        self.assertEqual(train_lenet5.with_averages(flat, random)[1], random)


if __name__ == "__main__":
    unittest.main()
