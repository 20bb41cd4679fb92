"""What the words of the page mean, from glossary.txt, which `lenslet explain` prints too."""

from functools import cache
from pathlib import Path


@cache
def _meanings():
    meanings, words = {}, []
    for line in (Path(__file__).parent / "glossary.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith(" "):
            for word in words:
                meanings.setdefault(word, line.strip())
            words = []
        else:
            words = [word.lower() for word in line.split(" | ")[0].split("; ")]
    return meanings


def meaning(word):
    """The first line of the entry of a word, in any case; empty without one."""
    return _meanings().get(word.lower(), "")
