#!/usr/bin/env python3
"""Writes the numbers of README.md, docs/results.md, docs/kernels/ and weights/README.md, or checks them.

    python3 docs/results/update_readme.py docs/results/2026-11-27-h100 docs/results/2026-11-27-cpu
        [--partial] [--report | --check]

The first folder is a GPU's, with peers.json, calls.json, matrix.json and profile-batch-10000.json. The second is a
CPU's, with eval.json, matrix.json and peers.json. bench.json, latency.json and stream-*.json of the first give tables
of the whole-network plan; calls-several.json those of several GPUs; calls.json of the second, of calls; networks.json
of either those of ONNX files, serve.json those of the server; reproduce.json, ladder.json and sweep.json, which
convbench writes, the tables of convolutions. Of some files, such as ladder-<algorithm>.json, the newest folder counts
that has one. The headline figures of both folders go into history.csv. --report first draws report.html with
apps/report and the pictures with draw.py, which need matplotlib; all else is Python's standard library.

Where a file lacks a row that a table needs, nothing is written and the error lists what is lacking. With --partial the
pages are written without it and name it. A result file is refused (provenance.py) without commit or machine, and if it
is of a modified tree, or of a part, that docs/results/README.md does not name. --check rejects a page or picture of
other files than those there, a speed that README.md or docs/results.md states outside the markers, one that a kernel's
page states without a link to a result file, and one that another page states beside a link to a result file that lacks
it, or beside a commit that is not the file's. weights/README.md has its tables from training.json and robust.json
beside it.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import common
import headline
import history
import provenance
import tables_conv
import tables_counters
import tables_lenet
import tables_networks
import tables_serve
import tables_weights
from common import FULL, KERNELS, LADDER_PICTURE, PAGE, PICTURES, PROFILE_PICTURES, README, REPORT

from results import BadFile
from words import listed

BY = ", by `docs/results/update_readme.py`."
SEVERAL = "calls-several.json"  # calls.json of several GPUs
DRAW = Path(__file__).with_name("draw.py")
# A rate, a computing time or a ratio. "28×28" is a size.
SPEED = re.compile(r"\d\s?(?:µs|ns|ms|[kM]? ?images/s|[GT]?FLOP/s|[GT]B/s|[kM]\b images|×(?!\d))")
TIME_OR_SHARE = re.compile(r"\d\s?(?:µs|ns|ms|images/s|[GT]?FLOP/s|[GT]B/s)(?!\w)|\d\s?% (?:less|more|longer)")


def at_commits(folder, commits=None):
    """The commits of a folder's loaded files, if none are given: " at be196966"."""
    loaded = {document["meta"]["git"] for path, document in common.loaded.items() if path.parent == folder}
    texts = sorted(commit[:8] for commit in commits or loaded)
    return f" at {', '.join(texts)}" if texts else ""


def source(page, *first, commits=None):
    """The line that names the folders of what was loaded since the last loaded.clear(): `first`, then the others.

    `commits`: of the rows that are shown, where a file has rows of several.
    """
    folders = dict.fromkeys([*first, *(path.parent for path in common.loaded)])
    links = [
        f"[{folder.name}]({common.link(folder, page)})" + (at_commits(folder, commits) if page != FULL else "")
        for folder in folders
    ]
    stopped = common.parts() if page != FULL else ""  # there common.commits() marks them
    return f"From {listed(links)}{BY}{stopped}"


def page_link(gpu):
    return (
        (
            f"**Every figure and row**, with the environment and the files inside: [{PAGE}]({common.link(gpu / PAGE)}),"
            " one page that needs no network."
        )
        if (gpu / PAGE).exists()
        else ""
    )


