"""LeNet-5 inference on the CPU and on CUDA GPUs, with interchangeable convolution backends.

>>> import lenslet, numpy
>>> model = lenslet.Model.built_in(device="cpu")
>>> labels, probabilities = model.predict(numpy.zeros((3, 28, 28), numpy.uint8))
>>> labels.shape, probabilities.shape
((3,), (3,))
"""

from ._core import GpuArray, Model, backends, devices, empty_pinned, normalize, num_threads, pack, set_num_threads
from ._core import version as __version__
from ._notebook import Page
from ._read import read
from ._types import (
    Backend,
    DataError,
    DeviceError,
    Digit,
    Error,
    Images,
    Inputs,
    Layer,
    LayerTime,
    OutOfMemoryError,
    Output,
    Picture,
    Prediction,
    Profile,
    Reading,
    Share,
    UnavailableError,
    UsageError,
)

__all__ = [
    "Backend",
    "DataError",
    "DeviceError",
    "Digit",
    "Error",
    "GpuArray",
    "Images",
    "Inputs",
    "Layer",
    "LayerTime",
    "Model",
    "OutOfMemoryError",
    "Output",
    "Page",
    "Picture",
    "Prediction",
    "Profile",
    "Reading",
    "Share",
    "UnavailableError",
    "UsageError",
    "__version__",
    "backends",
    "devices",
    "empty_pinned",
    "normalize",
    "num_threads",
    "pack",
    "read",
    "set_num_threads",
]
