"""lenslet.read and Model.read; and that predict notices pixels of another kind than it expects."""

import pathlib

import numpy as np
import pytest

import lenslet
from support import check_logits, run_script, strokes
from tolerances import LOGIT_TOLERANCE


@pytest.mark.parametrize("name", ["grey", "dark", "RGB", "RGBA", "one channel", "mirrored", "memoryview"])
def test_pixels_are_read(robust, name):
    grey = strokes(2)
    opaque = np.full_like(grey, 255)
    picture = {
        "grey": grey,
        "dark": strokes(2, 20, 230),
        "RGB": np.dstack([grey] * 3),
        "RGBA": np.dstack([grey, grey, grey, opaque]),
        "one channel": grey[:, :, None],
        "mirrored": grey[:, ::-1],
        "memoryview": memoryview(grey),
    }[name]
    reading = robust.read(picture)
    assert reading.number == "11" and reading.refusal == reading.reason == "" and not reading.blank
    left = 140 - 76 if name == "mirrored" else 40
    assert [digit.box for digit in reading.digits] == [(left, 15, 6, 50), (left + 30, 15, 6, 50)]
    assert all(digit.digit == 1 and digit.energy > robust.energy_threshold for digit in reading.digits)
    assert np.isclose(reading.probability, np.prod([digit.probability for digit in reading.digits]))


def test_files_and_bytes_are_read(root, robust):
    file = root / "samples" / "digit_4_a.png"
    for picture in (
        file,
        str(file),
        file.read_bytes(),
        bytearray(file.read_bytes()),
        np.frombuffer(file.read_bytes(), np.uint8),
    ):
        reading = lenslet.read(picture)
        assert (reading.number, len(reading.digits), reading.warnings) == ("4", 1, [])
        assert reading == robust.read(picture) == lenslet.read(picture, model=robust)


def test_a_model_that_is_passed_reads(root, cpu_model):
    file = root / "samples" / "digit_4_a.png"
    assert lenslet.read(file, model=cpu_model) == cpu_model.read(file) != lenslet.read(file)


@pytest.mark.parametrize("path", ["a\0b", pathlib.PurePath("a\0b")])
def test_a_path_with_a_null_character_is_refused(robust, path):
    for read in (lenslet.read, robust.read):
        with pytest.raises(ValueError, match="null"):
            read(path)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model: expected a lenslet.Model, found int"):
        lenslet.read(np.zeros((28, 28), np.uint8), 3)


def test_a_thread_that_holds_the_lock_may_read():
    assert run_script(REENTRANT).strip() == "True"


def test_a_refusal_is_no_error():
    reading = lenslet.read(strokes(0))
    assert reading.blank and reading.number == "" and reading.digits == [] and np.isnan(reading.probability)
    assert reading.reason == "blank: no ink found"
    noise = np.random.default_rng(1).integers(0, 256, (200, 150), np.uint8)
    reading = lenslet.read(noise)
    assert (reading.refusal, reading.blank, reading.warnings) == ("texture", False, [])
    assert reading.reason.startswith("texture: noise of ")
    rows = np.vstack([strokes(2), strokes(2)])
    assert lenslet.read(rows).refusal == "rows"
    dot = strokes(2)
    dot[57:65, 56:60] = 0
    reading = lenslet.read(dot)
    assert reading.refusal == "no_number" and [mark.digit for mark in reading.digits] == [1, None, 1]
    assert reading.digits[1].refusal == "too_small" and np.isnan(reading.digits[1].probability)


def test_what_is_no_picture_is_refused(robust, tmp_path):
    for picture, error, words in (
        (None, TypeError, "found NoneType"),
        (strokes(1) / 255, TypeError, r"found float64; convert .* 0 to 1 with \(picture \* 255\).round"),
        (strokes(1).astype(np.float32), TypeError, r"found float32; convert pixels 0 to 255 with picture.astype"),
        (
            strokes(1).astype(np.int64),
            TypeError,
            r"found int64; convert pixels 0 to 255 with picture.astype\(numpy.uint8\)$",
        ),
        (np.zeros((2, 3, 5), np.uint8), ValueError, r"found \[2, 3, 5\]"),
        (np.zeros((0, 3), np.uint8), ValueError, r"found \[0, 3\]"),
        (b"", lenslet.DataError, "is empty"),
        (b"RIFF....WEBPVP8 ", lenslet.DataError, "WebP file; convert it with ImageMagick: convert in.webp out.png"),
        (tmp_path / "none.png", lenslet.DataError, "none.png"),
    ):
        with pytest.raises(error, match=words):
            robust.read(picture)
    network = lenslet.Model.load("tests/models/onnx/mean_pool.onnx", device="cpu")
    with pytest.raises(lenslet.DataError, match="reads 3x32x32"):
        network.read(strokes(1))


