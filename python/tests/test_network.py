"""Networks of ONNX files: `run`, shapes, layers, and what is refused."""

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lenslet
from support import check_logits, read_only, unaligned
from tolerances import LOGIT_TOLERANCE

SHAPE = (3, 32, 32)


@pytest.fixture(scope="module")
def network_file(root):
    return root / "tests" / "models" / "onnx" / "mean_pool.onnx"


@pytest.fixture(scope="module")
def network(network_file):
    return lenslet.Model.load(network_file, device="cpu")


@pytest.fixture(scope="module")
def samples():
    return np.random.default_rng(5).uniform(-1, 1, (9, *SHAPE)).astype(np.float32)


VIEWS = {
    "in order": lambda a: a,
    "one sample": lambda a: a[3],
    "no sample": lambda a: a[:0],
    "every other": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "channels backwards": lambda a: a[:, ::-1],
    "one transposed": lambda a: a[3].transpose(0, 2, 1),
    "channels last in memory": lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    "Fortran order": np.asfortranarray,
    "repeated": lambda a: np.broadcast_to(a[5], (4, *SHAPE)),
    "cut out": lambda a: np.pad(a, ((0, 0), (1, 0), (2, 3), (4, 1)))[:, 1:, 2:34, 4:36],
    "read-only": read_only,
    "unaligned": unaligned,
}


@pytest.mark.parametrize("name", VIEWS)
def test_run_reads_every_view(network, samples, name):
    view = VIEWS[name](samples)
    before = view.copy()
    outputs = network.run(view)
    assert outputs.dtype == np.float32
    assert outputs.shape == ((10,) if view.ndim == 3 else (len(view), 10))
    assert outputs.tobytes() == network.run(np.array(view, order="C", copy=True)).tobytes()
    assert np.array_equal(view, before)


def test_run_is_the_same_in_parts(network, network_file, samples):
    whole = network.run(samples)
    in_parts = lenslet.Model.load(network_file, device="cpu", max_batch=2)
    assert in_parts.run(samples[::-1]).tobytes() == whole[::-1].tobytes()
    assert in_parts.run(samples).tobytes() == whole.tobytes()
    assert all(network.run(samples[i]).tobytes() == whole[i].tobytes() for i in range(len(samples)))


def test_run_agrees_with_onnx_runtime(network, network_file, samples):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(network_file), providers=["CPUExecutionProvider"])
    expected = session.run(None, {session.get_inputs()[0].name: samples})[0]
    assert np.abs(network.run(samples) - expected).max() <= 1e-5


def test_run_of_the_digit_model_writes_logits(cpu_model, images):
    floats = lenslet.normalize(images)
    assert cpu_model.input_shape == (1, 28, 28) and cpu_model.output_shape == (10,)
    assert cpu_model.run(floats[:, None]).tobytes() == cpu_model.logits(floats).tobytes()


