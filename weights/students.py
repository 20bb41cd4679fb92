"""Many LeNet-5 as one computation: their parameters in one tensor, and their logits for the same images."""

import math

import torch
import torch.nn.functional as F

from lenet5 import PARAMETER_SHAPES, load_safetensors

# Students of one chunk share their batches and one block-diagonal second convolution. With 8 students, the arithmetic
# on zero blocks still costs less than a grouped convolution with 6 input channels per group.
CHUNK = 8
RANDOM = "random"  # the --init that is no file


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
