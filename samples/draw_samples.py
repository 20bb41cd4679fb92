#!/usr/bin/env python3
"""Draws the twenty sample digits of this folder: digit_<digit>_<a|b>.png, with nothing but Python's standard library.

Each digit is a few pen strokes: curves (centripetal Catmull-Rom splines) through points that were placed by hand in a
unit box, then slanted, shaken a little, and drawn with a round pen whose width follows its speed. Sizes, pens, papers
and polarity differ as those of people's pictures do: ballpoint, pencil, marker, chalk, a photograph's uneven light, a
scan, a screen, two pictures with a transparent background. The same seed gives the same bytes.

    python3 samples/draw_samples.py [FOLDER]                  the twenty samples (default: this folder)
    python3 samples/draw_samples.py --variants FOLDER         each also inverted, shifted, scaled and transparent
"""

import argparse
import functools
import math
import random
import struct
import sys
import zlib
from pathlib import Path

# Strokes: lists of (x, y), x to the right, y down, both from 0 to 1 over the digit's box of aspect "wide" to 1.
SHAPES = {
    "0a": [[(0.58, 0.03), (0.30, 0.06), (0.06, 0.35), (0.05, 0.68), (0.28, 0.96), (0.62, 0.95), (0.92, 0.66),
            (0.94, 0.30), (0.70, 0.05), (0.50, 0.04)]],
    "0b": [[(0.62, 0.00), (0.32, 0.14), (0.08, 0.50), (0.10, 0.85), (0.36, 1.00), (0.70, 0.86), (0.94, 0.48),
            (0.90, 0.14), (0.64, 0.02), (0.44, 0.08)]],
    "1a": [[(0.62, 0.00), (0.52, 0.35), (0.45, 0.70), (0.38, 1.00)]],
    "1b": [[(0.20, 0.26), (0.42, 0.14), (0.60, 0.00)], [(0.60, 0.00), (0.58, 0.40), (0.55, 0.72), (0.54, 1.00)]],
    "2a": [[(0.08, 0.24), (0.22, 0.05), (0.52, 0.00), (0.80, 0.14), (0.80, 0.38), (0.56, 0.64), (0.28, 0.86),
            (0.04, 0.99)],
           [(0.04, 0.99), (0.36, 0.95), (0.66, 0.97), (0.98, 0.95)]],
    "2b": [[(0.14, 0.20), (0.34, 0.02), (0.66, 0.02), (0.82, 0.22), (0.72, 0.48), (0.46, 0.74), (0.20, 0.92),
            (0.05, 0.88), (0.12, 0.74),
            (0.34, 0.80), (0.58, 0.94), (0.80, 0.97), (1.00, 0.84)]],
    "3a": [[(0.10, 0.12), (0.36, 0.00), (0.70, 0.06), (0.78, 0.25), (0.60, 0.42), (0.34, 0.47)],
           [(0.34, 0.47), (0.68, 0.50), (0.90, 0.68), (0.82, 0.90), (0.50, 1.00), (0.20, 0.96), (0.04, 0.84)]],
    "3b": [[(0.12, 0.16), (0.40, 0.01), (0.74, 0.09), (0.76, 0.30), (0.50, 0.46), (0.36, 0.48), (0.58, 0.48),
            (0.88, 0.62), (0.90, 0.82),
            (0.62, 0.99), (0.28, 0.98), (0.02, 0.86)]],
    "4a": [[(0.16, 0.02), (0.10, 0.28), (0.06, 0.52), (0.26, 0.57), (0.56, 0.55), (0.92, 0.51)],
           [(0.76, 0.04), (0.71, 0.38), (0.66, 0.70), (0.62, 1.00)]],
    "4b": [[(0.66, 0.00), (0.44, 0.24), (0.20, 0.48), (0.02, 0.66)],
           [(0.02, 0.66), (0.34, 0.65), (0.66, 0.63), (0.98, 0.62)],
           [(0.68, 0.00), (0.66, 0.36), (0.64, 0.70), (0.63, 1.00)]],
    "5a": [[(0.26, 0.03), (0.21, 0.24), (0.16, 0.44)],
           [(0.16, 0.44), (0.42, 0.36), (0.72, 0.45), (0.84, 0.66), (0.70, 0.90), (0.40, 1.00), (0.06, 0.93)],
           [(0.25, 0.04), (0.52, 0.04), (0.90, 0.00)]],
    "5b": [[(0.94, 0.02), (0.62, 0.05), (0.30, 0.06)], [(0.30, 0.06), (0.25, 0.25), (0.18, 0.45)],
           [(0.18, 0.45), (0.46, 0.38), (0.76, 0.50), (0.80, 0.74), (0.58, 0.95), (0.28, 0.99), (0.04, 0.88)]],
    "6a": [[(0.72, 0.00), (0.44, 0.14), (0.18, 0.42), (0.06, 0.72), (0.20, 0.96), (0.54, 0.99), (0.82, 0.84),
            (0.82, 0.62), (0.58, 0.51),
            (0.30, 0.60), (0.12, 0.80)]],
    "6b": [[(0.60, 0.00), (0.34, 0.22), (0.14, 0.52), (0.10, 0.80), (0.30, 1.00), (0.62, 0.97), (0.86, 0.76),
            (0.74, 0.54), (0.44, 0.54),
            (0.20, 0.70), (0.14, 0.84)]],
    "7a": [[(0.04, 0.06), (0.34, 0.05), (0.66, 0.03), (0.92, 0.04)],
           [(0.92, 0.04), (0.74, 0.34), (0.56, 0.66), (0.42, 1.00)]],
    "7b": [[(0.06, 0.10), (0.36, 0.06), (0.68, 0.04), (0.96, 0.02)],
           [(0.96, 0.02), (0.78, 0.28), (0.58, 0.62), (0.46, 1.00)],
           [(0.34, 0.53), (0.60, 0.50), (0.86, 0.48)]],
    "8a": [[(0.80, 0.12), (0.54, 0.00), (0.26, 0.08), (0.22, 0.28), (0.48, 0.45), (0.78, 0.62), (0.84, 0.84),
            (0.56, 1.00), (0.22, 0.94),
            (0.14, 0.74), (0.40, 0.54), (0.70, 0.36), (0.86, 0.18), (0.78, 0.10)]],
    "8b": [[(0.52, 0.46), (0.24, 0.32), (0.26, 0.09), (0.52, 0.00), (0.78, 0.10), (0.78, 0.32), (0.52, 0.46)],
           [(0.52, 0.46), (0.20, 0.58), (0.08, 0.80), (0.30, 0.99), (0.64, 0.99), (0.88, 0.82), (0.80, 0.58),
            (0.52, 0.46)]],
    "9a": [[(0.82, 0.16), (0.56, 0.00), (0.22, 0.10), (0.10, 0.34), (0.30, 0.52), (0.60, 0.46), (0.80, 0.22)],
           [(0.84, 0.12), (0.78, 0.42), (0.70, 0.72), (0.62, 1.00)]],
    "9b": [[(0.84, 0.20), (0.64, 0.01), (0.30, 0.04), (0.12, 0.26), (0.26, 0.47), (0.58, 0.46), (0.82, 0.24),
            (0.86, 0.14), (0.84, 0.46),
            (0.72, 0.76), (0.54, 0.96), (0.34, 0.99)]],
}  # fmt: skip

