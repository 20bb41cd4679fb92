"""Arrays in the memory of a GPU: read and written in place, in the order of their library's stream."""

import ctypes
import gc

import numpy as np
import pytest

import lenslet
from support import run_script

COUNTS = (1, 64, 300)


class Interface:
    """What a library without DLPack offers."""

    def __init__(self, shape, typestr="|u1", address=4096, strides=None):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, False),
            "version": 3,
            "strides": strides,
            "stream": 1,
        }


def test_a_model_on_the_cpu_refuses_them(cpu_model):
    with pytest.raises(ValueError, match=r"images: expected host memory, found that of (cuda:0|a GPU)"):
        cpu_model.predict(Interface((2, 28, 28)))
    with pytest.raises(ValueError, match="inputs: expected host memory"):
        cpu_model.run(Interface((2, 1, 28, 28), "<f4"))


# A library of the name `torch`, whose tensors describe themselves by the C exchange of DLPack alone.
EXCHANGE = """
import ctypes, sys, types
import numpy

class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("ordinal", ctypes.c_int32)]

class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]

class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]

describe_type = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))
stream_type = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))

@describe_type
def describe(tensor, view):
    view[0] = View(4096, Device(2, 3), 3, Type(1, 8, 1), sizes.ctypes.data, steps.ctypes.data, 0)
    return 0

@stream_type
def current_stream(kind, ordinal, stream):
    stream[0] = None
    return 0

class Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("allocate", "export", "adopt", "describe", "current_stream")]

sizes, steps = numpy.array([2, 28, 28]), numpy.array([784, 28, 1])
refuse = ctypes.pythonapi.PyObject_GetBuffer  # in C, as ctypes drops what a callback returns beside an error
table = Exchange(int(sys.argv[1]), 3, None, None, None, None,
                 ctypes.cast(refuse if sys.argv[2] == "refuses" else describe, ctypes.c_void_p),
                 ctypes.cast(current_stream, ctypes.c_void_p))
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

class Tensor:
    __module__, __dlpack_c_exchange_api__ = "torch", capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)
    dtype, shape = "uint8", (2, 28, 28)
    is_cuda, get_device = True, lambda self: 5
    data_ptr, is_contiguous = lambda self: 4096, lambda self: True

class Subclass(Tensor):
    __module__ = "torch"

torch = types.ModuleType("torch")
torch.Tensor, torch.uint8, torch.int32, torch.float32 = Tensor, "uint8", "int32", "float32"
torch.cuda, torch._C = types.SimpleNamespace(current_stream=None), types.SimpleNamespace()
torch._C._cuda_getCurrentRawStream = lambda ordinal: 0
sys.modules["torch"] = torch
import lenslet

model = lenslet.Model.built_in(device="cpu")
for tensor in (Tensor(), Subclass()):
    try:
        model.predict(tensor)
    except ValueError as error:
        print(error)
"""


BY_EXCHANGE, BY_ATTRIBUTES = "found that of cuda:3", "found that of cuda:5"


@pytest.mark.parametrize(
    "major, answer, expected",
    [
        (1, "describes", BY_EXCHANGE),
        (2, "describes", BY_ATTRIBUTES),  # another layout
        (1, "refuses", BY_ATTRIBUTES),  # a tensor that DLPack cannot describe
    ],
)
def test_tensors_are_described_by_the_exchange_of_their_own_type(major, answer, expected):
    lines = run_script(EXCHANGE, str(major), answer).splitlines()
    assert len(lines) == 2
    assert expected in lines[0]
    assert BY_ATTRIBUTES in lines[1], "a subclass may have no memory"


@pytest.mark.parametrize("shape", [-1, (3, -1), (2**62, 2**62), ("a",), (1.5,)])
def test_pinned_memory_of_no_size_is_refused(shape):
    with pytest.raises(ValueError, match="shape: expected whole numbers from 0 on"):
        lenslet.empty_pinned(shape)


