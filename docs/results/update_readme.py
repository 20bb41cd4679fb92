"""Writes the numbers of README.md, docs/results.md and docs/kernels/direct.md from results folders, or checks them.

    python3 docs/results/update_readme.py docs/results/2026-11-22-h200 docs/results/2026-11-22-cpu [--report | --check]

The first folder is a GPU's, with peers.json, matrix.json and profile-batch-10000.json; the second a CPU's, with
eval.json, matrix.json and, where it was compared, peers.json. bench.json, latency.json and stream-*.json of the first give
tables of the fused plan. Where the first also has result files of convbench (reproduce.json, ladder.json), the tables of
convolutions and the climb of direct come from them, the RGB images' from sweep.json where there is one; --report then
first draws report.html and the pictures with apps/report and docs/pictures/draw.py, which need matplotlib. Every number
between the pages' markers comes from these files, and --check also finds a page or picture that was drawn from others.
Python's standard library alone otherwise.
"""

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

import common
import headline
import tables_conv
import tables_lenet
from common import DIRECT, FULL, PAGE, PICTURES, README, REPORT, ROOT

BY = ", by `docs/results/update_readme.py`."
DRAW = ROOT / "docs" / "pictures" / "draw.py"


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
    parts = [lenet.digits(gpu), lenet.peers(gpu), lenet.bench(gpu), lenet.latency(gpu), lenet.streaming(gpu)]
    parts += [lenet.cpu_peers(cpu), lenet.profile(gpu)]
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
    if not climb:
        climb = ["Not measured: there are no rows of `convbench ladder direct`."]
    return {
        README: {
            "results": "\n".join(headline.results_table(gpu, cpu)) + "\n\n" + source(gpu, cpu, README),
            "swap": "\n".join([*headline.swap(cpu), "", source_of(cpu, README)]),
        },
        FULL: {"results": full_tables(gpu, cpu)},
        DIRECT: {"climb": "\n".join([*climb, "", source_of(gpu, DIRECT)])},
    }


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
    figures = ["--figures", str(gpu), "--only", ",".join(PICTURES)]
    run_with_matplotlib(REPORT / "report.py", "--html", str(gpu / PAGE), *figures, "--", *files)


def stale(gpu):
    """Pages and pictures that were drawn from other files than those that are there."""

    def digest(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()

    digests = [digest(path) for path in common.convbench_files(gpu)]
    drawn = [path for path in (gpu / PAGE, *(gpu / f"{name}.svg" for name in PICTURES)) if path.exists()]
    old = [path for path in drawn if not all(digest in path.read_text() for digest in digests)]
    profile = digest(gpu / "profile-batch-10000.json")
    return old + [path for path in sorted(DRAW.parent.glob("*.svg")) if profile not in path.read_text()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a page differs")
    parser.add_argument("--report", action="store_true", help="draw report.html and the pictures first")
    arguments = parser.parse_args()
    if arguments.report and not arguments.check:
        draw(arguments.gpu)
    for page, parts in sections(arguments.gpu, arguments.cpu).items():
        updated = filled(page, parts)
        if updated == page.read_text():
            continue
        if arguments.check:
            sys.exit(f"{page.name}'s results differ from the files: run docs/results/update_readme.py")
        page.write_text(updated)
    old = stale(arguments.gpu)
    if arguments.check and old:
        sys.exit(
            f"{', '.join(str(path) for path in old)}: drawn from other files than those beside it: run"
            " docs/results/update_readme.py --report"
        )


if __name__ == "__main__":
    main()