WHITE, CREAM, GREY, BOARD, NIGHT = (255, 255, 255), (247, 240, 222), (196, 198, 202), (38, 52, 46), (16, 18, 24)
BLACK, BLUE, RED, GREEN = (24, 22, 26), (28, 52, 150), (190, 34, 40), (20, 112, 60)
PENCIL, CHALK, NEON = (92, 92, 96), (232, 234, 226), (255, 232, 84)

# width, height: of the picture; digit: height of the digit in pixels; wide: its width to height; at: the centre of its
# box in the picture; pen: width to digit height; light: change of the paper's level from one side to the other;
# grain: noise of the paper; soft: blur of the pen's edge in pixels.
STYLES = {
    "0a": dict(width=120, height=120, digit=84, wide=0.78, pen=0.105, ink=BLACK, paper=WHITE),
    "0b": dict(width=160, height=120, digit=76, wide=0.60, pen=0.095, ink=BLUE, paper=CREAM, at=(0.42, 0.52),
               slant=0.18, light=28, grain=3),
    "1a": dict(width=64, height=96, digit=70, wide=0.42, pen=0.11, ink=BLACK, paper=WHITE, slant=0.05),
    "1b": dict(width=120, height=120, digit=72, wide=0.40, pen=0.085, ink=PENCIL, paper=CREAM, grain=4),
    "2a": dict(width=160, height=160, digit=110, wide=0.74, pen=0.10, ink=BLUE, paper=WHITE, slant=0.06),
    "2b": dict(width=200, height=150, digit=95, wide=0.80, pen=0.085, ink=CHALK, paper=BOARD, at=(0.55, 0.50),
               slant=0.10, light=14, grain=5, soft=1.2),
    "3a": dict(width=40, height=40, digit=30, wide=0.66, pen=0.115, ink=BLACK, paper=WHITE),
    "3b": dict(width=240, height=320, digit=200, wide=0.62, pen=0.13, ink=RED, paper=WHITE, at=(0.52, 0.46),
               slant=0.08),
    "4a": dict(width=100, height=130, digit=90, wide=0.72, pen=0.085, ink=BLUE, paper=GREY, slant=0.04, grain=2),
    "4b": dict(width=256, height=256, digit=180, wide=0.72, pen=0.105, ink=GREEN, paper=None),
    "5a": dict(width=180, height=140, digit=100, wide=0.70, pen=0.095, ink=BLACK, paper=CREAM, at=(0.46, 0.52),
               slant=0.12, light=40, grain=2),
    "5b": dict(width=80, height=80, digit=56, wide=0.72, pen=0.11, ink=NEON, paper=NIGHT, slant=0.06),
    "6a": dict(width=300, height=300, digit=210, wide=0.62, pen=0.085, ink=BLACK, paper=WHITE, slant=0.06, soft=1.2),
    "6b": dict(width=90, height=120, digit=80, wide=0.58, pen=0.12, ink=RED, paper=CREAM, light=18, grain=2),
    "7a": dict(width=360, height=400, digit=230, wide=0.66, pen=0.08, ink=BLUE, paper=GREY, at=(0.48, 0.55), light=46,
               soft=1.0),
    "7b": dict(width=110, height=110, digit=78, wide=0.72, pen=0.10, ink=CHALK, paper=BOARD, grain=3),
    "8a": dict(width=140, height=180, digit=130, wide=0.62, pen=0.095, ink=BLACK, paper=WHITE, slant=0.12),
    "8b": dict(width=48, height=64, digit=46, wide=0.60, pen=0.105, ink=BLUE, paper=WHITE),
    "9a": dict(width=220, height=260, digit=170, wide=0.62, pen=0.09, ink=BLACK, paper=None, slant=0.05),
    "9b": dict(width=150, height=110, digit=76, wide=0.64, pen=0.10, ink=PENCIL, paper=WHITE, at=(0.54, 0.48),
               slant=0.08, light=20, grain=4),
}  # fmt: skip


