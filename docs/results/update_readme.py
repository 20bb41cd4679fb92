"""Writes the numbers of README.md, docs/results.md and two pages of docs/kernels from results folders, or checks them.

    python3 docs/results/update_readme.py docs/results/2026-11-22-h200 docs/results/2026-11-22-cpu
        [--partial] [--report | --check]

The first folder is a GPU's, with peers.json, calls.json, matrix.json and profile-batch-10000.json; the second a CPU's, with
eval.json, matrix.json and peers.json. bench.json, latency.json and stream-*.json of the first give tables of the fused plan.
Where the first also has result files of convbench (reproduce.json, ladder.json), the tables of convolutions and the
climb of direct come from them, the RGB images' from sweep.json where there is one; --report then first draws report.html and
the pictures with apps/report, apps/peers and docs/pictures/draw.py, which need matplotlib.

Where a file lacks a row that a table wants, nothing is written and the error lists what is lacking; with --partial the pages
are written without it and name it. Every number between the pages' markers comes from these files. --check also finds a page
or picture that was drawn from others, and a speed that README.md or docs/results.md states outside the markers. Python's
standard library alone otherwise.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import common
import headline
import tables_conv
import tables_lenet
from common import DIRECT, FULL, IM2COL, PAGE, PICTURES, README, REPORT, ROOT

BY = ", by `docs/results/update_readme.py`."
DRAW = ROOT / "docs" / "pictures" / "draw.py"
# A rate, a time of computing or a ratio. "28×28" is a size.
SPEED = re.compile(r"\d\s?(?:µs|ns|ms|[kM]? ?images/s|[GT]?FLOP/s|[GT]B/s|[kM]\b images|×(?!\d))")


def source(gpu, cpu, page):
    names = " and ".join(f"[{folder.name}]({common.link(folder, page)})" for folder in (gpu, cpu))
    return f"From {names}{BY}"


def source_of(folder, page):
    return f"From [{folder.name}]({common.link(folder, page)}){BY}"


def page_link(gpu):
    if (gpu / PAGE).exists():
        yield (
            f"**Every figure and row**, with the environment and the files inside: [{PAGE}]({common.link(gpu / PAGE)}),"
            " one page that needs no network."
        )


def full_tables(gpu, cpu):
    lenet = tables_lenet
    parts = [lenet.digits(gpu), lenet.peers(gpu), lenet.every_side(gpu), lenet.one_image(gpu), lenet.bench(gpu)]
    parts += [lenet.latency(gpu), lenet.calls(gpu, common.device_name(gpu)), lenet.streaming(gpu)]
    parts += [lenet.cpu_peers(cpu), lenet.calls(cpu, "CPU"), lenet.profile(gpu)]
    group = common.convbench_group(gpu)
    if group:
        parts += [tables_conv.rgb(gpu, common.rgb_group(gpu)), tables_conv.deep(gpu, group)]
        parts += [tables_conv.ladder(gpu, group), page_link(gpu)]
    texts = ["\n".join(part) for part in [*parts, lenet.cpu(cpu)]]
    return "\n\n".join([*[text for text in texts if text], source(gpu, cpu, FULL)])


def sections(gpu, cpu):
    """{page: {name of its markers: what stands between them}}."""
    group = common.convbench_group(gpu)
    climb = list(tables_conv.direct_ladder(group)) if group else []
    columns = list(tables_conv.im2col(group)) if group else []
    short, full = "\n".join(headline.results_table(gpu, cpu)), full_tables(gpu, cpu)
    return {
        README: {
            "results": short + "\n\n" + source(gpu, cpu, README) + lacking(),
            "swap": "\n".join([*headline.swap(cpu), "", source_of(cpu, README)]),
        },
        FULL: {"results": full + lacking()},
        DIRECT: {"climb": "\n".join([*(climb or [without("`convbench ladder direct`")]), "", source_of(gpu, DIRECT)])},
        IM2COL: {"columns": "\n".join([*(columns or [without("study a")]), "", source_of(gpu, IM2COL)])},
    }


def without(what):
    return f"Not measured: there are no rows of {what}."


def lacking():
    """What the pages go without, for their readers."""
    return "".join(f"\n\nNot measured yet: {', '.join(common.lacking)}." if common.lacking else "")


def speeds_by_hand(pages):
    """Lines outside the markers that state a speed."""
    for page in pages:
        shown = True
        for number, line in enumerate(page.read_text().splitlines(), 1):
            shown = (shown or re.search(r"<!-- \w+: end -->", line)) and not re.search(r"<!-- \w+: begin -->", line)
            if shown and SPEED.search(line):
                yield f"{page.name}:{number}: {line.strip()}"


def filled(page, parts):
    """The page's text with its marked parts replaced."""
    text = page.read_text()
    for name, content in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"{page.name} has not one '{begin}' and one '{end}'")
        before, rest = text.split(begin)
        text = before + begin + "\n\n" + content + "\n\n" + end + rest.split(end)[1]
    return text


