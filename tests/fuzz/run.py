#!/usr/bin/env python3
"""Runs the libFuzzer programs and summarises their results.

    run.py BUILD [TARGET ...] [--seconds 60] [--jobs 1] [--merge] [--json FILE]

BUILD is the folder of the preset `fuzz`. A run starts from the seeds, the corpus in the tree and the inputs of earlier
runs in BUILD/fuzz/corpus/. Its log goes to BUILD/fuzz/logs/, the input of a finding to BUILD/fuzz/findings/. --jobs N
runs N targets at a time.
--merge does not fuzz, but adds a few small inputs that reach much code to the corpus in the tree. --json writes the
summary of the last run of every target, as summarise.py reads it.

Exit codes: 0 no finding, 1 a finding (its input and how to run it again are printed), 2 usage.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
from machine import machine  # noqa: E402

SEEDS = "seeds"  # instead of a dictionary: the lines of the target's seeds, which are generated from the option table
# Longest input, largest block of memory in MiB (a reader that trusts a header exceeds it), dictionary.
TARGETS = {
    "idx": (4096, 16, "pictures"),
    "gzip": (4096, 16, "pictures"),
    "npz": (4096, 16, "npz"),
    "safetensors": (4096, 16, "json"),
    "onnx": (8192, 16, "onnx"),
    "picture": (8192, 8, "pictures"),
    "digit": (16384, 8, None),
    "problem": (1024, 16, "problem"),
    "backend_spec": (512, 16, "problem"),
    "plan": (8192, 16, "json"),
    "results": (16384, 16, "json"),
    "filter": (4096, 16, "problem"),
    "arguments": (1024, 16, SEEDS),
    "infer": (4096, 16, "json"),
    "http": (8192, 16, "http"),
}
RSS_LIMIT_MB = 1024
SLOW_UNIT_S = 10  # a slower input is a finding
IN_TREE_BYTES, MAX_IN_TREE = 4096, 512  # for all inputs that --merge adds to a target, and for one input


def environment():
    settings = dict(os.environ)
    # Allocation stacks are short, because complete ones cost a fifth of the time; a repeated finding prints complete
    # ones.
    settings["ASAN_OPTIONS"] = "quarantine_size_mb=64:strict_string_checks=1:malloc_context_size=2"
    settings["UBSAN_OPTIONS"] = "print_stacktrace=1"
    return settings


def dictionary_of(build, target, name):
    if name != SEEDS:
        return HERE / "dictionaries" / (name + ".dict")
    seeds = (build / "fuzz" / "seeds" / target).iterdir()
    text = ""
    for word in sorted({line for seed in seeds for line in seed.read_text().split("\n") if line}):
        escaped = re.sub(r"[^ !#-\[\]-~]", lambda letter: f"\\x{ord(letter[0]):02x}", word)
        text += f'"{escaped}\\x0a"\n'
    path = build / "fuzz" / f"{target}.dict"
    path.write_text(text)
    return path


def command(build, target, extra):
    longest, block_mb, dictionary = TARGETS[target]
    return [
        str(build / "fuzz" / target),
        f"-max_len={longest}",
        f"-malloc_limit_mb={block_mb}",
        f"-rss_limit_mb={RSS_LIMIT_MB}",
        f"-timeout={SLOW_UNIT_S}",
        *([f"-dict={dictionary_of(build, target, dictionary)}"] if dictionary else []),
        f"-artifact_prefix={build / 'fuzz' / 'findings' / (target + '-')}",
        "-print_final_stats=1",
        "-close_fd_mask=1",
        *extra,
    ]


def corpora(build, target):
    folders = [build / "fuzz" / "corpus" / target, build / "fuzz" / "seeds" / target, HERE / "corpus" / target]
    folders[0].mkdir(parents=True, exist_ok=True)
    return [str(folder) for folder in folders if folder.is_dir()]


def summary_of(log):
    """The final figures of libFuzzer's log; None if it did not finish."""
    text = log.read_text(errors="replace")
    stats = dict(re.findall(r"^stat::(\w+):\s+(\d+)$", text, re.M))
    lines = re.findall(r"^#\d+\s.*\bcov: (\d+) ft: (\d+) corp: (\d+)/", text, re.M)
    took = re.findall(r"^Done (\d+) runs in (\d+) second", text, re.M)
    if not stats or not lines or not took:
        return None
    return {
        "executions": int(stats["number_of_executed_units"]),
        "executions_per_s": int(stats["average_exec_per_sec"]),
        "seconds": int(took[-1][1]),
        "edges": int(lines[-1][0]),
        "features": int(lines[-1][1]),
        "corpus_inputs": int(lines[-1][2]),
        "slowest_unit_s": int(stats["slowest_unit_time_sec"]),
        "peak_rss_mb": int(stats["peak_rss_mb"]),
    }


