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
import itertools
import json
import math
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import outliers
from bank import DEVICE, Data, make_bank
from choice import Trial, evaluate_students, rank_students
from lenet5 import MEAN, PARAMETER_COUNT, STD, json_text, read_mnist, save_safetensors, wilson_interval
from progress import START, capture, log, steps_in_time
from students import CHUNK, RANDOM, forward_students, initial_parameters, unpack
from teachers import TEACHERS, fill_targets, get_teachers, teacher_errors

CHECKS = 10  # how often students are validated and written during their training
AVERAGE = 0.9995  # decay of the moving average of the students' weights
TRIAL = 5000  # images of each kind that a robust student is judged on, at most


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
