"""Common code of this folder's scripts: the LeNet-5 of Lenslet, its normalisation, MNIST and safetensors files.

The network (44,426 parameters; shapes are N C H W, convolution is cross-correlation):

    x        [N, 1, 28, 28]   pixel bytes, normalised
    conv1    [N, 6, 24, 24]   6 filters 5x5, no padding      -> ReLU -> 2x2 max pooling [N, 6, 12, 12]
    conv2    [N, 16, 8, 8]    16 filters 5x5, no padding     -> ReLU -> 2x2 max pooling [N, 16, 4, 4]
    flatten  [N, 256]         in the order C, H, W
    fc1      [N, 120] -> ReLU
    fc2      [N, 84]  -> ReLU
    fc3      [N, 10]          logits

After LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition" (1998), with ReLU
for tanh, maximum for trainable subsampling, full connections between the maps of conv2, and a linear output.
"""

import gzip
import hashlib
import json
import math
import re
import struct
from pathlib import Path

import numpy as np

MEAN = 0.1307  # of x / 255 over the 60,000 training images
STD = 0.3081

# PyTorch's names and shapes, in the order of execution.
PARAMETER_SHAPES = {
    "conv1.weight": (6, 1, 5, 5),
    "conv1.bias": (6,),
    "conv2.weight": (16, 6, 5, 5),
    "conv2.bias": (16,),
    "fc1.weight": (120, 256),
    "fc1.bias": (120,),
    "fc2.weight": (84, 120),
    "fc2.bias": (84,),
    "fc3.weight": (10, 84),
    "fc3.bias": (10,),
}
PARAMETER_COUNT = sum(math.prod(shape) for shape in PARAMETER_SHAPES.values())

# MD5 of the decompressed files of the canonical MNIST.
MNIST_MD5 = {
    "train-images": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels": "a25bea736e30d166cdddb491f175f624",
    "t10k-images": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels": "27ae3e4e09519cfbb04c329615203637",
}


def normalisation_table():
    """Returns the 256 normalised values of a pixel byte, float32 [256].

    The order of the fp32 operations is part of the contract with the C++ code: (float(x) / 255.0f - 0.1307f) /
    0.3081f, each step rounded to nearest, with real divisions. PyTorch on a GPU multiplies by the rounded
    reciprocal instead when it divides by a Python number, so every script here goes through this table.
    """
    x = np.arange(256, dtype=np.float32)
    return (x / np.float32(255.0) - np.float32(MEAN)) / np.float32(STD)


def read_idx(path, expected_md5=None):
    """Reads an IDX file of bytes, gzipped or not, and returns a uint8 array of the shape that its header states.

    Raises ValueError when the magic, the length or, where given, the MD5 of the decompressed file is wrong.
    """
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path}: expected the IDX magic 00 00 08, found {data[:4].hex(' ')}")
    rank = data[3]
    if len(data) < 4 + 4 * rank:
        raise ValueError(f"{path}: the header ends early")
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    if len(data) != 4 + 4 * rank + math.prod(shape):
        raise ValueError(f"{path}: expected {math.prod(shape)} bytes of data, found {len(data) - 4 - 4 * rank}")
    if expected_md5 and hashlib.md5(data).hexdigest() != expected_md5:
        raise ValueError(f"{path}: this is not the canonical MNIST file (MD5 differs from {expected_md5})")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_mnist(folder, part):
    """Returns (images uint8 [N, 28, 28], labels uint8 [N]) of `part`, "train" or "t10k"."""
    arrays = []
    for kind, rank in (("images", 3), ("labels", 1)):
        names = [f"{part}-{kind}{dash}idx{rank}-ubyte{gz}" for dash in "-." for gz in ("", ".gz")]
        found = [Path(folder) / name for name in names if (Path(folder) / name).is_file()]
        if not found:
            raise FileNotFoundError(f"{folder}: expected one of {', '.join(names)}")
        arrays.append(read_idx(found[0], MNIST_MD5[f"{part}-{kind}"]))
    return tuple(arrays)


def save_safetensors(path, tensors, metadata):
    """Writes float32 arrays as a safetensors file whose bytes depend on the arguments alone.

    Tensors are laid out without gaps in the order of `tensors`; the header is padded with spaces to a multiple of
    8 bytes, so that the data are aligned. `metadata` maps strings to strings.
    """
    header, blobs, offset = {"__metadata__": dict(metadata)}, [], 0
    for name, array in tensors.items():
        blob = np.ascontiguousarray(array, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(np.shape(array)), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def load_safetensors(path):
    """Reads a safetensors file of F32 tensors and returns (arrays by name, metadata)."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: expected {name} in F32, found {entry['dtype']}")
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors, metadata


def json_text(document):
    """A document as JSON for people: each short innermost object or list, such as a student's figures, is a line."""

    def on_one_line(found):
        line = re.sub(r"\n *", " ", re.sub(r"(?<=[\[{])\n *|\n *(?=[\]}])", "", found.group()))
        return line if len(line) <= 150 else found.group()

    return re.sub(r"[\[{][^\[\]{}]*[\]}]", on_one_line, json.dumps(document, indent=1)) + "\n"


def wilson_interval(correct, total, z=1.959964):
    """Returns the 95 % Wilson score interval of a proportion (Wilson, 1927)."""
    p = correct / total
    centre = p + z * z / (2 * total)
    half = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return (centre - half) / scale, (centre + half) / scale