def spline(points, steps=14):
    """Returns points along the centripetal Catmull-Rom spline through `points` (Barry and Goldman, 1988)."""
    if len(points) < 3:
        return list(points)
    ends = [
        [tuple(2 * a - b for a, b in zip(end, inner))]
        for end, inner in ((points[0], points[1]), (points[-1], points[-2]))
    ]
    p = ends[0] + list(points) + ends[1]
    curve = []
    for i in range(1, len(p) - 2):
        t = [0.0]
        for k in range(3):
            t.append(t[-1] + max(1e-6, math.dist(p[i - 1 + k], p[i + k]) ** 0.5))
        for s in range(steps):
            u = t[1] + (t[2] - t[1]) * s / steps

            def mix(a, b, ta, tb):
                return tuple(((tb - u) * x + (u - ta) * y) / (tb - ta) for x, y in zip(a, b))

            a1, a2, a3 = (mix(p[i + k - 1], p[i + k], t[k], t[k + 1]) for k in range(3))
            curve.append(mix(mix(a1, a2, t[0], t[2]), mix(a2, a3, t[1], t[3]), t[1], t[2]))
    curve.append(points[-1])
    return curve


def draw(name):
    """Returns (width, height, coverage of the ink as rows of floats, style) of one sample."""
    style = dict(at=(0.5, 0.5), slant=0.0, light=0, grain=0, soft=0.7) | STYLES[name]
    rng = random.Random(f"lenslet sample {name}")
    width, height, size = style["width"], style["height"], style["digit"]
    strokes = []
    for stroke in SHAPES[name]:
        shaken = [(x + rng.gauss(0, 0.008), y + rng.gauss(0, 0.008)) for x, y in stroke]
        strokes.append([((x - 0.5) * style["wide"] - (y - 0.5) * style["slant"], y - 0.5) for x, y in spline(shaken)])
    coverage = [[0.0] * width for _ in range(height)]
    radius, soft = style["pen"] * size / 2, style["soft"]
    centre_x, centre_y = style["at"][0] * width, style["at"][1] * height
    for stroke in strokes:
        wave, phase = rng.uniform(3, 6), rng.uniform(0, 6)
        for i in range(len(stroke) - 1):
            ax, ay = centre_x + stroke[i][0] * size, centre_y + stroke[i][1] * size
            bx, by = centre_x + stroke[i + 1][0] * size, centre_y + stroke[i + 1][1] * size
            r = radius * (1 + 0.13 * math.sin(phase + wave * i / len(stroke)))
            reach = r + soft + 1
            length2 = max((bx - ax) ** 2 + (by - ay) ** 2, 1e-9)
            columns = range(max(0, int(min(ax, bx) - reach)), min(width, int(max(ax, bx) + reach) + 2))
            for y in range(max(0, int(min(ay, by) - reach)), min(height, int(max(ay, by) + reach) + 2)):
                row, from_y = coverage[y], y + 0.5 - ay
                along_y = from_y * (by - ay)
                for x in columns:
                    if row[x] == 1.0:
                        continue  # the steps of a stroke overlap: most pixels are covered already
                    from_x = x + 0.5 - ax
                    along = (from_x * (bx - ax) + along_y) / length2
                    along = 0.0 if along < 0.0 else 1.0 if along > 1.0 else along
                    away = math.hypot(from_x - along * (bx - ax), from_y - along * (by - ay))
                    covered = (r - away) / (2 * soft) + 0.5
                    if covered > row[x]:
                        row[x] = 1.0 if covered > 1.0 else covered
    return width, height, coverage, style


