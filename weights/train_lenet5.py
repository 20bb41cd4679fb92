#!/usr/bin/env python3
"""Trains the LeNet-5 of Lenslet on MNIST by distillation, on one GPU, and writes lenet5.safetensors.

1. Teachers: an ensemble of three larger networks learns from labels, on distorted training images.
2. Bank: millions of distorted training images are drawn once, ordered by the strength of the distortion, each with
   the mean logits of the ensemble.
3. Students: many LeNet-5 learn the teachers' soft outputs from the bank, side by side in one CUDA graph. The draw
   starts with every strength and ends with the weaker distortions, close to the real digits.
4. Choice: the student with the best validation score wins. Only then are the test images read, once, for it alone.

The last --validation training images are the validation split: neither teachers nor students learn from them, and
every choice (recipe, seed) is made on them. Several values of --lr, --temperature or --curriculum-end make a search:
every combination is trained --replicates times.

Example: python3 weights/train_lenet5.py --data data --out out

With --robust glyphs.npz (make_glyphs.py) the set for pictures is trained instead: the bank then also holds corrupted
digits (corruptions.py) and what is no digit (outliers.py), which is an eleventh class of the teachers. A student has no
eleventh logit: the energy of an image, log(sum(exp)) of its ten, is trained to be the log odds of "digit", as the
teachers see them and as they are known. Temperature and the energy under which an image is refused are fitted on the
validation split. Students can start from a weights file (--init). With --first-seconds the --keep best of them learn on
for the rest of the time, and averages of those that started from one file are candidates too.

Sources: distillation after Hinton, Vinyals, Dean (2015, arXiv:1503.02531) and, for the long schedule on distorted
images without labels, Beyer et al. (2022, arXiv:2106.05237). Averages of students after Wortsman et al. (2022,
arXiv:2203.05482). Teachers M3, M5, M7 after An et al. (2020, arXiv:2008.10400). Elastic distortion after Simard,
Steinkraus, Platt (ICDAR 2003).
"""

import argparse
import copy
import itertools
import json
import math
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import corruptions
import outliers
from bank import DEVICE, Data, make_bank, to_bytes
from lenet5 import (
    MEAN,
    PARAMETER_COUNT,
    PARAMETER_SHAPES,
    STD,
    json_text,
    load_safetensors,
    read_mnist,
    save_safetensors,
    wilson_interval,
)

START = time.monotonic()

# Students of one chunk share their batches and one block-diagonal second convolution. With 8 students, the arithmetic
# on zero blocks still costs less than a grouped convolution with 6 input channels per group.
CHUNK = 8

RANDOM = "random"  # the --init that is no file
CHECKS = 10  # how often students are validated and written during their training
AVERAGE = 0.9995  # decay of the moving average of the students' weights
TEACHER_DECAY = 0.01  # AdamW's weight decay
TEACHER_AVERAGE = 0.999  # decay of the moving average of a teacher's weights
TEACHER_WARMUP = 500  # steps in which a teacher's learning rate rises
TRIAL = 5000  # images of each kind that a robust student is judged on, at most

# The errors in percent that a robust student may have; its score counts its errors in these units, and what is allowed
# as one unit.
ALLOWED = {
    "clean": 0.4, "corrupted": 2.7, "printed": 5, "handwritten": 1.5, "bars": 1, "letters": 5, "hands": 5, "written": 5,
    "doodles": 5, "curves": 5, "outlines": 3, "figures": 3, "noise": 0.1, "blobs": 0.3, "textures": 0.3, "pairs": 3,
}  # fmt: skip


# What a student's rank adds for more errors than those of the weights that it starts from, times their slack. Corrupted
# digits have errors to spare: what refuses outliers better may read a few more of them wrongly.
PENALTIES, SLACK = {"corrupted": 8, "clean": 2}, {"corrupted": 1.25, "clean": 1.02}


def log(text):
    print(f"[{time.monotonic() - START:6.1f} s] {text}", flush=True)


# ------------------------------------------------------------------------------------------------------ teachers


def make_teacher(kernel, channels, classes):
    """Builds one network of An et al.: unpadded convolutions, batch norm, ReLU; linear and batch norm on top."""
    layers, size, c = [], 28, 1
    for k in channels:
        layers += [nn.Conv2d(c, k, kernel, bias=False), nn.BatchNorm2d(k), nn.ReLU(inplace=True)]
        size, c = size - kernel + 1, k
    layers += [nn.Flatten(), nn.Linear(c * size * size, classes, bias=False), nn.BatchNorm1d(classes)]
    return nn.Sequential(*layers).to(DEVICE).to(memory_format=torch.channels_last)