def test_pinned_memory_needs_a_gpu(images):
    if "cuda:0" not in lenslet.devices():
        with pytest.raises(lenslet.UnavailableError, match="page-locked memory needs a GPU"):
            lenslet.empty_pinned((3, 28, 28))
        return
    model = lenslet.Model.built_in(device="cuda")
    pinned = lenslet.empty_pinned((30_000, 28, 28), np.uint8)
    assert pinned.dtype == np.uint8 and lenslet.empty_pinned(7, "float32").shape == (7,)
    pinned[:] = np.tile(images, (100, 1, 1))
    expected = model.predict(images)  # small enough for one pass
    for array in (pinned, pinned.copy()):
        found = model.predict(array)
        assert np.array_equal(found.labels, np.tile(expected.labels, 100))
        assert np.array_equal(found.probabilities, np.tile(expected.probabilities, 100))


@pytest.fixture(scope="module")
def gpu(torch_cuda):
    return torch_cuda


def parameter(torch, tensor):
    """The tensor as a subclass, which its attributes describe: DLPack's exchange describes torch.Tensor alone."""
    return torch.nn.Parameter(tensor, requires_grad=False)


@pytest.fixture(scope="module", params=["fp32", "fp16"])
def on_gpu(gpu, request):
    return lenslet.Model.built_in(device="cuda", plan="fused", math=request.param)


def same(tensor, array):
    return np.array_equal(tensor.cpu().numpy(), array)


@pytest.mark.parametrize("count", COUNTS)
def test_tensors_give_the_bits_of_arrays(gpu, on_gpu, images, count):
    for array in (images[:count], lenslet.normalize(images[:count])):
        expected, logits = on_gpu.predict(array, check=False), on_gpu.logits(array, check=False)
        tensor = gpu.from_numpy(array).cuda()
        for view in (tensor, tensor[:, None], tensor[:, :, :, None]):
            found = on_gpu.predict(view)
            assert isinstance(found, lenslet.Prediction)
            assert found.labels.device == tensor.device and found.labels.dtype == gpu.int32
            assert found.probabilities.dtype == gpu.float32 and found.labels.shape == (count,)
            assert same(found.labels, expected.labels) and same(found.probabilities, expected.probabilities)
            assert same(on_gpu.logits(view), logits)
        assert same(tensor, array)
    values = lenslet.normalize(images[:count])[:, None]
    assert same(on_gpu.run(gpu.from_numpy(values).cuda()), on_gpu.run(values))


@pytest.mark.parametrize("count", COUNTS)
def test_packed_tensors_give_the_bits_of_arrays(gpu, on_gpu, images, count):
    packed = lenslet.pack(images[:count])
    expected, logits = on_gpu.predict(packed, dtype="uint4"), on_gpu.logits(packed, dtype="uint4")
    tensor = gpu.from_numpy(packed).cuda()
    found = on_gpu.predict(tensor, dtype="uint4")
    assert same(found.labels, expected.labels) and same(found.probabilities, expected.probabilities)
    assert same(on_gpu.logits(tensor, dtype="uint4"), logits)
    assert on_gpu.predict(tensor[0], dtype="uint4").labels.shape == (1,)
    with pytest.raises(ValueError, match=r"expected the shape \[N, 28, 14\]"):
        on_gpu.predict(gpu.from_numpy(images[:count]).cuda(), dtype="uint4")
    with pytest.raises(TypeError, match="expected uint8, found float32"):
        on_gpu.predict(tensor.float(), dtype="uint4")


def test_one_image_and_none(gpu, on_gpu, images):
    assert on_gpu.predict(gpu.from_numpy(images[0]).cuda()).labels.shape == (1,)
    none = gpu.zeros((0, 28, 28), dtype=gpu.uint8, device="cuda")
    assert on_gpu.predict(none).labels.shape == (0,) and on_gpu.logits(none).shape == (0, 10)


def test_answers_are_written_in_place(gpu, on_gpu, images):
    tensor = gpu.from_numpy(images).cuda()
    expected = on_gpu.predict(images)
    place = (gpu.full((300,), -1, dtype=gpu.int32, device="cuda"), gpu.zeros(300, device="cuda"))
    found = on_gpu.predict(tensor, out=place)
    assert found.labels is place[0] and found.probabilities is place[1]
    assert same(place[0], expected.labels) and same(place[1], expected.probabilities)
    labels, probabilities = gpu.zeros(301, dtype=gpu.int32, device="cuda"), gpu.zeros(301, device="cuda")
    on_gpu.predict(tensor, out=(labels[1:], probabilities[1:]))  # a multiple of 4 bytes is enough
    assert same(labels[1:], expected.labels) and same(probabilities[1:], expected.probabilities)
    room = gpu.full((302, 10), -1.0, device="cuda")
    on_gpu.logits(tensor[:256], out=room[2:258])
    assert same(room[2:258], on_gpu.logits(images[:256])) and bool((room[258:] == -1).all())


