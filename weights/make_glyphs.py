#!/usr/bin/env python3
"""Renders letters and digits of fonts as MNIST-like pictures, for the robust training: writes glyphs.npz.

Letters and other marks teach the network what is no digit; digits of text fonts are a few more digits. Each glyph is
placed as models/digit/digit_placing.cpp places a digit: longer side 20 pixels, centre of mass on pixel (14, 14). Marks
that look like a digit of their own font (Cyrillic ze ...) are dropped; Latin letters only if they are the same mark.

No font that imitates handwriting may be among the text fonts: those are in the folder of --hands. No font that judges
the result may be in either folder. Digits of --hands are for validation; train_lenet5.py learns from them only with
--hand-digits.

    letters        uint8 [L, 784]   letter_font       int32 [L]   letter_char       str [L]
    hands          uint8 [H, 784]   hand_font         int32 [H]   hand_char         str [H]
    digits         uint8 [D, 784]   digit_font        int32 [D]   digit_labels      uint8 [D]
    hand_digits    uint8 [E, 784]   hand_digit_font   int32 [E]   hand_digit_labels uint8 [E]
    fonts          names, by index; hand_fonts likewise

Example: apt-get download fonts-dejavu-core ...; dpkg -x each into the folder fonts or hands;
python3 weights/make_glyphs.py fonts glyphs.npz --hands hands
"""

import argparse
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

LATIN = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"  # without O, I, o and l
OTHERS = (
    "&%@#?*+=<>()[]{}$~^_\"'ÄÅÆÇÈÉÊËÌÍÎÏÐÑÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñöøùúûüýþÿĀāĂăĄąĆćČčĎďĐđĒēĘęĚěĞğĠġĦħĪī"
    "ĶķĻļŁłŃńŇňŐőŒœŘřŚśŞşŠšŢţŤťŪūŮůŰűŽžΓΔΘΛΞΠΣΦΨΩαβγδεζηθκλμνξπρςστφχψωБГДЖИЙЛПУФЦШЩЪЫЬЭЮЯбвгджийклмнптфц"
    "шщъыьэюяאבגהחטלמםנסעפצקשת€£¥§¶©®±×÷µ¤∂∆∏∑√∞≈≠≤≥◊←↑→↓"
)
LOOKALIKE = 0.88  # cosine of the angle between two pictures
SAME = 0.96  # of Latin letters, which are letters also where a hand writes them nearly like a digit (S, Z, b, q ...)


def render(font, char):
    """Returns the glyph as float32 [28, 28] in 0 to 1, or None where it has no ink."""
    left, top, right, bottom = font.getbbox(char)
    if right <= left or bottom <= top or right - left > 400 or bottom - top > 400:
        return None
    picture = Image.new("L", (right - left + 4, bottom - top + 4))
    ImageDraw.Draw(picture).text((2 - left, 2 - top), char, font=font, fill=255)
    box = picture.getbbox()
    if box is None:
        return None
    picture = picture.crop(box)
    factor = 20 / max(picture.size)
    size = [max(1, round(side * factor)) for side in picture.size]
    small = np.asarray(picture.resize(size, Image.BOX), np.float32) / 255
    mass = small.sum()
    if mass < 4:
        return None
    y, x = np.mgrid[: small.shape[0], : small.shape[1]]
    row = int(np.clip(round(14 - float((small * y).sum() / mass)), 0, 28 - small.shape[0]))
    column = int(np.clip(round(14 - float((small * x).sum() / mass)), 0, 28 - small.shape[1]))
    out = np.zeros((28, 28), np.float32)
    out[row : row + small.shape[0], column : column + small.shape[1]] = small
    return out


def unit(picture):
    blurred = picture.copy()  # a pixel of tolerance
    for axis in (0, 1):
        blurred = blurred + np.roll(blurred, 1, axis) + np.roll(blurred, -1, axis)
    return blurred.ravel() / np.linalg.norm(blurred)


def glyphs_of(path, draw):
    """Returns (digits by label, letters, their characters) of one font, or None if it lacks digits or Latin letters."""
    try:
        font = ImageFont.truetype(str(path), 96)
        missing = render(font, "\U0010fffd")
        digits = [render(font, char) for char in "0123456789"]
        if any(digit is None for digit in digits):
            return None
        shapes = np.stack([unit(digit) for digit in digits])
        if any(float(unit(digits[i]) @ unit(digits[j])) > 0.97 for i in range(10) for j in range(i)):
            return None  # the font shows a box for every character, or dots
        letters, chars = [], []
        for char in LATIN + "".join(draw.sample(OTHERS, 30)):
            picture = render(font, char)
            if picture is None or (missing is not None and np.abs(picture - missing).sum() < 1):
                continue
            if float((shapes @ unit(picture)).max()) < (SAME if char in LATIN else LOOKALIKE):
                letters.append(picture)
                chars.append(char)
    except (OSError, ValueError):
        return None
    return (digits, letters, chars) if len(letters) > 20 else None


def glyphs_of_folder(folder, limit, draw):
    """Returns names, digits by label, letters and characters of the first `limit` fonts in a drawn order."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".ttf", ".otf"))
    draw.shuffle(paths)
    fonts, digits, letters, chars = [], [], [], []
    for path in paths:
        found = glyphs_of(path, draw)
        if found is None:
            continue
        if any(np.array_equal(found[1][0], other[0]) for other in letters):
            continue  # the same A under another name
        digits.append(found[0])
        letters.append(found[1])
        chars.append(found[2])
        fonts.append(path.stem)
        if len(fonts) == limit:
            break
    return fonts, digits, letters, chars


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="text fonts; searched for .ttf and .otf files")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--hands", type=Path, required=True, metavar="FOLDER", help="fonts that imitate handwriting")
    parser.add_argument("--fonts", type=int, default=700, help="of a folder at most (default: %(default)s)")
    args = parser.parse_args()
    draw = random.Random(1)
    fonts, digits, letters, chars = glyphs_of_folder(args.folder, args.fonts, draw)
    hand_fonts, hand_digits, hands, hand_chars = glyphs_of_folder(args.hands, args.fonts, draw)

    def pixels(pictures):
        flat = np.array([picture for of_font in pictures for picture in of_font], np.float32).reshape(-1, 784)
        return np.rint(255 * flat).astype(np.uint8)

    def font_of(pictures):
        return np.repeat(np.arange(len(pictures), dtype=np.int32), [len(of_font) for of_font in pictures])

    def labels(of_fonts):
        return np.tile(np.arange(10, dtype=np.uint8), len(of_fonts))

    arrays = {
        "letters": pixels(letters), "letter_font": font_of(letters), "letter_char": np.array(sum(chars, []), str),
        "hands": pixels(hands), "hand_font": font_of(hands), "hand_char": np.array(sum(hand_chars, []), str),
        "digits": pixels(digits), "digit_font": font_of(digits), "digit_labels": labels(digits),
        "hand_digits": pixels(hand_digits), "hand_digit_font": font_of(hand_digits),
        "hand_digit_labels": labels(hand_digits),
        "fonts": np.array(fonts), "hand_fonts": np.array(hand_fonts, str),
    }  # fmt: skip
    np.savez_compressed(args.out, **arrays)
    counts = {name: len(arrays[name]) for name in ("fonts", "letters", "digits", "hand_fonts", "hands", "hand_digits")}
    print(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
