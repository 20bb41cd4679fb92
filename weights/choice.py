"""How students are judged and chosen: on the validation split, and robust ones also on a trial of further images."""

import math

import torch
import torch.nn.functional as F

import corruptions
import outliers
from bank import DEVICE, to_bytes
from lenet5 import PARAMETER_SHAPES
from students import CHUNK, RANDOM, forward_students, initial_parameters

# The errors in percent that a robust student may have; its score counts its errors in these units, and what is allowed
# as one unit.
ALLOWED = {
    "clean": 0.4, "corrupted": 2.7, "printed": 5, "handwritten": 1.5, "bars": 1, "letters": 5, "hands": 5, "written": 5,
    "doodles": 5, "curves": 5, "outlines": 3, "figures": 3, "noise": 0.1, "blobs": 0.3, "textures": 0.3, "pairs": 3,
}  # fmt: skip


# What a student's rank adds for more errors than those of the weights that it starts from, times their slack. Corrupted
# digits have errors to spare: what refuses outliers better may read a few more of them wrongly.
PENALTIES, SLACK = {"corrupted": 8, "clean": 2}, {"corrupted": 1.25, "clean": 1.02}


def shift_copies(pixels):
    """Returns the nine copies of uint8 images [N, 784] shifted by -1, 0, 1 pixels either way: [9, N, 784]."""
    padded = F.pad(pixels.view(-1, 28, 28), (1, 1, 1, 1))
    return torch.stack([padded[:, dy : dy + 28, dx : dx + 28].flatten(1) for dy in range(3) for dx in range(3)])


@torch.no_grad()
def evaluate_students(flat, data, trial=None):
    """Scores S students on the validation split in true fp32; returns a list of S dictionaries.

    wrong          misclassified validation images
    wrong_shifted  the same, averaged over the nine copies shifted by up to one pixel
    score          their sum, to be minimised: the shifted copies make it less noisy than the bare count

    With a trial, flat is calibrated first, in place, and the score is the trial's, see Trial.judge.
    """
    flags = torch.backends.cuda.matmul, torch.backends.cudnn
    for flag in flags:
        flag.allow_tf32 = False
    fitted = [calibrate(one, data) for one in flat] if trial else [{} for _ in flat]
    copies = shift_copies(data.valid_images)
    wrong = torch.stack(
        [
            torch.cat([forward_students(c, data.normalise(x)) for c in flat.split(CHUNK)]).argmax(2)
            != data.valid_labels
            for x in copies
        ]
    ).sum(2)  # [9, S]
    rows = []
    for i in range(len(flat)):
        bare, shifted = int(wrong[4, i]), float(wrong[:, i].float().mean())
        rows.append(fitted[i] | {"wrong": bare, "wrong_shifted": round(shifted, 3), "score": bare + shifted})
    if trial:
        trial.judge(flat, data, rows)
    for flag in flags:
        flag.allow_tf32 = True
    return rows


