"""out=: answers in arrays of the caller."""

import ctypes

import numpy as np
import pytest

import lenslet
from support import read_only


def test_answers_are_written_in_place(cpu_model, pixels):
    expected = cpu_model.predict(pixels)
    place = (np.full(6, -1, np.int32), np.full(6, -1, np.float32))
    found = cpu_model.predict(pixels, out=place)
    assert found.labels is place[0] and found.probabilities is place[1]
    assert (place[0] == expected.labels).all() and (place[1] == expected.probabilities).all()
    assert cpu_model.predict(pixels, out=expected).labels is expected.labels  # an earlier answer serves
    logits = np.empty((6, 10), np.float32)
    assert cpu_model.logits(pixels, out=logits) is logits and (logits == cpu_model.logits(pixels)).all()


def test_a_part_of_an_array_is_written_alone(cpu_model, pixels):
    room = np.full((8, 10), -1, np.float32)
    cpu_model.logits(pixels, out=room[1:7])
    assert (room[[0, 7]] == -1).all() and (room[1:7] == cpu_model.logits(pixels)).all()


def test_a_network_writes_in_place(root):
    network = lenslet.Model.load(root / "tests" / "models" / "onnx" / "mean_pool.onnx", device="cpu")
    samples = np.ones((2, 3, 32, 32), np.float32)
    place = np.empty((2, 10), np.float32)
    assert network.run(samples, out=place) is place and (place == network.run(samples)).all()
    one = np.empty(10, np.float32)
    assert network.run(samples[0], out=one) is one and (one == place[0]).all()


def test_tensors_of_pytorch_are_read_and_written_in_place(cpu_model, pixels):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    place = (torch.full((6,), -1, dtype=torch.int32), torch.zeros(6))
    addresses = [tensor.data_ptr() for tensor in place]
    found = cpu_model.predict(torch.from_numpy(pixels.copy()), out=place)
    assert found.labels is place[0] and [tensor.data_ptr() for tensor in found] == addresses
    written = (ctypes.c_int32 * 6).from_address(addresses[0])
    assert list(written) == list(cpu_model.predict(pixels).labels)


@pytest.mark.parametrize(
    "out, error, words",
    [
        (np.zeros((5, 10), np.float32), ValueError, r"out: expected the shape \[6, 10\], found .* float32 \(5, 10\)"),
        (np.zeros(60, np.float32), ValueError, r"expected the shape \[6, 10\]"),
        (np.zeros((6, 10)), TypeError, "expected a writable array of float32 .* found ndarray of float64"),
        (np.zeros((10, 6), np.float32).T, TypeError, "contiguous"),
        (read_only(np.zeros((6, 10), np.float32)), TypeError, "writable"),
        ([0.0] * 60, TypeError, "found list"),
    ],
)
def test_what_cannot_be_written_to_is_refused(cpu_model, pixels, out, error, words):
    with pytest.raises(error, match=words):
        cpu_model.logits(pixels, out=out)


def test_a_prediction_needs_two_arrays(cpu_model, pixels):
    with pytest.raises(TypeError, match="a tuple of two arrays"):
        cpu_model.predict(pixels, out=np.zeros(6, np.int32))
    with pytest.raises(TypeError, match=r"out\[1\]: expected a writable array of float32"):
        cpu_model.predict(pixels, out=(np.zeros(6, np.int32), np.zeros(6)))