@pytest.mark.parametrize("by", ["exchange", "attributes"])
def test_calls_follow_the_current_stream(gpu, on_gpu, images, by):
    """The producer writes late, on a stream of its own; the consumer reads there, too. Nothing waits on the host."""
    expected, late = on_gpu.predict(images).labels, gpu.from_numpy(images).cuda()
    tensor = gpu.zeros_like(late)
    if by == "attributes":
        tensor = parameter(gpu, tensor)

    def read():
        tensor.copy_(late, non_blocking=True)
        found = on_gpu.predict(tensor)
        doubled = found.labels * 2
        tensor.zero_()  # after the call has read it
        return found, doubled

    read()  # prepared; and a kernel's first launch loads it, which waits
    gpu.cuda._sleep(1)
    stream = gpu.cuda.Stream()
    gpu.cuda.synchronize()
    with gpu.cuda.stream(stream):
        gpu.cuda._sleep(200_000_000)  # a tenth of a second
        found, doubled = read()
        assert not stream.query(), "the call waited"
    stream.synchronize()
    assert same(found.labels, expected) and same(doubled, 2 * expected)


def test_a_call_follows_the_stream_of_that_call(gpu, on_gpu, images):
    """Neither the stream nor the memory of an earlier call is used again."""
    expected, tensor = on_gpu.predict(images).labels, gpu.zeros((300, 28, 28), dtype=gpu.uint8, device="cuda")
    place = (gpu.zeros(300, dtype=gpu.int32, device="cuda"), gpu.zeros(300, device="cuda"))
    on_gpu.predict(tensor, out=place)
    gpu.cuda.synchronize()
    for stream in (gpu.cuda.Stream(), gpu.cuda.Stream()):
        place[0].fill_(-1)
        tensor.zero_()
        gpu.cuda.synchronize()
        with gpu.cuda.stream(stream):
            gpu.cuda._sleep(20_000_000)
            tensor.copy_(gpu.from_numpy(images), non_blocking=True)
            on_gpu.predict(tensor, out=place)
        stream.synchronize()
        assert same(place[0], expected)
    tensor.set_(gpu.from_numpy(np.roll(images, 1, axis=0)).cuda())  # the same object at another address
    assert same(on_gpu.predict(tensor).labels, np.roll(expected, 1))


def test_a_graph_records_calls(gpu, on_gpu, images):
    tensor = gpu.zeros((300, 28, 28), dtype=gpu.uint8, device="cuda")
    fresh = gpu.zeros((77, 28, 28), dtype=gpu.uint8, device="cuda")
    with pytest.raises(lenslet.UsageError, match="make the same call once before the capture"):
        with gpu.cuda.graph(gpu.cuda.CUDAGraph()):
            fresh.zero_()  # PyTorch warns of an empty graph
            on_gpu.predict(fresh)
    on_gpu.predict(tensor)
    graph = gpu.cuda.CUDAGraph()
    with gpu.inference_mode(), gpu.cuda.graph(graph):
        found = on_gpu.predict(tensor)
    for shift in range(3):
        shifted = np.roll(images, shift, axis=0)
        tensor.copy_(gpu.from_numpy(shifted))
        graph.replay()
        assert same(found.labels, on_gpu.predict(shifted).labels)


