"""Corruptions of digits for the robust training: what a camera, a pen or a scanner may do to one, and more.

Every function maps images float [N, 28, 28] in 0 to 1 to such images; each image draws a strength of its own. They are
this project's own and are not tuned to any benchmark: what measures the result is kept out of training and choice.
"""

import math

import torch
import torch.nn.functional as F

SIDE = 28


def uniform(n, low, high, device):
    return (low + (high - low) * torch.rand(n, device=device)).view(-1, 1, 1)


def coordinates(device):
    """Returns x and y [28, 28] in pixels from the centre."""
    line = torch.arange(SIDE, device=device) - (SIDE - 1) / 2
    y, x = torch.meshgrid(line, line, indexing="ij")
    return x, y


def sample(images, x, y, mode="bilinear", padding="zeros"):
    """Samples each image at x, y [N, 28, 28], in pixels from the centre."""
    grid = torch.stack([x, y], dim=3) / (SIDE / 2)
    out = F.grid_sample(images[:, None], grid, mode=mode, padding_mode=padding, align_corners=False)
    return out[:, 0].clamp(0, 1)


def affine(images, angle, shear, scale_x, scale_y, shift_x, shift_y):
    """Rotates, shears, scales and shifts; every argument [N, 1, 1]; scales above 1 shrink the digit."""
    x, y = coordinates(images.device)
    cos, sin = torch.cos(angle), torch.sin(angle)
    u, v = (x + shear * y) * scale_x, y * scale_y
    return sample(images, cos * u - sin * v + shift_x, sin * u + cos * v + shift_y)


def still(images):
    zero = torch.zeros(len(images), 1, 1, device=images.device)
    return {"angle": zero, "shear": zero, "scale_x": zero + 1, "scale_y": zero + 1, "shift_x": zero, "shift_y": zero}


def rotate(images):
    limit = math.radians(32)
    return affine(images, **still(images) | {"angle": uniform(len(images), -limit, limit, images.device)})


def shear(images):
    n, device = len(images), images.device
    flat = affine(images, **still(images) | {"shear": uniform(n, -0.55, 0.55, device)})
    tall = affine(images.transpose(1, 2), **still(images) | {"shear": uniform(n, -0.3, 0.3, device)}).transpose(1, 2)
    return torch.where(uniform(n, 0, 1, device) < 0.8, flat, tall)


def rescale(images):
    n, device = len(images), images.device
    scale = torch.exp(uniform(n, math.log(0.85), math.log(1.75), device))
    ratio = torch.exp(uniform(n, -0.12, 0.12, device))
    return affine(images, **still(images) | {"scale_x": scale * ratio, "scale_y": scale / ratio})


def shift(images):
    n, device = len(images), images.device
    return affine(
        images, **still(images) | {"shift_x": uniform(n, -4.5, 4.5, device), "shift_y": uniform(n, -4.5, 4.5, device)}
    )


def blur(images, low=0.4, high=1.6):
    """Gaussian blur, a sigma for each image."""
    sigma = uniform(len(images), low, high, images.device)
    offsets = torch.arange(-4, 5, device=images.device).view(1, 1, 9)
    kernel = torch.exp(-0.5 * (offsets / sigma) ** 2)  # [N, 1, 9]
    kernel = kernel / kernel.sum(2, keepdim=True)
    for _ in range(2):
        padded = F.pad(images, (4, 4))
        images = sum(padded[:, :, k : k + SIDE] * kernel[:, :, k : k + 1] for k in range(9)).transpose(1, 2)
    return images


def drag(images):
    """Blur along a line of any direction, to one side or to both."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    angle, reach = uniform(n, 0, 2 * math.pi, device), uniform(n, 1, 4.5, device)
    both = (uniform(n, 0, 1, device) < 0.3).float()
    total, weights = torch.zeros_like(images), 0
    for step in range(-9, 10):
        weight = torch.exp(-0.5 * (step / reach) ** 2)
        if step < 0:
            weight = weight * both
        total = total + weight * sample(images, x + step * torch.cos(angle), y + step * torch.sin(angle))
        weights = weights + weight
    return total / weights


def shuffle(images):
    """Moves single pixels by one or two, between two blurs."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    images = blur(images, 0.3, 0.9)
    for _ in range(2):
        reach = uniform(n, 0.6, 1.8, device)
        dx = (torch.rand(n, SIDE, SIDE, device=device) * 2 - 1) * reach
        dy = (torch.rand(n, SIDE, SIDE, device=device) * 2 - 1) * reach
        images = sample(images, x + dx.round(), y + dy.round(), mode="nearest")
    return blur(images, 0.3, 0.9)