def fuzz(build, target, seconds):
    """Whether the target finished without a finding."""
    for name in ("logs", "findings"):
        (build / "fuzz" / name).mkdir(parents=True, exist_ok=True)
    log = build / "fuzz" / "logs" / f"{target}.log"
    line = command(build, target, [f"-max_total_time={seconds}", *corpora(build, target)])
    print(f"== {target}: {seconds} s", flush=True)
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(line, stderr=out, stdout=out, env=environment(), check=False).returncode
    summary = summary_of(log)
    record = {"target": target, "finding": code != 0, **(summary or {})}
    (build / "fuzz" / "logs" / f"{target}.json").write_text(json.dumps(record) + "\n")
    if code == 0 and summary:
        print(
            f"   {target}: no finding in {summary['executions']:,} executions, "
            f"{summary['executions_per_s']:,} per second, {summary['edges']:,} edges, "
            f"{summary['features']:,} features, {summary['peak_rss_mb']} MiB at most",
            flush=True,
        )
        return True
    text = log.read_text(errors="replace")
    wrong = re.findall(r"ERROR:.*|runtime error:.*|SUMMARY:.*|what\(\):.*|libFuzzer: .*", text)
    lines = ["   " + one[:300] for one in list(dict.fromkeys(wrong))[:4]]
    lines.append(f"   {target}: FINDING (exit code {code}), log {log}")
    for file in re.findall(r"Test unit written to (\S+)", text):
        lines.append(f"   input {file}; run it again: {build / 'fuzz' / target} {file}")
    print("\n".join(lines), flush=True)  # together, beside those of other targets
    return False


def merge(build, target):
    """Reduces the grown corpus to the fewest inputs with the same reach, and copies the largest of the small ones into
    the tree: readers refuse the smallest at their first byte."""
    with tempfile.TemporaryDirectory() as scratch:
        line = command(build, target, ["-merge=1", scratch, *corpora(build, target)])
        subprocess.run(line, check=True, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        seeds = {path.read_bytes() for path in (build / "fuzz" / "seeds" / target).iterdir()}
        kept = 0
        budget = IN_TREE_BYTES
        for path in sorted(pathlib.Path(scratch).iterdir(), key=lambda p: (-p.stat().st_size, p.name)):
            content = path.read_bytes()
            if content in seeds or len(content) > min(budget, MAX_IN_TREE):
                continue
            budget -= len(content)
            shutil.copy(path, folder / path.name)
            kept += 1
        print(f"{target}: {kept} inputs in {folder}")


def compiler_of(program):
    """What compiled a program: a machine that only runs it may have no compiler."""
    found = re.search(rb"[\w. ]*clang version [\w.]+", program.read_bytes())
    return found[0].decode().strip() if found else "unknown"


def write_summary(build, path):
    records = []
    for target in TARGETS:
        record = build / "fuzz" / "logs" / f"{target}.json"
        if record.exists():
            records.append(json.loads(record.read_text()))
    compiler = compiler_of(build / "fuzz" / "write_seeds")
    document = {"schema": "lenslet.fuzz/1", "machine": {**machine(), "compiler": compiler}, "targets": records}
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    build = options.build.resolve()
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]}; there are: {' '.join(TARGETS)}")
    if options.seconds < 1:
        parser.error("--seconds expects 1 or more")
    if options.jobs < 1:
        parser.error("--jobs expects 1 or more")
    subprocess.run(
        [str(build / "fuzz" / "write_seeds"), str(build / "fuzz" / "seeds")], check=True, stdout=subprocess.DEVNULL
    )
    found = []
    targets = options.targets or list(TARGETS)
    if options.merge:
        for target in targets:
            merge(build, target)
    else:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            clean = pool.map(lambda target: fuzz(build, target, options.seconds), targets)
            found = [target for target, passed in zip(targets, clean) if not passed]
    if options.json:
        write_summary(build, options.json)
    if found:
        print(f"findings in: {' '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
