"""The compiled part of lenslet."""

import os
from typing import Any, NoReturn

import numpy
import numpy.typing

import lenslet._types


version: str = ...

class Model:
    """
    LeNet-5 with its weights on one device, ready to answer batches of any size.

    Made by `Model.load` or `Model.built_in`. Threads may share a model: they take turns, and each computes without the
    interpreter's lock. A signal handler may call the model that it interrupted. A model cannot be pickled or copied, and
    no model computes in a process forked after the first call.
    """

    @staticmethod
    def load(path: str | os.PathLike[str], *, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = None) -> Model:
        """
        Reads the weights from a safetensors file (weights/FORMAT.md).

        Args:
            path: The file.
            device: "cpu", "cuda" or "cuda:N"; "auto" takes a usable GPU, else the CPU.
            plan: "layered", layer by layer; "fused", the whole network at once; "auto"; or the path of a plan saved as JSON.
            backend: One name for all layers that know it, or by layer: "conv1=direct,conv2=winograd". With plan "fused" one
                of its variants. None leaves the choice to the library. `lenslet.backends` lists the names.
            math: "fp32", "tf32" or "fp16", of convolutions and matrix products. Never changed silently.
            max_batch: Images computed in one pass; more are cut into passes. None: 1,024 on the CPU, 65,536 on a GPU.
            workspace_limit: Bytes of scratch memory that a layer may take.

        Raises:
            UsageError: An invalid option value.
            DataError: The file is not there, is no safetensors file, or holds no LeNet-5.
            UnavailableError: The device, backend or math mode cannot serve; the message says why.
            OutOfMemoryError: The device's memory does not suffice.
        """

    @staticmethod
    def built_in(*, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = None) -> Model:
        """
        Takes the weights compiled into the package: 99.63 % of MNIST's test images.

        The arguments and errors are those of `load`.
        """

    def predict(self, images: lenslet._types.Images, *, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> lenslet._types.Prediction:
        """
        Reads digits: the class of each image and its probability.

        Args:
            images: [N, 28, 28], [N, 1, 28, 28] or [28, 28], a batch of one, of numpy or of anything with DLPack or the buffer
                protocol (a torch.Tensor on the CPU, say): uint8, ink bright on 0, or float32, normalised as `lenslet.normalize`
                does with the model's `normalization`. Contiguous arrays are read in place; others are copied part by part.
                N may be 0.
            plan, backend, math: Override what the model was loaded with, for this call. A plan comes with its own choice of
                backends unless `backend` is given too; a plan's file is read once.

        Returns:
            Prediction(labels int32 [N], probabilities float32 [N]).

        Raises:
            TypeError: `images` is no array, or of another type.
            ValueError: `images` has another shape, or lies in the memory of a GPU.
            UsageError, UnavailableError, OutOfMemoryError: As for `load`.
            DeviceError: The GPU failed.
        """

    def logits(self, images: lenslet._types.Images, *, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> numpy.typing.NDArray[numpy.float32]:
        """
        The 10 values of each image before softmax, float32 [N, 10].

        Arguments and errors are those of `predict`.
        """

    def profile(self, batch: int = 1, *, min_time_ms: float = 100.0, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> lenslet._types.Profile:
        """
        Times one pass of `batch` random images, layer by layer.

        Args:
            batch: Images in the pass, 1 to 1,048,576.
            min_time_ms: Measures for at least that long, up to 600,000.
            plan, backend, math: As for `predict`.

        Returns:
            A dict with "device", "plan", "batch", "total_ns" (a pass without the events between layers) and "layers", which
            maps each layer's name, in order, to its "backend", "math", "median_ns", "p10_ns" and "p90_ns". A fused plan has
            one layer, "lenet5".
        """

    def plan(self, batch: int = 1, *, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> dict[str, Any]:
        """
        The plan that a pass of `batch` images takes for bytes in and predictions out, as a dict.

        Written with `json.dump`, it is a file for `plan=`. Arguments are those of `profile`.
        """

    @property
    def device(self) -> str:
        """Where it computes: "cpu" or "cuda:0"."""

    @property
    def normalization(self) -> tuple[float, float]:
        """
        Mean and std that these weights want pixels normalised with: their file's, else MNIST's.
        """

    def __repr__(self) -> str: ...

    def __reduce__(self) -> NoReturn: ...

def backends(device: str = 'auto', *, math: str = 'fp32') -> dict[str, dict[str, lenslet._types.Backend]]:
    """
    What can compute each layer, in the order in which "auto" tries it.

    Args:
        device: As for `Model.load`.
        math: "fp32", "tf32" or "fp16".

    Returns:
        A dict from a layer's name to a dict from each backend's name to a dict: "serves"; "reason", why it does not;
        "determinism", which bits it repeats: "bounded", "bitwise" in every run of the same batch, or "position", whatever
        the batch and the image's place in it. The entry "lenet5" holds the variants of the fused plan. Each backend is
        prepared once to find out.

    Raises:
        UsageError: Another device or math mode.
        UnavailableError: The device is not there.
    """

def devices() -> list[str]:
    """
    The devices that serve here: "cpu", and "cuda:0" and so on where GPUs can be used.
    """

def normalize(images: lenslet._types.Images, mean: float = 0.1307, std: float = 0.3081) -> numpy.typing.NDArray[numpy.float32]:
    """
    Pixels as the network reads them: (x / 255 - mean) / std, each step rounded to float32.

    Args:
        images: uint8, of any shape and kind that `Model.predict` takes.
        mean, std: MNIST's, which the built-in weights want; for others `normalize(images, *model.normalization)`.

    Returns:
        float32 of the same shape.

    Raises:
        TypeError, ValueError: As for `Model.predict`.
        UsageError: A mean or std that is not finite, or a std that is not above 0.
    """

def num_threads() -> int:
    """
    Threads that the CPU side uses: LENSLET_NUM_THREADS, else the cores this process may run on.
    """

def set_num_threads(count: int) -> None:
    """
    Sets the number of threads of the CPU side, for all models, once no call computes.

    Args:
        count: 1 to 1,024.

    Raises:
        UsageError: Another number.
    """
