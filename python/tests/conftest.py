"""What the tests share: golden data, MNIST where it is, devices, and models by device."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import lenslet
from lenet5 import load_safetensors, normalisation_table, read_mnist

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def weights_file():
    return ROOT / "weights" / "lenet5.safetensors"


@pytest.fixture(scope="session")
def golden():
    """Six drawn inputs and every activation, by PyTorch in fp64: "input_u8" [6, 28, 28], "input", "fc3" (logits), …"""
    arrays, _ = load_safetensors(ROOT / "weights" / "golden" / "activations.safetensors")
    arrays["input_u8"] = arrays["input_u8"].astype(np.uint8).reshape(6, 28, 28)
    return arrays


@pytest.fixture
def pixels(golden):
    return golden["input_u8"]


@pytest.fixture(scope="session")
def table():
    """The 256 normalised values of a pixel."""
    return normalisation_table()


@pytest.fixture(scope="session")
def mnist():
    """(images uint8 [10000, 28, 28], labels) of MNIST's test set."""
    folder = Path(os.environ.get("LENSLET_MNIST_DIR", ROOT / "data"))
    if not folder.is_dir():
        pytest.skip("MNIST is not here: set LENSLET_MNIST_DIR, or ./dev mnist")
    return read_mnist(folder, "t10k")


@pytest.fixture(scope="session", params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and "cuda:0" not in lenslet.devices():
        pytest.skip("no usable NVIDIA GPU")
    return request.param


@pytest.fixture(scope="session")
def model(device):
    return lenslet.Model.built_in(device=device)


@pytest.fixture(scope="session")
def cpu_model():
    return lenslet.Model.built_in(device="cpu")


@pytest.fixture(scope="session")
def robust():
    return lenslet.Model.load("robust", device="cpu")


@pytest.fixture(scope="session")
def images():
    """300 images of noise over strokes of different weight: uint8 [300, 28, 28]."""
    random = np.random.default_rng(7)
    ink = random.random((300, 1, 1)) * random.random((300, 28, 28))
    return (255 * ink).astype(np.uint8)


@pytest.fixture(scope="session")
def torch():
    """PyTorch, on the CPU with true fp32."""
    module = pytest.importorskip("torch", reason="PyTorch is not installed")
    module.backends.cuda.matmul.allow_tf32 = False
    module.backends.cudnn.allow_tf32 = False
    return module


@pytest.fixture(scope="session")
def torch_cuda(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an absent driver
        if not torch.cuda.is_available():
            pytest.skip("PyTorch sees no GPU")
    return torch
