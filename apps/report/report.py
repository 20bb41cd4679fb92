#!/usr/bin/env python3
"""Figures and one self-contained HTML page from result files of convbench and lenslet.

    apps/report/report.py results.json [more.json…] --html out.html [--figures DIR [--only NAME,NAME]]

Reads schema lenslet.results/1, of complete and of interrupted runs, and the trace of `convbench streams --trace`.
--figures writes each figure as an SVG file of its own, which names the files that it was drawn from.
Needs Python 3.9 and matplotlib 3.5. Exit codes: 0 done, 2 usage, 3 a file that is no result file (a page of the others
is written all the same), 4 matplotlib is missing, 7 an output could not be written.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
from results import BadFile, File, groups, load, shown  # noqa: E402


def fail(code, message):
    line = shown(message)
    print(f"report: {line if len(line) <= 2000 else line[:1000] + '…' + line[-1000:]}", file=sys.stderr)
    sys.exit(code)


def write(path, text):
    """Writes to a temporary name first, so that a failure keeps the old page."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_text(text, encoding="utf-8")
            return
        descriptor, temporary = tempfile.mkstemp(prefix=".lenslet-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        fail(7, f"cannot write {path}: {error.strerror}")


def modules():
    """The modules that draw, page, sections and style, which need matplotlib."""
    try:
        import page
        import sections
        import style
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("matplotlib", "numpy"):
            raise
        fail(
            4,
            f"matplotlib is not installed for {sys.executable}: apt-get install python3-matplotlib, or pip install"
            " matplotlib",
        )
    return page, sections, style


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="report.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE.json")
    parser.add_argument("--check", action="store_true", help="only check that a page could be drawn")
    parser.add_argument("--html", metavar="FILE", help="the page")
    parser.add_argument("--figures", metavar="DIR", help="each figure as an SVG file")
    parser.add_argument("--only", metavar="NAMES", help="of the figures, those with these names")
    options = parser.parse_args(arguments)
    if options.check:
        modules()
        return
    if not options.files:
        parser.error("give at least one FILE.json")
    if not options.html and not options.figures:
        parser.error("give --html, --figures or both")
    files, problems = [], []
    for path in options.files:
        try:
            files.append(load(path))
        except BadFile as error:
            problems.append(str(error))
    if not any(isinstance(file, File) for file in files):
        fail(3, problems[0] if problems else f"{files[0].path}: a trace alone; give the result file of its run as well")
    page, sections, style = modules()
    devices = groups(files)
    if options.html:
        write(options.html, page.render(devices, problems))
    if options.figures:
        for number, group in enumerate(devices):
            for drawing in sections.drawings(group).values():
                if options.only and drawing.name not in options.only.split(","):
                    continue
                suffix = f"-{number}" if number else ""
                write(
                    Path(options.figures) / f"{drawing.name}{suffix}.svg",
                    style.for_file(drawing.svg, [(file.name, file.sha256) for file in group.files]),
                )
    if problems:
        fail(3, "; ".join(problems))


if __name__ == "__main__":
    main()
