"""Results against PyTorch's golden data: all plans, backends, math modes, batches and kinds of input."""

import numpy as np
import pytest

import lenslet
from lenet5 import load_safetensors, save_safetensors
from support import check_logits, softmax
from tolerances import LOGIT_ERROR, LOGIT_TOLERANCE, SHORT_LOGIT_ERROR, SOFTMAX_ERROR, probability_bound


def specs(device, math):
    """Every way to compute: (plan, backend). One backend at a time for a layer, all else as "auto" takes it."""
    table = lenslet.backends(device, math=math)
    ways = [("auto", None), ("layered", None)]
    for layer, names in table.items():
        for name, entry in names.items():
            if entry["supported"]:
                ways.append(("fused", name) if layer == "lenet5" else ("layered", f"{layer}={name}"))
    return ways


@pytest.mark.parametrize("math", ["fp32", "tf32", "fp16"])
def test_every_backend_gives_the_golden_logits(device, golden, math):
    model = lenslet.Model.built_in(device=device)
    ways = specs(device, math)
    if device == "cpu" and math != "fp32":
        assert all(not names[n]["supported"] for names in [lenslet.backends(device, math=math)["conv1"]] for n in names)
        with pytest.raises(lenslet.UnavailableError):
            model.predict(golden["input_u8"], math=math)
        return
    if math == "fp16":  # fully connected layers have no fp16 backend, so only the whole network computes in fp16
        with pytest.raises(lenslet.UnavailableError):
            model.predict(golden["input_u8"], plan="layered", math=math)
        ways = [way for way in ways if way[0] == "fused"]
    assert len(ways) >= (1 if math == "fp16" else 10)
    for plan, backend in ways:
        logits = model.logits(golden["input_u8"], plan=plan, backend=backend, math=math)
        check_logits(logits, golden["fc3"], LOGIT_ERROR if math == "fp32" else SHORT_LOGIT_ERROR)
        prediction = model.predict(golden["input_u8"], plan=plan, backend=backend, math=math)
        assert "".join(map(str, prediction.labels[:5])) == "01347"
        assert np.abs(prediction.probabilities - softmax(logits).max(axis=1)).max() <= SOFTMAX_ERROR


def test_bytes_and_normalised_values_agree(model, golden, table):
    floats = golden["input"].astype(np.float32)
    assert np.array_equal(floats, table[golden["input_u8"]].reshape(floats.shape))
    check_logits(model.logits(floats), golden["fc3"], LOGIT_ERROR)
    check_logits(model.logits(golden["input_u8"]), golden["fc3"], LOGIT_ERROR)
    assert model.predict(floats).labels.tolist() == model.predict(golden["input_u8"]).labels.tolist()


def test_normalize_is_the_table_to_the_bit(table):
    images = np.arange(784 * 3, dtype=np.int64).reshape(3, 28, 28).astype(np.uint8)
    for view in (images, images[:, None], images[0], images[::-1], images[:0]):
        found = lenslet.normalize(view)
        assert found.shape == view.shape and found.dtype == np.float32
        assert np.array_equal(found, table[view])


def test_the_file_and_the_built_in_weights_are_the_same(device, weights_file, golden):
    loaded = lenslet.Model.load(weights_file, device=device)
    built_in = lenslet.Model.built_in(device=device)
    assert np.array_equal(loaded.logits(golden["input_u8"]), built_in.logits(golden["input_u8"]))


@pytest.mark.parametrize(("mean", "std"), [("0", "1"), ("0.5", "0.5")])
def test_pixels_are_normalised_as_the_file_states(tmp_path, weights_file, device, golden, mean, std):
    """conv1 changed for another normalisation, which the metadata name: the same answers to the same bytes."""
    arrays, metadata = load_safetensors(weights_file)
    scale, shift = float(std) / 0.3081, (float(mean) - 0.1307) / 0.3081
    weight = arrays["conv1.weight"].astype(np.float64)
    arrays["conv1.bias"] = (arrays["conv1.bias"] + shift * weight.sum(axis=(1, 2, 3))).astype(np.float32)
    arrays["conv1.weight"] = (weight * scale).astype(np.float32)
    file = tmp_path / "other.safetensors"
    save_safetensors(file, arrays, {**metadata, "mean": mean, "std": std})
    model = lenslet.Model.load(file, device=device)
    assert model.normalization == (float(mean), float(std))
    floats = lenslet.normalize(golden["input_u8"], *model.normalization)
    for plan in ("layered", "fused"):
        for images in (golden["input_u8"], floats):
            check_logits(model.logits(images, plan=plan), golden["fc3"], LOGIT_TOLERANCE)
    assert lenslet.Model.built_in(device="cpu").normalization == (np.float32(0.1307), np.float32(0.3081))


