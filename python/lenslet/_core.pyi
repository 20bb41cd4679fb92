"""The compiled part of lenslet."""

import os
from typing import Any, NoReturn

import numpy
import numpy.typing

import lenslet._notebook
import lenslet._types


version: str = ...

class Model:
    """
    A network with its weights on a device: LeNet-5, or that of an ONNX file. Takes batches of any size.

    Make one with `Model.load` or `Model.built_in`. Threads may share a model: they take turns, and each computes without
    the interpreter's lock. A signal handler may call the model that it interrupted. A model cannot be pickled or copied,
    and no model computes in a process forked after the first call.
    """

    @staticmethod
    def load(path: str | os.PathLike[str], *, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = None, graph: str = 'auto') -> Model:
        """
        Reads the weights from a safetensors file (weights/FORMAT.md) or an ONNX file (docs/models.md).

        Args:
            path: The file, or a built-in set: "robust" for pictures, or "mnist".
            device: "cpu", "cuda" or "cuda:N"; "auto" takes a usable GPU, else the CPU. "cuda:all" and "cuda:0,2" take several
                GPUs, which divide the images in host memory of each call.
            plan: "layered", layer by layer; "fused", the whole network at once; "auto"; or the path of a plan saved as JSON.
            backend: One name for all layers that have it, or by layer: "conv1=direct,conv2=winograd". With plan "fused" one
                for the whole network. None: the library chooses. `lenslet.backends` lists the names.
            math: "fp32", "tf32", "fp16" or "int8", for convolutions and matrix products. Never changed silently.
            max_batch: Images computed in one pass; more take several. None: 1,024 on the CPU, 65,536 on a GPU, fewer for a
                network with large layers.
            workspace_limit: Bytes of scratch memory that a layer may take.
            graph: Which passes a GPU replays as a captured CUDA graph: "auto", those of up to 256 images that are computed
                layer by layer; "on", each; "off", none. The second call with a number of images captures; if that fails, it
                raises the error, and later calls launch the kernels one by one. "on" is refused on the CPU.

        Raises:
            UsageError: An invalid option value.
            DataError: The file is missing, is of neither format, or has a network that Lenslet cannot run; the message
                names all nodes that keep it from running.
            UnavailableError: The device is unavailable, or the backend or math mode unsupported; the message has the reason.
            OutOfMemoryError: The device has too little memory.
        """

    @staticmethod
    def built_in(*, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = None, graph: str = 'auto') -> Model:
        """
        Uses the weights in the package, which classify 99.63 % of MNIST's test images correctly.

        The arguments and errors are those of `load`.
        """

    def predict(self, images: lenslet._types.Images, *, dtype: str | None = None, invert: bool = False, check: bool = True, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None, out: tuple[lenslet._types.Output, lenslet._types.Output] | None = None) -> lenslet._types.Prediction:
        """
        Returns the digit of each image and its probability.

        Args:
            images: [N, 28, 28], [N, 1, 28, 28], [N, 28, 28, 1], or [28, 28] for one image. A NumPy array, or any object
                with DLPack or the buffer protocol, such as a torch.Tensor. uint8, ink bright on 0; or float32, normalised by
                `lenslet.normalize` with the model's `normalization`. Contiguous arrays are read in place, others are copied
                in parts. N may be 0. Contiguous arrays in the memory of the model's GPU (PyTorch, CuPy, JAX, DLPack, CUDA
                Array Interface) are read there, on the library's current stream: the call enqueues its work and returns.
            dtype: "uint4" for images that `lenslet.pack` packed, uint8 [N, 28, 14] or [28, 14]: half the bytes for a GPU's
                bus, at the price of rounding. None: the array's own type.
            invert: Exchange dark and bright: for dark ink on light paper. Not on a GPU.
            check: Refuse float32 with a NaN or an infinity, images that are dark on light, and float32 that is not
                normalised; for the last two after a look at 64 images. Arrays on a GPU are not looked at.
            plan, backend, math: Override the model's options for this call. A plan has its own choice of backends, unless
                `backend` is given too. A plan's file is read once.
            out: Two arrays to write to in place, contiguous, where `images` are, such as a Prediction of the same N or
                tensors of PyTorch. They must not overlap `images`; after an error their contents are undefined.

        Returns:
            Prediction(labels int32 [N], probabilities float32 [N]): new arrays, or those of `out`. Of images on a GPU they are
            arrays of the same library on the same device.

        Raises:
            TypeError: `images` is no array, or has another type; or `out` cannot be written to in place.
            ValueError: `images` or `out` has another shape; `images` fails `check`, is in the memory of another device than
                the model's GPU, or has gaps there.
            DataError: The network does not read 28x28 images, or write ten values in one dimension: call `run`.
            UsageError, UnavailableError, OutOfMemoryError: As for `load`.
            DeviceError: The GPU failed.
        """

    def logits(self, images: lenslet._types.Images, *, dtype: str | None = None, invert: bool = False, check: bool = True, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None, out: lenslet._types.Output | None = None) -> numpy.typing.NDArray[numpy.float32]:
        """
        Returns the 10 values of each image before softmax, float32 [N, 10]: a new array, or `out`.

        Arguments and errors are those of `predict`; `out` is one array.
        """

    def read(self, picture: lenslet._types.Picture) -> lenslet._types.Reading:
        """
        Reads the number in a picture, one digit or several in a row, as `lenslet.read` does.

        Args:
            picture: The path of a PNG, JPEG, BMP or PNM file; the bytes of one; or pixels, uint8 [H, W] or [H, W, C] with 1
                grey, 2 grey and alpha, 3 RGB or 4 RGBA channels; or a picture of Pillow. Dark on light or light on dark.

        Returns:
            Reading. A picture without a number is not an error: `number` is empty and `reason` has why. Only weights with an
            `energy_threshold`, such as "robust", refuse letters.

        Raises:
            TypeError, ValueError: `picture` is none of these, or an array of another type or shape.
            DataError: The file is missing, damaged or of another format, or the network reads no digits.
            UsageError, OutOfMemoryError, DeviceError: As for `predict`.
        """

    def show(self, picture: lenslet._types.Picture, *, batch: int = 1, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> lenslet._notebook.Page:
        """
        Shows what the network does with a picture, as `lenslet show` does: what it reads, each layer's values and times.

        Args:
            picture: As for `read`. A network of other pictures than digits takes it scaled to what it reads.
            batch: Images in the pass that is timed, 1 to 1,024.
            plan, backend, math: As for `predict`. Layers are computed one by one.

        Returns:
            Page: a notebook shows it; `html` is the document and `save(path)` writes it. At most 1 MB, and loads nothing.

        Raises:
            TypeError, ValueError: As for `read`.
            DataError: As for `read`, or the network reads no pictures or is too large for a page.
            UsageError, UnavailableError, OutOfMemoryError, DeviceError: As for `predict`.
        """

    def run(self, inputs: lenslet._types.Inputs, *, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None, out: lenslet._types.Output | None = None) -> numpy.typing.NDArray[numpy.float32]:
        """
        Runs any network on samples and returns what it writes.

        Args:
            inputs: [N, *input_shape], or one sample of input_shape; float32, the values that the network reads: nothing is
                normalised here. Kinds of array and memory as for `predict`. N may be 0.
            plan, backend, math: As for `predict`.
            out: An array to write to, of the shape that is returned; as for `predict`.

        Returns:
            float32 [N, *output_shape], or output_shape for one sample without N: a new array, or `out`.

        Raises:
            TypeError: `inputs` is no array, or has another type; or `out` cannot be written to in place.
            ValueError: `inputs` or `out` has another shape, or `inputs` is in the memory of another device than the model's
                GPU, or has gaps there.
            UsageError, UnavailableError, OutOfMemoryError: As for `load`.
            DeviceError: The GPU failed.
        """

    def profile(self, batch: int = 1, *, min_time_ms: float = 100.0, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> lenslet._types.Profile:
        """
        Times one pass of `batch` random images, layer by layer.

        Args:
            batch: Images in the pass, 1 to 1,048,576.
            min_time_ms: Least time to measure, up to 600,000.
            plan, backend, math: As for `predict`, except that plan "auto" is "layered" here.

        Returns:
            A dict with "device", "plan", "batch", "total_ns" (a pass without events between the layers) and "layers". These
            map each layer's name, in order, to its "backend", "math", "median_ns", "p10_ns" and "p90_ns". A whole-network plan
            has one layer, "lenet5". A notebook shows a table.
        """

    def plan(self, batch: int = 1, *, plan: str | os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> dict[str, Any]:
        """
        Returns the plan of a pass of `batch` images with bytes in and predictions out, as a dict.

        Save it with `json.dump` to get a file for `plan=`. The arguments are those of `profile`.
        """

    @property
    def device(self) -> str:
        """Where it computes: "cpu", "cuda:0" or, on several GPUs, "cuda:0,2"."""

    @property
    def shares(self) -> dict[str, lenslet._types.Share]:
        """
        What each of several devices did in all calls for images in host memory, by device; empty for one device.

        A dict of dicts: "images", how many it computed; "fault", why it failed, or an empty text.
        """

    @property
    def input_shape(self) -> tuple[int, ...]:
        """
        Shape of one sample that the network reads, without the batch: (1, 28, 28) for LeNet-5.
        """

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of what it writes for one sample: (10,) for LeNet-5."""

    @property
    def layers(self) -> list[lenslet._types.Layer]:
        """
        Every layer in order of execution, and the code that computes it in a `run` of one sample.

        `computed_by` is the layer's own name, or the one that it is fused into; with the whole-network plan the model's.
        """

    @property
    def normalization(self) -> tuple[float, float]:
        """
        Mean and std to normalise pixels with for these weights: those of their file, else MNIST's.
        """

    @property
    def energy_threshold(self) -> float:
        """
        An image whose `log(sum(exp(logits)))` is not above it shows no digit. NaN if the weights have none.
        """

    def __repr__(self) -> str: ...

    def __reduce__(self) -> NoReturn: ...

def backends(device: str = 'auto', *, math: str = 'fp32', model: str | os.PathLike[str] | None = None) -> dict[str, dict[str, lenslet._types.Backend]]:
    """
    Lists the backends of each layer, in the order in which "auto" tries them.

    Args:
        device: As for `Model.load`.
        math: "fp32", "tf32", "fp16" or "int8".
        model: An ONNX file, whose layers are listed; None: LeNet-5's.

    Returns:
        A dict by layer, then by backend, of dicts: "supported", whether it is supported; "reason", why it is not;
        "determinism", which bits it repeats: "bounded", "bitwise" in every run of the same batch, or "position" in any
        batch and at any place in it. For LeNet-5 the entry "lenet5" has the whole-network backends. Each
        backend is prepared once to find out.

    Raises:
        UsageError: An unknown device or math mode.
        DataError: The file is missing or damaged, or has a network that Lenslet cannot run.
        UnavailableError: The device does not exist.
    """

def devices() -> list[str]:
    """
    Lists the usable devices: "cpu", and "cuda:0" and so on if there are usable GPUs.
    """

class GpuArray:
    """
    Answers in the memory of a GPU, for libraries whose arrays Lenslet cannot make.

    Any library with DLPack or the CUDA Array Interface reads it without a copy. The memory is freed in the order of the
    default stream: on another one, keep the array until the work is done.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3."""

    def __dlpack__(self, *, stream: int | None = None, **others: Any) -> Any:
        """A capsule; the stream waits until the answers are written."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA, and the number of the GPU."""

def normalize(images: lenslet._types.Images, mean: float = 0.1307, std: float = 0.3081) -> numpy.typing.NDArray[numpy.float32]:
    """
    Normalises pixels for the network: (x / 255 - mean) / std, each step rounded to float32.

    Args:
        images: uint8, in any shape and kind of array that `Model.predict` accepts.
        mean, std: MNIST's by default, for the built-in weights. For others: `normalize(images, *model.normalization)`.

    Returns:
        float32 of the same shape.

    Raises:
        TypeError, ValueError: As for `Model.predict`.
        UsageError: The mean or std is not finite, or the std is not above 0.
    """

def pack(images: lenslet._types.Images) -> numpy.typing.NDArray[numpy.uint8]:
    """
    Packs pixels to 4 bits each, for `dtype="uint4"` of `Model.predict` and `Model.logits`.

    Two neighbouring pixels share a byte, the first in its low half. A pixel x becomes the code (x + 8) // 17; a code c
    stands for the grey 17 * c. So packing rounds to the nearest of 16 greys, and some answers differ from those for the
    pixels.

    Args:
        images: uint8, in any shape and kind of array that `Model.predict` accepts.

    Returns:
        uint8 [N, 28, 14], or [28, 14] for one image: 392 bytes per image.

    Raises:
        TypeError, ValueError: As for `Model.predict`.
    """

def empty_pinned(shape: int | tuple[int, ...], dtype: numpy.typing.DTypeLike = 'uint8') -> numpy.typing.NDArray[Any]:
    """
    Returns an uninitialised array in page-locked memory, which a GPU reads over the bus without a copy by the host.

    Args:
        shape: A number or a tuple of them.
        dtype: As NumPy takes it.

    Returns:
        An array of NumPy. `predict`, `logits` and `run` read it in place, fastest for many images.

    Raises:
        UnavailableError: There is no usable GPU.
        OutOfMemoryError: The system gives no more page-locked memory.
    """

def num_threads() -> int:
    """
    Returns the number of CPU threads: LENSLET_NUM_THREADS, else the cores that the process may run on.
    """

def set_num_threads(count: int) -> None:
    """
    Sets the number of CPU threads for all models, as soon as no call computes.

    Args:
        count: 1 to 1,024.

    Raises:
        UsageError: The number is out of range.
    """
