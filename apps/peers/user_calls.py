"""Times a user's calls: whole calls through the C library and the Python package, with ordinary memory.

    python3 apps/peers/user_calls.py --build build/release --data DIR --json calls.json
        [--device cuda] [--python INTERPRETER]
    python3 apps/peers/user_calls.py ... --device cuda:0,1 --json calls-several.json

Compiles c_calls.c against BUILD's liblenslet.so and runs it. Runs python_calls.py with INTERPRETER, which needs the
package (`pip install .`): Model.predict, and lenslet.ray.Predictor called without Ray. Each call classifies bytes in
host memory into labels and probabilities. The host's clock times it, after three calls that are not counted. Between
the calls each gets other images and poisoned answers, and is judged: every call that is not counted, every one of up to
64 images, and the last one of more. A row is FAILED, without a time, if one of these calls has more answers unlike
`lenslet eval` in fp32 than 3 of 10,000 in proportion, rounded down. A caller that is missing or fails gives a SKIPPED
or ERROR row with the reason. On a GPU the math modes take turns, in two rounds, and the file also has `gpu_rows`: calls
from page-locked memory, of bytes and of packed pixels, with a million images for each GPU; the rows of gpu_calls.py, if
INTERPRETER has PyTorch with CUDA; and `lenslet eval` of many images. On the CPU it has `bench_rows`: calls through the
C++ Model beside a pass alone. Exit code 1: a row is FAILED.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "weights"))
import lenet5 as shared
import lenslet_side
from judged_calls import JUDGED_EACH, WARM_UP
from side import device_that_ran, exit_code_of, max_differing, middle, profile, without_times

SCHEMA = "lenslet.calls/1"
ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
COUNTS = (1, 64, 10_000, 1_000_000)
JUDGED = ("correct", "differing", "differing_in_a_call", "judged")
IMAGE_BYTES, PACKED_BYTES = 784, 392
PAGE_LOCKED, PACKED, RAY = "C, page-locked", "C, page-locked, packed", "lenslet.ray"
EVAL, EVAL_PACKED = (["--plan", "fused", "--input", kind] for kind in ("uint8", "uint4"))
BENCH_BATCHES, BENCH_TURNS, BENCH_THREADS = (64, 1024, 16_384, 262_144), 3, 2
ROUNDS, LIMIT_S = 2, 120


def devices_of(text):
    """The devices that --device names: cuda:0 and cuda:1 of cuda:0,1."""
    kind, _, numbers = text.partition(":")
    return [f"{kind}:{number}" for number in numbers.split(",")] if numbers else [text]


def library_folder(build):
    """The path of liblenslet.so in BUILD; None if there is none."""
    found = sorted(Path(build).rglob("liblenslet.so"))
    return found[0].parent.resolve() if found else None


def c_program(build, folder):
    """The command that times calls through C. Raises LookupError naming what is missing."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    library = library_folder(build)
    if library is None:
        raise LookupError(f"{build} has no liblenslet.so: build the target lenslet_shared")
    if compiler is None:
        raise LookupError("found no C compiler, neither cc nor gcc: install one")
    program = Path(folder) / "c_calls"
    command = [compiler, "-std=c99", "-O2", "-I", str(ROOT / "api"), str(HERE / "c_calls.c"), "-o", str(program)]
    command += [str(library / "liblenslet.so"), f"-Wl,-rpath,{library}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LookupError(f"c_calls.c does not compile: {done.stderr.strip().splitlines()[-1]}")
    return [str(program)]


def python_program(interpreter, *words):
    done = subprocess.run([interpreter, "-c", "import lenslet, numpy"], capture_output=True, text=True)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1]
        raise LookupError(f"{interpreter} cannot import lenslet and numpy (pip install .): {why}")
    return [interpreter, str(HERE / "python_calls.py"), *words]


def fault_of(row, known):
    """What is wrong with the answers of a caller's row; empty if nothing is. `known`: images of the test set."""
    count, timed = row["count"], row.get("alone_ns", row["time_ns"])["samples"]
    calls = WARM_UP + (timed if count <= JUDGED_EACH else 1)
    if row["judged"] < count * calls:
        return f"{row['judged']:,} answers judged, expected {count * calls:,}: {calls:,} calls of {count:,}"
    allowed = max_differing(count, known)
    if row["differing_in_a_call"] <= allowed:
        return ""
    differing = f"{row['differing_in_a_call']:,} of {count:,} answers of a call differ from `lenslet eval` in fp32"
    return f"{differing}, expected at most {allowed:,}"


def verdict_on(row, known):
    """The row with its status; without times and rates if it is FAILED."""
    fault = fault_of(row, known)
    kept = without_times(row) if fault else row
    return {**kept, "status": "FAILED" if fault else "PASSED", "reason": fault or None}


