"""What a figure function returns: a picture with its caption."""

from dataclasses import dataclass


@dataclass
class Drawing:
    name: str  # of its file, and the prefix of ids within
    title: str
    svg: str  # with placeholder colours (style.py)
    caption: str  # computed from the rows that are drawn