def full_tables(gpu, cpu):
    common.loaded.clear()  # so that commits() lists what these tables quote, not what was drawn before
    lenet, conv, group = tables_lenet, tables_conv, common.convbench_group(gpu)
    newest, deep = common.newest(gpu, "networks*.json"), common.newest(gpu, conv.DEEP.format("*"))
    parts = {
        "LeNet-5 on the GPU": [
            lenet.digits(gpu),
            lenet.peers(gpu),
            lenet.every_side(gpu),
            lenet.layered(common.newest(gpu, lenet.LAYERED)),
            lenet.one_image(gpu),
            lenet.bench(gpu),
            lenet.latency(common.newest(gpu, "latency.json")),
            lenet.calls(common.newest(gpu, "calls.json")),
            lenet.large_calls(common.newest(gpu, "calls.json")),
            lenet.large_calls(common.newest(gpu, SEVERAL), SEVERAL),
            lenet.streaming(gpu),
            lenet.profile(common.newest(gpu, common.PROFILE)),
        ],
        "LeNet-5 on the CPU": [
            lenet.cpu_peers(cpu),
            lenet.calls(common.newest(cpu, "calls.json")),
            lenet.calls_of_model(common.newest(cpu, "calls.json")),
            lenet.cpu(cpu),
        ],
        "The server": [tables_serve.server(common.newest(folder, "serve.json")) for folder in (gpu, cpu)],
        "Networks of your own": [
            *(tables_networks.networks(folder, newest) for folder in dict.fromkeys([newest, gpu])),
            tables_networks.networks(cpu),
        ],
        "Convolutions": [
            conv.rgb(gpu, common.rgb_group(gpu)),
            conv.deep(group, {"tf32"}.intersection(conv.deep_types(deep))),
            conv.resnet50(common.newest(gpu, conv.RESNET_50.format("*"))),
            conv.deep_by_type(deep),
            conv.cutlass(gpu),
            conv.ladder(gpu, group),
            page_link(gpu),
        ]
        if group
        else [],
    }
    texts = []
    for title, tables in parts.items():
        found = list(filter(None, tables))
        texts += [f"## {title}", *found] if found else []
    return "\n\n".join([*texts, common.commits(), source(FULL, gpu, cpu)])


def sections(gpu, cpu):
    """{page: {name of its markers: what stands between them}}."""
    group = common.convbench_group(gpu)
    common.loaded.clear()
    short = f"{headline.results_table(gpu, cpu)}\n\n{source(README, gpu, cpu)}"
    full = full_tables(gpu, cpu)
    common.loaded.clear()
    swap = f"{headline.swap(cpu)}\n\n{source(README, cpu)}"
    measured = {
        "im2col_gemm": (tables_conv.im2col, "study a"),
        "depthwise": (tables_conv.depthwise, "study d"),
        "winograd": (tables_conv.winograd, "study b"),
    }
    pages = {
        README: {"results": short + lacking(), "swap": swap},
        FULL: {"results": full + lacking()},
    }
    for name, part, table, file in (
        ("direct", "measured", tables_conv.direct_ladder, tables_conv.LADDER),
        ("tensor_core", "measured", tables_conv.tensor_core, tables_conv.DEEP.format("tf32")),
        ("tensor_core", "climb", tables_conv.tensor_core_ladder, tables_conv.LADDER_TENSOR_CORE),
        ("sliced_k", "measured", tables_conv.sliced_k, tables_conv.BATCH_1),
        ("fused_lenet", "measured", tables_lenet.backends_by_batch, tables_lenet.BATCHES),
    ):
        page, folder = KERNELS / f"{name}.md", common.newest(gpu, file)
        common.loaded.clear()
        text = table(folder) or f"Not measured: there is no {file}."
        pages[page] = {**pages.get(page, {}), part: f"{text}\n\n{source(page, folder)}"}
    counted = common.newest(gpu, tables_counters.COUNTERS)
    for name in tables_counters.PAGES:
        common.loaded.clear()
        page, text = KERNELS / f"{name}.md", tables_counters.counters(name, counted)
        commits = tables_counters.commits(name, counted)
        text = f"{text}\n\n{source(page, counted, commits=commits)}" if text else tables_counters.NOT_MEASURED
        pages[page] = {**pages.get(page, {}), "counters": text}
    for name, (table, what) in measured.items():
        common.loaded.clear()
        group = common.convbench_group(gpu)
        page, text = KERNELS / f"{name}.md", table(group) if group else ""
        text = text or f"Not measured: there are no rows of {what}."
        pages[page] = {**pages.get(page, {}), "measured": f"{text}\n\n{source(page, gpu)}"}
    return pages | {tables_weights.README: tables_weights.sections()}


