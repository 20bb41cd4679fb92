"""Results against PyTorch run here with the same weights, and tensors as images."""

import numpy as np
import pytest

import lenslet
from lenet5 import load_safetensors
from support import check_logits, softmax
from tolerances import LOGIT_TOLERANCE, probability_bound


@pytest.fixture(scope="module")
def torch_logits(torch, weights_file, table):
    """A function from uint8 images [N, 28, 28] to PyTorch's logits on the CPU, in fp32 or fp64."""
    from make_golden import run_logits

    arrays, _ = load_safetensors(weights_file)

    def compute(images, dtype=torch.float32):
        with torch.no_grad():
            return run_logits(images, arrays, dtype, "cpu").numpy()

    return compute


@pytest.mark.parametrize("count", [1, 2, 33, 300])
def test_logits_are_those_of_pytorch(model, images, torch_logits, count):
    expected = torch_logits(images[:count])
    check_logits(model.logits(images[:count]), expected, LOGIT_TOLERANCE)
    check_logits(model.logits(lenslet.normalize(images[:count])), expected, LOGIT_TOLERANCE)


def test_every_plan_is_as_exact_as_pytorch(device, images, torch, torch_logits):
    exact = torch_logits(images, torch.float64)
    model = lenslet.Model.built_in(device=device)
    largest = np.abs(torch_logits(images) - exact).max()
    for plan in ("layered", "fused"):
        error = np.abs(model.logits(images, plan=plan) - exact).max()
        assert error <= 8 * max(largest, 1e-6), f"{plan}: {error} from fp64, PyTorch {largest}"


def test_mnist_reads_as_pytorch_reads_it(model, mnist, torch_logits):
    images, _ = mnist
    expected = torch_logits(images)
    check_logits(model.logits(images), expected, LOGIT_TOLERANCE)
    prediction = model.predict(images)
    assert np.array_equal(prediction.labels, expected.argmax(axis=1))
    largest = softmax(expected).max(axis=1)
    assert np.all(np.abs(prediction.probabilities - largest) <= probability_bound(largest, LOGIT_TOLERANCE))


def test_tensors_are_images(model, images, torch):
    expected = model.logits(images)
    tensor = torch.from_numpy(images)
    for view, plain in [
        (tensor, expected),
        (tensor[:, None], expected),
        (tensor.flip(0)[:0], expected[:0]),
        (tensor[::3], model.logits(images[::3])),
        (tensor.transpose(1, 2), model.logits(images.transpose(0, 2, 1))),
        (torch.from_numpy(lenslet.normalize(images)), model.logits(lenslet.normalize(images))),
    ]:
        assert np.array_equal(model.logits(view), plain)


def test_tensors_that_cannot_be_read_are_refused(model, torch):
    with pytest.raises(TypeError, match="found float64"):
        model.predict(torch.zeros(1, 28, 28, dtype=torch.float64))
    with pytest.raises(TypeError, match="found bfloat16"):
        model.predict(torch.zeros(1, 28, 28, dtype=torch.bfloat16))


def test_tensors_with_a_gradient_are_read_or_refused(model, torch):
    """PyTorch decides: some versions share them by DLPack, others do not."""
    tensor = torch.zeros(1, 28, 28, requires_grad=True)
    try:
        found = model.logits(tensor)
    except TypeError as error:
        assert "cannot be shared" in str(error)
    else:
        assert np.array_equal(found, model.logits(tensor.detach()))


def test_a_model_on_the_cpu_refuses_tensors_of_a_gpu(cpu_model, torch_cuda):
    images = torch_cuda.zeros(1, 28, 28, dtype=torch_cuda.uint8, device="cuda")
    with pytest.raises(ValueError, match=r"expected host memory, found that of cuda:0.*\.cpu\(\)"):
        cpu_model.predict(images)
    assert len(cpu_model.predict(images.cpu()).labels) == 1


def test_jax_arrays_are_images(cpu_model, images):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    array = jax.device_put(images, jax.devices("cpu")[0])
    assert np.array_equal(cpu_model.logits(array), cpu_model.logits(images))
