"""Performs docs/add_a_backend.md in a copy of the tree: its files written, its row inserted, its commands run. Then
builds and runs what `./dev new-backend` writes, the checks of sources and the test that every backend is explained.

    python3 tests/add_backend/add_backend_test.py ROOT BINARY_DIR

The copy is configured as BINARY_DIR was, but without a GPU side, in build/release as the page has it, and built
incrementally: first the tree as it is, then with the page's backend. Both builds find the tree's objects in ccache if
BINARY_DIR was built with it and CCACHE_BASEDIR (./dev does so). Those of tests have the path of the tree, so the copy's
are compiled with ROOT; a test that reads what changes in the copy gets its path in LENSLET_TEST_TREE. Without ccache
the builds take minutes, although they compile in units and optimise less than a release does. Exit code 77: skipped,
because BINARY_DIR has no programs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
import fixtures  # noqa: E402
import markdown_blocks  # noqa: E402
from scratch_tree import copy_tree  # noqa: E402

PAGE = Path("docs/add_a_backend.md")
# Checks of the tree that read the source of a backend.
CHECKS = ("text", "words", "includes", "kernels", "launches", "integers")
TARGETS = ("lenslet_app", "test_conv_cpu", "test_tables")
KEPT = (
    "CMAKE_BUILD_TYPE",
    "CMAKE_CXX_COMPILER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_CXX_FLAGS",
)


def cache_of(build):
    lines = (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    return dict(re.match(r"([^:]+):[^=]*=(.*)", line).groups() for line in lines if re.match(r"\w+:", line))


def apply(block, tree, started):
    """Writes a block of the page where it belongs; a file's later blocks go after its first."""
    path = tree / block.what
    if block.kind == "file":
        if block.what not in started and path.exists():
            sys.exit(f"{block.place}: {block.what} is there already")
        with open(path, "a", encoding="utf-8") as file:
            file.write(block.text)
        started.add(block.what)
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.rstrip() == block.reason]
    if len(places) != 1:
        sys.exit(f"{block.place}: {block.what} has {len(places)} lines '{block.reason}', expected one")
    lines.insert(places[0] + 1, block.text)
    path.write_text("".join(lines), encoding="utf-8")