TEACHERS = {
    "M3": (3, (32, 48, 64, 80, 96, 112, 128, 144, 160, 176)),
    "M5": (5, (32, 64, 96, 128, 160)),
    "M7": (7, (48, 96, 144, 192)),
}


def autocast():
    return torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False)  # a cached cast would be frozen in a graph


def capture(step, warmup=5):
    """Runs `step` a few times on a side stream, then records it as a CUDA graph and returns the graph."""
    if DEVICE == "cpu":
        return argparse.Namespace(replay=step)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warmup):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


@torch.no_grad()
def teacher_logits(teachers, data, pixels, batch=16384):
    """Returns the mean logits float32 [N, classes] of the teachers for uint8 images [N, 784]."""
    parts = []
    for chunk in pixels.split(batch):
        x = data.normalise(chunk).contiguous(memory_format=torch.channels_last)
        with autocast():
            parts.append(torch.stack([teacher(x).float() for teacher in teachers]).mean(0))
    return torch.cat(parts)


def fill_targets(bank, teachers, data, batch=65536):
    """Sets the target of each image of the bank to the teachers' mean logits."""
    for begin in range(0, len(bank.targets), batch):
        rows = slice(begin, min(begin + batch, len(bank.targets)))
        bank.targets[rows] = teacher_logits(teachers, data, bank.pixels[rows]).half()


def steps_in_time(done, begin, end):
    """How many steps end at the time `end` if `done` began at `begin`: the schedule ends when the time does."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    now = time.monotonic()
    return max(done + 1, int(done + done / (now - begin) * (end - now)))


def train_teacher(name, bank, data, args):
    """Trains one teacher on the bank with labels and returns the moving average of its weights."""
    torch.manual_seed(args.seed)
    model = make_teacher(*TEACHERS[name], bank.targets.shape[1])
    average = copy.deepcopy(model).requires_grad_(False).eval()
    steps, begin = args.teacher_epochs * len(data.images) // args.teacher_batch, time.monotonic()
    lr = torch.zeros((), device=DEVICE)  # a tensor, so that the captured graph reads each step's rate
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=TEACHER_DECAY, fused=True, capturable=True)
    pairs = [
        (a, p)
        for a, p in zip(average.state_dict().values(), model.state_dict().values())
        if a.is_floating_point()  # the batch norms also count batches
    ]

    def step():
        index = bank.draw(args.teacher_batch)
        x = data.normalise(bank.pixels[index]).contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            logits = model(x)
        F.cross_entropy(logits.float(), bank.labels[index].long()).backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_([a for a, _ in pairs], [p for _, p in pairs], 1 - TEACHER_AVERAGE)

    graph, i = capture(step), 0
    while i < steps:
        cosine = 0.5 * (1 + math.cos(math.pi * i / steps))
        optimizer.param_groups[0]["lr"].fill_(args.teacher_lr * min(1, (i + 1) / TEACHER_WARMUP) * cosine)
        graph.replay()
        i += 1
        if i % 250 == 0 and args.teacher_seconds:
            steps = steps_in_time(i, begin, begin + args.teacher_seconds)
    wrong = count_wrong([average], data)
    log(f"teacher {name}: {steps} steps, {wrong} wrong of {len(data.valid_labels)} validation images")
    return average


def count_wrong(teachers, data):
    """How many validation images the mean logits of `teachers` classify wrongly; only the ten digits compete."""
    return int((teacher_logits(teachers, data, data.valid_images)[:, :10].argmax(1) != data.valid_labels).sum())


@torch.no_grad()
def teacher_errors(teachers, data, trial):
    """What the ensemble gets wrong of the trial, in percent, at the odds that keep 99 % of the validation images."""

    def odds(logits):
        return logits[:, :10].logsumexp(1) - logits[:, 10]

    def wrong(pixels, labels):
        return float((teacher_logits(teachers, data, pixels)[:, :10].argmax(1) != labels).float().mean())

    valid = odds(teacher_logits(teachers, data, data.valid_images))
    threshold = valid.kthvalue(max(1, len(valid) // 100)).values
    families = [wrong(pixels, trial.labels) for pixels in trial.families.values()]
    errors = {"corrupted": sum(families) / len(families)}
    errors |= {name: wrong(*glyphs) for name, glyphs in trial.glyphs.items()}
    for name, pixels in trial.outliers.items():
        errors[name] = float((odds(teacher_logits(teachers, data, pixels)) > threshold).float().mean())
    return {name: round(100 * error, 3) for name, error in errors.items()}


def get_teachers(bank, data, args):
    """Trains the teachers, or loads them from --teachers where that file exists."""
    if args.teachers and args.teachers.is_file():
        states = torch.load(args.teachers, map_location=DEVICE)
        classes = bank.targets.shape[1]
        teachers = [make_teacher(*TEACHERS[name], classes).requires_grad_(False).eval() for name in args.ensemble]
        for teacher, name in zip(teachers, args.ensemble):
            teacher.load_state_dict(states[name])
    else:
        teachers = [train_teacher(name, bank, data, args) for name in args.ensemble]
        states = {
            name: {k: v.half() if v.is_floating_point() else v for k, v in teacher.state_dict().items()}
            for name, teacher in zip(args.ensemble, teachers)
        }
        torch.save(states, args.out / "teachers.pt")
    wrong = count_wrong(teachers, data)
    log(f"ensemble: {wrong} wrong of {len(data.valid_labels)} validation images")
    return teachers, wrong


# ------------------------------------------------------------------------------------------------------ students


def unpack(flat):
    """Splits the parameters of S networks, flat [S, 44426], into views by PyTorch's names, each [S, *shape]."""
    parts = flat.split([math.prod(shape) for shape in PARAMETER_SHAPES.values()], dim=1)
    return {name: part.unflatten(1, shape) for (name, shape), part in zip(PARAMETER_SHAPES.items(), parts)}


