"""The teachers: larger networks that learn from labels, and whose mean logits the students learn.

M3, M5 and M7 after An et al. (2020, arXiv:2008.10400).
"""

import copy
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

from bank import DEVICE
from progress import capture, log, steps_in_time

TEACHER_DECAY = 0.01  # AdamW's weight decay
TEACHER_AVERAGE = 0.999  # decay of the moving average of a teacher's weights
TEACHER_WARMUP = 500  # steps in which a teacher's learning rate rises


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