def lacking():
    """What the pages go without, for their readers."""
    return f"\n\nNot measured yet: {', '.join(common.lacking)}." if common.lacking else ""


def speeds_by_hand(pages):
    """Lines outside the markers that state a speed."""
    for page in pages:
        shown = True
        for number, line in enumerate(page.read_text().splitlines(), 1):
            shown = (shown or re.search(r"<!-- \w+: end -->", line)) and not re.search(r"<!-- \w+: begin -->", line)
            if shown and SPEED.search(line):
                yield f"{page.name}:{number}: {line.strip()}"


def numbers_of(value, key=""):
    """What a page may state of a result file, as text: medians in µs, rates in M images/s, shares of the bus in %."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from numbers_of(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from numbers_of(part, key)
    elif isinstance(value, (int, float)):
        scale = {"median": 1e-3, "images_per_s": 1e-6, "bus_fraction": 100}.get(key)
        if scale:
            yield from (f"{value * scale:,.{digits}f}" for digits in (1, 2, 3))


def hand_written(page):
    """The page's text outside the markers."""
    return re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", "", page.read_text(), flags=re.DOTALL)


def not_in_files(page, text, stated, known_of, key=str):
    """Of what `text` states: what is not known_of() a result file that it links, if it links any."""
    names = re.findall(r"\]\(([^)]*results/2[^)]*\.json)\)", text) if stated else []
    if not all((page.parent / name).exists() for name in names):
        return  # check_docs.sh reports a link that leads nowhere
    known = {key(one) for name in names for one in known_of(json.loads((page.parent / name).read_text()))}
    for one in stated if names else ():
        if key(one) not in known:
            yield f"{page.name}: {', '.join(names)}: {one}"


def figures_of_no_file(page):
    """Figures with a decimal point, in paragraphs that link result files and tables after them, that no file has."""
    paragraphs = hand_written(page).split("\n\n")
    for paragraph, after in zip(paragraphs, [*paragraphs[1:], ""]):
        text = re.sub(r"\]\([^)]*\)", "]", paragraph) + (after if after.startswith("|") else "")
        figures = re.findall(r"(?<![\w.])\d[\d,]*\.\d+(?![\w.])", text)
        yield from not_in_files(page, paragraph, figures, numbers_of)


def speeds_beside_no_file(page):
    """Paragraphs of a kernel's page that state a time, a rate or a difference, and link no result file."""
    for paragraph in hand_written(page).split("\n\n") if page.parent == KERNELS else ():
        if paragraph.startswith("|") or re.search(r"results/2[^)]*\.json\)", paragraph):
            continue
        if found := TIME_OR_SHARE.search(paragraph):
            yield f"{page.name}: {found.group()}"


def commits_of_no_file(page):
    """Commits of sentences with "at commit HEX" whose linked result files are all of other commits."""

    def gits(file):
        return (run["git"] for run in provenance.runs(file) if run.get("git"))

    for sentence in re.split(r"(?<=\.)\s+(?=[A-Z|#`-])|\n\n", hand_written(page)):
        commits = re.findall(r"at\s+commit\s+`?([0-9a-f]{7,40})", sentence)
        yield from not_in_files(page, sentence, commits, gits, key=lambda git: git[:7])


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
    """Runs a script with the first interpreter that has matplotlib. Exit code 4: the interpreter lacks it."""
    status = 4
    for python in (sys.executable, "/usr/bin/python3"):
        if status == 4:
            status = subprocess.run([python, str(script), *arguments]).returncode
    if status:
        sys.exit(status)