def initial_parameters(seed, init):
    """Returns float32 [44426]: the weights file `init`, or for RANDOM PyTorch's U(-1/sqrt(fan in), 1/sqrt(fan in))."""
    if init != RANDOM:
        tensors = load_safetensors(init)[0]
        return torch.cat([torch.tensor(tensors[name].copy()).flatten() for name in PARAMETER_SHAPES])
    generator = torch.Generator().manual_seed(seed)
    parts, bound = [], 0.0
    for name, shape in PARAMETER_SHAPES.items():
        if name.endswith("weight"):
            bound = 1 / math.sqrt(math.prod(shape[1:]))
        parts.append((2 * torch.rand(math.prod(shape), generator=generator) - 1) * bound)
    return torch.cat(parts)


def forward_students(flat, x):
    """Runs S LeNet-5 with parameters flat [S, 44426] on the same x [N, 1, 28, 28]; returns logits [S, N, 10]."""
    w, s, n = unpack(flat), len(flat), len(x)
    h = F.conv2d(x, w["conv1.weight"].flatten(0, 1), w["conv1.bias"].flatten())  # [N, 6 S, 24, 24]
    h = F.relu(F.max_pool2d(h, 2))  # pooling first: the same result for a quarter of the ReLUs
    blocks = torch.diag_embed(w["conv2.weight"].permute(1, 2, 3, 4, 0), dim1=0, dim2=2)  # [S, 16, S, 6, 5, 5]
    h = F.conv2d(h, blocks.reshape(16 * s, 6 * s, 5, 5), w["conv2.bias"].flatten())  # [N, 16 S, 8, 8]
    h = F.relu(F.max_pool2d(h, 2))
    h = h.reshape(n, s, 256).transpose(0, 1)  # [S, N, 256]
    for layer in ("fc1", "fc2", "fc3"):
        h = torch.baddbmm(w[f"{layer}.bias"][:, None], h, w[f"{layer}.weight"].transpose(1, 2))
        h = h if layer == "fc3" else F.relu(h)
    return h


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


def log_loss(odds, target):
    """The log loss of log odds against the probability `target`, without the constant entropy of the target."""
    return F.softplus(odds) - target * odds


