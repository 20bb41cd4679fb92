"""What `images` may be: each kind of array is read correctly, or refused with one message."""

import re

import numpy as np
import pytest

import lenslet
from support import read_only, run_script, unaligned


class DLPackOnly:
    """An array that offers nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


VIEWS = {
    "in order": lambda a: a,
    "one image": lambda a: a[3],
    "with a channel": lambda a: a[:, None],
    "no image": lambda a: a[:0],
    "no image, with a channel": lambda a: a[:0, None],
    "a part": lambda a: a[10:20],
    "every other": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "rows upside down": lambda a: a[:, ::-1],
    "mirrored": lambda a: a[:, :, ::-1],
    "transposed": lambda a: a.transpose(0, 2, 1),
    "one transposed": lambda a: a[3].T,
    "Fortran order": np.asfortranarray,
    "repeated": lambda a: np.broadcast_to(a[5], (9, 28, 28)),
    "cut out": lambda a: np.pad(a, ((0, 0), (2, 3), (4, 1)))[:, 2:30, 4:32],
    "read-only": read_only,
    "read-only and backwards": lambda a: read_only(a)[::-1],
    "unaligned": unaligned,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_views_are_read_correctly(cpu_model, images, kind, name):
    values = images[:50] if kind is np.uint8 else lenslet.normalize(images[:50])
    view = VIEWS[name](values)
    plain = np.array(view, order="C", copy=True)
    assert cpu_model.logits(view).tobytes() == cpu_model.logits(plain).tobytes()
    prediction = cpu_model.predict(view)
    count = 1 if view.ndim == 2 else len(view)
    assert prediction.labels.shape == prediction.probabilities.shape == (count,)
    assert np.array_equal(prediction.labels, cpu_model.predict(plain).labels)


@pytest.mark.parametrize("name", ["in order", "no image", "backwards", "transposed", "read-only"])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_dlpack_is_read_correctly(cpu_model, images, kind, name):
    view = VIEWS[name](images[:50] if kind is np.uint8 else lenslet.normalize(images[:50]))
    if name == "read-only" and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy exports no read-only arrays by DLPack")
    assert np.array_equal(cpu_model.logits(DLPackOnly(view)), cpu_model.logits(view))


def test_a_memoryview_and_a_subclass_are_read_correctly(cpu_model, images):
    expected = cpu_model.logits(images)
    assert np.array_equal(cpu_model.logits(memoryview(images)), expected)
    assert np.array_equal(cpu_model.logits(np.ma.masked_array(images)), expected)


def test_masked_values_are_refused(cpu_model, images):
    mask = np.zeros(images.shape, bool)
    mask[2, 5, 7:10] = True
    masked = np.ma.masked_array(images, mask)
    words = r"images: expected an array without masked values, found 3 masked; .* images.filled\(0\) does"
    for call in (cpu_model.predict, cpu_model.logits, lenslet.normalize, lenslet.pack):
        with pytest.raises(ValueError, match=words):
            call(masked)
        call(masked.filled(0))
    with pytest.raises(ValueError, match=r"picture: .* found 3 masked; .* picture.filled\(255\)"):
        lenslet.read(masked[2])


NOT_FINITE = {
    "in order": lambda a: a,
    "backwards": lambda a: a[::-1],
    "with a channel": lambda a: a[:, None],
    "transposed": lambda a: a.transpose(0, 2, 1),
    "unaligned": unaligned,
}


@pytest.mark.parametrize("name", NOT_FINITE)
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("invert", [False, True])
def test_the_first_value_that_is_no_number_is_named(cpu_model, images, name, value, invert):
    floats = lenslet.normalize(np.tile(images, (3, 1, 1)))  # more than the check samples
    floats = NOT_FINITE[name](floats.copy())
    for at in ((777, 27, 27), (701, 20, 4), (701, 9, 6)):  # the last is the first of them
        floats[(at[0], 0, *at[1:]) if floats.ndim == 4 else at] = value
    found = "nan" if np.isnan(value) else str(value)
    words = f"images: expected finite values, found {found} in image 701, row 9, column 6, each counted from 0. Pass"
    for call in (cpu_model.predict, cpu_model.logits):
        with pytest.raises(ValueError, match=words):
            call(floats, invert=invert)
        call(floats[:701], check=False, invert=invert)
    if not invert:
        cpu_model.predict(floats[:701])
    with pytest.raises(ValueError, match="in image 0, row 9, column 6"):
        cpu_model.predict(floats[701], invert=invert)
    if np.isnan(value):
        assert np.isnan(cpu_model.predict(floats[701], check=False).probabilities[0])


def test_results_own_their_memory(cpu_model, images):
    labels, probabilities = cpu_model.predict(images)
    logits = cpu_model.logits(images)
    copies = [labels.copy(), probabilities.copy(), logits.copy()]
    for _ in range(20):
        cpu_model.predict(images[::-1])
        cpu_model.logits(images[::-1])
    for array, copy in zip((labels, probabilities, logits), copies):
        assert array.flags.c_contiguous and array.flags.writeable and np.array_equal(array, copy)


ZEROS = np.zeros((2, 28, 28), np.uint8)
BAD_TYPES = {
    "a list": ([[0] * 28] * 28, "found list"),
    "nothing": (None, "found NoneType"),
    "a number": (7, "found int"),
    "a string": ("seven.png", "found str"),
    "float64": (ZEROS.astype(np.float64), "found float64"),
    "float16": (ZEROS.astype(np.float16), "found float16"),
    "int64": (ZEROS.astype(np.int64), "found int64"),
    "int8": (ZEROS.astype(np.int8), "found int8"),
    "uint16": (ZEROS.astype(np.uint16), "found uint16"),
    "bool": (ZEROS.astype(bool), "found bool"),
    "complex64": (ZEROS.astype(np.complex64), "found complex64"),
    "other byte order": (ZEROS.astype(">f4"), "dtype >f4 cannot be shared; .* with images.astype"),
    "objects": (ZEROS.astype(object), "dtype object cannot be shared; .* with images.astype"),
    "text": (ZEROS.astype("U1"), "dtype <U1 cannot be shared"),
    "dates": (ZEROS.astype("M8[s]"), "cannot be shared"),
}
TO_UINT8, TO_FLOAT32 = "images.astype(numpy.uint8)", "images.astype(numpy.float32)"
FROM_SHARES = "(images * 255).round().astype(numpy.uint8)"
ADVICE = {
    "f8": [TO_FLOAT32, TO_UINT8, FROM_SHARES],
    "f2": [TO_FLOAT32, TO_UINT8, FROM_SHARES],
    "i1": [TO_UINT8],
    "i2": [TO_UINT8],
    "i4": [TO_UINT8],
    "i8": [TO_UINT8],
    "u2": [TO_UINT8],
    "u4": [TO_UINT8],
    "u8": [TO_UINT8],
    "?": [TO_UINT8 + " * 255"],
    ">f4": [TO_UINT8, TO_FLOAT32],
    ">i4": [TO_UINT8, TO_FLOAT32],
}
BAD_SHAPES = {
    "no axis": np.uint8(3) * np.ones((), np.uint8),
    "one axis": np.zeros(784, np.uint8),
    "flat": np.zeros((5, 784), np.uint8),
    "27 rows": np.zeros((5, 27, 28), np.uint8),
    "29 columns": np.zeros((5, 28, 29), np.float32),
    "no row": np.zeros((5, 0, 28), np.uint8),
    "two channels": np.zeros((5, 2, 28, 28), np.uint8),
    "no channel": np.zeros((5, 0, 28, 28), np.uint8),
    "channel last, 27 columns": np.zeros((5, 28, 27, 1), np.uint8),
    "five axes": np.zeros((1, 5, 1, 28, 28), np.uint8),
    "bytes": b"\0" * 784,
}


@pytest.mark.parametrize("name", BAD_TYPES)
def test_other_types_are_refused(cpu_model, images, name):
    value, words = BAD_TYPES[name]
    for call in (cpu_model.predict, cpu_model.logits, lenslet.normalize):
        with pytest.raises(TypeError, match=words) as caught:
            call(value)
        assert "\n" not in str(caught.value) and str(caught.value).startswith("images: ")
    assert len(cpu_model.predict(images).labels) == len(images)


@pytest.mark.parametrize("kind", ADVICE)
def test_the_advice_of_a_refused_type_is_code_that_works(cpu_model, images, kind):
    bytes_ = images[:4] // 2  # int8 holds them
    pixels = bytes_.astype(kind) if kind != "?" else bytes_ > 63
    with pytest.raises(TypeError) as caught:
        cpu_model.predict(pixels)
    advice = re.findall(r"with ((?:\(images|images)[^,]*)", str(caught.value))
    assert advice == ADVICE[kind]
    given = {"f8": pixels / 255, "f2": pixels / np.float16(255)}.get(kind)
    for line in advice:
        value = given if "255).round" in line else pixels
        converted = eval(line, {"numpy": np, "images": value})
        expected = {"?": 255 * (bytes_ > 63)}.get(kind, pixels)
        assert np.array_equal(converted, expected)
        cpu_model.predict(converted, check=converted.dtype == np.uint8)


def test_the_advice_suits_the_kind_of_array(cpu_model):
    class Tensor(DLPackOnly):
        def to(self, dtype):
            raise NotImplementedError

    doubles = ZEROS.astype(np.float64)
    for value, words in (
        (memoryview(doubles), "numpy.asarray(images).astype(numpy.float32)"),
        (DLPackOnly(doubles), "(numpy.from_dlpack(images) * 255).round().astype(numpy.uint8)"),
        (Tensor(doubles), "(images * 255).round().to(torch.uint8)"),
    ):
        with pytest.raises(TypeError, match=re.escape(words)):
            cpu_model.predict(value)


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_other_shapes_are_refused(cpu_model, images, name):
    value = BAD_SHAPES[name]
    for call in (cpu_model.predict, cpu_model.logits, lenslet.normalize):
        with pytest.raises(ValueError, match=r"expected the shape \[N, 28, 28\].*, found \[") as caught:
            call(value)
        assert "\n" not in str(caught.value) and str(caught.value).startswith("images: ")
    assert len(cpu_model.predict(images).labels) == len(images)


def test_normalize_refuses_what_is_normalised():
    for kind in (np.float32, np.float64):
        for call in (lenslet.normalize, lenslet.pack):
            with pytest.raises(TypeError, match=r"expected uint8 \(pixels 0 to 255\), found float\d\d; convert pixels"):
                call(np.zeros((28, 28), kind))


PEAK = """
import sys
import numpy as np
import lenslet

def peak_kib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])

kind, view = sys.argv[1:]
images = np.full((100_000_000 // (784 * np.dtype(kind).itemsize), 28, 28), 3, kind)
if view == "dlpack":
    class Shared:
        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)
        def __dlpack_device__(self):
            return self.array.__dlpack_device__()
    shared = Shared()
    shared.array = images
elif view == "array":
    shared = images
else:
    shared = images[::-1]
model = lenslet.Model.built_in(device="cpu")
model.predict(images[:5000])
model.predict(images[4999::-1])
model.logits(images[:5000])
open("/proc/self/clear_refs", "w").write("5")
before = peak_kib()
model.predict(shared)
print(peak_kib() - before)
"""


@pytest.mark.parametrize("kind", ["uint8", "float32"])
@pytest.mark.parametrize("view", ["array", "dlpack", "backwards"])
def test_100_mb_in_order_are_not_copied(kind, view):
    growth_kib = int(run_script(PEAK, kind, view))
    if view == "backwards":  # copied part by part: this test would detect a complete copy
        assert 30_000 < growth_kib < 230_000
    else:
        assert growth_kib < 8_000
