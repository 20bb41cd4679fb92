"""Numbers as people read them."""

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


def time_text(ns):
    if ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{short(ns / size)} {unit}"
    return f"{short(ns)} ns"


def per_second(value, unit):
    """ "4.20 TB/s", "45.6 GB/s"."""
    prefix, size = ("T", 1e12) if value >= 1e12 else ("G", 1e9)
    return f"{short(value / size)} {prefix}{unit}"


def bytes_text(count):
    if count is None:
        return "–"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{short(count / size)} {unit}"
    return f"{count:,.0f} B"


def percent(fraction):
    return "–" if fraction is None else f"{fraction * 100:.0f} %"


def rounded_rate(value, unit):
    return "–" if value is None else f"{short(value)} {unit}"


def shape(problem):
    """A problem string's sizes for a narrow axis: "C32 64² K128"; the string itself where it is another kind."""
    match = re.match(r"^(?:g(\d+))?mb(\d+)ic(\d+)ih(\d+)(?:iw(\d+))?oc(\d+)", problem)
    if not match:
        return problem
    g, n, c, h, w, k = match.groups()
    kernel = re.search(r"kh(\d+)", problem)
    size = f"{h}²" if w is None or w == h else f"{h}×{w}"
    return f"{'G' + g + ' ' if g else ''}{'N' + n + ' ' if n != '1' else ''}C{c} {size} K{k}" + (
        f" {kernel.group(1)}×{kernel.group(1)}" if kernel and kernel.group(1) != "3" else ""
    )
