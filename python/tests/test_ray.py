"""lenslet.ray.Predictor without Ray; tests/ray runs it on a cluster."""

import inspect
import pickle

import numpy as np
import pytest

import lenslet
import lenslet.ray
from lenslet.ray import Predictor


def test_answers_are_those_of_the_model(cpu_model, pixels):
    labels, probabilities = cpu_model.predict(pixels)
    batch = {"id": np.arange(len(pixels)), "image": pixels}
    answers = Predictor()(batch)
    assert list(answers) == ["id", "label", "probability"] and answers["id"] is batch["id"]
    assert (answers["label"] == labels).all() and (answers["probability"] == probabilities).all()
    logits = Predictor(answer="logits", into="energies", keep=[])(batch)
    assert list(logits) == ["energies"] and (logits["energies"] == cpu_model.logits(pixels)).all()
    assert sorted(batch) == ["id", "image"]


def test_images_are_inverted_or_not_checked(cpu_model):
    dark = np.zeros((4, 28, 28), np.uint8)
    dark[:, 4:24, 12:15] = 255
    batch = {"image": 255 - dark}
    with pytest.raises(ValueError, match="dark on light"):
        Predictor()(batch)
    assert (Predictor(invert=True)(batch)["label"] == cpu_model.predict(dark).labels).all()
    unchecked = cpu_model.predict(255 - dark, check=False)
    assert (Predictor(check=False)(batch)["probability"] == unchecked.probabilities).all()


def as_objects(rows):
    column = np.empty(len(rows), object)
    column[:] = rows
    return column


@pytest.mark.parametrize(
    "column",
    [
        lambda pixels: pixels.reshape(-1, 784),
        lambda pixels: pixels[:, None],
        lambda pixels: as_objects([picture.tobytes() for picture in pixels]),
        lambda pixels: as_objects([row.copy() for row in pixels.reshape(-1, 784)]),
        lambda pixels: lenslet.normalize(pixels),
    ],
)
def test_columns_of_every_layout(pixels, column):
    given = column(pixels)
    given.flags.writeable = False  # as Ray gives batches from its object store
    labels = lenslet.Model.built_in(device="cpu").predict(pixels).labels
    assert (Predictor(column="pixels")({"pixels": given})["label"] == labels).all()


def test_a_column_may_be_packed(pixels):
    packed = lenslet.pack(pixels)
    labels = lenslet.Model.built_in(device="cpu").predict(packed, dtype="uint4").labels
    predictor = Predictor(dtype="uint4")
    for column in (packed, packed.reshape(-1, 392), as_objects([picture.tobytes() for picture in packed])):
        assert (predictor({"image": column})["label"] == labels).all()
    assert predictor({"image": np.empty(0, object)})["label"].shape == (0,)
    with pytest.raises(lenslet.UsageError, match=r"shape \[28, 14\], 392 values, found \[28, 28\]"):
        predictor({"image": pixels})


def test_a_batch_may_be_empty(pixels):
    assert Predictor()({"image": pixels[:0]})["label"].shape == (0,)
    assert Predictor()({"image": np.empty(0, object)})["label"].shape == (0,)


def test_any_network(root):
    network = root / "tests" / "models" / "onnx" / "mean_pool.onnx"
    samples = np.random.default_rng(1).standard_normal((3, 3, 32, 32), dtype=np.float32)
    expected = lenslet.Model.load(network, device="cpu").run(samples)
    predictor = Predictor(network, column="x", into=["y"])
    assert (predictor({"x": samples})["y"] == expected).all()
    assert (predictor({"x": as_objects([sample.tobytes() for sample in samples])})["y"] == expected).all()
    with pytest.raises(lenslet.UsageError, match="pass 'output'"):
        Predictor(network, answer="logits")


@pytest.mark.parametrize(
    "arguments, batch, words",
    [
        ({}, [1], 'found list: pass batch_format="numpy"'),
        ({"column": "x"}, {"image": 0, "id": 0}, "no column 'x', it has id, image"),
        ({"keep": ["name"]}, {"image": np.zeros((1, 784), np.uint8)}, "no column 'name', it has image"),
        ({}, {"image": np.zeros((1, 784), np.uint8), "label": np.zeros(1)}, "a column 'label' already"),
        ({}, {"image": np.zeros((1, 27, 28), np.uint8)}, r"shape \[1, 28, 28\], 784 values, found \[27, 28\]"),
        ({}, {"image": as_objects([bytes(784), None])}, "row 1 of the batch is empty"),
        (
            {},
            {"image": as_objects([bytes(784), bytes(783)])},
            r"row 1 of the batch is uint8 \[783\], row 0 uint8 \[784\]",
        ),
    ],
)
def test_batches_that_do_not_fit_are_refused_with_the_reason(arguments, batch, words):
    with pytest.raises(lenslet.UsageError, match=words):
        Predictor(**arguments)(batch)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"answer": "class"}, "expected one of prediction, logits, output, found 'class'"),
        ({"into": "label"}, "writes 2 columns, found names"),
        ({"into": ["a", "a"]}, "writes 2 columns"),
        ({"keep": "id"}, "expected a list of columns, found the text 'id'"),
        ({"math": "fp7"}, "fp7"),
        ({"dtype": "uint8"}, "dtype: expected 'uint4', for a prediction or logits, or None, found 'uint8'"),
        ({"dtype": "uint4", "answer": "output"}, "found 'uint4' for 'output'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_reason(arguments, words):
    with pytest.raises(lenslet.UsageError, match=words):
        Predictor(**arguments)


def test_a_model_is_refused_because_it_stays_in_its_process():
    with pytest.raises(lenslet.UsageError, match="pass its path"):
        Predictor(lenslet.Model.built_in(device="cpu"))


def test_what_an_actor_gets_can_be_pickled(root):
    arguments = {"model": root / "weights" / "lenet5.safetensors", "keep": ["id"], "into": ("a", "b")}
    assert pickle.loads(pickle.dumps((Predictor, arguments))) == (Predictor, arguments)
    for error in (lenslet.UsageError("x"), lenslet.DataError("y")):  # they cross from the actor
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_threads_are_set_and_left():
    before = lenslet.num_threads()
    try:
        Predictor(threads=1)
        assert lenslet.num_threads() == 1
        Predictor()
        assert lenslet.num_threads() == 1
    finally:
        lenslet.set_num_threads(before)


def test_the_docstring_names_every_argument():
    for name in inspect.signature(Predictor).parameters:
        assert name in Predictor.__doc__