def test_what_cannot_be_read_or_written_is_refused(gpu, on_gpu, images):
    tensor = gpu.from_numpy(images).cuda()
    with pytest.raises(ValueError, match="images: expected a contiguous array"):
        on_gpu.predict(tensor.transpose(1, 2))
    for array in (tensor[::2], parameter(gpu, tensor[::2])):
        with pytest.raises(ValueError, match="expected a contiguous array"):
            on_gpu.predict(array)
    with pytest.raises(TypeError, match="expected uint8 or float32, found torch.float16"):
        on_gpu.predict(tensor.half())
    with pytest.raises(ValueError, match=r"expected the shape \[N, 28, 28\].*found \[300, 784\]"):
        on_gpu.predict(tensor.reshape(300, 784))
    with pytest.raises(ValueError, match="invert"):
        on_gpu.predict(tensor, invert=True)
    with pytest.raises(TypeError, match="expected an array in the memory of the GPU"):
        on_gpu.logits(tensor, out=np.zeros((300, 10), np.float32))
    with pytest.raises(TypeError, match="out: expected float32, found torch.float64"):
        on_gpu.logits(tensor, out=gpu.zeros((300, 10), device="cuda", dtype=gpu.float64))
    with pytest.raises(TypeError, match="out: expected float32, found int32"):
        on_gpu.logits(tensor, out=gpu.zeros((300, 10), device="cuda", dtype=gpu.int32))
    with pytest.raises(ValueError, match=r"out: expected the shape \[300, 10\], found \[300, 9\]"):
        on_gpu.logits(tensor, out=gpu.zeros((300, 9), device="cuda"))
    with pytest.raises(lenslet.UsageError, match="the answers' place must be aligned to 16 bytes, found 8 bytes past"):
        on_gpu.logits(tensor, out=gpu.zeros((301, 10), device="cuda")[1:])
    with pytest.raises(lenslet.UnavailableError, match="reads fp32 and writes fp32|no backend supports fp16"):
        on_gpu.predict(tensor, plan="layered")


def test_calls_are_flat_in_memory(gpu, on_gpu, images):
    tensor = gpu.from_numpy(images[:64]).cuda()

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    for _ in range(1000):
        on_gpu.predict(tensor)
    gpu.cuda.synchronize()
    gc.collect()
    pages, free = resident(), gpu.cuda.mem_get_info()[0]
    for _ in range(10_000):
        on_gpu.predict(tensor)
    gpu.cuda.synchronize()
    gc.collect()
    assert resident() - pages < 512, "2 MiB of host memory"
    assert free - gpu.cuda.mem_get_info()[0] < 1 << 22


def test_arrays_of_cupy(gpu, on_gpu, images):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    expected = on_gpu.predict(images)
    with cupy.cuda.Stream(non_blocking=True):
        array = cupy.asarray(images)
        found = on_gpu.predict(array)
        assert isinstance(found.labels, cupy.ndarray)
        assert np.array_equal(cupy.asnumpy(found.labels), expected.labels)
        assert np.array_equal(cupy.asnumpy(found.probabilities), expected.probabilities)
        with pytest.raises(ValueError, match="contiguous"):
            on_gpu.predict(array[::2])


def test_arrays_of_jax(gpu, on_gpu, images):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as why:
        pytest.skip(f"JAX sees no GPU: {why}")
    expected, logits = on_gpu.predict(images), on_gpu.logits(images)
    for _ in range(20):
        array = jax.device_put(images, device) + 0  # computed by JAX, perhaps not yet
        found = on_gpu.predict(array)
        values = on_gpu.logits(array)
        del array
        assert isinstance(found.labels, jax.Array) and found.labels.devices() == {device}
        assert np.array_equal(np.asarray(found.labels + 0), expected.labels)
        assert np.array_equal(np.asarray(values), logits)


def test_arrays_with_the_interface_alone(gpu, on_gpu, images):
    tensor = gpu.from_numpy(images).cuda()
    gpu.cuda.synchronize()
    found = on_gpu.predict(Interface((300, 28, 28), address=tensor.data_ptr()))
    assert isinstance(found.labels, lenslet.GpuArray) and found.labels.shape == (300,)
    expected = on_gpu.predict(images)
    assert same(gpu.from_dlpack(found.labels), expected.labels)
    assert same(gpu.as_tensor(found.probabilities, device="cuda"), expected.probabilities)
    host = np.zeros((300, 28, 28), np.uint8)
    with pytest.raises(lenslet.UsageError, match="found host memory"):
        on_gpu.predict(Interface((300, 28, 28), address=host.ctypes.data_as(ctypes.c_void_p).value))