class Trial:
    """Further images that judge robust students: corrupted validation images, and glyphs of fonts kept apart."""

    def __init__(self, data, glyphs, n):
        torch.manual_seed(0)

        def all_of(kind):
            return torch.full((n,), kind, device=DEVICE)

        images = data.valid_images[-n:].view(n, 28, 28).float() / 255
        self.labels = data.valid_labels[-n:]
        self.families = {
            family.__name__: to_bytes(corruptions.corrupt(images.clone(), only=all_of(kind)))
            for kind, family in enumerate(corruptions.FAMILIES)
        }

        def bent(pixels, labels, *bend):
            copies = torch.arange(n, device=DEVICE) % len(pixels)
            return to_bytes(outliers.by_hand(pixels[copies].view(n, 28, 28).float() / 255, *bend)), labels[copies]

        self.glyphs = {
            "printed": bent(glyphs.valid_digits, glyphs.valid_labels),
            "handwritten": bent(glyphs.valid_hand_digits, glyphs.valid_hand_labels, outliers.HAND_BEND),
        }
        self.bars = to_bytes(outliers.bars(n, DEVICE))
        self.outliers = {
            name: to_bytes(
                outliers.outliers(
                    n, glyphs.valid_letters, glyphs.valid_hands, data.valid_images, glyphs.letter_paths, all_of(kind)
                )
            )
            for kind, name in enumerate(outliers.KINDS)
        }

    def judge(self, flat, data, rows):
        """Adds to each row, in percent: wrong per family and on average, and of the fonts' digits; bars that are not
        read as 1, outliers accepted, and corrupted digits and fonts' digits kept, at its threshold.

        The score is the mean over what is ALLOWED of the errors in its unit; fewer than are allowed count as allowed.
        """

        def logits(pixels):
            return torch.cat([forward_students(c, data.normalise(pixels)) for c in flat.split(CHUNK)])

        thresholds = torch.tensor([[row["threshold"]] for row in rows], device=DEVICE)

        def wrong_and_kept(pixels, labels):
            read = logits(pixels)
            wrong, kept = read.argmax(2) != labels, read.logsumexp(2) > thresholds
            return 100 * wrong.float().mean(1), 100 * kept.float().mean(1)

        families = {name: wrong_and_kept(pixels, self.labels) for name, pixels in self.families.items()}
        glyphs = {name: wrong_and_kept(pixels, labels) for name, (pixels, labels) in self.glyphs.items()}
        read = logits(self.bars)
        bars = 100 * ((read.argmax(2) != 1) | (read.logsumexp(2) <= thresholds)).float().mean(1)
        accepted = {
            name: 100 * (logits(pixels).logsumexp(2) > thresholds).float().mean(1)
            for name, pixels in self.outliers.items()
        }
        for i, row in enumerate(rows):
            row["families"] = {name: round(float(wrong[i]), 3) for name, (wrong, _) in families.items()}
            row["accepted"] = {name: round(float(value[i]), 3) for name, value in accepted.items()}
            row["corrupted"] = round(sum(row["families"].values()) / len(families), 4)
            row.update({name: round(float(wrong[i]), 3) for name, (wrong, _) in glyphs.items()})
            row["kept"] = {"corrupted": round(sum(float(kept[i]) for _, kept in families.values()) / len(families), 3)}
            row["kept"] |= {name: round(float(kept[i]), 3) for name, (_, kept) in glyphs.items()}
            row["bars"] = round(float(bars[i]), 3)
            row["clean"] = round(50 * row["score"] / len(data.valid_labels), 4)
            errors = row | row["accepted"]
            units = [max(1, errors[name] / allowed) for name, allowed in ALLOWED.items()]
            row["score"] = round(sum(units) / len(units), 4)


def rank_students(rows, data, trial):
    """Returns the indices of the rows, best first: by score and PENALTIES against the weights that it started from."""

    def rank(row):
        worse = [
            row[name] / max(before[row["init"]][name], 1e-3) - SLACK[name]
            for name in PENALTIES
            if row["init"] in before
        ]
        return row["score"] + sum(weight * max(0, more) for weight, more in zip(PENALTIES.values(), worse))

    files = sorted({row["init"] for row in rows} - {RANDOM}) if trial else []
    before = {file: evaluate_students(initial_parameters(0, file).to(DEVICE)[None], data, trial)[0] for file in files}
    return sorted(range(len(rows)), key=lambda s: rank(rows[s]))


def refused_digits(count):
    """How many of `count` digits may be refused if, with 95 % confidence, at least 99 % of all digits shall be kept.

    The largest k with P(X <= k) <= 0.05 for X binomial of `count` and 0.01 (Clopper and Pearson, 1934): 38 of 5,000.
    """
    term = total = 0.99**count
    k = 0
    while total <= 0.05:
        k += 1
        term *= (count - k + 1) / k * 0.01 / 0.99
        total += term
    return k - 1


@torch.no_grad()
def calibrate(flat, data):
    """Fits one student [44426], in place, to the validation images: returns its temperature and energy threshold.

    The temperature, in steps of 0.01, has the lowest log loss; fc3 is divided by it, so that the logits need no more.
    The threshold keeps 99 % of digits, see refused_digits().
    """
    logits = forward_students(flat[None], data.normalise(data.valid_images))[0].double()
    steps = [t / 100 for t in range(20, 500)]
    losses = torch.stack([F.cross_entropy(logits / t, data.valid_labels) for t in steps])
    temperature = steps[int(losses.argmin())]
    flat[-sum(math.prod(PARAMETER_SHAPES[f"fc3.{kind}"]) for kind in ("weight", "bias")) :] /= temperature
    energy = (logits / temperature).logsumexp(1)
    threshold = float(energy.kthvalue(max(1, refused_digits(len(energy)))).values)
    return {"fitted_temperature": temperature, "threshold": round(threshold, 4)}
