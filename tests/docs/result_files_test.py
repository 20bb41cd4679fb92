"""Compares docs/result_files.md with result files: those under docs/results/, and one of each command.

    python3 tests/docs/result_files_test.py ROOT BIN_DIR

Every key of a file must stand in the section of its schema, or in the table of all files, in backticks or braces. Every
name in the first cell of a table must be a key of some file. Members with free keys (FREE) are not searched.
"""

import json
import math
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

from fixtures import idx

FREE = {"meta", "host", "devices", "libs", "settings", "labels", "stages_ns"}
QUANTILES = {"min", "p10", "median", "p90", "max"}
CONVBENCH = "convbench run --device cpu --problem mb1ic1ih8oc1kh3 --min-time-ms 1 --warmup-ms 0"
# Write run, again, compare, backends, classify, tune, plan, doctor, inspect, diff, samples and eval.json.
COMMANDS = (
    f"{CONVBENCH} --json run.json",
    f"{CONVBENCH} --json again.json",
    "convbench compare run.json again.json --json compare.json",
    "lenslet backends --device cpu --json backends.json",
    "lenslet classify --device cpu --explain {root}/samples/digit_3_a.png missing.png --json classify.json",
    "lenslet tune --device cpu --batch-size 2 --min-time-ms 1 --warmup-ms 0 --json tune.json --save-plan plan.json",
    "lenslet doctor --device cpu --json doctor.json",
    "lenslet inspect {root}/tests/models/onnx/separable.onnx --json inspect.json",
    "lenslet diff {root}/tests/models/onnx/mean_pool.onnx --device cpu --against values.npz --json diff.json",
    "lenslet eval --device cpu --data digits --json samples.json",
    "lenslet eval --device cpu --data idx --json eval.json",
)


def sections(page):
    """{schema, or "" for all files: (names of first cells, all names)}."""
    found = {}
    for part in re.split(r"^## ", page, flags=re.M)[1:]:
        heading = part.split("\n", 1)[0]
        schema = heading if heading.startswith("lenslet.") else "" if heading == "Members of every file" else None
        rows = [line for line in part.split("\n### ", 1)[0].splitlines() if line.startswith("| `")]
        first = {name for row in rows for name in re.findall(r"`([\w/]+)(?:\[\])?`", row[1:].split("|")[0])}
        spans = [text for row in rows for text in re.findall(r"`([^`]+)`|\{([^}]*)\}", row)]
        if schema is not None:
            found[schema] = first, {name for span in spans for text in span for name in re.findall(r"\w+", text)}
    return found


def keys(value):
    """Every key in a document, without those of FREE members."""
    if isinstance(value, list):
        return {key for member in value for key in keys(member)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for name, member in value.items() if name not in FREE for key in keys(member)}


def write_values(path):
    """An input of zeros, and wrong values of the last layer: the file is written all the same."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape in (("input", (1, 3, 32, 32)), ("classes_output", (1, 10))):
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
            values = bytes(4 * math.prod(shape))
            archive.writestr(f"{name}.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + values)


def write_images(folder):
    """Two blank digits as MNIST has them."""
    folder.mkdir()
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx((2, 28, 28), bytes(2 * 28 * 28)))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx((2,), bytes(2)))


def main():
    root, programs = map(pathlib.Path, sys.argv[1:])
    page = sections((root / "docs/result_files.md").read_text(encoding="utf-8"))
    faults, seen = [], {schema: set() for schema in page}
    with tempfile.TemporaryDirectory() as folder:
        write_values(pathlib.Path(folder) / "values.npz")
        write_images(pathlib.Path(folder) / "idx")
        three = pathlib.Path(folder) / "digits/3"
        three.mkdir(parents=True)
        for sample in ("digit_3_a.png", "digit_7_a.png"):  # the second is a miss
            shutil.copy(root / "samples" / sample, three)
        for command in COMMANDS:
            name, *arguments = command.format(root=root).split()
            subprocess.run(
                [programs / name, *arguments],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=300,
                check=False,
            )
        made = sorted(pathlib.Path(folder).glob("*.json"))
        if len(made) != 12:
            faults.append(f"expected 12 files of the commands, found {[path.name for path in made]}")
        for path in [*made, *sorted(root.glob("docs/results/20*/*.json"))]:
            document = json.loads(path.read_text(encoding="utf-8"))
            schema = document["schema"]
            if schema in page and page[schema][0]:
                found = keys(document)
                seen[schema] |= found
                seen[""] |= found
                known = page[""][1] | page[schema][1] | QUANTILES
                faults += [f"{path.name}: {schema}: '{key}' is not in the page" for key in sorted(found - known)]
    for schema, (first, _) in page.items():
        faults += [f"docs/result_files.md: {schema}: no file has '{name}'" for name in sorted(first - seen[schema])]
    print("\n".join(faults) or f"{sum(map(len, seen.values()))} keys of {len(seen)} schemas are as the page has them")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
