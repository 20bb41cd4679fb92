"""Types of arguments, results and exceptions of lenslet."""

import os
import typing

import numpy as np
import numpy.typing as npt


class SupportsDLPack(typing.Protocol):
    """An array of any library that shares its memory by DLPack."""

    def __dlpack__(self) -> typing.Any: ...


# uint8 (pixels 0 to 255) or float32 (normalised), [N, 28, 28], [N, 1, 28, 28], [N, 28, 28, 1] or [28, 28]; with
# dtype="uint4" uint8 (two pixels in a byte), [N, 28, 14] or [28, 14].
Images = npt.NDArray[np.uint8] | npt.NDArray[np.float32] | SupportsDLPack


# float32, [N, *input_shape] or input_shape.
Inputs = npt.NDArray[np.float32] | SupportsDLPack


# Where answers are written: contiguous memory of the type and shape of the answers, where the images are.
Output = npt.NDArray[np.int32] | npt.NDArray[np.float32] | SupportsDLPack


class PillowImage(typing.Protocol):
    """A picture of Pillow."""

    @property
    def mode(self) -> str: ...

    @property
    def __array_interface__(self) -> dict[str, typing.Any]: ...


# The path of a file, the bytes of one, pixels, uint8 [H, W] or [H, W, 1 to 4], or a picture of Pillow.
Picture = str | os.PathLike[str] | bytes | bytearray | npt.NDArray[np.uint8] | SupportsDLPack | PillowImage


class Digit(typing.NamedTuple):
    """A digit in a picture, or a mark that is refused."""

    digit: int | None
    """0 to 9; None if refused."""
    probability: float
    """NaN if refused."""
    box: tuple[int, int, int, int]
    """x, y, width, height in pixels of the picture."""
    energy: float
    """Compared with the `energy_threshold` of the model."""
    refusal: str
    """ "no_digit", "too_small", "touching" or "not_finite"; empty for a digit."""
    reason: str
    """The same in words."""


class Reading(typing.NamedTuple):
    """The number in a picture."""

    number: str
    """ "2026", from left to right; empty if refused."""
    probability: float
    """The product of the digits' probabilities; NaN if refused."""
    digits: list[Digit]
    """From left to right, refused marks too."""
    refusal: str
    """ "blank", "no_digit", "touching", "texture", "rows", "no_number" or "not_finite"; empty for a number."""
    reason: str
    """The same in words."""
    warnings: list[str]
    """What may be wrong."""

    @property
    def blank(self) -> bool:
        """Whether the picture has no ink."""
        return self.refusal == "blank"


class Prediction(typing.NamedTuple):
    """The answers of a model for N images."""

    labels: npt.NDArray[np.int32]
    """The class of each image, 0 to 9: int32 [N]."""
    probabilities: npt.NDArray[np.float32]
    """The softmax of that class: float32 [N]."""


class Layer(typing.NamedTuple):
    """A layer of a network, and the code that computes it."""

    name: str
    """The name of its node in an ONNX file, or "conv1" for LeNet-5."""
    type: str
    """ "conv2d", "linear", "max_pool2d", "relu", …"""
    description: str
    """ "6@5x5 stride 1 pad 0"."""
    input_shape: tuple[int, ...]
    """Of one sample, without the batch."""
    output_shape: tuple[int, ...]
    backend: str
    """The code that runs."""
    computed_by: str
    """The layer whose operator computes this one: itself, unless it is fused."""


class LayerTime(typing.TypedDict):
    """Device time of one layer in a pass."""

    backend: str
    """The code that ran."""
    math: str
    """ "fp32", "tf32", "fp16" or "int8"; empty for a layer without products."""
    median_ns: float
    p10_ns: float
    p90_ns: float


class Profile(typing.TypedDict):
    """One pass of a batch, layer by layer."""

    device: str
    plan: str
    """ "layered" or "fused"."""
    batch: int
    total_ns: float
    """Median of a pass without events between the layers."""
    layers: dict[str, LayerTime]
    """By the layer's name, in the order of execution."""


class Backend(typing.TypedDict):
    """Whether a backend supports a layer."""

    supported: bool
    reason: str
    """Why it is unsupported; empty if it is supported."""
    determinism: str
    """Which bits it repeats: "bounded", "bitwise" or "position"; empty if it is unsupported."""


class Share(typing.TypedDict):
    """What one of several devices of a model did."""

    images: int
    fault: str
    """Why it failed; empty if it did not."""


class Error(Exception):
    """Base class of the exceptions of lenslet; a message is one line."""


class UsageError(Error, ValueError):
    """An invalid argument: an unknown name, a number out of range."""


class DataError(Error, ValueError):
    """A file of weights or a plan cannot be read, or has other content than expected."""


class UnavailableError(Error, RuntimeError):
    """An unavailable device, or an unsupported backend or math mode."""


class DeviceError(Error, RuntimeError):
    """A GPU or a library failed while computing. After that the process can use the GPU no more."""


class OutOfMemoryError(Error, MemoryError):
    """The memory of the device, or the workspace limit, does not suffice."""


# Users see these as lenslet.DataError and so on, also in tracebacks.
for _class in (Error, UsageError, DataError, UnavailableError, DeviceError, OutOfMemoryError):
    _class.__module__ = "lenslet"
