#!/usr/bin/env python3
"""Figures and one self-contained HTML page from result files of convbench and lenslet.

    apps/report/report.py results.json [more.json…] --html out.html [--figures DIR [--filter NAME,NAME]]
    apps/report/report.py new.json --beside old.json --html both.html
    apps/report/report.py results.json --figures DIR --format png

Reads schema lenslet.results/1, of complete and of interrupted runs, lenslet.tune/1, and the trace of
`convbench streams --trace`.
--figures writes each figure as a file of its own, which names the files that it was drawn from. --beside shows another
run's figures beside these, and a table of the rows of both.
Needs Python 3.9 and matplotlib 3.5. Exit codes: 0 done, 2 usage, 3 a file that is no result file (a page of the others
is written all the same), 4 matplotlib is missing, 7 an output could not be written.
"""

import argparse
import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
from look import FORMATS, look  # noqa: E402
from results import BadFile, File, groups, load, shown  # noqa: E402


def fail(code, message):
    line = shown(message)
    print(f"report: {line if len(line) <= 2000 else line[:1000] + '…' + line[-1000:]}", file=sys.stderr)
    sys.exit(code)


inputs = {}  # the files that are read, by device and inode


def status_of(path):
    """None if there is no such file; links are followed."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def check_not_input(path):
    """Ends the program if `path` is also read, under any name or link."""
    try:
        status = status_of(path)
    except OSError:
        return  # the error of writing it has the reason
    read = status and inputs.get((status.st_dev, status.st_ino))
    if read:
        fail(2, f"{path} is the file {read}, which is read and would be written over: give the output another name")


def stream_of(path, status):
    """The stream that `path` names, such as /dev/stdout, or is redirected to it; None if it names a file of its own."""
    if str(path) == "-":
        return 1
    for descriptor in (1, 2):
        try:
            if status and os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
        except OSError:
            pass  # the caller closed it
    return None


def write(path, content):
    """Writes to a temporary name first, so that a failure keeps the old page, and keeps a link to it. Appends to a
    stream and to a file to which one is redirected. `content`: text or bytes."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    check_not_input(path)
    try:
        status = status_of(path)
        stream = stream_of(path, status)
        if stream is not None or (status and not stat.S_ISREG(status.st_mode)):
            with open(os.dup(stream) if stream is not None else path, "wb") as output:
                output.write(content)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".lenslet-", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as output:
                output.write(content)
            os.chmod(temporary, stat.S_IMODE(status.st_mode) if status else 0o644)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        fail(7, f"cannot write {'standard output' if str(path) == '-' else path}: {error.strerror}")


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


def read(path, problems):
    """The file, or None and a line more in `problems`."""
    try:
        return load(path)
    except BadFile as error:
        problems.append(str(error))
        return None


def set_beside(devices, others):
    """Each device gets the other run's group of that device; single devices of both runs are compared in any case."""
    by_name = {group.device: group for group in others}
    for group in devices:
        alone = len(devices) == len(others) == 1
        group.beside = others[0] if alone else by_name.get(group.device)
        if group.beside:
            group.beside.suffix = "-beside"


def write_figures(group, suffix, options, sections, style):
    sources = [(file.name, file.sha256) for file in group.files]
    look.sources, look.suffix, look.filter = sources, group.suffix, options.filter
    try:
        for drawing in sections.drawings(group).values():
            if options.filter and drawing.name not in options.filter:
                continue
            path = Path(options.figures) / f"{drawing.name}{suffix}{group.suffix}.{options.format}"
            write(path, style.for_file(drawing.content, sources) if options.format == "svg" else drawing.content)
    finally:
        look.suffix, look.filter = "", ()


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="report.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE.json")
    parser.add_argument("--check", action="store_true", help="only check that a page could be drawn")
    parser.add_argument("--html", metavar="FILE", help="the page")
    parser.add_argument("--figures", metavar="DIR", help="each figure as a file")
    parser.add_argument("--format", choices=FORMATS, default="svg", help="of these files")
    parser.add_argument("--beside", metavar="FILE.json", action="append", default=[], help="a file of another run")
    parser.add_argument(
        "--filter",
        metavar="NAMES",
        type=lambda text: text.split(","),
        default=[],
        help="of the figures, those with these names",
    )
    options = parser.parse_args(arguments)
    if options.check:
        modules()
        return
    if not options.files:
        parser.error("give at least one FILE.json")
    if not options.html and not options.figures:
        parser.error("give --html, --figures or both")
    if options.html and options.format != "svg":
        parser.error("the page is drawn in SVG; leave out --html or --format")
    inputs.clear()
    for path in options.files + options.beside:
        with contextlib.suppress(OSError):  # the error of reading it has the reason
            status = os.stat(path)
            inputs[status.st_dev, status.st_ino] = path
    if options.html:
        check_not_input(options.html)
    problems = []
    files, others = ([read(path, problems) for path in paths] for paths in (options.files, options.beside))
    files, others = ([file for file in some if file] for some in (files, others))
    if not any(isinstance(file, File) for file in files):
        fail(3, problems[0] if problems else f"{files[0].path}: a trace alone; give the result file of its run as well")
    look.format = options.format
    page, sections, style = modules()
    devices = groups(files)
    set_beside(devices, groups(others))
    if options.html:
        write(options.html, page.render(devices, problems))
    if options.figures:
        for number, group in enumerate(devices):
            for one in filter(None, (group, group.beside)):
                write_figures(one, f"-{number}" if number else "", options, sections, style)
    if problems:
        fail(3, "; ".join(problems))


if __name__ == "__main__":
    main()
