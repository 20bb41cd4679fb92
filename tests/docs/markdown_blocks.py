"""The fenced code blocks of a Markdown document, with the comment before each that says what a test does with it.

`<!-- run: … -->` stands on the line before a block of shell commands:
    run: gpu                needs a GPU
    run: not, REASON        is not run
    run: tests/FOLDER       that test performs the block (python/tests: the Python package's)
    …, exit N               the last command must end with this code
`<!-- file: PATH -->` and `<!-- after: PATH: LINE -->` say where a block of a tutorial goes.
"""

import re
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"^\s*<!-- (run|file|after): (.*?) -->\s*$")
FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
EXIT = re.compile(r",?\s*exit (\d+)$")


class MarkError(ValueError):
    """A comment with an unknown mark."""


@dataclass
class Block:
    document: Path
    line: int  # of its first line
    language: str
    text: str
    kind: str = ""  # of its comment: run, file, after, or none
    what: str = ""  # gpu, not, tests/…, a path
    reason: str = ""
    exit_code: int = 0

    @property
    def place(self):
        return f"{self.document}:{self.line}"


def read_mark(block, kind, text):
    block.kind = kind
    if kind == "file":
        block.what = text
        return
    if kind == "after":
        block.what, found, block.reason = text.partition(": ")
        if not found:
            raise MarkError(f"{block.place}: '<!-- after: {text} -->' names no line: write 'after: PATH: LINE'")
        return
    match = EXIT.search(text)
    if match:
        block.exit_code, text = int(match.group(1)), text[: match.start()]
    what, _, block.reason = text.partition(", ")
    block.what = what
    known = what in ("", "gpu") or (what == "not" and block.reason) or re.fullmatch(r"(python/)?tests(/[a-z_]+)?", what)
    if not known:
        raise MarkError(
            f"{block.place}: '<!-- run: {text} -->' is unknown: "
            "write 'run: gpu', 'run: not, REASON' or 'run: tests/FOLDER'"
            " or 'run: exit N'"
        )


def blocks(path, name=None):
    """The blocks of one document, in order; `name` is what it is called in messages."""
    found, mark, current, indent = [], None, None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if current is not None:
            if fence and not fence.group(2):
                current.text += "\n" if current.text and not current.text.endswith("\n") else ""
                found.append(current)
                current = None
            else:
                current.text += line.removeprefix(indent) + "\n"
        elif fence:
            indent = fence.group(1)
            current = Block(Path(name or path), number + 1, fence.group(2) or "text", "")
            if mark:
                read_mark(current, *mark)
            mark = None
        else:
            match = MARK.match(line)
            if match:
                mark = match.groups()
            elif line.strip():
                if mark:
                    raise MarkError(f"{name or path}:{number}: no block follows this comment 'run', 'file' or 'after'")
    return found