REFUSED = {
    "another shape": (
        np.zeros((2, 3, 32, 31), np.float32),
        ValueError,
        r"\[N, 3, 32, 32\] or \[3, 32, 32\], found \[2, 3, 32, 31\]",
    ),
    "channels last": (np.zeros((32, 32, 3), np.float32), ValueError, r"found \[32, 32, 3\]"),
    "a dimension more": (np.zeros((1, 1, *SHAPE), np.float32), ValueError, "expected the shape"),
    "a dimension less": (np.zeros((32, 32), np.float32), ValueError, "expected the shape"),
    "a scalar": (np.zeros((), np.float32), ValueError, "expected the shape"),
    "pixels": (np.zeros((2, *SHAPE), np.uint8), TypeError, "inputs: expected float32, found uint8"),
    "double": (np.zeros((2, *SHAPE)), TypeError, "found float64; convert with inputs.astype"),
    "a list": ([[0.0]], TypeError, "inputs: expected an array"),
    "nothing": (None, TypeError, "inputs: expected an array"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_run_refuses(network, name):
    inputs, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        network.run(inputs)


def test_other_choices_of_a_call(network, samples):
    expected = network.run(samples)
    outputs = network.run(samples, backend="stem=im2col_gemm")
    assert np.abs(outputs - expected).max() <= 1e-5
    with pytest.raises(lenslet.UsageError, match="stem"):
        network.run(samples[:0], backend="stem=fancy")
    with pytest.raises(lenslet.UnavailableError):
        network.run(samples[:0], plan="fused")


def test_predict_is_for_digits(network, images):
    for call in (network.predict, network.logits):
        for given in (images, np.zeros((2, *SHAPE), np.float32), images[:0]):
            with pytest.raises(lenslet.DataError, match=r"reads 3x32x32 and writes 10; run\(\) supports any network"):
                call(given)


def test_layers(network):
    layers = network.layers
    assert all(isinstance(layer, lenslet.Layer) for layer in layers)
    names = {layer.name: layer for layer in layers}
    stem = names["stem"]
    assert (stem.type, stem.input_shape, stem.output_shape) == ("conv2d", SHAPE, (8, 16, 16))
    assert stem.computed_by == "stem" and stem.backend
    assert layers[-1].output_shape == network.output_shape == (10,)
    for layer in layers:
        assert names[layer.computed_by].backend == layer.backend
    assert set(network.profile(1, min_time_ms=1)["layers"]) == {layer.computed_by for layer in layers}
    built_in = lenslet.Model.built_in(device="cpu", plan="fused")
    assert {layer.computed_by for layer in built_in.layers} == {"lenet5"}


def test_threads_share_a_network(network, samples):
    expected = network.run(samples).tobytes()
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: network.run(samples).tobytes() == expected, range(80)))


def test_backends_of_its_layers(network_file, network, root):
    table = lenslet.backends("cpu", model=network_file)
    assert list(table) == [layer.name for layer in network.layers]  # no whole-network backends
    assert table["stem"]["direct"] == {"supported": True, "reason": "", "determinism": "position"}
    assert not table["stem"]["depthwise"]["supported"] and "one group" in table["stem"]["depthwise"]["reason"]
    for layer, names in table.items():
        usable = next(name for name, entry in names.items() if entry["supported"])
        assert lenslet.Model.load(network_file, device="cpu", backend=f"{layer}={usable}").layers
    assert list(lenslet.backends("cpu", model=root / "tests/models/onnx/lenet5.onnx"))[-1] == "lenet5"
    with pytest.raises(lenslet.DataError, match="none.onnx"):
        lenslet.backends("cpu", model="none.onnx")


def test_digits_of_keras_have_channels_last(root):
    model = lenslet.Model.load(root / "tests/models/onnx/keras/digits.onnx", device="cpu")
    assert model.input_shape == (28, 28, 1) and model.normalization == (0, 1)
    images = np.zeros((3, 28, 28, 1), np.uint8)
    images[:, 4:24, 13:15] = 255
    answers = model.predict(images)
    assert list(answers.labels) == [1, 1, 1]
    assert np.array_equal(model.predict(images[..., 0]).labels, answers.labels)
    probabilities = model.run(images / np.float32(255))
    assert np.array_equal(probabilities.argmax(1), answers.labels)
    with pytest.raises(ValueError, match=r"\[N, 28, 28, 1\]"):
        model.predict(images.transpose(0, 3, 1, 2)[:, :, :, :14])


def test_lenet5_of_keras_takes_every_plan(root):
    file = root / "tests/models/onnx/keras/lenet5.onnx"
    images = np.random.default_rng(2).random((3, 28, 28, 1), np.float32)
    layered, fused = (lenslet.Model.load(file, device="cpu", plan=plan) for plan in ("layered", "fused"))
    assert fused.input_shape == (28, 28, 1) and fused.normalization == (0, 1)
    check_logits(fused.run(images), layered.run(images), LOGIT_TOLERANCE)


def test_a_signal_ends_a_long_run(network_file):
    model = lenslet.Model.load(network_file, device="cpu", max_batch=16)
    many = np.broadcast_to(np.zeros(SHAPE, np.float32), (200_000, *SHAPE))
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("the alarm")))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="the alarm"):
            model.run(many)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
