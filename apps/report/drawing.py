"""What a figure function returns: a picture with its caption."""

import hashlib
import re
from dataclasses import dataclass


def slug(name):
    """A name for a file and for ids: itself, or what is left of another text with a number that tells it from others."""
    if re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,59}", name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50] or "figure") + "-" + digest


@dataclass
class Drawing:
    name: str  # of its file, and the prefix of ids within; a slug()
    title: str
    svg: str  # with placeholder colours (style.py)
    caption: str  # computed from the rows that are drawn

    def __post_init__(self):
        self.name = slug(self.name)
