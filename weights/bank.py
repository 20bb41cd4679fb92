"""The images that train_lenet5.py learns from: MNIST's training images, and the bank of distorted ones and outliers."""

import math

import torch
import torch.nn.functional as F

import corruptions
import outliers
from lenet5 import normalisation_table, read_mnist

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # without a GPU only the smallest runs end
MORE = 4  # of how many digits of the robust bank one is not MNIST's


class Data:
    """MNIST's training images on the GPU: uint8 [N, 784] and int64 labels [N], split into learning and validation."""

    def __init__(self, folder, validation):
        images, labels = read_mnist(folder, "train")
        images = torch.tensor(images).reshape(-1, 784).to(DEVICE)
        labels = torch.tensor(labels).long().to(DEVICE)
        self.images, self.valid_images = images[:-validation], images[-validation:]
        self.labels, self.valid_labels = labels[:-validation], labels[-validation:]
        self.table = torch.from_numpy(normalisation_table()).to(DEVICE)

    def normalise(self, pixels):
        """Maps uint8 [N, 784] to normalised float32 [N, 1, 28, 28]."""
        return self.table[pixels.long()].view(-1, 1, 28, 28)


def distort(pixels, strength):
    """Returns distorted copies of uint8 images [N, 784]; strength [N] runs from 0 (unchanged) to 1.

    At strength 1: rotation up to 20 degrees, scale of either axis 0.8 to 1.25, shear up to 0.25, translation up to
    2.5 pixels, all uniform, and a smooth elastic displacement with a standard deviation of 1.2 pixels at the nodes
    of a 6 x 6 grid. Bicubic sampling keeps weakly distorted strokes sharp.
    """
    n = len(pixels)

    def uniform(limit):
        return (2 * torch.rand(n, device=pixels.device) - 1) * limit * strength

    angle, shear = uniform(math.radians(20)), uniform(0.25)
    scale_x, scale_y = torch.exp(uniform(math.log(1.25))), torch.exp(uniform(math.log(1.25)))
    shift_x, shift_y = uniform(2.5 / 14), uniform(2.5 / 14)  # grid_sample counts in half widths: 14 pixels
    cos, sin = torch.cos(angle), torch.sin(angle)
    centres = (torch.arange(28, device=pixels.device) - 13.5) / 14
    y, x = torch.meshgrid(centres, centres, indexing="ij")  # [28, 28]

    def row(a, b, c):
        return a.view(-1, 1, 1) * x + b.view(-1, 1, 1) * y + c.view(-1, 1, 1)

    from_x = row(cos * scale_x, (shear * cos - sin) * scale_y, shift_x)
    from_y = row(sin * scale_x, (shear * sin + cos) * scale_y, shift_y)
    nodes = torch.randn(n, 2, 6, 6, device=pixels.device) * (1.2 / 14) * strength.view(-1, 1, 1, 1)
    elastic = F.interpolate(nodes, size=(28, 28), mode="bicubic", align_corners=True)
    grid = torch.stack([from_x, from_y], dim=3) + elastic.permute(0, 2, 3, 1)  # [N, 28, 28, 2]

    images = pixels.view(n, 1, 28, 28).float()
    images = F.grid_sample(images, grid, mode="bicubic", padding_mode="zeros", align_corners=False)
    return images.round().clamp(0, 255).to(torch.uint8).view(n, 784)


class Bank:
    """uint8 images [B, 784], labels [B] and float16 targets [B, classes] of B images in parts.

    A part is (begin, size, share of every batch). The first is ordered by the strength of its distortion, so that a
    prefix holds the weaker ones. The last of three parts holds what is no digit, the class 10.
    """

    def __init__(self, size, shares, classes):
        self.pixels = torch.empty(size, 784, dtype=torch.uint8, device=DEVICE)
        self.labels = torch.empty(size, dtype=torch.uint8, device=DEVICE)
        ends = [round(size * sum(shares[:k])) for k in range(len(shares) + 1)]
        self.parts = [(begin, end - begin, share) for begin, end, share in zip(ends, ends[1:], shares)]
        self.targets = torch.empty(size, classes, dtype=torch.float16, device=DEVICE)

    def counts(self, batch):
        """Returns how many images of each part are in a batch."""
        counts = [round(batch * part[2]) for part in self.parts[1:]]
        return [batch - sum(counts), *counts]

    def draw(self, batch, reach=1.0):
        """Returns indices [batch] of random images, part by part; of the first part only its fraction `reach`."""
        drawn = []
        for position, ((begin, size, _), count) in enumerate(zip(self.parts, self.counts(batch))):
            limit = reach * size if position == 0 else size
            drawn.append(begin + (torch.rand(count, device=DEVICE) * limit).long().clamp(max=size - 1))
        return torch.cat(drawn)


def to_bytes(images):
    return (images.flatten(1) * 255).round().clamp(0, 255).to(torch.uint8)


def fill_digits(bank, data, part, glyphs=None, corrupted=False, batch=65536):
    """Fills a part with distorted training images: image i of n with strength i / n, corrupted ones up to a half.

    With glyphs, every MORE-th image is a digit of a text font or of a path.
    """
    first, size, _ = bank.parts[part]
    for begin in range(0, size, batch):
        end = min(begin + batch, size)
        n, rows = end - begin, slice(first + begin, first + end)
        strength = torch.rand(n, device=DEVICE) * 0.5 if corrupted else torch.arange(begin, end, device=DEVICE) / size
        index = torch.randint(len(data.images), (n,), device=DEVICE)
        pixels, labels = data.images[index], data.labels[index]
        if glyphs:
            more, of_more = glyphs.more_digits(len(pixels[::MORE]))
            pixels[::MORE], labels[::MORE] = to_bytes(more), of_more
        pixels = distort(pixels, strength)
        if corrupted:
            pixels = to_bytes(corruptions.corrupt(pixels.view(n, 28, 28).float() / 255))
        bank.pixels[rows], bank.labels[rows] = pixels, labels.to(torch.uint8)


def fill_outliers(bank, data, part, glyphs, batch=65536):
    first, size, _ = bank.parts[part]
    for begin in range(first, first + size, batch):
        end = min(begin + batch, first + size)
        images = outliers.outliers(end - begin, glyphs.letters, glyphs.hands, data.images, glyphs.letter_paths)
        bank.pixels[begin:end], bank.labels[begin:end] = to_bytes(images), 10


def make_bank(data, glyphs, args):
    torch.manual_seed(args.seed + 1)
    bank = Bank(args.bank, args.shares, 11) if glyphs else Bank(args.bank, [1.0], 10)
    fill_digits(bank, data, 0, glyphs)
    if glyphs:
        fill_digits(bank, data, 1, glyphs, corrupted=True)
        fill_outliers(bank, data, 2, glyphs)
    return bank
