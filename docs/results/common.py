"""What the tables share: where things are, how files are read, which rows of peers.json belong together."""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
FULL = ROOT / "docs" / "results.md"  # the page with the full tables
KERNELS = ROOT / "docs" / "kernels"  # the pages on kernels
REPORT = ROOT / "apps" / "report"  # rows as tables and figures
PEERS_PICTURE = "lenet-peers.svg"  # drawn from peers.json
PROFILE_PICTURES = [ROOT / "docs" / "pictures" / f"{name}.svg" for name in ("lenet5", "profile")]
CONVBENCH = ("reproduce.json", "ladder.json", "sweep.json")  # if several files have a row, the last file counts
PAGE = "report.html"
PICTURES = {
    "rgb-ratio": "How many times faster than cuDNN direct is, by size, stride and filters",
    "ladder-implicit-gemm": "TFLOP/s and share of cuDNN, rung by rung, one line a shape",
}

sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(REPORT))
import results  # noqa: E402
import words  # noqa: E402

lacking = []  # what the tables need and the files lack; each once, in order


def lack(path, what):
    """Notes a row that a table goes without."""
    text = f"{path.parent.name}/{path.name} has no {what}"
    if text not in lacking:
        lacking.append(text)


def load(folder, name):
    return json.loads((folder / name).read_text())


def ratio(value):
    """Two decimals below 2, where they matter."""
    return f"{value:.2f}" if value < 2 else words.short(value, 2)


def millions(rate):
    """Three digits, so that a reader's own division gives the ratio beside it."""
    return f"{rate / 1e6:.{3 if rate < 1e6 else 2 if rate < 1e7 else 1}f} M"


def in_microseconds(ns):
    return f"{ns / 1e3:,.{2 if ns < 1e4 else 1 if ns < 1e6 else 0}f}"


def device_name(gpu):
    return load(gpu, "peers.json")["devices"][0]["name"]


def cpu_name(document):
    return document["host"]["cpu"].replace("(R)", "")


def combinations(matrix):
    """How many combinations of backends were counted, by math mode: "685 combinations of backends in fp32"."""
    ran = [row["math"] for row in matrix["rows"] if row["correct"] is not None]
    if len(set(ran)) == 1:
        return f"{len(ran)} combinations of backends in {ran[0]}"
    parts = ", ".join(f"{ran.count(math)} in {math}" for math in dict.fromkeys(ran))
    return f"{len(ran)} combinations of backends ({parts})"


def digits_right(peers, matrix):
    """How many images are classified correctly in fp32, by every side and combination: "9,963"."""
    rows = [row for row in peers["digits"]["correct"] if row["math"] == "fp32"] + matrix["rows"]
    return " or ".join(f"{n:,}" for n in sorted({row["correct"] for row in rows if row["correct"] is not None}))


def is_ours(row):
    return row["side"].startswith("Lenslet")


def like_for_like(folder, device):
    """Of peers.json, the rows with a time that read fp32 and write logits; none where there is no such file."""
    rows = load(folder, "peers.json")["rows"] if (folder / "peers.json").exists() else []
    rows = [row for row in rows if row["status"] == "PASSED" and row["device"] == device]
    return [row for row in rows if (row["input"], row.get("output", "logits")) == ("fp32", "logits")]


def fastest(rows):
    return max(rows, key=lambda row: row["images_per_s"], default=None)


def ours_and_theirs(rows):
    """The fastest row of Lenslet, and of its peers; None where there is none."""
    rows = list(rows)
    return [fastest(row for row in rows if is_ours(row) == ours) for ours in (True, False)]


def side_of(row):
    """A side with what tells it from its other rows."""
    return f"{row['side']}{', channels last' if row.get('layout') == 'NHWC' and not is_ours(row) else ''}"


def link(path, page=FULL):
    """A path as `page` links to it."""
    return Path(os.path.relpath(path.resolve(), page.parent)).as_posix()


def convbench_files(gpu):
    return [gpu / name for name in CONVBENCH if (gpu / name).exists()]


def convbench_group(gpu):
    """The rows of convbench's files, and their figures for the machine; None where there are no such files."""
    files = [results.load(path) for path in convbench_files(gpu)]
    return results.Group(files[0].device, files) if files else None


def rgb_group(gpu):
    """The rows of the RGB images: the sweep's, where there is one, so that its machine's figures go with its rows."""
    sweep = gpu / "sweep.json"
    return results.Group(results.load(sweep).device, [results.load(sweep)]) if sweep.exists() else convbench_group(gpu)
