"""Result files as convbench writes them, with made-up numbers: every table, every status, and values that are null.

python3 tests/report/synthetic.py OUT.json     # one file with all of it
"""

import json
import random
import sys

SHAPES = [(c, h, k) for c in (32, 64) for h in (64, 128) for k in (128, 256)]
RUNGS = ["00_naive", "01_shared_tile", "02_warp_tile", "03_thread_tile", "04_block_128"]


def stats(random_, median):
    spread = median * random_.uniform(0.002, 0.03)
    return {
        "min": median - 2 * spread,
        "p10": median - spread,
        "median": median,
        "p90": median + spread,
        "max": median + 4 * spread,
    }


class Maker:
    """Rows with a reproducible spread."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.rows = []

    def row(self, median=None, **members):
        entry = {
            "study": None, "labels": {}, "name": None, "problem": None, "backend": None, "detail": None, "math": "fp32",
            "layout": "NCHW", "cache": "hot", "status": "PASSED", "reason": None, "samples": 0, "time_ns": None,
            "end_to_end_ns": None, "stages_ns": {}, "setup_ns": 1000, "workspace_bytes": 0, "flops": None,
            "bytes_ideal": None, "gflops": None, "gbytes_per_s": None, "ceiling_fraction": None, "bound_by": None,
            "error": None, "ratio_to_cudnn": None, "published": None, "launches": [], "repro": None,
            "repro_benchdnn": None,
        }  # fmt: skip
        entry.update(members)
        if median is not None:
            entry.update(
                samples=101,
                time_ns=stats(self.random, median),
                error={"max_abs": 1e-6, "max_rel": 1e-6, "bound": 1e-5, "checked": 1000},
            )
            if entry["flops"]:
                entry["gflops"] = entry["flops"] / median
            if entry["bytes_ideal"]:
                entry["gbytes_per_s"] = entry["bytes_ideal"] / median
                entry["ceiling_fraction"] = min(1, entry["bytes_ideal"] / median / 4200)
                entry["bound_by"] = "memory"
        self.rows.append(entry)
        return entry

    def rgb(self):
        for k in (1, 3):
            for size in (256, 512, 1024, 2048, 4096):
                for stride in (1, 2, 3):
                    out = (size - 1) // stride + 1
                    flops, nbytes = 2 * k * out * out * 27, 4 * (3 * size * size + k * out * out + 27 * k)
                    base = 3000 + nbytes / 3600
                    for cache in ("hot", "cold"):
                        for backend, factor, layout in (
                            ("direct", 1, "NCHW"),
                            ("im2col_gemm", 3.1, "NCHW"),
                            ("implicit_gemm", 1.8, "NCHW"),
                            ("cudnn", 9, "NCHW"),
                            ("cudnn", 8, "NHWC"),
                        ):
                            median = base * factor * (1.3 if cache == "cold" else 1)
                            printed = None
                            if backend in ("direct", "im2col_gemm", "cudnn"):
                                pixels = size * size if backend == "im2col_gemm" else out * out
                                printed = {
                                    "time_ns": pixels * 2.3,
                                    "gflops": None,
                                    "source": "study A (Quadro M4000, CUDA 10.2)",
                                }
                            row = self.row(
                                median,
                                study="a",
                                labels={
                                    "table": "rgb",
                                    "size": str(size),
                                    "stride": str(stride),
                                    "out_channels": str(k),
                                },
                                problem=f"mb1ic3ih{size}oc{k}oh{out}kh3"
                                + (f"sh{stride}" if stride > 1 else "")
                                + "ph1",
                                backend=backend,
                                layout=layout,
                                cache=cache,
                                flops=flops,
                                bytes_ideal=nbytes,
                                published=printed,
                                ratio_to_cudnn=8 / factor,
                                repro=f"convbench run --problem mb1ic3ih{size} --backend {backend}",
                            )
                            row["end_to_end_ns"] = stats(self.random, median + nbytes / 50)

    def gemm(self):
        for size in (256, 512, 1024, 2048, 4096):
            for memory, factor in (("global", 4), ("shared", 1.4), ("register", 1)):
                for tile in (8, 16, 32):
                    self.row(
                        size * size * factor * 8 / tile / 10,
                        study="a",
                        backend=memory,
                        flops=54 * size * size,
                        labels={"table": "gemm_memory", "size": str(size), "memory": memory, "tile": str(tile)},
                        published={"time_ns": size * size * factor * 80 / tile, "gflops": None, "source": "study A"},
                    )
            self.row(
                size * size / 40,
                study="a",
                backend="cublas",
                labels={"table": "gemm_memory", "size": str(size), "memory": "cublas"},
            )
            for partition, factor in (("row", 600), ("column", 2), ("element", 1)):
                for block in (16, 32, 64):
                    labels = {"table": "gemm_partition", "size": str(size), "partition": partition, "block": str(block)}
                    printed = {
                        "time_ns": 2464 if (partition, block) == ("element", 64) else size * size * factor,
                        "gflops": None,
                        "source": "study A",
                    }
                    if (partition, block) == ("element", 64):
                        self.row(
                            study="a",
                            backend=partition,
                            labels=labels,
                            status="UNSUPPORTED",
                            published=printed,
                            reason="64 x 64 = 4,096 threads per block, and this GPU launches up to 1,024",
                        )
                    else:
                        self.row(
                            size * size * factor / 20, study="a", backend=partition, labels=labels, published=printed
                        )

    def ladder(self):
        for c, h, k in SHAPES:
            out = h - 2
            flops = 2 * 8 * k * out * out * c * 9
            members = {
                "problem": f"mb8ic{c}ih{h}oc{k}oh{out}kh3",
                "study": "b",
                "flops": flops,
                "bytes_ideal": 4 * (8 * c * h * h + 8 * k * out * out),
            }

            def labels(rung, change=None):
                return {
                    "table": "ladder",
                    "algorithm": "implicit_gemm",
                    "rung": rung,
                    **({"change": change} if change else {}),
                }

            self.row(flops / 100, backend="cpu.im2col_gemm", labels=labels("cpu", "the processor's version"), **members)
            for i, rung in enumerate(RUNGS):
                self.row(
                    flops / (800 * 2.4**i),
                    backend=f"implicit_gemm.{rung}",
                    labels=labels(rung, f"idea {i} <b>&</b>"),
                    ratio_to_cudnn=0.02 * 2.4**i,
                    published={"time_ns": 355904, "gflops": 6370, "source": "study B (Tesla V100)"} if i == 4 else None,
                    launches=[
                        {
                            "kernel": "k",
                            "threads_per_block": 256,
                            "registers_per_thread": 32 * (i + 1),
                            "shared_bytes": 16384,
                            "local_bytes": 0,
                            "blocks_per_multiprocessor": 2,
                            "occupancy": 0.25,
                        }
                    ],
                    **members,
                )
            self.row(
                flops / 41000,
                backend="implicit_gemm",
                labels=labels("product", "tuned tiles"),
                ratio_to_cudnn=1.11,
                **members,
            )
            for backend, rate, math, layout in (
                ("cudnn", 37000, "fp32", "NCHW"),
                ("cudnn", 34000, "fp32", "NHWC"),
                ("winograd", 60000, "fp32", "NCHW"),
                ("cudnn", 150000, "tf32", "NCHW"),
                ("tensor_core", 180000, "tf32", "NHWC"),
            ):
                self.row(
                    flops / rate,
                    backend=backend,
                    labels=labels("beside"),
                    math=math,
                    layout=layout,
                    ratio_to_cudnn=rate / 37000,
                    **members,
                )

    def others(self):
        for stride in (1, 2, 3):
            for size in (128, 256, 512, 1024, 2048):
                for backend, factor in (("direct", 1), ("im2col_gemm", 2), ("cudnn", 3)):
                    row = self.row(
                        5000 + size * size * factor / 300,
                        study="c",
                        backend=backend,
                        layout="NHWC",
                        flops=162 * (size / stride) ** 2,
                        bytes_ideal=24 * size * size,
                        labels={"table": "filter", "size": str(size), "stride": str(stride)},
                        published={"time_ns": None, "gflops": 9.42 / stride, "source": "study C (GeForce GTX 1050)"},
                    )
                    row["end_to_end_ns"] = stats(self.random, 20000 + size * size / 2)
        for dimensions in (1, 2):
            for variant, factor in (("global", 1.5), ("constant", 1.1), ("tiled", 1.0)):
                for boundary in ("zero", "clamp", "reflect"):
                    self.row(
                        134e6 / 4000 * factor,
                        study="e",
                        backend=f"stencil.{variant}",
                        flops=2e8,
                        bytes_ideal=134e6,
                        labels={
                            "table": "stencil",
                            "dimensions": str(dimensions),
                            "filter": variant,
                            "boundary": boundary,
                        },
                    )
        for streams, time in ((1, 9e6), (2, 6e6), (4, 5.1e6)):
            self.row(
                time,
                study="d",
                backend="direct",
                labels={"table": "streams", "streams": str(streams), "chunks": "16"},
                stages_ns={"copy in": 4e6, "conv": 1.5e6, "copy out": 3.5e6},
            )
        for channels in (64, 128):
            for part, backend, time in (
                ("standard", "winograd", 50000),
                ("standard", "cudnn", 60000),
                ("depthwise", "depthwise", 6000),
                ("depthwise", "cudnn", 16000),
                ("pointwise", "implicit_gemm", 12000),
                ("pointwise", "cudnn", 11000),
                ("block", "depthwise + implicit_gemm", 17000),
                ("block", "cudnn + cudnn", 26000),
            ):
                self.row(
                    time * channels / 64,
                    study="d",
                    backend=backend,
                    flops=1e8,
                    bytes_ideal=1e7,
                    labels={"table": "separable", "channels": str(channels), "size": "56", "part": part},
                )
        for backend, time in (("direct", 4000), ("winograd", 9000), ("cudnn", 5000)):
            self.row(time, problem='mb1ic1ih28oc6oh24kh5n"conv1"', backend=backend, flops=172800, bytes_ideal=17000)

    def broken(self):
        """Every case without a figure."""
        problem = "mb1ic3ih16oc3oh16kh3ph1"
        self.row(
            problem=problem,
            backend="winograd",
            status="UNSUPPORTED",
            reason='strides other than 1: "2" <script>alert(1)</script> & more',
        )
        self.row(problem=problem, backend="onednn", status="SKIPPED", reason="interrupted")
        self.row(
            problem=problem,
            backend="wrong",
            status="FAILED",
            reason="wrong at [0, 1, 2, 3]: 1 and 2",
            error={"max_abs": None, "max_rel": None, "bound": None, "checked": 5},
        )
        self.row(problem=problem, backend="broken", status="ERROR", reason="launch failed")
        self.row(
            1.0,
            problem=problem,
            backend="cheat",
            status="SUSPECT",
            reason="1200 % of the ceiling",
            flops=1e6,
            bytes_ideal=1e3,
        )
        self.row(problem=problem, backend="silent")
        self.rows.append({"status": "PASSED"})
        self.rows.append(
            {
                "labels": None,
                "time_ns": {"median": None},
                "published": 3,
                "launches": "none",
                "status": None,
                "problem": 7,
            }
        )
        self.rows.append(
            {
                "labels": {"table": "rgb", "size": "big", "stride": None},
                "backend": "direct",
                "status": "PASSED",
                "time_ns": {"median": 5},
            }
        )


def document(rows, device="NVIDIA H200", status="COMPLETE", **members):
    gpu = device != "cpu"
    document = {
        "schema": "lenslet.results/1",
        "tool": "convbench reproduce",
        "interrupted": status == "INTERRUPTED",
        "status": status,
        "reason": None,
        "meta": {
            "version": "0.1.0",
            "git": "0123456789ab",
            "dirty": False,
            "build_type": "Release",
            "compiler": "GNU 12.2.0",
            "cuda_compiler": "13.0.88",
            "argv": ["convbench", "reproduce", "all"],
            "time_utc": "2026-11-21T05:00:00Z",
        },
        "host": {
            "cpu": "Some(R) Processor",
            "cores_online": 16,
            "threads_used": 16,
            "memory_bytes": 1,
            "system": "Linux",
            "machine": "x86_64",
        },
        "devices": [{"device": "cuda:0", "name": device, "compute_capability": "9.0"}] if gpu else [],
        "libs": [
            {"name": "cuDNN", "version": "9.14.0", "path": "/x"},
            {"name": "cuDNN ops", "version": None, "path": "/y"},
        ],
        "ceilings": {
            "device": "cuda:0" if gpu else "cpu",
            "copy_bytes_per_s": 4.2e12 if gpu else 3e10,
            "caches": [],
            "fp32_flops_per_s": 51e12 if gpu else 4e11,
            "tf32_flops_per_s": 390e12 if gpu else None,
            "fp16_flops_per_s": None,
            "launch_ns": 3400 if gpu else None,
            "replayed_launch_ns": None,
            "gemm_library": "cuBLAS",
            "notes": "fp16 was not measured",
        },
        "results": rows,
    }
    document.update(members)
    return document


def everything():
    maker = Maker()
    for part in (maker.rgb, maker.gemm, maker.ladder, maker.others, maker.broken):
        part()
    return document(maker.rows)


def of_each_table(form):
    """The rows that `form` keeps of those of each table."""
    tables = {}
    for row in everything()["results"]:
        tables.setdefault((row.get("labels") or {}).get("table"), []).append(row)
    return document([row for rows in tables.values() for row in form(rows)])


def few_of_each_table():
    """Every figure, with fewer panels and points."""
    return of_each_table(lambda rows: rows[-1:] + rows[::29])


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        json.dump(everything(), stream, indent=1)
