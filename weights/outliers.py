"""Training images that are not digits, for the robust set: letters, doodles, noise, blobs, pairs of digits ...;
and more digits.

Letters are those of text fonts and those that a pen writes along the paths of skeletons.py; digits of both kinds too.

Functions return images float [N, 28, 28] in 0 to 1. Doodles and noise are this project's own generators; what measures
the result is drawn by others, outside of the tree.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

import skeletons
from corruptions import (
    SIDE,
    affine,
    blur,
    coordinates,
    corrupt,
    sample,
    smooth_field,
    stroke,
    uniform,
)  # fmt: skip

CONFUSED = "BDGQSZbgqsz"  # the letters that a hand writes most like a digit
MORE_OF_CONFUSED = 4  # how many times as often as another letter one of them is drawn


def weighted(chars, pixels):
    """Repeats the rows of pixels whose character is among the CONFUSED."""
    times = torch.tensor([MORE_OF_CONFUSED if char in CONFUSED else 1 for char in chars], device=pixels.device)
    return pixels.repeat_interleave(times, 0)


class Glyphs:
    """Letters and digits of fonts from make_glyphs.py; each tenth font is kept for validation.

    hand_digits are digits of fonts that imitate handwriting, hand_share the share of them in more_digits. Among the
    letters to learn from are more CONFUSED ones.
    """

    def __init__(self, path, device, hand_share=0.0):
        self.hand_share = hand_share
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}

        def part(name, of_each, held):
            """Returns the pictures of `name` of the fonts to learn from, or of those held, and what each shows."""
            keep = (arrays[f"{name[:-1]}_font"] % 10 == 0) == held
            return torch.tensor(arrays[name][keep]).to(device), arrays[of_each][keep]

        def digits(name, held):
            pixels, labels = part(name, f"{name[:-1]}_labels", held)
            return pixels, torch.tensor(labels).long().to(device)

        pixels, chars = part("letters", "letter_char", False)
        self.letters, self.valid_letters = weighted(chars, pixels), part("letters", "letter_char", True)[0]
        pixels, chars = part("hands", "hand_char", False)
        self.hands, self.valid_hands = weighted(chars, pixels), part("hands", "hand_char", True)[0]
        self.digits, self.labels = digits("digits", False)
        self.valid_digits, self.valid_labels = digits("digits", True)
        self.hand_digits, self.hand_labels = digits("hand_digits", False)
        self.valid_hand_digits, self.valid_hand_labels = digits("hand_digits", True)
        self.letter_paths, self.digit_paths = Paths(skeletons.LETTERS, device), Paths(skeletons.DIGITS, device)
        self.path_labels = torch.tensor([int(name) for name in self.digit_paths.names], device=device)

    def more_digits(self, n):
        """Returns n digits that are none of MNIST's, and their labels.

        The share hand_share is of hands; half of the others are of text fonts, half of paths.
        """
        hands = round(n * self.hand_share)
        printed, index = pick(self.digits, (n - hands) // 2)
        strokes, path = written(self.digit_paths, n - hands - len(printed))
        images, labels = [by_hand(printed), strokes], [self.labels[index], self.path_labels[path]]
        if hands:
            hand, of_hand = pick(self.hand_digits, hands)
            images.append(by_hand(hand, HAND_BEND))
            labels.append(self.hand_labels[of_hand])
        return torch.cat(images), torch.cat(labels)


def pick(pixels, n):
    index = torch.randint(len(pixels), (n,), device=pixels.device)
    return pixels[index].view(n, SIDE, SIDE).float() / 255, index


HAND_BEND = 1.0  # of fonts that imitate handwriting, in pixels; text fonts bend more


def by_hand(images, bend=1.6):
    """Bends printed glyphs as a hand would: slant, aspect, waves, width of the pen; then centres them again."""
    n, device = len(images), images.device
    x, y = coordinates(device)
    nodes = torch.randn(n, 2, 5, 5, device=device) * uniform(n, 0, bend, device)[:, None]
    bent = F.interpolate(nodes, size=(SIDE, SIDE), mode="bicubic", align_corners=True)
    images = sample(images, x + bent[:, 0], y + bent[:, 1])
    unit = torch.exp(uniform(n, -0.25, 0.25, device))
    images = affine(
        images, uniform(n, -0.3, 0.3, device), uniform(n, -0.35, 0.35, device), unit, 1 / unit,
        uniform(n, 0, 0, device), uniform(n, 0, 0, device),
    )  # fmt: skip
    for _ in range(2):
        images = torch.where(uniform(n, 0, 1, device) < 0.6, stroke(images), images)
    images = centred(images)
    return ((images - 0.5) * uniform(n, 1, 2.2, device) + 0.5).clamp(0, 1)  # as sharp as a pen or less


def centred(images):
    """Scales the box of the ink to 20 pixels and puts the centre of mass on pixel (14, 14), as for MNIST."""
    device = images.device
    x, y = coordinates(device)
    line = torch.arange(SIDE, device=device).float()
    ink = images > 0.3

    def ends(marked):  # [N, 28] of rows or columns with ink
        first = torch.where(marked, line, torch.full_like(line, SIDE)).amin(1)
        last = torch.where(marked, line, torch.full_like(line, -1)).amax(1)
        return first, last

    (left, right), (top, bottom) = ends(ink.any(1)), ends(ink.any(2))
    longer = torch.maximum(right - left, bottom - top) + 1
    factor = (longer.clamp(min=6) / 20).view(-1, 1, 1)
    middle_x, middle_y = ((left + right) / 2 - 13.5).view(-1, 1, 1), ((top + bottom) / 2 - 13.5).view(-1, 1, 1)
    images = sample(images, x * factor + middle_x, y * factor + middle_y)
    mass = images.sum((1, 2), keepdim=True) + 1e-3
    shift_x, shift_y = (images * x).sum((1, 2), keepdim=True) / mass, (images * y).sum((1, 2), keepdim=True) / mass
    return sample(images, x + (shift_x - 0.5).round(), y + (shift_y - 0.5).round())


def letters(pixels, n, bend=1.6):
    return by_hand(pick(pixels, n)[0], bend)


def doodles(n, device):
    """Strokes of a pen: two to six pieces, each a straight line, an arc, a wave or a wandering curve."""
    points = 24
    t = torch.linspace(0, 1, points, device=device).view(1, 1, points)
    strokes = 6

    def draw(low, high):
        return low + (high - low) * torch.rand(n, strokes, 1, device=device)

    kind = torch.randint(4, (n, strokes, 1), device=device)
    heading, turn = draw(0, 2 * math.pi), draw(-7, 7) * (kind == 1) + draw(-2, 2) * (kind > 1)
    wave, waves = draw(0.5, 2.5) * (kind == 2), draw(2, 14)
    wander = torch.randn(n, strokes, points, device=device).cumsum(2) * 0.5 * (kind == 3)
    angle = heading + turn * t + wave * torch.sin(waves * t) + wander
    length = draw(5, 26) / points
    px = (length * torch.cos(angle)).cumsum(2)
    py = (length * torch.sin(angle)).cumsum(2)
    px, py = px - px.mean(2, keepdim=True) + draw(-7, 7), py - py.mean(2, keepdim=True) + draw(-7, 7)
    joined = draw(0, 1) < 0.4  # starts where the one before ends
    for index in range(1, strokes):
        for p in (px, py):
            moved = p[:, index] - p[:, index, :1] + p[:, index - 1, -1:]
            p[:, index] = torch.where(joined[:, index], moved, p[:, index])
    count = torch.randint(2, strokes + 1, (n, 1, 1), device=device)
    used = torch.arange(strokes, device=device).view(1, -1, 1) < count
    px = torch.where(used, px, torch.full_like(px, 1e3)).flatten(1)
    py = torch.where(used, py, torch.full_like(py, 1e3)).flatten(1)
    return centred(ink(px, py))


def ink(px, py):
    """Draws dots at px, py [N, P], in pixels from the centre, with a pen whose width is drawn for each image."""
    n, device = len(px), px.device
    x, y = coordinates(device)
    distance = torch.full((n, SIDE, SIDE), 1e6, device=device)
    for index in range(px.shape[1]):
        dx, dy = x - px[:, index].view(-1, 1, 1), y - py[:, index].view(-1, 1, 1)
        distance = torch.minimum(distance, dx * dx + dy * dy)
    return (uniform(n, 0.6, 1.8, device) + 0.5 - distance.sqrt()).clamp(0, 1)


def fitted(px, py):
    """Scales points [N, P] so that their box is 18 pixels on its longer side, around the centre."""
    low_x, high_x, low_y, high_y = px.amin(1), px.amax(1), py.amin(1), py.amax(1)
    factor = (18 / torch.maximum(high_x - low_x, high_y - low_y).clamp(min=1e-3))[:, None]
    return (px - ((low_x + high_x) / 2)[:, None]) * factor, (py - ((low_y + high_y) / 2)[:, None]) * factor


class Paths:
    """The ways to write characters, of skeletons.py, on a device."""

    def __init__(self, text, device):
        names, points, strokes = skeletons.skeletons(text)
        self.names = [name for name in names for _ in range(MORE_OF_CONFUSED if name in CONFUSED else 1)]
        self.points = weighted(names, torch.tensor(points).to(device))
        self.strokes = weighted(names, torch.tensor(strokes).to(device))


def written(paths, n):
    """Writes n characters as different hands would; returns images and the index of each in paths."""
    device = paths.points.device
    index = torch.randint(len(paths.points), (n,), device=device)
    points, strokes = paths.points[index], paths.strokes[index]

    def draw(low, high, *shape):
        return low + (high - low) * torch.rand(n, *shape, device=device)

    def of_strokes(values):
        return values.gather(1, strokes)

    care = draw(0.1, 1.4, 1)  # how far this hand leaves the path
    count = skeletons.STROKES
    turn = of_strokes(care * draw(-0.22, 0.22, count))
    size = of_strokes(torch.exp(care * draw(-0.2, 0.2, count)))
    move_x, move_y = (of_strokes(care * draw(-0.9, 0.9, count)) for _ in range(2))
    px, py = points[:, :, 0] * size, points[:, :, 1] * size
    px, py = px * torch.cos(turn) - py * torch.sin(turn) + move_x, px * torch.sin(turn) + py * torch.cos(turn) + move_y
    for _ in range(2):  # the hand waves, along the path and across the page
        phase, length = draw(0, 6.3, 2), draw(2.5, 9, 2)
        tilt = draw(0, 6.3, 1)
        where = px * torch.cos(tilt) + py * torch.sin(tilt)
        reach = care * draw(0, 0.9, 2)
        px, py = (
            px + reach[:, :1] * torch.sin(where / length[:, :1] * 3 + phase[:, :1]),
            py + reach[:, 1:] * torch.sin(where / length[:, 1:] * 3 + phase[:, 1:]),
        )
    aspect, slant, angle = torch.exp(draw(-0.4, 0.25, 1)), draw(-0.25, 0.6, 1), draw(-0.2, 0.2, 1)
    px = px * aspect - slant * py
    px, py = px * torch.cos(angle) - py * torch.sin(angle), px * torch.sin(angle) + py * torch.cos(angle)
    return centred(ink(*fitted(px, py))), index


def bars(n, device):
    """The plainest 1: a straight stroke, upright or nearly so. No outlier: a robust student must read it."""
    t = torch.linspace(-9, 9, 60, device=device)[None]
    return centred(ink(uniform(n, -0.15, 0.15, device)[:, 0] * t, t.expand(n, -1)))


def outlines(n, device):
    """Closed outlines: polygons, stars, wavy rounds, one or two, some with a stroke inside or filled."""
    points = 100
    t = torch.linspace(0, 1, points, device=device)[None]

    def draw(low, high, *shape):
        return low + (high - low) * torch.rand(n, *shape, device=device)

    def outline():
        corners = torch.randint(3, 9, (n, 1), device=device)
        at = t * corners
        first = torch.floor(at).long()
        star = torch.where(draw(0, 1, 1) < 0.3, draw(0.35, 0.75, 1), torch.ones(n, 1, device=device))
        twist = draw(0, 2 * math.pi, 1)
        jitter = draw(0.6, 1, 9)

        def corner(k):
            k = k % corners
            radius = jitter.gather(1, k) * torch.where(k % 2 == 1, star, torch.ones_like(star))
            around = twist + 2 * math.pi * k / corners
            return radius * torch.cos(around), radius * torch.sin(around)

        (ax, ay), (bx, by) = corner(first), corner(first + 1)
        part = at - first
        polygon = ax + (bx - ax) * part, ay + (by - ay) * part
        theta = 2 * math.pi * t
        radius = torch.ones(n, points, device=device)
        for k in range(2, 9):
            radius = radius + draw(0, 1, 1) ** 3 * (1.1 / k**0.5) * torch.sin(k * theta + draw(0, 6.3, 1))
        round_ = radius * torch.cos(theta), radius * torch.sin(theta)
        wavy = draw(0, 1, 1) < 0.45
        px, py = (torch.where(wavy, r, p) for r, p in zip(round_, polygon))
        return px * torch.exp(draw(-0.3, 0.3, 1)), py

    px, py = outline()
    qx, qy = outline()
    smaller = draw(0.25, 0.9, 1)
    two = draw(0, 1, 1) < 0.35
    qx = torch.where(two, qx * smaller + draw(-1.2, 1.2, 1), px)
    qy = torch.where(two, qy * smaller + draw(-1.2, 1.2, 1), py)
    line = draw(0, 1, 1) < 0.3
    sx = torch.where(line, draw(-1, 1, 1) + draw(-1.5, 1.5, 1) * t, px)
    sy = torch.where(line, draw(-1, 1, 1) + draw(-1.5, 1.5, 1) * t, py)
    return centred(ink(*fitted(torch.cat([px, qx, sx], 1), torch.cat([py, qy, sy], 1))))


def pairs(pixels, n):
    """Two digits side by side, as a picture of a two-digit number reads when it is scaled to one."""
    device = pixels.device
    apart = uniform(n, 6.5, 9.5, device)
    zero = torch.zeros_like(apart)
    out = torch.zeros(n, SIDE, SIDE, device=device)
    for side in (-1, 1):
        one, size = pick(pixels, n)[0], uniform(n, 1.5, 2.1, device)
        # affine samples at scale * position + shift: the shift is in pixels of the source
        out = torch.maximum(out, affine(one, zero, zero, size, size, -side * apart / 1.7 * size, zero))
    return centred(out)


def curves(n, device):
    """One line that wanders: sums of a few waves, open or closed, pieces between random corners, or a spiral."""
    points = 112
    t = torch.linspace(0, 1, points, device=device)[None]

    def draw(low, high, *shape):
        return low + (high - low) * torch.rand(n, *shape, device=device)

    def waves(part):
        total = torch.zeros(n, points, device=device)
        for k in range(1, 6):
            reach = torch.randn(n, 1, device=device) / k**0.7
            total = total + reach * torch.sin(6.2832 * k * part * t + draw(0, 6.3, 1))
        return total

    open_ = torch.where(draw(0, 1, 1) < 0.5, draw(0.3, 1, 1), torch.ones(n, 1, device=device))
    drift = draw(0, 4, 1) * (draw(0, 1, 1) < 0.4)
    at = t * (torch.randint(4, 11, (n, 1), device=device) - 1.0001)
    first, corners = torch.floor(at).long(), torch.randn(2, n, 11, device=device)
    steady = draw(0, 1, 1) < 0.4  # corners that advance, as in a zigzag
    corners[0] = torch.where(steady, 0.6 * torch.arange(11.0, device=device) + 0.1 * corners[0], corners[0])
    pieces = [c.gather(1, first) + (c.gather(1, first + 1) - c.gather(1, first)) * (at - first) for c in corners]
    around, radius = draw(8, 26, 1) * t + draw(0, 6.3, 1), t ** draw(0.5, 1.2, 1)
    spiral = [radius * torch.cos(around) * draw(0.7, 1.3, 1), radius * torch.sin(around)]
    kind = draw(0, 1, 1)
    px, py = (
        torch.where(kind < 0.55, w, torch.where(kind < 0.85, p, s))
        for w, p, s in zip([waves(open_) + drift * t, waves(open_)], pieces, spiral)
    )
    angle = draw(0, 6.3, 1)
    px, py = px * torch.cos(angle) - py * torch.sin(angle), px * torch.sin(angle) + py * torch.cos(angle)
    return centred(ink(*fitted(px, py)))


def figures(n, device):
    """What is put together as drawings are: three to six ovals, arcs, straight lines and angles, large and small."""
    points, pieces = 40, 6
    t = torch.linspace(0, 1, points, device=device).view(1, 1, points)

    def draw(low, high):
        return low + (high - low) * torch.rand(n, pieces, 1, device=device)

    def either(share, yes, no):
        return torch.where(draw(0, 1) < share, yes, no)

    first = torch.arange(pieces, device=device).view(1, -1, 1) == 0
    size = torch.where(first, draw(0.7, 1), either(0.5, draw(0.08, 0.3), draw(0.3, 0.9)))
    sweep = either(0.5, torch.full((n, pieces, 1), 2 * math.pi, device=device), draw(1, 5.5))
    around = draw(0, 2 * math.pi) + sweep * t
    arc = size * torch.cos(around), size * torch.exp(draw(-0.8, 0.3)) * torch.sin(around)
    # An angle has two legs from one corner; a straight line is one whose second leg goes on where the first ends.
    leg, turn = draw(0, 2 * math.pi), either(0.5, torch.zeros(n, pieces, 1, device=device), draw(0.5, 2.6))
    early, late = t.clamp(max=0.5) * 2 - 0.5, (t - 0.5).clamp(min=0) * 2
    legs = [size * (f(leg) * early + f(leg + turn) * late * draw(0.3, 1)) for f in (torch.cos, torch.sin)]
    straight = draw(0, 1) < 0.45
    px, py = (torch.where(straight, p, a) for p, a in zip(legs, arc))
    reach = torch.where(first, draw(0, 0.1), draw(0.2, 1.1))
    heading = either(0.4, math.pi / 2 * draw(0, 4).floor(), draw(0, 2 * math.pi))  # above, below or beside
    px, py = px + reach * torch.cos(heading), py + reach * torch.sin(heading)
    used = torch.arange(pieces, device=device).view(1, -1, 1) < torch.randint(3, pieces + 1, (n, 1, 1), device=device)
    px, py = (torch.where(used, p, p[:, :1]).flatten(1) for p in (px, py))
    return centred(ink(*fitted(px, py)))


def spot(n, device):
    """A soft spot of any width, place and elongation; half of the time none."""
    x, y = coordinates(device)
    angle = uniform(n, 0, math.pi, device)
    dx, dy = x - uniform(n, -10, 10, device), y - uniform(n, -10, 10, device)
    along, across = dx * torch.cos(angle) + dy * torch.sin(angle), dy * torch.cos(angle) - dx * torch.sin(angle)
    width = uniform(n, 1.5, 7, device)
    distance = (along / width) ** 2 + (across / width / uniform(n, 0.4, 1, device)) ** 2
    return torch.exp(-0.5 * distance) * uniform(n, 0.4, 1.6, device) * (uniform(n, 0, 1, device) < 0.6)


def one_of(choices, n):
    """Returns images [N, 28, 28] in 0 to 1, each from a choice drawn for it."""
    kind = torch.randint(len(choices), (n,), device=choices[0].device)
    out = torch.empty(n, SIDE, SIDE, device=kind.device)
    for index, images in enumerate(choices):
        rows = kind == index
        out[rows] = images.clamp(0, 1)[rows]
    return out


def soft_field(n, device):
    """Random grids of 3 to 14 nodes a side, smoothly between the nodes, about 0; some are two grids."""

    def grid():
        choices = [
            F.interpolate(torch.randn(n, 1, size, size, device=device), size=(SIDE, SIDE), mode="bicubic")[:, 0]
            for size in (3, 4, 5, 7, 9, 11, 14)
        ]
        kind = torch.randint(len(choices), (n, 1, 1), device=device)
        return sum(torch.where(kind == index, field, torch.zeros_like(field)) for index, field in enumerate(choices))

    return grid() + grid() * uniform(n, 0, 1, device) * (uniform(n, 0, 1, device) < 0.4)


def peaks(field, low, high):
    """Keeps what exceeds a share of the pixels, between low and high and drawn for each; hard or soft at the border."""
    n, device = len(field), field.device
    share = (uniform(n, low, high, device).flatten() * (SIDE * SIDE - 1)).long()
    threshold = field.flatten(1).sort(1).values.gather(1, share[:, None])[:, :, None]
    slope = torch.exp(uniform(n, -0.5, 3.5, device)) / field.std((1, 2), keepdim=True)
    return ((field - threshold) * slope).clamp(0, 1) * uniform(n, 0.5, 1.5, device).clamp(max=1)


def blobs(n, device):
    """Soft or hard spots of every scale: peaks of fields and of sums of spots."""
    spots, sums = torch.zeros(2, n, SIDE, SIDE, device=device)
    for _ in range(5):
        one = spot(n, device)
        spots, sums = torch.maximum(spots, one), sums + one * torch.sign(uniform(n, -1, 3, device))
    rough = blur(torch.randn(n, SIDE, SIDE, device=device), 0.6, 2.2)
    return one_of(
        (
            peaks(soft_field(n, device), 0.3, 0.97),
            peaks(soft_field(n, device), 0.5, 0.95),
            peaks(rough, 0.4, 0.95),
            peaks(blur(rough, 1, 2.5), 0.4, 0.95),
            peaks(sums + 1e-3 * rough, 0.5, 0.97),
            spots,
            spots * (0.4 + 1.2 * smooth_field(n, device)),
            centred(peaks(soft_field(n, device), 0.6, 0.95)),
        ),
        n,
    )


def noise(n, device):
    """Pixels, rows or tiles drawn apart: uniform, about a level, of two values, counted, sparse, and over a field."""
    flat, field = uniform(n, 0, 1, device), smooth_field(n, device)
    normal, even = torch.randn(n, SIDE, SIDE, device=device), torch.rand(n, SIDE, SIDE, device=device)
    spread = uniform(n, 0.02, 0.6, device)
    few = (torch.rand(n, SIDE, SIDE, device=device) < uniform(n, 0.002, 0.65, device)).float()
    tile = F.interpolate(torch.rand(n, 1, 14, 14, device=device), size=(SIDE, SIDE))[:, 0]
    row = torch.rand(n, SIDE, 1, device=device).expand_as(even)
    return one_of(
        (
            even,
            even ** torch.exp(uniform(n, -1.5, 1.5, device)),
            normal * spread + flat,
            normal * spread + field,
            few,
            few * even,
            torch.where(few > 0, (even < 0.5).float(), flat),
            torch.poisson(flat * 8 + 0.05 * even) / 8,
            blur(few, 0.4, 1.2) * uniform(n, 1, 3, device),
            tile,
            (tile > flat).float(),
            row * (1 - spread) + even * spread,
        ),
        n,
    )


def textures(n, device):
    """Fields, gratings, tiles, bars, flat grey and nothing."""
    x, y = coordinates(device)
    flat = uniform(n, 0, 1, device).expand(n, SIDE, SIDE)
    field = smooth_field(n, device)
    low, high = uniform(n, 0, 0.9, device), uniform(n, 0, 1, device)
    angle, period = uniform(n, 0, math.pi, device), uniform(n, 2, 16, device)
    wave = 0.5 + 0.5 * torch.sin((x * torch.cos(angle) + y * torch.sin(angle)) * 6.2832 / period + 6.3 * low)
    tiles = ((torch.floor(x / period + 9) + torch.floor(y / period + 9)) % 2).abs()
    from_middle = torch.sqrt((x - 6 * low) ** 2 + ((y - 6 * high) * (0.5 + low)) ** 2)
    disc = (uniform(n, 2, 11, device) - from_middle).clamp(0, 1)
    wide, tall = uniform(n, 3, 14, device), uniform(n, 3, 14, device)
    box = (((x - 8 * low).abs() < wide) & ((y + 8 * high).abs() < tall)).float()
    nothing = torch.zeros_like(field)
    return one_of(
        (field, ((field - low) * 40), wave, (wave > high).float(), tiles * flat, disc, box, 1 - box, flat, nothing), n
    )


def spoil(images, share):
    """Corrupts some of the images of every kind, so that a corruption alone decides nothing."""
    n, device = len(images), images.device
    rows = (torch.rand(n, device=device) < share).nonzero()[:, 0]
    images[rows] = corrupt(images[rows])
    return images


KINDS = {
    "letters": 0.16, "hands": 0.22, "written": 0.19, "doodles": 0.07, "curves": 0.04, "outlines": 0.08, "figures": 0.08,
    "noise": 0.03, "blobs": 0.09, "textures": 0.02, "pairs": 0.02,
}  # fmt: skip


def outliers(n, letter_pixels, hand_pixels, digit_pixels, paths, kind=None):
    """Returns n outliers, each kind by its share in KINDS, or all of the kind at index `kind` [N].

    Letters are of text fonts, hands are letters of fonts that imitate handwriting.
    """
    device = digit_pixels.device
    if kind is None:
        kind = torch.multinomial(torch.tensor(list(KINDS.values()), device=device), n, replacement=True)
    out = torch.empty(n, SIDE, SIDE, device=device)
    parts = {
        "letters": lambda count: spoil(letters(letter_pixels, count), 0.1),
        "hands": lambda count: spoil(letters(hand_pixels, count, HAND_BEND), 0.1),
        "written": lambda count: spoil(written(paths, count)[0], 0.1),
        "doodles": lambda count: spoil(doodles(count, device), 0.1),
        "curves": lambda count: spoil(curves(count, device), 0.1),
        "outlines": lambda count: spoil(outlines(count, device), 0.1),
        "figures": lambda count: spoil(figures(count, device), 0.1),
        "noise": lambda count: noise(count, device),
        "blobs": lambda count: blobs(count, device),
        "textures": lambda count: textures(count, device),
        "pairs": lambda count: spoil(pairs(digit_pixels, count), 0.1),
    }
    for index, name in enumerate(KINDS):
        rows = (kind == index).nonzero()[:, 0]
        if len(rows):
            out[rows] = parts[name](len(rows))
    return out