def test_the_threshold_of_the_energy_is_reported(tmp_path, weights_file):
    arrays, metadata = load_safetensors(weights_file)
    file = tmp_path / "other.safetensors"
    save_safetensors(file, arrays, {**metadata, "energy_threshold": "2.5"})
    assert lenslet.Model.load(file, device="cpu").energy_threshold == 2.5
    assert np.isnan(lenslet.Model.load(weights_file, device="cpu").energy_threshold)


def test_metadata_that_cannot_be_obeyed_are_refused(tmp_path, weights_file):
    arrays, metadata = load_safetensors(weights_file)
    file = tmp_path / "other.safetensors"
    for wrong in ({"model": "resnet"}, {"std": "0"}, {"mean": "many"}, {"temperature": "2"}, {"energy_threshold": "-"}):
        save_safetensors(file, arrays, {**metadata, **wrong})
        with pytest.raises(lenslet.DataError, match=next(iter(wrong))):
            lenslet.Model.load(file, device="cpu")
    for mean, std in ((0, 0), (0, -1), (np.nan, 1), (0, np.inf)):
        with pytest.raises(lenslet.UsageError):
            lenslet.normalize(np.zeros((28, 28), np.uint8), mean, std)


def test_other_weights_give_other_results_in_every_plan(tmp_path, weights_file, golden):
    """Overrides of one call keep the weights of the model."""
    arrays, _ = load_safetensors(weights_file)
    arrays["fc3.weight"] = np.roll(arrays["fc3.weight"], 1, axis=0)
    arrays["fc3.bias"] = np.roll(arrays["fc3.bias"], 1)
    file = tmp_path / "rolled.safetensors"
    save_safetensors(file, arrays, {})
    model = lenslet.Model.load(file, device="cpu")
    file.write_bytes(b"gone")
    expected = np.roll(golden["fc3"], 1, axis=1)
    for plan, backend in [(None, None), ("layered", None), ("fused", None), ("layered", "conv1=direct")]:
        check_logits(model.logits(golden["input_u8"], plan=plan, backend=backend), expected, LOGIT_ERROR)


@pytest.mark.parametrize("plan", ["layered", "fused"])
@pytest.mark.parametrize("max_batch", [None, 1, 7, 64])
def test_an_image_gives_the_same_logits_in_any_batch(device, images, plan, max_batch):
    model = lenslet.Model.built_in(device=device, plan=plan, max_batch=max_batch)
    whole = model.logits(images)
    labels = model.predict(images).labels
    assert np.array_equal(whole.argmax(axis=1), labels)
    table = lenslet.backends(device)
    layers = model.plan(1)["layers"]
    chosen = [table["lenet5" if plan == "fused" else row["name"]].get(row["backend"]) for row in layers]
    exact = all(entry is None or entry["determinism"] == "position" for entry in chosen)
    for count in (1, 2, 3, 17, 100, 300):
        for begin in (0, 300 - count):
            part = model.logits(images[begin : begin + count])
            if exact:
                assert np.array_equal(part, whole[begin : begin + count])
            check_logits(part, whole[begin : begin + count], LOGIT_TOLERANCE)
            assert np.array_equal(model.predict(images[begin : begin + count]).labels, labels[begin : begin + count])


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 3000, 65537])
def test_batches_beyond_one_pass(model, images, count):
    many = np.resize(images, (count, 28, 28))
    expected = np.resize(model.logits(images), (count, 10))
    check_logits(model.logits(many), expected, LOGIT_TOLERANCE)
    labels, probabilities = model.predict(many)
    assert np.array_equal(labels, expected.argmax(axis=1))
    largest = softmax(expected).max(axis=1)
    assert np.all(np.abs(probabilities - largest) <= probability_bound(largest, LOGIT_TOLERANCE))
    assert np.array_equal(model.predict(many[::-1]).labels, labels[::-1])


def test_threads_change_no_bit(cpu_model, images):
    before = lenslet.num_threads()
    try:
        results = []
        for threads in (1, 2, 8):
            lenslet.set_num_threads(threads)
            assert lenslet.num_threads() == threads
            results.append([cpu_model.logits(images, plan=plan) for plan in ("layered", "fused")])
    finally:
        lenslet.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other))


def test_mnist(model, mnist, root):
    images, labels = mnist
    found = model.predict(images)
    expected = (root / "weights" / "golden" / "mnist_test_predictions.txt").read_text().strip()
    assert "".join(map(str, found.labels)) == expected
    assert int((found.labels == labels).sum()) == 9963
    golden, _ = load_safetensors(root / "weights" / "golden" / "mnist_test_logits.safetensors")
    check_logits(model.logits(images), golden["logits"], LOGIT_TOLERANCE)
