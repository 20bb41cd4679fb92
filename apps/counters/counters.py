"""Hardware counters of Lenslet's kernels, by Nsight Compute: what each keeps busy, and what its warps wait for.

    python3 apps/counters/counters.py --build build/release --json counters.json [--only NAME,...] [--ncu PROGRAM]

Needs ncu and the right to read counters (docs/measuring.md, "Nsight"). SUBJECTS has a row per kernel; to add one, add a
row. ncu runs the row's command and profiles one launch of its kernel, after `skip` others. It replays the launch, so
`time_ns` is of a cold launch at the clock that ncu finds: compare the counters, and take times from the other result
files. The command checks its results as always; a row whose command fails is FAILED with the reason.
"""

import argparse
import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps" / "peers"))
from side import exit_code_of, one_line, profile, save  # noqa: E402

SCHEMA = "lenslet.counters/1"
SECONDS = 120  # for one command
UNAVAILABLE, NOT_WRITTEN = 4, 7  # exit codes, as those of the programs (docs/cli.md)
# Our keys, and the metrics of ncu. Percentages are of what the unit could do meanwhile.
METRICS = {
    "time_ns": "gpu__time_duration.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "fma_percent": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "shared_percent": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "warps_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
# Cycles that a warp waited for the reason, for each instruction issued.
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
STALLS = "regex:smsp__average_warps_issue_stalled_[a-z_]+_per_issue_active"
UNITS = {"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}

Subject = namedtuple("Subject", "name program arguments kernel skip")


def network(name, kernel, *arguments):
    """A kernel of the whole-network plan."""
    return Subject(name, "lenslet", ("profile", "--plan", "fused", "--min-time-ms", "1", *arguments), kernel, 1)


def convolution(name, kernel, problem, *arguments):
    options = ("--cache", "hot", "--warmup-ms", "1", "--min-time-ms", "1", *arguments)
    return Subject(name, "convbench", ("run", "--problem", problem, *options), kernel, 1)


BYTES = ("--input", "uint8", "--output", "prediction")
NHWC = ("--layout", "nhwc", "--backend", "tensor_core")
FP32 = ("--math", "fp32", "--backend")
LAYERED = ("profile", "--plan", "layered", "--batch-size", "10000", "--min-time-ms", "1")
SUBJECTS = (
    network("whole-fp16", "fused_lenet5_mma_fp16_kernel", "--math", "fp16", *BYTES, "--batch-size", "1048576"),
    network("whole-fp32-conv", "fused_lenet5_fp32_conv_kernel", "--batch-size", "65536"),
    network("whole-fp32-linear", "fused_lenet5_fp32_linear_kernel", "--batch-size", "65536"),
    network("whole-fp32-1000", "fused_lenet5_medium_kernel", "--batch-size", "1000"),
    network("whole-fp32-1057", "fused_lenet5_medium_kernel", "--batch-size", "1057"),
    Subject("linear-fc1", "lenslet", LAYERED, "linear_tiled_kernel", 3),
    Subject("linear-fc2", "lenslet", LAYERED, "linear_tiled_kernel", 4),
    Subject("linear-fc3", "lenslet", LAYERED, "linear_tiled_kernel", 5),
    convolution("tf32-64-256", "conv_tensor_core", "mb8ic64ih128oc256oh126kh3", "--math", "tf32", *NHWC),
    convolution("fp16-64-256", "conv_tensor_core", "mb8ic64ih128oc256oh126kh3", "--dt", "fp16", *NHWC),
    convolution("fp16-1x1-512", "conv_tensor_core", "mb64ic512ih28oc256oh28kh1", "--dt", "fp16", *NHWC),
    convolution("fp16-3x3-stride-2", "conv_tensor_core", "mb64ic512ih14oc512oh7kh3sh2ph1", "--dt", "fp16", *NHWC),
    convolution("implicit-gemm", "conv_implicit_gemm", "mb8ic64ih128oc256oh126kh3", *FP32, "implicit_gemm"),
    convolution("fp32-7x7", "conv_", "mb64ic3ih224oc64oh112kh7sh2ph3", *FP32, "auto"),
    convolution("fp32-3x3", "conv_", "mb64ic128ih28oc128oh28kh3ph1", *FP32, "auto"),
)


class NotCounted(Exception):
    """ncu or its command failed, or no launch was profiled."""


def counters_of(text):
    """The row's keys from what `ncu --csv --page raw` printed about one launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(rows) < 3:
        raise NotCounted("no launch of the kernel was profiled")
    names, units, values = rows[0], rows[1], rows[2]
    found = dict(zip(names, zip(values, units)))

    def number(name):
        if name not in found:
            raise NotCounted(f"ncu printed no {name}")
        value, unit = found[name]
        return float(value.replace(",", "")) * (UNITS[unit] if name == METRICS["time_ns"] else 1)

    row = {"kernel": found["Kernel Name"][0].split("(")[0]}
    row.update({key: number(metric) for key, metric in METRICS.items()})
    stalls = {match[1]: number(name) for name in names if (match := STALL.fullmatch(name))}
    row["stalls"] = {reason: stalls[reason] for reason in sorted(stalls, key=lambda reason: -stalls[reason])}
    return row


def count(subject, arguments, folder):
    """The counters of a subject, by one run of ncu."""
    program = str(Path(arguments.build) / "bin" / subject.program)
    command = [program, *subject.arguments, "--device", arguments.device]
    own = Path(folder) / "ncu.csv"
    own.unlink(missing_ok=True)
    metrics = ",".join([*METRICS.values(), STALLS])
    ncu = [arguments.ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    ncu += ["--metrics", metrics, "--kernel-name", f"regex:{subject.kernel}", "--kernel-name-base", "demangled"]
    ncu += ["--launch-skip", str(subject.skip), "--launch-count", "1", "--log-file", str(own)]
    done = subprocess.run([*ncu, *command], capture_output=True, text=True, timeout=SECONDS)
    printed = own.read_text() if own.exists() else ""
    if done.returncode:
        said = [line for line in (printed + done.stderr).splitlines() if line.strip()]
        raise NotCounted(f"exit code {done.returncode}: {said[-1] if said else 'nothing was printed'}")
    return counters_of(printed)


def row_of(subject, arguments, folder):
    row = {"subject": subject.name, "command": " ".join([subject.program, *subject.arguments])}
    try:
        return {**row, "status": "PASSED", "reason": None, **count(subject, arguments, folder)}
    except (NotCounted, OSError, subprocess.TimeoutExpired) as error:
        return {**row, "status": "FAILED", "reason": one_line(error)}


def refuse(code, text):
    print(f"counters.py: error: {text}", file=sys.stderr)
    sys.exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--build", default="build/release", help="a build folder with bin/lenslet and bin/convbench [build/release]"
    )
    parser.add_argument("--device", default="cuda:0", help="a GPU [cuda:0]")
    parser.add_argument("--ncu", default="ncu", help="the program [ncu]")
    parser.add_argument("--only", default="", help="names of subjects, separated by commas [all]")
    parser.add_argument("--json", required=True, help="output file")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name]
    if unknown := set(names) - {subject.name for subject in SUBJECTS}:
        known = ", ".join(subject.name for subject in SUBJECTS)
        parser.error(f"--only: no subject {', '.join(sorted(unknown))}; there are {known}")
    lenslet = Path(arguments.build) / "bin" / "lenslet"
    if not lenslet.exists():
        parser.error(f"{lenslet} is missing: build it (./dev build), or name the folder of another build with --build")
    if not shutil.which(arguments.ncu):
        refuse(UNAVAILABLE, f"{arguments.ncu} was not found: install Nsight Compute, or name its ncu with --ncu")
    try:
        about = profile(str(lenslet), arguments.device)
    except RuntimeError as error:
        refuse(UNAVAILABLE, " ".join(str(error).split()))
    try:
        open(arguments.json, "a").close()  # before anything is measured
    except OSError as error:
        refuse(NOT_WRITTEN, f"{arguments.json} cannot be written: {error.strerror}: name another file with --json")
    document = {"schema": SCHEMA, "argv": sys.argv, "rows": []}
    document.update({key: about[key] for key in ("meta", "host", "devices") if key in about})
    with tempfile.TemporaryDirectory() as folder:
        for subject in SUBJECTS:
            if names and subject.name not in names:
                continue
            row = row_of(subject, arguments, folder)
            document["rows"].append(row)
            save(document, arguments.json, "INTERRUPTED")
            percents = [key for key in METRICS if key.endswith("_percent") and key in row]
            words = ", ".join(f"{key.removesuffix('_percent')} {row[key]:.0f} %" for key in percents)
            print(f"{subject.name:<20} {words or row['reason']}", flush=True)
    save(document, arguments.json, "COMPLETE")
    return exit_code_of(document["rows"])


if __name__ == "__main__":
    sys.exit(main())