def printed_by(command):
    """Lines of stdout, lines of stderr, and whether it failed. After LIMIT_S seconds the command is ended."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode().splitlines(), [f"ended after {LIMIT_S} s"], True
    return done.stdout.splitlines(), done.stderr.strip().splitlines(), done.returncode != 0


def rows_of(caller, find, device, math, folder, min_ms, counts=COUNTS):
    """A row a count. main() writes the images, their labels and the classes of `lenslet eval` to `folder`."""
    known = (Path(folder) / "labels.bin").stat().st_size
    read = "packed pixels" if caller == PACKED else "bytes"
    call = f"{'Predictor' if caller == RAY else 'predict'}, {read} in, label and probability out"
    base = {"caller": caller, "call": call, "device": device, "math": math}
    try:
        command = find()
    except (LookupError, OSError) as why:
        return [{**base, "count": count, "status": "SKIPPED", "reason": str(why)} for count in counts]
    lines, words, _ = printed_by([*command, device, math, str(folder), str(min_ms), *map(str, counts)])
    found = {row["count"]: row for row in map(json.loads, lines)}
    rows = []
    for count in counts:
        row = {**base, "count": count}
        if count in found:
            times = {key: found[count][key] for key in ("p10", "median", "p90", "p99", "samples")}
            row.update({key: found[count][key] for key in ("device", *JUDGED)})
            row.update(time_ns=times, images_per_s=count / times["median"] * 1e9)
            row = verdict_on(row, known)
        else:
            row.update(status="ERROR", reason=words[-1] if words else "no line about this count")
        rows.append(row)
    return rows


def over_rounds(rounds):
    """The rows of several rounds of the same calls as one row each. A row that is not PASSED stands as it is."""
    merged = []
    for turns in zip(*rounds):
        row = next((row for row in turns if row["status"] != "PASSED"), turns[0])
        if row["status"] == "PASSED":
            times = middle([turn["time_ns"] for turn in turns])
            row = {**row, "time_ns": times, "images_per_s": row["count"] / times["median"] * 1e9}
            row.update({key: sum(turn[key] for turn in turns) for key in JUDGED})
            row["differing_in_a_call"] = max(turn["differing_in_a_call"] for turn in turns)
        merged.append(row)
    return merged


def eval_row(program, device, math, folder, images):
    """The rate of `lenslet eval` over a file of `images` images: the test set again and again."""
    pixels, labels, expected = (Path(folder, f"{name}.bin").read_bytes() for name in ("pixels", "labels", "expected"))
    known, row = len(labels), {"way": "lenslet eval", "device": device, "math": math, "count": images}
    sets = images // known
    with tempfile.TemporaryDirectory() as data:
        for name, rank, part in (("images-idx3", 3, pixels), ("labels-idx1", 1, labels)):
            dims = (sets * known, 28, 28)[:rank]
            with (Path(data) / f"t10k-{name}-ubyte").open("wb") as file:
                file.write(bytes((0, 0, 8, rank)) + b"".join(dim.to_bytes(4, "big") for dim in dims))
                for _ in range(sets):
                    file.write(part)
        path = Path(data) / "eval.json"
        command = [program, "eval", "--device", device, "--math", math, "--data", data, *EVAL, "--json", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {**row, "status": "ERROR", "reason": f"ended after {LIMIT_S} s"}
        if done.returncode or not path.exists():
            return {**row, "status": "ERROR", "reason": (done.stderr.strip().splitlines() or ["no result"])[-1]}
        document = json.loads(path.read_text())
    right = sets * sum(label == answer for label, answer in zip(labels, expected))
    found, rate = document["correct"], document["throughput"]["images_per_s"]
    row.update(count=document["count"], correct=found, batch=document["batch"])
    if document["count"] != sets * known or abs(found - right) > max_differing(document["count"], known):
        why = f"{found:,} of {document['count']:,} right, expected about {right:,}"
        return {**row, "status": "FAILED", "reason": why}
    times = {"median": document["count"] / rate * 1e9}
    return {**row, "status": "PASSED", "reason": None, "images_per_s": rate, "time_ns": times}


def bench_rows(program, data, device):
    """Calls through the C++ Model from host memory, and their share of the rate of a pass alone (`lenslet bench`)."""
    options = ["--plan", "fused", "--math", "fp32", "--input", "uint8", "--output", "prediction"]
    bench = lenslet_side.Bench(program, data, device, BENCH_THREADS, options, "device,host")
    times, others = {batch: {"device": [], "host": []} for batch in BENCH_BATCHES}, {}
    for turn in range(BENCH_TURNS):
        for batch in BENCH_BATCHES:
            for row in bench.turn(batch, turn)["results"]:
                if row["status"] == "PASSED":
                    times[batch][row["labels"]["place"]].append(row["time_ns"]["median"])
                else:
                    others[batch] = f", but {row['status']}: {row['reason']}"
    rows = []
    for batch, of_places in times.items():
        row = {"way": "C++", "math": "fp32", "device": device, "threads": BENCH_THREADS, "count": batch}
        if not all(of_places.values()):
            why = f"`lenslet bench` has no PASSED row of both places{others.get(batch, '')}"
            rows.append({**row, "status": "ERROR", "reason": why})
            continue
        host, alone = (statistics.median(of_places[place]) for place in ("host", "device"))
        row.update(status="PASSED", reason=None, time_ns={"median": host, "samples": len(of_places["host"])})
        row.update(images_per_s=batch / host * 1e9, device_images_per_s=batch / alone * 1e9)
        rows.append({**row, "share_of_device": alone / host})
    return rows


def add_share_of_predict(rows):
    """Adds to rows of lenslet.ray.Predictor their share of the rate of Model.predict with the same images."""
    passed = [row for row in rows if row["status"] == "PASSED"]
    rates = {(row["math"], row["count"]): row["images_per_s"] for row in passed if row["caller"] == "Python"}
    for row in passed:
        rate = rates.get((row["math"], row["count"]))
        if rate and row["caller"] == RAY:
            row["share_of_predict"] = row["images_per_s"] / rate


def add_shares(rows):
    """Adds `share_of_bus` to rows from page-locked memory, of the best rate of the bus in this run, `ratio_to_pytorch`
    to those from ordinary memory, and `ratio_to_one` to those of tensors on several GPUs."""
    passed = [row for row in rows if row["status"] == "PASSED"]
    bus = max((row["bytes_per_s"] for row in passed if row["way"] == "bus"), default=None)
    pytorch = {row["math"]: row["images_per_s"] for row in passed if row["way"] == "PyTorch"}
    for row in passed:
        if bus and "page-locked" in row["way"]:
            size = PACKED_BYTES if row["way"] == PACKED else IMAGE_BYTES
            row["share_of_bus"] = row["images_per_s"] * size / bus
        if row["way"] == "ordinary" and row["math"] in pytorch:
            row["ratio_to_pytorch"] = row["images_per_s"] / pytorch[row["math"]]
        if "one_images_per_s" in row:
            row["ratio_to_one"] = row["images_per_s"] / row["one_images_per_s"]


def gpu_rows(interpreter, program, data, device, math, folder, min_ms):
    """Rows of gpu_calls.py; those of tensors on one GPU with their share of the rate of `lenslet bench`."""
    check = "import lenslet, torch; assert torch.cuda.is_available(), 'PyTorch sees no GPU'"
    done = subprocess.run([interpreter, "-c", check], capture_output=True, text=True)
    if done.returncode:
        return [{"way": "tensor", "math": math, "status": "SKIPPED", "reason": done.stderr.strip().splitlines()[-1]}]
    command = [interpreter, str(HERE / "gpu_calls.py"), device, math, str(folder), str(min_ms)]
    lines, words, failed = printed_by(command)
    words = words if failed else []
    known = (Path(folder) / "labels.bin").stat().st_size
    options = ["--plan", "fused", "--math", math, "--input", "uint8", "--output", "prediction"]
    devices = devices_of(device)
    bench = lenslet_side.Bench(program, data, devices[0], None, options)
    rows = []
    for row in map(json.loads, lines):
        row = verdict_on(row, known) if row["way"] != "bus" else {**row, "status": "PASSED", "reason": None}
        if len(devices) == 1 and row["way"].startswith("tensor") and row["status"] == "PASSED":
            passes = [one for one in bench.turn(row["count"], 0)["results"] if one["status"] in ("PASSED", "SUSPECT")]
            if passes:
                row["bench_images_per_s"] = row["count"] / passes[0]["time_ns"]["median"] * 1e9
                row["share_of_bench"] = row["images_per_s"] / row["bench_images_per_s"]
        rows.append(row)
    if words:
        rows.append({"way": "tensor", "math": math, "status": "ERROR", "reason": words[-1]})
    return rows


def print_gpu_row(row):
    head = f"{row['way']:<22} {row['math']:<5}"
    if row["status"] != "PASSED":
        print(f"{head} {row['status']}: {row['reason']}")
        return
    more = f" {row['bytes_per_s'] / 1e9:.1f} GB/s" if "bytes_per_s" in row else ""
    more += f" {row['share_of_bus']:.1%} of the bus" if "share_of_bus" in row else ""
    more += f" {row['ratio_to_pytorch']:.1f} times PyTorch" if "ratio_to_pytorch" in row else ""
    more += f" {row['ratio_to_one']:.3f} times one GPU" if "ratio_to_one" in row else ""
    more += f" {row['share_of_device']:.1%} of a pass alone" if "share_of_device" in row else ""
    more += f" alone {row['alone_ns']['median'] / 1e3:,.1f} us" if "alone_ns" in row else ""
    more += f" {row['share_of_bench']:.1%} of lenslet bench" if "share_of_bench" in row else ""
    print(
        f"{head} {row['count']:>9,} {row['time_ns']['median'] / 1e3:>12,.1f} us "
        f"{row['images_per_s'] / 1e6:>9.3f} M images/s{more}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a build folder with bin/lenslet and liblenslet.so")
    parser.add_argument("--data", default=os.environ.get("LENSLET_MNIST_DIR", "data"), help="folder of MNIST")
    parser.add_argument("--device", default="auto", help="as the library takes it; several GPUs as cuda:0,1")
    parser.add_argument("--math", default="fp32,fp16", help="math modes")
    parser.add_argument("--gpu-math", help="math modes of `gpu_rows`; default: those of --math")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the package")
    parser.add_argument("--min-time-ms", type=float, default=500, help="of each count")
    parser.add_argument("--eval-images", type=int, default=10_000_000, help="in the file of `lenslet eval`; 0: none")
    parser.add_argument("--json", required=True, help="output file")
    arguments = parser.parse_args()
    if arguments.device == "cuda:all":
        parser.error("--device cuda:all: expected the numbers of the GPUs, such as cuda:0,1")
    pixels, labels = shared.read_mnist(arguments.data, "t10k")
    program = str(Path(arguments.build) / "bin" / "lenslet")
    if arguments.device == "auto":  # once, so that all parts run and are named alike
        arguments.device = device_that_ran(profile(program, arguments.device))
    devices = devices_of(arguments.device)
    gpu = arguments.device.startswith("cuda")
    maths, gpu_maths = (text.split(",") for text in (arguments.math, arguments.gpu_math or arguments.math))
    min_ms = arguments.min_time_ms
    rounds, taken, of_bench = ROUNDS if gpu else 1, [], []
    large = [COUNTS[-1] * len(devices)]  # images in page-locked memory
    with tempfile.TemporaryDirectory() as folder:
        pixels.tofile(Path(folder) / "pixels.bin")
        labels.tofile(Path(folder) / "labels.bin")
        for name, options in (("expected", ()), ("expected-packed", EVAL_PACKED))[: 2 if gpu else 1]:
            logits = lenslet_side.logits(program, arguments.device, arguments.data, options)
            logits.argmax(1).astype("uint8").tofile(Path(folder) / f"{name}.bin")
        for _ in range(rounds):
            rows, more = [], []
            for math in maths:
                how = (arguments.device, math, folder, min_ms / rounds)
                rows += rows_of("C", lambda: c_program(arguments.build, folder), *how)
                rows += rows_of("Python", lambda: python_program(arguments.python), *how)
                rows += rows_of(RAY, lambda: python_program(arguments.python, "ray"), *how)
                for way in (PAGE_LOCKED, PACKED) if gpu and math in gpu_maths else ():
                    words = way.split(", ")[1:]
                    more += [
                        {"way": way, **row}
                        for row in rows_of(
                            way, lambda words=words: [*c_program(arguments.build, folder), *words], *how, large
                        )
                    ]
            taken.append((rows, more))
        rows, beside = (over_rounds(part) for part in zip(*taken))
        for math in gpu_maths if gpu else ():
            beside += gpu_rows(arguments.python, program, arguments.data, arguments.device, math, folder, min_ms)
        if gpu and arguments.eval_images:
            beside.append(eval_row(program, arguments.device, gpu_maths[-1], folder, arguments.eval_images))
        if not gpu:
            of_bench = bench_rows(program, arguments.data, arguments.device)
    add_shares(beside)
    add_share_of_predict(rows)
    bench = lenslet_side.Bench(program, arguments.data, devices[0], None, ["--plan", "fused", "--math", "fp32"])
    environment = bench.turn(1, 0)
    document = {"schema": SCHEMA, "argv": sys.argv, "rows": rows, "gpu_rows": beside, "bench_rows": of_bench}
    document.update({key: environment[key] for key in ("meta", "host", "devices", "conditions") if key in environment})
    Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    for row in rows:
        head = f"{row['caller']:<11} {row['math']:<5} {row['count']:>9,}"
        share = f", {row['share_of_predict']:.1%} of Python" if "share_of_predict" in row else ""
        if row["status"] == "PASSED":
            print(
                f"{head} {row['time_ns']['median'] / 1e3:>12,.1f} us {row['images_per_s'] / 1e6:>9.3f} M images/s "
                f"{row['correct']:,} of {row['judged']:,} right{share}"
            )
        else:
            print(f"{head} {row['status']}: {row['reason']}")
    for row in [*beside, *of_bench]:
        print_gpu_row(row)
    return exit_code_of([*rows, *beside])


if __name__ == "__main__":
    sys.exit(main())