@pytest.fixture
def bars():
    images = np.zeros((5, 28, 28), np.uint8)
    images[1:, 5:23, 13:15] = 255
    return images


def test_pixels_as_floats_are_noticed(cpu_model, bars):
    for call in (cpu_model.predict, cpu_model.logits):
        with pytest.raises(ValueError, match=r"found 0 to 1, which are pixels. Pass \(images \* 255\)"):
            call((bars / 255).astype(np.float32))
        with pytest.raises(ValueError, match="found 0 to 255, which are pixels. Pass images.astype"):
            call(bars.astype(np.float32))
        call((bars / 255).astype(np.float32), check=False)
    check_logits(cpu_model.logits(lenslet.normalize(bars)), cpu_model.logits(bars), LOGIT_TOLERANCE)
    cpu_model.predict(np.zeros((3, 28, 28), np.float32))  # one grey is no evidence of inverted ink


def test_dark_ink_is_noticed_and_inverted(cpu_model, bars):
    expected = cpu_model.logits(bars)
    for call in (cpu_model.predict, cpu_model.logits):
        for dark in (255 - bars, lenslet.normalize(255 - bars), 255 - bars[1]):
            with pytest.raises(ValueError, match=r"dark on light in \d of \d images .* invert=True"):
                call(dark)
            call(dark, check=False)
    assert np.array_equal(cpu_model.logits(255 - bars, invert=True), expected)
    assert np.array_equal(cpu_model.logits((255 - bars)[::-1], invert=True), expected[::-1])
    check_logits(cpu_model.logits(lenslet.normalize(255 - bars), invert=True), expected, LOGIT_TOLERANCE)
    assert np.array_equal(cpu_model.predict(255 - bars, invert=True).labels, cpu_model.predict(bars).labels)
    # The message gives what was passed, not the inverted values.
    with pytest.raises(ValueError, match=r"found bright on dark in \d of \d images .* Pass invert=False"):
        cpu_model.predict(bars, invert=True)
    with pytest.raises(ValueError, match="found 0 to 1, which are pixels"):
        cpu_model.predict((bars / 255).astype(np.float32), invert=True)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_inverted_images_in_several_parts(cpu_model, images, kind):
    many = np.tile(images, (220, 1, 1))  # 66,000: a part has 65,536, and no whole number of repetitions
    dark = 255 - many if kind is np.uint8 else lenslet.normalize(255 - many)
    found, expected = cpu_model.predict(dark, invert=True, check=False), cpu_model.predict(many)
    assert np.array_equal(found.labels, expected.labels)
    bound = 0 if kind is np.uint8 else LOGIT_TOLERANCE
    assert np.abs(found.probabilities - expected.probabilities).max() <= bound


def test_noise_passes_the_check(cpu_model):
    for image in np.random.default_rng(1).integers(0, 256, (64, 28, 28), np.uint8):
        cpu_model.predict(image)


def test_mnist_passes_the_check(cpu_model, mnist):
    images, _ = mnist
    for begin in range(0, len(images), 50):
        cpu_model.predict(images[begin : begin + 50])
    cpu_model.predict(lenslet.normalize(images))


REENTRANT = """
import threading
import lenslet
from lenslet import _read
import numpy as np
picture = np.full((80, 140), 255, np.uint8)
picture[15:65, 40:46] = 0
found = []
def read():
    with _read._lock:
        found.append(lenslet.read(picture).number)
thread = threading.Thread(target=read, daemon=True)
thread.start()
thread.join(60)
print(found == ["1"])
"""


THREADS = """
import threading
import numpy as np
import lenslet

picture = np.full((80, 140), 255, np.uint8)
picture[15:65, 40:46] = 0
found = []
threads = [threading.Thread(target=lambda: found.append(lenslet.read(picture).number)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found == ["1"] * 8)
"""


def test_the_first_call_may_come_from_several_threads():
    assert run_script(THREADS).strip() == "True"
