"""Draws what lenet5_peers.py measured: images a second by batch, one line a side, math mode and layout; log axes.

    python3 apps/peers/figure.py peers.json peers.svg     # exit 4: matplotlib is not installed
"""

import hashlib
import json
import sys
from pathlib import Path


def draw(source, path):
    """The picture names the SHA-256 of the file that it was drawn from."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "lenslet"
    document = json.loads(Path(source).read_text())
    figure, axes = plt.subplots(figsize=(9, 5.5))
    lines = {}
    for row in document["rows"]:
        if row["status"] == "PASSED" and row["device"] == "cuda":
            key = (row["side"], row["math"], row.get("layout"), row["input"])
            lines.setdefault(key, []).append((row["batch"], row["images_per_s"]))
    for (side, math, layout, read), points in lines.items():
        ours = side.startswith("Lenslet")
        words = [side, math] + (["channels last"] if layout == "NHWC" else []) + (["bytes in"] if read == "uint8" else [])
        axes.plot(*zip(*sorted(points)), marker="o" if ours else "x", linewidth=2 if ours else 1,
                  linestyle="-" if ours else "--", label=", ".join(words))
    axes.set(xscale="log", yscale="log", xlabel="batch", ylabel="images/s",
             title=f"LeNet-5 on {document['devices'][0]['name']}, input on the device")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=6, ncol=2)
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    figure.savefig(path, metadata={"Date": None, "Description": f"peers.json, SHA-256 {digest}"})


if __name__ == "__main__":
    try:
        draw(*sys.argv[1:])
    except ModuleNotFoundError as error:
        print(f"figure.py: {error}: apt-get install python3-matplotlib", file=sys.stderr)
        sys.exit(4)
