"""Numbers as people read them; None is a dash."""

import math
import re


def short(value, digits=3):
    """Three significant digits, thousands separated: "12.3", "0.0123", "1,230"."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def _scaled(value, *units):
    """`value` in the largest of the units (name, size) that it reaches, else in the last."""
    if value is None:
        return "–"
    unit, size = next((pair for pair in units if value >= pair[1]), units[-1])
    return f"{short(value / size)} {unit}"


def time_text(ns):
    return _scaled(ns, ("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))


def per_second(value, unit):
    """ "4.20 TB/s", "45.6 GB/s"."""
    return _scaled(value, (f"T{unit}", 1e12), (f"G{unit}", 1e9))


def bytes_text(count):
    if count is not None and count < 2**10:
        return f"{count:,.0f} B"
    return _scaled(count, ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def percent(fraction):
    return "–" if fraction is None else f"{fraction * 100:.0f} %"


def rounded_rate(value, unit):
    return "–" if value is None else f"{short(value)} {unit}"


def ratio(value):
    """Two decimals below 2, where they matter."""
    return f"{value:.2f}" if value < 2 else short(value, 2)


def millions(rate):
    """Three digits, so that a reader's own division gives the ratio beside it."""
    return f"{rate / 1e6:.{3 if rate < 1e6 else 2 if rate < 1e7 else 1}f} M"


def microseconds(ns):
    return "–" if ns is None else f"{ns / 1e3:,.{2 if ns < 1e4 else 1 if ns < 1e6 else 0}f}"


def listed(names):
    """The names as in: a, b and c."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def shape(problem):
    """A problem string's sizes for a narrow axis: "C32 64² K128"; other strings stay unchanged."""
    match = re.match(r"^(?:g(\d+))?mb(\d+)ic(\d+)ih(\d+)(?:iw(\d+))?oc(\d+)", problem)
    if not match:
        return problem
    g, n, c, h, w, k = match.groups()
    kernel = re.search(r"kh(\d+)", problem)
    parts = [f"G{g}" if g else "", f"N{n}" if n != "1" else "", f"C{c}", f"{h}²" if w in (None, h) else f"{h}×{w}"]
    parts += [f"K{k}", f"{kernel.group(1)}×{kernel.group(1)}" if kernel and kernel.group(1) != "3" else ""]
    stride = re.search(r"sh(\d+)", problem)
    parts.append(f"stride {stride.group(1)}" if stride else "")
    return " ".join(filter(None, parts))