def draw(gpu):
    """report.html and all pictures."""
    files = [str(path) for path in common.convbench_files(gpu)]
    if not files:
        sys.exit(f"{gpu} has neither {' nor '.join(common.CONVBENCH)}: there is nothing to draw")
    run_with_matplotlib(DRAW, str(gpu))
    figures = ["--figures", str(gpu), "--filter", ",".join(PICTURES)]
    run_with_matplotlib(REPORT / "report.py", "--html", str(gpu / PAGE), *figures, "--", *files)
    climb = tables_conv.ladder_file(gpu)
    if climb.exists():
        figures = ["--figures", str(climb.parent), "--filter", LADDER_PICTURE]
        run_with_matplotlib(REPORT / "report.py", *figures, "--", str(climb))


def stale(gpu):
    """Pages and pictures that were drawn from other files than those that are there."""
    drawn = {gpu / PAGE: common.convbench_files(gpu), gpu / common.PEERS_PICTURE: [gpu / "peers.json"]}
    drawn |= {gpu / f"{name}.svg": common.convbench_files(gpu) for name in PICTURES}
    climb = tables_conv.ladder_file(gpu)
    if climb.exists():
        drawn[climb.with_name(f"{LADDER_PICTURE}.svg")] = [climb]
    profile = common.newest(gpu, common.PROFILE) / common.PROFILE
    drawn |= {picture: [profile] for picture in PROFILE_PICTURES}
    drawn[history.PICTURE] = [history.FILE]
    for picture, files in drawn.items():
        text = picture.read_text() if picture.exists() else ""
        if text and not all(hashlib.sha256(path.read_bytes()).hexdigest() in text for path in files):
            yield picture


def check(gpu, texts):
    """Ends with the reason where something differs."""
    for path, text in texts.items():
        if text != path.read_text():
            sys.exit(f"{path.name}'s results differ from the files: run docs/results/update_readme.py")
    by_hand = list(speeds_by_hand((README, FULL)))
    if by_hand:
        sys.exit("\n".join(["speeds outside the markers, which no script writes:", *by_hand]))
    pages = sorted((common.ROOT / "docs").rglob("*.md"))
    for complaints, what in (
        (figures_of_no_file, "figures that the files beside them do not have:"),
        (speeds_beside_no_file, "speeds beside which no file stands:"),
        (commits_of_no_file, "commits of which the files beside them are not:"),
    ):
        if found := [complaint for page in pages for complaint in complaints(page)]:
            sys.exit("\n".join([what, *found]))
    old = [str(path) for path in stale(gpu)]
    if old:
        sys.exit(
            f"{', '.join(old)}: drawn from other files than those beside it: run docs/results/update_readme.py --report"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a page differs")
    parser.add_argument("--report", action="store_true", help="draw report.html and the pictures first")
    parser.add_argument("--partial", action="store_true", help="write the pages even where files lack rows")
    arguments = parser.parse_args()
    gpu, cpu = arguments.gpu, arguments.cpu
    pages = sections(gpu, cpu)
    if common.lacking and not arguments.partial and not arguments.check:
        why = "nothing is written, because the files lack what the tables need (--partial leaves it out):"
        sys.exit("\n".join([why, *common.lacking]))
    if wrong := provenance.complaints(gpu.parent):
        sys.exit("\n".join(wrong))
    past = history.updated([gpu, cpu])
    if arguments.check:
        check(gpu, {page: filled(page, parts) for page, parts in pages.items()} | {history.FILE: past})
        return
    history.FILE.write_text(past)
    if arguments.report:
        draw(gpu)
        pages = sections(gpu, cpu)  # with links to what was drawn
    for page, parts in pages.items():
        page.write_text(filled(page, parts))


if __name__ == "__main__":
    try:
        main()
    except BadFile as error:
        sys.exit(str(error))