def run_with_matplotlib(script, *arguments):
    """Runs a script with the first interpreter that has matplotlib; 4 is its word for one that has not."""
    status = 4
    for python in (sys.executable, "/usr/bin/python3"):
        if status == 4:
            status = subprocess.run([python, str(script), *arguments]).returncode
    if status:
        sys.exit(status)


def draw(gpu):
    """README's pictures, report.html and its pictures."""
    run_with_matplotlib(DRAW, str(gpu / "profile-batch-10000.json"))
    files = [str(path) for path in common.convbench_files(gpu)]
    if not files:
        sys.exit(f"{gpu} has neither {' nor '.join(common.CONVBENCH)}: there is nothing to draw")
    run_with_matplotlib(common.PEERS_FIGURE, str(gpu / "peers.json"), str(gpu / common.PEERS_PICTURE))
    figures = ["--figures", str(gpu), "--only", ",".join(PICTURES)]
    run_with_matplotlib(REPORT / "report.py", "--html", str(gpu / PAGE), *figures, "--", *files)


def stale(gpu):
    """Pages and pictures that were drawn from other files than those that are there."""

    def digest(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()

    digests = [digest(path) for path in common.convbench_files(gpu)]
    drawn = [path for path in (gpu / PAGE, *(gpu / f"{name}.svg" for name in PICTURES)) if path.exists()]
    old = [path for path in drawn if not all(digest in path.read_text() for digest in digests)]
    picture = gpu / common.PEERS_PICTURE
    if picture.exists() and digest(gpu / "peers.json") not in picture.read_text():
        old.append(picture)
    profile = digest(gpu / "profile-batch-10000.json")
    return old + [path for path in sorted(DRAW.parent.glob("*.svg")) if profile not in path.read_text()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a page differs")
    parser.add_argument("--report", action="store_true", help="draw report.html and the pictures first")
    parser.add_argument("--partial", action="store_true", help="write the pages even where files lack rows")
    arguments = parser.parse_args()
    pages = sections(arguments.gpu, arguments.cpu)
    if common.lacking and not arguments.partial and not arguments.check:
        sys.exit("\n".join(["nothing is written: the tables want what the files do not have (--partial goes without):",
                            *common.lacking]))
    if arguments.report and not arguments.check:
        draw(arguments.gpu)
        pages = sections(arguments.gpu, arguments.cpu)  # with links to what was drawn
    for page, parts in pages.items():
        updated = filled(page, parts)
        if updated == page.read_text():
            continue
        if arguments.check:
            sys.exit(f"{page.name}'s results differ from the files: run docs/results/update_readme.py")
        page.write_text(updated)
    by_hand = list(speeds_by_hand((README, FULL))) if arguments.check else []
    if by_hand:
        sys.exit("\n".join(["speeds outside the markers, which no script writes:", *by_hand]))
    old = stale(arguments.gpu)
    if arguments.check and old:
        sys.exit(
            f"{', '.join(str(path) for path in old)}: drawn from other files than those beside it: run"
            " docs/results/update_readme.py --report"
        )


if __name__ == "__main__":
    main()