def train_students(configs, bank, data, args, trial, seconds, start=None):
    """Trains one student for each configuration and returns (parameters [S, 44426], steps done).

    The schedule ends `seconds` after the program's start, or after --steps. The students start as their configurations
    say, or from the parameters `start`.

    Loss: T^2 KL(teachers at temperature T || student at T) of digits. A robust student's is a weighted sum of the means
    over the parts of the bank; that of corrupted digits has the first weight of the student's trade. Its second weighs
    the loss of "digit" or not by the energy, in which its third weighs the digits and its fifth the corrupted ones. Of
    that loss the share in the trade's fourth is the log loss with known labels, the rest again T^2 KL from the teachers
    at T. Adam with a linear warm-up, a cosine to zero, and a moving average of the weights, which is what is kept. One
    replay of the graph is one step of every student.
    """
    count, steps = len(configs), args.steps
    torch.manual_seed(args.seed + 2)
    if start is None:
        start = torch.stack([initial_parameters(config["seed"], config["init"]) for config in configs])
    flat = start.to(DEVICE, copy=True)
    mean, square, average = torch.zeros_like(flat), torch.zeros_like(flat), flat.clone()
    lr = torch.tensor([[config["lr"]] for config in configs], device=DEVICE)
    temperature = torch.tensor([config["temperature"] for config in configs], device=DEVICE).view(-1, 1, 1)
    clock = torch.zeros((), device=DEVICE)  # steps done
    total = torch.full((), float(steps), device=DEVICE)
    chunks = [slice(begin, begin + CHUNK) for begin in range(0, count, CHUNK)]
    sizes = bank.counts(args.batch)
    digits = sum(sizes[:2])

    def of_images(weights):
        """Spreads the weights of the parts, a list for each student, over the images of a batch: [S, N]."""
        each = [[w / size for w, size in zip(parts, sizes) for _ in range(size)] for parts in weights]
        return torch.tensor(each, device=DEVICE)

    kl_weights = of_images([[1 - config["trade"][0], config["trade"][0]] if args.robust else [1] for config in configs])
    if args.robust:
        energy_weights = of_images(
            [[energy * w for w in (kept, spoilt, 1)] for _, energy, kept, _, spoilt in (c["trade"] for c in configs)]
        )
        known_share = torch.tensor([[config["trade"][3]] for config in configs], device=DEVICE)
        is_digit = (torch.arange(args.batch, device=DEVICE) < digits).float()
    flat.requires_grad_(True)

    def reach(end):
        """The prefix of the bank in use: all of it for half of the run, then shrinking to `end` at 90 %."""
        return 1 + (end - 1) * ((clock / total - 0.5) / 0.4).clamp(0, 1)

    def step():
        losses = []
        for chunk in chunks:
            ends = {config["curriculum_end"] for config in configs[chunk]}
            index = bank.draw(args.batch, reach(*ends))
            logits = forward_students(flat[chunk], data.normalise(bank.pixels[index]))
            t = temperature[chunk]
            targets = bank.targets[index].float() / t  # [S, N, classes]
            soft = F.log_softmax(targets[:, :digits, :10], dim=2)
            hard = F.log_softmax(logits[:, :digits] / t, dim=2)
            kl = t[:, :, 0] ** 2 * F.kl_div(hard, soft, reduction="none", log_target=True).sum(2)
            losses.append((kl_weights[chunk] * kl).sum())
            if args.robust:
                odds = targets[:, :, :10].logsumexp(2) - targets[:, :, 10]
                learnt = log_loss((logits / t).logsumexp(2), odds.sigmoid()) * t[:, :, 0] ** 2
                known = log_loss(logits.logsumexp(2), is_digit)
                losses.append((energy_weights[chunk] * torch.lerp(learnt, known, known_share[chunk])).sum())
        (gradient,) = torch.autograd.grad(sum(losses), flat)
        with torch.no_grad():
            clock.add_(1)
            mean.lerp_(gradient, 0.1)
            square.lerp_(gradient * gradient, 0.001)
            schedule = (clock / 1000).clamp(max=1) * 0.5 * (1 + torch.cos(math.pi * (clock / total).clamp(max=1)))
            update = (mean / (1 - 0.9**clock)) / ((square / (1 - 0.999**clock)).sqrt() + 1e-8)
            flat.sub_(lr * schedule * update)
            average.lerp_(flat, 1 - AVERAGE)

    graph = capture(step)
    begin, i = time.monotonic(), 0
    while i < steps:
        graph.replay()
        i += 1
        if i % 500 == 0 and seconds < math.inf:
            steps = min(args.steps, steps_in_time(i, begin, START + seconds))
            total.fill_(float(steps))
            if i == 1000:
                rate = i / (time.monotonic() - begin)
                epochs = rate * args.batch / len(data.images)
                log(f"students: {rate:.0f} steps/s, {epochs:.2f} epochs/s each, {steps} steps")
        if i % max(1, steps // CHECKS) == 0 and i < steps:
            rows = write_students(args.out, average, configs, i, data, trial)[1]
            log(f"students: step {i}, wrong {[row['wrong'] for row in rows]}, scores {[row['score'] for row in rows]}")
    log(f"students: {steps} steps in {time.monotonic() - begin:.1f} s")
    return average, steps


def write_students(folder, average, configs, step, data, trial):
    """Validates the students and writes all, also of an unfinished run; returns their parameters and rows."""
    flat = average.detach().clone()
    rows = [config | row for config, row in zip(configs, evaluate_students(flat, data, trial))]
    np.save(folder / "students.npy", flat.cpu().numpy())
    (folder / "students.json").write_text(json_text({"steps": step, "students": rows}))
    return flat, rows


def with_averages(flat, configs):
    """Returns flat [S, 44426] and configs, followed by the average of every two and more that share an --init file.

    Students that learnt on from one set of weights can be averaged; those of random starts cannot.
    """
    sets, rows = [flat], list(configs)
    for size in range(2, len(configs) + 1):
        for members in itertools.combinations(range(len(configs)), size):
            starts = {configs[s]["init"] for s in members}
            if len(starts) == 1 and RANDOM not in starts:
                sets.append(flat[list(members)].mean(0, keepdim=True))
                rows.append({"average_of": members, "init": starts.pop(), "seed": configs[members[0]]["seed"]})
    return torch.cat(sets), rows


def write_weights(path, flat, metadata):
    """Writes one student's parameters [44426] with PyTorch's names."""
    tensors = {name: value[0].cpu().numpy() for name, value in unpack(flat.detach()[None]).items()}
    save_safetensors(path, tensors, {"model": "lenet5", "mean": str(MEAN), "std": str(STD), **metadata})


@torch.no_grad()
def count_test_errors(flat, data, folder):
    """Reads the test images, for the first and only time, and returns (correct, total) of one student in fp32."""
    images, labels = read_mnist(folder, "t10k")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    x = data.normalise(torch.tensor(images).reshape(-1, 784).to(DEVICE))
    right = forward_students(flat[None], x)[0].argmax(1) == torch.tensor(labels).to(DEVICE)
    return int(right.sum()), len(right)


# ---------------------------------------------------------------------------------------------------------- main


def weights_of_trade(text):
    corrupted, energy, kept, known, spoilt = text.split(":")
    return float(corrupted), float(energy), float(kept), float(known), float(spoilt)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("LENSLET_MNIST_DIR", "data")),
        metavar="DIR",
        help="folder with MNIST's IDX files (default: LENSLET_MNIST_DIR, then ./data)",
    )
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where results are written")
    parser.add_argument(
        "--seed", type=int, default=1, help="of teachers, bank and first student (default: %(default)s)"
    )
    parser.add_argument("--validation", type=int, default=5000, metavar="N", help="size of the validation split")
    parser.add_argument("--teachers", type=Path, metavar="FILE", help="load the teachers from here if it exists")
    parser.add_argument("--robust", type=Path, metavar="GLYPHS", help="train the set for pictures, with these glyphs")
    parser.add_argument(
        "--hand-digits",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the digits that are none of MNIST's, this share of fonts that imitate handwriting (default: none)",
    )
    parser.add_argument(
        "--shares",
        type=float,
        nargs=3,
        default=[0.36, 0.22, 0.42],
        metavar="S",
        help="of digits, corrupted digits and outliers, with --robust (default: %(default)s)",
    )
    parser.add_argument(
        "--trade",
        type=weights_of_trade,
        nargs="+",
        default=[(0.7, 1.0, 3.0, 0.5, 0.15)],
        metavar="C:E:K:H:D",
        help="weights of corrupted digits, of the energy, of digits in the energy, of known labels instead of the "
        "teachers' in the energy, and of corrupted digits in the energy, with --robust (default: 0.7:1:3:0.5:0.15)",
    )
    parser.add_argument(
        "--init",
        nargs="+",
        default=[RANDOM],
        metavar="FILE",
        help=f"weights that students start from, or '{RANDOM}' (default: %(default)s)",
    )
    parser.add_argument("--ensemble", nargs="+", choices=TEACHERS, default=list(TEACHERS), help="which teachers")
    parser.add_argument("--teacher-epochs", type=int, default=50)
    parser.add_argument("--teacher-seconds", type=float, help="for each teacher, instead of --teacher-epochs")
    parser.add_argument("--teacher-batch", type=int, default=500)
    parser.add_argument("--teacher-lr", type=float, default=2e-3)
    parser.add_argument("--bank", type=int, default=10_000_000, metavar="N", help="distorted images in the bank")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--replicates", type=int, default=8, help="students a configuration, seeds counting up")
    parser.add_argument("--lr", type=float, nargs="+", default=[3e-3, 6e-3])
    parser.add_argument("--temperature", type=float, nargs="+", default=[4.0])
    parser.add_argument("--curriculum-end", type=float, nargs="+", default=[0.3], help="strength at the end")
    parser.add_argument("--max-seconds", type=float, default=math.inf, help="shorten the students' run to end by then")
    parser.add_argument(
        "--first-seconds", type=float, metavar="S", help="end a first run of all students by then; the best learn on"
    )
    parser.add_argument("--keep", type=int, default=3, help="students that learn on (default: %(default)s)")
    parser.add_argument("--no-test", action="store_true", help="a search: leave the test images unread")
    return parser.parse_args()