def run(command, tree, environment, name):
    began = time.monotonic()
    result = subprocess.run(
        command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    print(f"   {time.monotonic() - began:6.1f} s, exit {result.returncode}: {name}", flush=True)
    return result.returncode, result.stdout.decode(errors="replace")


def must(command, tree, environment, name):
    code, output = run(command, tree, environment, name)
    if code:
        sys.exit(f"{output}\n{name}: exit {code}")
    return output


# Words that the output of a command must contain besides its exit code; key: a word of the command.
SHOWN = {
    "lenslet backends": r"shift_add",
    "shift_add_regress": r"\[  PASSED  \] [4-9] tests",
    "lenslet eval --plan layered": r"conv2=shift_add|conv2 +shift_add|shift_add",
    "--math tf32": r"shift_add[^;]* computes in fp32 only, not in tf32",
    "Reference/shift_add_lenet": r"\[  PASSED  \] 1 test",
    "explain shift_add": r"A backend of conv on the CPU: layers/conv/cpu/shift_add\.cpp",
    "Reference/shift_add_rgb3x3": r"\[  FAILED  \] .*AgreeWithTheReference/shift_add_rgb3x3",
}


def one_test(command, tree, environment, name):
    output = must(command, tree, environment, name)
    if not re.search(r"\[  PASSED  \] 1 test", output):
        sys.exit(f"{output}\n{name}: did not run")


def new_backend(tree, environment, release):
    """Builds and runs the test of the CPU's backend, which the page wrote. Compiles one for a GPU if nvcc is there. The
    new backends have no entry in the glossary."""
    must(["./dev", "new-backend", "first_try", "--cuda"], tree, environment, "./dev new-backend --cuda")
    for check in CHECKS:
        must(["bash", f"tests/tree/check_{check}.sh", tree], tree, environment, f"check_{check}.sh")
    targets = ["test_conv_first_try_cpu", "test_tables"]
    must(["cmake", "--build", release, "--target", *targets], tree, environment, "build its test")
    one_test([release / "tests" / "test_conv_first_try_cpu"], tree, environment, "its first test")
    environment = environment | {"LENSLET_TEST_TREE": str(tree)}
    explained = [release / "tests" / "test_tables", "--gtest_filter=Explain.ExplainsEveryBackendStatusAndCeiling"]
    one_test(explained, tree, environment, "the test that every backend is explained")
    nvcc = shutil.which("nvcc", path=environment.get("PATH", "") + ":/usr/local/cuda/bin")
    if not nvcc:
        print("skipped: the new GPU backend was not compiled, there is no nvcc")
        return
    source = "layers/conv/gpu/first_try.cu"
    include = ["-I", tree, "-I", release / "generated"]
    command = [nvcc, "-std=c++17", "-arch=sm_90", *include, "-c", source, "-o", tree / "first_try.o"]
    must(command, tree, environment, "compile the new GPU backend")


def main():
    root, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    cache = cache_of(build)
    if cache.get("LENSLET_BUILD_APPS", "ON") == "OFF":
        print("skipped: the page needs the programs, this build has none")
        return 77
    with tempfile.TemporaryDirectory(prefix="lenslet_add_backend_") as scratch:
        tree = Path(scratch) / "tree"
        copy_tree(root, tree)
        fixtures.write_digits(tree / "data", 64)
        environment = {name: value for name, value in os.environ.items() if name != "LENSLET_MNIST_DIR"}
        environment |= {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
        environment["CCACHE_SLOPPINESS"] = "pch_defines,time_macros"
        kept = [name for name in cache if name in KEPT or re.match(r"LENSLET_[A-Z_]+$", name)]
        options = [f"-D{name}={cache[name]}" for name in kept if cache[name]]
        options += ["-DLENSLET_CUDA=OFF", "-DLENSLET_BUILD_PYTHON=OFF", f"-DLENSLET_TEST_SOURCE_DIR={root}"]
        if not cache.get("CMAKE_CXX_COMPILER_LAUNCHER"):  # no object is found again: compile quickly
            options += ["-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DLENSLET_FAST_FIRST_BUILD=ON"]
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=")
        release = tree / "build" / "release"
        configure = ["cmake", "-S", tree, "-B", release, "-G", cache["CMAKE_GENERATOR"], *options]
        must(configure, tree, environment, "configure the copy")
        must(["cmake", "--build", release, "--target", *TARGETS], tree, environment, "build the tree as it is")
        performed, files = 0, set()
        for block in markdown_blocks.blocks(tree / PAGE, PAGE):
            if block.kind in ("file", "after"):
                apply(block, tree, files)
            elif block.what == "tests/add_backend":
                script = ["bash", "-euo", "pipefail", "-c", block.text]
                code, output = run(script, tree, environment, block.text.strip().splitlines()[0])
                if code != block.exit_code:
                    sys.exit(f"{output}\n{block.place}: exit {code}, expected {block.exit_code}")
                for word, pattern in SHOWN.items():
                    if word in block.text and not re.search(pattern, output):
                        sys.exit(f"{output}\n{block.place}: the output has nothing like '{pattern}'")
                performed += 1
            elif block.language in ("sh", "cpp", "cmake") and block.what != "not":
                sys.exit(f"{block.place}: a block that this test does not perform: say where it goes, or mark it")
        if not files or performed < len(SHOWN):
            sys.exit(f"{PAGE}: {len(files)} files and {performed} blocks of commands found, expected more")
        new_backend(tree, environment, release)
        print(f"{PAGE}: {len(files)} file written, {performed} blocks performed as the page says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