def lines(images):
    """Draws one to three lines: straight or jagged, whole or broken, thin or thick."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    for index in range(3):
        angle = uniform(n, 0, math.pi, device)
        if index == 0:  # most often about level
            angle = torch.where(uniform(n, 0, 1, device) < 0.6, uniform(n, -0.8, 0.8, device), angle)
        along = x * torch.cos(angle) + y * torch.sin(angle)
        across = y * torch.cos(angle) - x * torch.sin(angle) - uniform(n, -13, 13, device)
        period, height = uniform(n, 3, 12, device), uniform(n, 0.5, 3.5, device)
        jagged = (uniform(n, 0, 1, device) < 0.4).float()
        phase = along / period + uniform(n, 0, 1, device)
        across = across - jagged * height * (4 * (phase - torch.floor(phase + 0.5)).abs() - 1)
        width = uniform(n, 0.7, 2.4, device)
        mark = (1.3 - across.abs() / width).clamp(0, 1) * uniform(n, 0.5, 1.6, device)
        dash = along / uniform(n, 2, 6, device) + uniform(n, 0, 1, device)
        broken = uniform(n, 0, 1, device) < 0.5
        mark = torch.where(broken & (dash - torch.floor(dash) < 0.5), torch.zeros_like(mark), mark)
        mark = mark * (along.abs() < uniform(n, 7, 20, device))
        if index > 0:
            mark = mark * (uniform(n, 0, 1, device) < 0.3)
        images = (images + mark).clamp(0, 1)
    return images


def edges(images):
    """Keeps outlines alone: ridges of the slope, or what a step of growing or shrinking adds or takes."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    soft = blur(images, 0.6, 1.3)
    padded = F.pad(soft[:, None], (1, 1, 1, 1))[:, 0]
    gx = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    gy = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    slope = torch.sqrt(gx * gx + gy * gy + 1e-12)
    ux, uy = gx / slope, gy / slope
    high = slope.amax((1, 2), keepdim=True) + 1e-6
    ahead, behind = sample(slope, x + ux, y + uy), sample(slope, x - ux, y - uy)
    ridge = ((slope >= ahead) & (slope > behind) & (slope > uniform(n, 0.15, 0.5, device) * high)).float()
    ink = (images > uniform(n, 0.3, 0.6, device)).float()
    cross = uniform(n, 0, 1, device) < 0.5
    grown = torch.where(
        cross,
        F.max_pool2d(ink, 3, 1, 1),
        torch.maximum(F.max_pool2d(ink, (1, 3), 1, (0, 1)), F.max_pool2d(ink, (3, 1), 1, (1, 0))),
    )
    kind = uniform(n, 0, 1, device)
    out = torch.where(kind < 0.65, ridge, torch.where(kind < 0.9, grown - ink, slope / high))
    faint = uniform(n, 0.6, 1, device)
    return out * torch.where(uniform(n, 0, 1, device) < 0.3, faint, torch.ones_like(faint))


def blocks(images):
    """Inverts bands or rectangles; one in four turns grey instead of all the way."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    upright = uniform(n, 0, 1, device) < 0.6
    position = torch.where(upright, x, y) + 14
    kind = uniform(n, 0, 1, device)
    left, right = uniform(n, 2, 12, device), uniform(n, 16, 26, device)
    sides = (position < left) | (position > right)
    one = position < torch.where(uniform(n, 0, 1, device) < 0.5, left, right)
    many = torch.floor(position / uniform(n, 2, 8, device) + uniform(n, 0, 2, device)) % 2 == 0
    box = ((x + 14 - uniform(n, 4, 24, device)).abs() < uniform(n, 3, 9, device)) & (
        (y + 14 - uniform(n, 4, 24, device)).abs() < uniform(n, 3, 9, device)
    )
    where = torch.where(kind < 0.45, sides, torch.where(kind < 0.65, one, torch.where(kind < 0.8, many, box)))
    whole = uniform(n, 0, 1, device) < 0.75
    strength = torch.where(whole, torch.ones(n, 1, 1, device=device), uniform(n, 0.3, 1, device))
    return torch.where(where, images + strength * (1 - 2 * images), images)


def smooth_field(n, device, low=0.3, high=2.2):
    """Returns n random fields in 0 to 1: octaves of noise, coarse to fine, each weaker by a factor drawn for each."""
    decay = uniform(n, low, high, device)
    field = torch.zeros(n, SIDE, SIDE, device=device)
    for octave, size in enumerate((2, 4, 7, 14, 28)):
        noise = torch.randn(n, 1, size, size, device=device)
        mode = {"mode": "bilinear", "align_corners": True} if size < SIDE else {"mode": "nearest"}
        field = field + torch.exp(-decay * octave) * F.interpolate(noise, size=(SIDE, SIDE), **mode)[:, 0]
    low, high = field.amin((1, 2), keepdim=True), field.amax((1, 2), keepdim=True)
    return (field - low) / (high - low)


def fog(images):
    n, device = len(images), images.device
    depth = uniform(n, 0.3, 3.2, device)
    part = uniform(n, 0, 0.5, device)
    field = (smooth_field(n, device) * (1 - part) + part * uniform(n, 0, 1, device)).clamp(0, 1)
    return (images + depth * field) / (1 + depth)


def contrast(images):
    n, device = len(images), images.device
    gain, level, power = uniform(n, 0.25, 1.2, device), uniform(n, 0, 0.6, device), uniform(n, -0.7, 0.7, device)
    return (images ** torch.exp(power) * gain + level).clamp(0, 1)


def grain(images):
    """Noise that adds, that grows with the ink, or that counts."""
    n, device = len(images), images.device
    normal = torch.randn_like(images)
    kind = uniform(n, 0, 1, device)
    counts = uniform(n, 2, 30, device)
    adds = images + normal * uniform(n, 0.02, 0.4, device)
    grows = images + images * normal * uniform(n, 0.1, 0.7, device)
    out = torch.where(kind < 0.4, adds, torch.where(kind < 0.6, grows, torch.poisson(images * counts) / counts))
    return out.clamp(0, 1)


def salt(images):
    n, device = len(images), images.device
    amount, white = uniform(n, 0.02, 0.32, device), uniform(n, 0.2, 0.8, device)
    value = (torch.rand_like(images) < white).float()
    return torch.where(torch.rand_like(images) < amount, value, images)


def hide(images):
    """Covers a rectangle with one grey level."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    inside = ((x - uniform(n, -10, 10, device)).abs() < uniform(n, 1, 4.5, device)) & (
        (y - uniform(n, -10, 10, device)).abs() < uniform(n, 1, 4.5, device)
    )
    level = uniform(n, 0, 1, device) * (uniform(n, 0, 1, device) < 0.5)
    return torch.where(inside, level.expand_as(images), images)