def main():
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    configs = [
        {"curriculum_end": end, "lr": lr, "temperature": temperature, "init": init, "seed": args.seed + replicate}
        | ({"trade": trade} if args.robust else {})
        for end, lr, temperature, init, trade, replicate in itertools.product(
            args.curriculum_end, args.lr, args.temperature, args.init, args.trade, range(args.replicates)
        )
    ]
    for begin in range(0, len(configs), CHUNK):
        if len({config["curriculum_end"] for config in configs[begin : begin + CHUNK]}) > 1:
            raise SystemExit(f"the students of one --curriculum-end must fill whole chunks of {CHUNK}")

    data = Data(args.data, args.validation)
    device = torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU"
    log(f"{device}, torch {torch.__version__}, {len(data.images)} images to learn from")
    glyphs = outliers.Glyphs(args.robust, DEVICE, args.hand_digits) if args.robust else None
    trial = Trial(data, glyphs, min(TRIAL, args.validation)) if args.robust else None
    bank = make_bank(data, glyphs, args)
    log(f"bank: {args.bank} images")
    teachers, ensemble_wrong = get_teachers(bank, data, args)
    fill_targets(bank, teachers, data)
    log("targets made")
    start, first = None, []
    if args.robust:
        log("teachers: " + json.dumps(teacher_errors(teachers, data, trial)))
    if args.first_seconds:
        average, steps = train_students(configs, bank, data, args, trial, args.first_seconds)
        first = write_students(args.out, average, configs, steps, data, trial)[1]
        kept = rank_students(first, data, trial)[: args.keep]
        log(f"of the first run learn on: {kept}")
        configs, start = [configs[s] for s in kept], average[kept]
    average, steps = train_students(configs, bank, data, args, trial, args.max_seconds, start)
    flat, rows = write_students(args.out, average, configs, steps, data, trial)
    if args.first_seconds:
        flat, rows = write_students(args.out, *with_averages(flat, rows), steps, data, trial)
    best = rank_students(rows, data, trial)[0]
    report = {
        "device": device,
        "torch": torch.__version__,
        "arguments": {k: v for k, v in vars(args).items() if not isinstance(v, Path) and v != math.inf},
        "parameters": PARAMETER_COUNT,
        "ensemble_wrong": ensemble_wrong,
        "first_students": first,
        "steps": steps,
        "students": rows,
        "chosen": best,
    }
    for row in sorted(report["students"], key=lambda row: row["score"]):
        log(json.dumps(row))
    metadata = {
        "dataset": f"MNIST, training images 0 to {len(data.images) - 1}",
        "normalisation": "(float32(x) / 255 - mean) / std",
        "validation_accuracy": f"{1 - rows[best]['wrong'] / args.validation:.4f}",
        "seed": str(rows[best]["seed"]),
    }
    if args.robust:
        metadata["temperature"], metadata["energy_threshold"] = "1", f"{rows[best]['threshold']:.4f}"
    if not args.no_test:
        correct, total = count_test_errors(flat[best], data, args.data)
        low, high = wilson_interval(correct, total)
        log(f"test: {correct} of {total} correct, 95 % interval {100 * low:.2f} to {100 * high:.2f} %")
        report["test_correct"], report["test_total"] = correct, total
        metadata["accuracy"] = f"{correct / total:.4f}"
    write_weights(args.out / "lenet5.safetensors", flat[best], metadata)
    report["seconds"] = round(time.monotonic() - START, 1)
    (args.out / "training.json").write_text(json_text(report))
    log("done")


if __name__ == "__main__":
    main()
