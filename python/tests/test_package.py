"""The package as installed: version, stubs, docstrings, examples, files."""

import ast
import doctest
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import lenslet
import lenslet.ray

PACKAGE = Path(lenslet.__file__).parent


def test_there_is_one_version(root):
    (stated,) = re.findall(r"project\(lenslet VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())
    assert lenslet.__version__ == stated
    assert importlib.metadata.version("lenslet") == stated


def test_the_installed_package_is_the_one_tested(root):
    assert root not in PACKAGE.parents or "site-packages" in PACKAGE.parts


def test_the_package_brings_what_it_needs_and_no_more():
    names = {file.name for file in PACKAGE.iterdir()} - {"__pycache__"}
    extensions = {name for name in names if name.startswith("_core.") and name.endswith(".so")}
    modules = {name for name in names if re.fullmatch(r"lenslet_\w+\.so", name)}
    assert len(extensions) == 1
    assert names - extensions - modules == {
        "__init__.py",
        "_notebook.py",
        "_read.py",
        "_types.py",
        "_core.pyi",
        "py.typed",
        "ray.py",
    }


def test_modules_are_opened_from_the_package():
    """A backend of a module beside the extension is usable: its library is there, for it was built with it."""
    supported = {
        name for names in lenslet.backends("cpu").values() for name, entry in names.items() if entry["supported"]
    }
    built = {file.name for file in PACKAGE.glob("lenslet_*.so")}
    assert ("onednn" in supported) == ("lenslet_conv_cpu_onednn.so" in built)


def test_stubs_agree_with_the_extension(root, tmp_path):
    pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed")
    made = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "--exclude-values"]
    command += ["-m", "lenslet._core", "-o", str(made)]
    subprocess.run(command, check=True)
    committed = root / "python" / "lenslet" / "_core.pyi"
    assert ast.dump(ast.parse(committed.read_text())) == ast.dump(ast.parse(made.read_text())), (
        "write it again: python -m nanobind.stubgen --exclude-values -m lenslet._core -o python/lenslet/_core.pyi"
    )
    assert (PACKAGE / "_core.pyi").read_bytes() == committed.read_bytes()


def public_objects():
    for name in lenslet.__all__:
        thing = getattr(lenslet, name)
        yield name, thing
        if inspect.isclass(thing) and thing is lenslet.Model:
            yield from ((f"{name}.{member}", getattr(thing, member)) for member in dir(thing) if member[0] != "_")


def test_everything_public_has_a_docstring():
    assert lenslet.__doc__
    for name, thing in public_objects():
        if callable(thing) and name not in ("Images", "Inputs", "Output", "Picture"):
            assert thing.__doc__ and len(thing.__doc__) > 20, name
    assert set(lenslet.__all__) == {name for name in vars(lenslet) if name[0] != "_"} - {"ray"} | {"__version__"}


@pytest.mark.parametrize("function", [lenslet.read, lenslet.ray.Predictor.__init__])
def test_hints_can_be_evaluated(function):
    assert typing.get_type_hints(function)


def run_examples(name, text):
    """Runs the examples of a text, all in one namespace; returns how many there were."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
    return len(test.examples)


def test_examples_in_the_documents_are_true(root):
    blocks = re.findall(r"```pycon\n(.*?)```", (root / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) == 11 and run_examples("docs/python.md", "\n".join(blocks)) >= 18
    assert run_examples("lenslet", lenslet.__doc__) == 4
    assert run_examples("lenslet.ray", lenslet.ray.__doc__) == 4


@pytest.mark.skipif(not os.environ.get("LENSLET_TEST_TYPES"), reason="LENSLET_TEST_TYPES=1 runs mypy, which takes long")
def test_types_agree_with_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "use.py").write_text(
        "import numpy as np\nimport lenslet\n"
        "model = lenslet.Model.load('a', device='cpu', max_batch=3)\n"
        "labels, probabilities = model.predict(np.zeros((1, 28, 28), np.uint8), plan='fused')\n"
        "total: float = model.profile(64)['layers']['conv1']['median_ns']\n"
        "reason: str = lenslet.backends()['conv1']['direct']['reason']\n"
    )
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "use.py"], check=True, cwd=tmp_path)