def splash(images):
    """Covers the peaks of a smooth field with one grey level, as drops would."""
    n, device = len(images), images.device
    field = blur(torch.randn(n, SIDE, SIDE, device=device), 0.7, 2.2)
    order = field.flatten(1).sort(1).values
    share = (uniform(n, 0.72, 0.98, device).flatten() * (SIDE * SIDE - 1)).long()
    threshold = order.gather(1, share[:, None])[:, :, None]
    cover = blur((field > threshold).float(), 0.3, 0.8)
    return images * (1 - cover) + cover * uniform(n, 0, 0.7, device)


def waves(images):
    n, device = len(images), images.device
    x, y = coordinates(device)
    angle, period = uniform(n, 0, math.pi, device), uniform(n, 2.5, 14, device)
    wave = torch.sin((x * torch.cos(angle) + y * torch.sin(angle)) * 2 * math.pi / period + uniform(n, 0, 6.3, device))
    strength = uniform(n, 0.1, 0.5, device)
    return (images * (1 - strength) + strength * (0.5 + 0.5 * wave)).clamp(0, 1)


def coarsen(images):
    n, device = len(images), images.device
    half = F.interpolate(F.avg_pool2d(images[:, None], 2), size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    whole = F.interpolate(F.avg_pool2d(images[:, None], 2), size=(SIDE, SIDE), mode="nearest")
    steps = torch.floor(uniform(n, 1, 5, device))
    out = torch.where(uniform(n, 0, 1, device) < 0.5, half[:, 0], whole[:, 0])
    return torch.where(uniform(n, 0, 1, device) < 0.3, (images * steps).round() / steps, out)


def stroke(images):
    """Makes strokes thicker or thinner."""
    n, device = len(images), images.device
    thick = F.max_pool2d(images[:, None], 3, 1, 1)[:, 0]
    thin = -F.max_pool2d(-images[:, None], 3, 1, 1)[:, 0]
    by = uniform(n, -0.75, 1, device)
    return torch.where(by > 0, images + by * (thick - images), images + (-by) * (thin - images))


FAMILIES = (
    rotate, shear, rescale, shift, blur, drag, shuffle, lines, edges, blocks, fog, contrast, grain, salt, hide, splash,
    waves, coarsen, stroke,
)  # fmt: skip


def corrupt(images, second=0.25, only=None):
    """Corrupts each image by a family drawn for it, or by the one at index `only`; a share `second` by two."""
    n, device = len(images), images.device
    for share in (1.0, second):
        family = torch.randint(len(FAMILIES), (n,), device=device) if only is None else only
        family = torch.where(torch.rand(n, device=device) < share, family, -1)
        for index, function in enumerate(FAMILIES):
            rows = (family == index).nonzero()[:, 0]
            if len(rows):
                images[rows] = function(images[rows])
        if only is not None:
            break
    return images
