"""Packed pixels: what `lenslet.pack` makes of an image, and what `dtype="uint4"` reads."""

import numpy as np
import pytest

import lenslet


def unpacked(packed):
    """The greys, by NumPy alone."""
    return (17 * np.stack([packed & 15, packed >> 4], -1)).astype(np.uint8).reshape(*packed.shape[:-1], 28)


def test_every_pixel_becomes_the_nearest_grey():
    image = np.arange(784).astype(np.uint8).reshape(28, 28)  # every pixel, thrice
    packed = lenslet.pack(image)
    assert packed.shape == (28, 14) and packed.dtype == np.uint8
    greys = unpacked(packed).astype(int)
    assert np.array_equal(greys, 17 * np.rint(image / 17).astype(int))
    assert np.abs(greys - image).max() == 8
    assert np.array_equal(lenslet.pack(greys.astype(np.uint8)), packed)
    pair = np.zeros((28, 28), np.uint8)
    pair[0, :2] = 17, 34
    assert lenslet.pack(pair)[0, 0] == 0x21  # the first pixel in the low half


@pytest.mark.parametrize("view", ["in order", "backwards", "mirrored", "channel first", "channel last", "none", "one"])
def test_any_array_of_bytes_is_packed(images, view):
    given = {
        "in order": images,
        "backwards": images[::-1],
        "mirrored": images[:, :, ::-1],
        "channel first": images[:, None],
        "channel last": images[..., None],
        "none": images[:0],
        "one": images[:1],
    }[view]
    plain = np.array(given, order="C").reshape(-1, 28, 28)
    packed = lenslet.pack(given)
    assert packed.shape == (len(given), 28, 14)
    assert np.array_equal(unpacked(packed), (17 * np.rint(plain / 17)).astype(np.uint8))


@pytest.mark.parametrize("count", [0, 1, 3, 13, 300])
@pytest.mark.parametrize("plan", ["fused", "layered"])
def test_packed_images_are_read_as_their_greys(cpu_model, images, count, plan):
    packed = lenslet.pack(images[:count])
    greys = unpacked(packed)
    found, expected = cpu_model.predict(packed, dtype="uint4", plan=plan), cpu_model.predict(greys, plan=plan)
    assert np.array_equal(found.labels, expected.labels)
    assert found.probabilities.tobytes() == expected.probabilities.tobytes()
    logits = np.full((count, 10), np.nan, np.float32)
    assert cpu_model.logits(packed, dtype="uint4", plan=plan, out=logits) is logits
    assert logits.tobytes() == cpu_model.logits(greys, plan=plan).tobytes()


def test_gaps_threads_and_repetition_change_no_bit(cpu_model, images):
    packed = lenslet.pack(images)
    expected = cpu_model.logits(packed, dtype="uint4").tobytes()
    wide = np.zeros((len(packed), 30, 20), np.uint8)
    wide[:, 1:29, 3:17] = packed
    before = lenslet.num_threads()
    try:
        for threads in (1, 2, 3):
            lenslet.set_num_threads(threads)
            for array in (packed, wide[:, 1:29, 3:17], packed[::-1]):
                logits = cpu_model.logits(array, dtype="uint4")
                assert (logits[::-1] if array is not packed and array.base is packed else logits).tobytes() == expected
    finally:
        lenslet.set_num_threads(before)
    one, among = (cpu_model.predict(array, dtype="uint4").labels for array in (packed[5], packed[5:6]))
    assert np.array_equal(one, among)


def test_dark_on_light_is_refused_and_inverted(cpu_model):
    image = np.zeros((4, 28, 28), np.uint8)
    image[:, 4:24, 12:15] = 255
    dark = lenslet.pack(255 - image)
    with pytest.raises(ValueError, match="dark on light in 4 of 4 images.*invert=True"):
        cpu_model.predict(dark, dtype="uint4")
    inverted = cpu_model.predict(dark, dtype="uint4", invert=True)
    expected = cpu_model.predict(image)
    assert np.array_equal(inverted.labels, expected.labels)
    assert inverted.probabilities.tobytes() == expected.probabilities.tobytes()
    cpu_model.predict(dark, dtype="uint4", check=False)


@pytest.mark.parametrize("call", ["predict", "logits"])
def test_other_arrays_are_refused(cpu_model, images, call):
    call = getattr(cpu_model, call)
    packed = lenslet.pack(images)
    for shape in ((300, 28, 28), (300, 392), (300, 14, 28), (300, 1, 28, 14), (28, 15), (392,), ()):
        with pytest.raises(
            ValueError,
            match=r"images: expected the shape \[N, 28, 14\] or \[28, 14\] of packed "
            r"pixels, as lenslet.pack\(\) returns them, found \[",
        ):
            call(np.zeros(shape, np.uint8), dtype="uint4")
    for kind in (np.float32, np.int8, np.uint16):
        with pytest.raises(
            TypeError,
            match=r"images: expected uint8 \(two pixels in a byte\) for dtype=\"uint4\", "
            r"found .*lenslet.pack\(\)",
        ):
            call(packed.astype(kind), dtype="uint4")
    with pytest.raises(TypeError, match="found NoneType"):
        call(None, dtype="uint4")
    with pytest.raises(ValueError, match=r"expected the shape \[N, 28, 28\]"):
        call(packed)  # nothing is guessed from a shape
    for dtype in ("uint8", "int4", "UINT4", ""):
        with pytest.raises(lenslet.UsageError, match=f"dtype: expected \"uint4\" .*, found '{dtype}'"):
            call(packed, dtype=dtype)
    with pytest.raises(TypeError):
        call(packed, dtype=np.uint8)


def test_pack_refuses_what_is_not_bytes(images):
    with pytest.raises(TypeError, match="expected uint8"):
        lenslet.pack(lenslet.normalize(images))
    with pytest.raises(ValueError, match=r"expected the shape \[N, 28, 28\]"):
        lenslet.pack(lenslet.pack(images))


def test_mnist_loses_few_digits(cpu_model, mnist):
    pixels, labels = mnist
    exact = cpu_model.predict(pixels).labels
    packed = cpu_model.predict(lenslet.pack(pixels), dtype="uint4").labels
    assert abs(int((packed == labels).sum()) - int((exact == labels).sum())) <= 5
    assert (packed != exact).sum() <= 10
