"""Small files that the documents' commands read. Python's standard library alone."""

import gzip
import random
import shutil
import struct


def idx(dims, values=b""):
    """A file of bytes of these dimensions, as MNIST's are; without values its header."""
    return struct.pack(f">4B{len(dims)}I", 0, 0, 8, len(dims), *dims) + values


def write_digits(folder, count):
    """MNIST's test files with `count` images of strokes; the labels mean nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        image = bytearray(28 * 28)
        x, y = draw.randint(8, 20), draw.randint(8, 20)
        for _ in range(60):
            x, y = min(max(x + draw.randint(-1, 1), 4), 22), min(max(y + draw.randint(-1, 1), 4), 22)
            for dx, dy in ((0, 0), (0, 1), (1, 0), (1, 1)):
                image[(y + dy) * 28 + x + dx] = draw.randint(180, 255)
        images += image
        labels.append(draw.randint(0, 9))
    for split in ("t10k", "train"):
        with gzip.open(folder / f"{split}-images-idx3-ubyte.gz", "wb") as file:
            file.write(idx((count, 28, 28), images))
        with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(idx((count,), labels))


def write_all(tree):
    """What commands of the documents read beside the tree's own files."""
    write_digits(tree / "data", 64)
    shutil.copy(tree / "samples" / "digit_4_b.png", tree / "photo.png")
    (tree / "photos").mkdir()
    for digit in range(3):
        shutil.copy(tree / "samples" / f"digit_{digit}_a.png", tree / "photos")