def paint(name):
    """Returns (width, height, channels, pixel bytes) of one sample."""
    width, height, coverage, style = draw(name)
    rng = random.Random(f"lenslet paper {name}")
    if style["paper"] is None:
        ink = bytes(style["ink"])
        return width, height, 4, b"".join(ink + bytes((round(255 * c),)) for row in coverage for c in row)
    (p0, p1, p2), (d0, d1, d2) = style["paper"], (i - p for p, i in zip(style["paper"], style["ink"]))

    def colour(c, light, grain):
        values = p0 + d0 * c + light + grain, p1 + d1 * c + light + grain, p2 + d2 * c + light + grain
        return bytes([0 if v < 0 else 255 if v > 255 else round(v) for v in values])

    if not style["grain"] and not style["light"]:
        colour = functools.cache(colour)  # plain paper has few colours
    across = [0.7 * (x / width - 0.5) for x in range(width)]
    pixels = []
    for y in range(height):
        down = 0.5 * (y / height - 0.5)
        for c, at in zip(coverage[y], across):
            grain = rng.gauss(0, style["grain"]) if style["grain"] else 0
            pixels.append(colour(c, style["light"] * (at + down), grain))
    return width, height, 3, b"".join(pixels)


def write_png(path, width, height, channels, pixels):
    """Writes 8-bit PNG: 1 grey, 3 RGB, 4 RGBA. Each row is stored as the difference to the pixel on its left."""
    colour = {1: 0, 3: 2, 4: 6}[channels]
    rows = bytearray()
    stride = width * channels
    for y in range(height):
        row = pixels[y * stride : (y + 1) * stride]
        rows.append(1)
        rows += bytes([(value - left) & 255 for value, left in zip(row, bytes(channels) + row)])

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(rows), 9))
        + chunk(b"IEND", b"")
    )
    Path(path).write_bytes(data)


def variants(width, height, channels, pixels):
    """Yields (name, (width, height, channels, pixels)) of the changed versions of a picture."""
    stride = width * channels
    rows = [pixels[y * stride : (y + 1) * stride] for y in range(height)]
    inverted = bytearray([255 - value for value in pixels])
    if channels == 4:
        inverted[3::4] = pixels[3::4]
    yield "inverted", (width, height, channels, bytes(inverted))
    # Shifts right and down; on the other side the edge's rows and columns are repeated.
    dx, dy = width // 3, height // 4
    moved = [row[:channels] * dx + row for row in rows]
    yield "shifted", (width + dx, height + dy, channels, moved[0] * dy + b"".join(moved))
    columns = [x * 2 // 3 * channels for x in range(width * 3 // 2)]
    wide = [b"".join(row[at : at + channels] for at in columns) for row in rows]
    big = b"".join(wide[y * 2 // 3] for y in range(height * 3 // 2))
    yield "scaled", (width * 3 // 2, height * 3 // 2, channels, big)
    if channels == 3:
        # Makes the paper's colour transparent and the ink black, as drawing programs export.
        colours = list(zip(pixels[0::3], pixels[1::3], pixels[2::3]))
        red, green, blue = colours[0]
        away = {(r, g, b): abs(r - red) + abs(g - green) + abs(b - blue) for r, g, b in dict.fromkeys(colours)}
        span = max(away.values())
        alpha = {colour: bytes((0, 0, 0, min(255, 255 * distance // span))) for colour, distance in away.items()}
        yield "transparent", (width, height, 4, b"".join(alpha[colour] for colour in colours))


def main():
    parser = argparse.ArgumentParser(
        description="Draw the sample digits.",
        epilog="example: python3 samples/draw_samples.py --variants /tmp/variants",
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).resolve().parent, help="where to write (default: here)"
    )
    parser.add_argument(
        "--variants", type=Path, metavar="FOLDER", help="write changed versions into this folder instead"
    )
    arguments = parser.parse_args()
    folder = arguments.variants or arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHAPES:
        picture = paint(name)
        stem = f"digit_{name[0]}_{name[1]}"
        if not arguments.variants:
            write_png(folder / f"{stem}.png", *picture)
            continue
        for kind, changed in variants(*picture):
            write_png(folder / f"{stem}_{kind}.png", *changed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
