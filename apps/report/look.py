"""How figures are drawn, set before style.py is imported: for the page, or as files of their own.

A figure for the page, and an SVG file, is drawn with placeholder colours. In the page these become CSS variables, so
that a figure follows the reader's theme; in a file they become the light theme's. A PNG or PDF file is drawn in the
light theme's colours at once.
"""

# Placeholder, light, dark. The series after Okabe and Ito's palette for all kinds of colour vision.
FOREGROUND = ("#010203", "#1a1c20", "#e4e6ea")
MUTED = ("#010204", "#5d636e", "#9aa1ad")
GRID = ("#010205", "#d9dce2", "#363b44")
PAPER = ("#fdfcfb", "#ffffff", "#16181d")
SERIES = [
    ("#0a0001", "#0072b2", "#58b0e8"),
    ("#0a0002", "#d55e00", "#f58a3c"),
    ("#0a0003", "#00805e", "#35c99b"),
    ("#0a0004", "#a8508a", "#e39ac6"),
    ("#0a0005", "#9a6b00", "#e8c04a"),
    ("#0a0006", "#5b4fc4", "#a99ff5"),
    ("#0a0007", "#4a7d1f", "#9fd06a"),
    ("#0a0008", "#7a4b32", "#cf9f85"),
    ("#0a0009", "#b0204f", "#ff8fae"),
]
NAMES = ["ink", "soft", "grid", "paper"] + [f"s{i}" for i in range(len(SERIES))]
PALETTE = list(zip(NAMES, [FOREGROUND, MUTED, GRID, PAPER] + SERIES))

FORMATS = ("svg", "png", "pdf")


class Look:
    format = "svg"  # of the drawings
    narrow = False  # as a page has it: no wider than a phone, one panel below another (style.for_page)
    filter = ()  # names of the figures to draw; empty: all
    suffix = ""  # of names: ids on a page differ
    sources = ()  # [(name, SHA-256)] of the files that are drawn, for PNG and PDF

    def wants(self, beginning):
        """Whether figures are to be drawn whose names begin so."""
        return not self.filter or any(name.startswith(beginning) for name in self.filter)


look = Look()


def drawn(colours):
    """The colour that matplotlib gets."""
    return colours[0] if look.format == "svg" else colours[1]
