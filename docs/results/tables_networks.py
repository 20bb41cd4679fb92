"""The table of networks given as ONNX, from networks*.json of apps/peers/networks_peers.py. A text."""

import common
from common import load, rows_of

from selection import is_ours, side_of
from tables import markdown

LIBRARIES = ("torch", "triton", "onnxruntime")


def passed_rows(folder):
    names = sorted((path.name for path in folder.glob("networks*.json")), key=len)  # networks.json first
    return names, [row for name in names for row in rows_of(folder, name) if row["status"] in ("PASSED", "SUSPECT")]


def networks(folder, later=None):
    """Lenslet and its fastest peer of the same run, by network and batch; empty without a file. Without those that the
    folder `later` has."""
    names, rows = passed_rows(folder)
    if later not in (None, folder):
        measured_again = {(row["network"], row["batch"]) for row in passed_rows(later)[1]}
        rows = [row for row in rows if (row["network"], row["batch"]) not in measured_again]
    if not rows:
        return ""
    documents, lines = [load(folder, name) for name in names], []
    for network in dict.fromkeys(row["network"] for row in rows):
        for batch in sorted({row["batch"] for row in rows if row["network"] == network}):
            here = [row for row in rows if (row["network"], row["batch"]) == (network, batch)]
            times = [(row["time_ns"]["median"] / 1e3, side_of(row), is_ours(row)) for row in here]
            mine = sorted(time[:2] for time in times if time[2])
            theirs = sorted(time[:2] for time in times if not time[2])
            # LeNet-5 has no peer here: its two ways to Lenslet stand beside each other.
            best, other = [*mine[:1], *theirs[:1], *mine[1:], None, None][:2]
            if not other or not mine:
                common.lack(folder / "networks*.json", f"peer of {network} at {batch}")
                continue
            lines.append(
                [
                    network,
                    f"{batch:,}",
                    *(f"{name}: {time:,.1f}" for time, name in (best, other)),
                    f"{other[0] / best[0]:.2f}",
                ]
            )
    document = documents[0]
    libraries = {name: version for one in documents for name, version in one["libraries"].items()}
    versions = ", ".join(f"{name} {libraries[name]}" for name in LIBRARIES if name in libraries)
    place = common.cpu_name(document) if rows[0]["device"] == "cpu" else document.device
    threads = f", {rows[0]['threads']} threads" if rows[0].get("threads") else ""
    return markdown(
        f"**Networks of ONNX files**, {place}{threads}, fp32, samples in memory where they are computed, turn by turn"
        f" in one run for each row, medians, µs per pass ({versions}; `apps/peers/networks_peers.py`; {folder.name}):",
        ["network", "batch", "Lenslet", "fastest peer, or Lenslet's other way", "ratio"],
        lines,
    )
