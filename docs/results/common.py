"""What the tables share: where things are, how files are read, what the files lack."""

import functools
import os
import sys
from pathlib import Path

import provenance

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
FULL = ROOT / "docs" / "results.md"  # the page with the full tables
KERNELS = ROOT / "docs" / "kernels"  # the pages on kernels
REPORT = ROOT / "apps" / "report"  # rows as tables and figures
PROFILE = "profile-batch-10000.json"
PEERS_PICTURE = "lenet-peers.svg"  # drawn from peers.json
PROFILE_PICTURES = [ROOT / "docs" / "pictures" / f"{name}.svg" for name in ("lenet5", "profile")]
CONVBENCH = ("reproduce.json", "ladder.json", "sweep.json")  # if several files have a row, the last file counts
PAGE = "report.html"
LADDER_PICTURE = "ladder-implicit-gemm"
PICTURES = {
    "rgb-ratio": "How many times as fast as cuDNN direct is, by size, stride and filters",
    LADDER_PICTURE: "TFLOP/s and share of cuDNN, rung by rung, one line per shape",
}

sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(REPORT))
import results  # noqa: E402
import selection  # noqa: E402

lacking = []  # what the tables need and the files lack; each once, in order


def lack(path, what):
    """Notes a row that a table goes without."""
    text = f"{path.parent.name}/{path.name} has no {what}"
    if text not in lacking:
        lacking.append(text)


loaded = {}  # the result files that load() gave since the last loaded.clear(): {path: document}


@functools.cache
def parsed(path):
    return results.load(path, schema=None)


def load(folder, name):
    loaded[folder / name] = document = parsed(folder / name)
    return document


def commit(document):
    """That of the program that wrote a file."""
    return document["meta"]["git"][:8]


def commits():
    """A line for each folder, commit and processor of the loaded files."""
    groups = {}
    for path, document in sorted(loaded.items()):
        key = (path.parent.name, commit(document), cpu_name(document))
        groups.setdefault(key, []).append(
            f"`{path.name}`" + (" (a part)" if provenance.is_part(document.document) else "")
        )
    return "\n".join(
        ["Commits of the files that these tables quote, and the processors beside which they were taken:", ""]
        + [f"- {folder}, {git}, {cpu}: {', '.join(names)}" for (folder, git, cpu), names in groups.items()]
    )


def parts(files=loaded):
    """A sentence that names those of the loaded files which lack a part of what their command measures, or nothing."""
    names = [f"`{path.name}`" for path, document in sorted(files.items()) if provenance.is_part(document.document)]
    return f" The run was stopped before its end: {', '.join(names)}." if names else ""


def newest(folder, pattern):
    """The newest folder from this one on, of the same kind of device, that has such a file; this one if none has."""
    cpu = folder.name.endswith("-cpu")
    beside = [other for other in folder.parent.iterdir() if other.is_dir() and other.name.endswith("-cpu") == cpu]
    return max(
        (other for other in beside if other.name >= folder.name and any(other.glob(pattern))),
        key=lambda other: other.name,
        default=folder,
    )


def rows_of(folder, name):
    """The rows of a file; empty if the file is missing."""
    return load(folder, name).rows if (folder / name).exists() else results.Rows()


def cpu_name(document):
    return document["host"]["cpu"].replace("(R)", "")


def combinations(matrix):
    """How many combinations of backends were counted, by math mode: "685 combinations of backends in fp32"."""
    ran = [row["math"] for row in matrix.rows if row["correct"] is not None]
    if len(set(ran)) == 1:
        return f"{len(ran)} combinations of backends in {ran[0]}"
    parts = ", ".join(f"{ran.count(math)} in {math}" for math in dict.fromkeys(ran))
    return f"{len(ran)} combinations of backends ({parts})"


def digits_right(peers, matrix):
    """How many images are classified correctly in fp32, by every side and combination: "9,963"."""
    rows = [row for row in peers["digits"]["correct"] if row["math"] == "fp32"] + matrix.rows
    return " or ".join(f"{n:,}" for n in sorted({row["correct"] for row in rows if row["correct"] is not None}))


def like_for_like(folder, device):
    """The comparable rows of peers.json."""
    return selection.like_for_like(rows_of(folder, "peers.json"), device)


def link(path, page=FULL):
    """A path as `page` links to it."""
    return Path(os.path.relpath(path.resolve(), page.parent)).as_posix()


def picture(path, words):
    """The end of a table whose picture was drawn."""
    return f"\n\n![{words}]({link(path)})" if path.exists() else ""


def convbench_files(gpu):
    return [gpu / name for name in CONVBENCH if (gpu / name).exists()]


def convbench_group(gpu, names=CONVBENCH):
    """The rows of convbench's files, and their figures for the machine; None if the files are missing."""
    files = [load(gpu, name) for name in names if (gpu / name).exists()]
    return results.Group(files[0].device, files) if files else None


def rgb_group(gpu):
    """The rows of the RGB images: those of the sweep, if there is one, with the figures of its machine."""
    return convbench_group(gpu, ("sweep.json",)) or convbench_group(gpu)
