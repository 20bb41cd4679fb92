// The extension `lenslet._core`: lenslet::Model for Python. Users import python/lenslet/__init__.py.
#include <nanobind/nanobind.h>

#include <cmath>
#include <vector>

#include "api/host_memory.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/pixels.h"
#include "framework/version.h"
#include "models/lenet5.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/images.h"
#include "python/src/own_gpu_array.h"
#include "python/src/owned_array.h"
#include "python/src/process.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

nb::object normalise(nb::handle images, double mean, double std) {
  const SampleArray input = SampleArray::pixels(images);
  if (!std::isfinite(mean) || !std::isfinite(std) || !(static_cast<float>(std) > 0))
    throw UsageError(concat("mean must be a number and std a number above 0, found ", mean, " and ", std));
  OwnedArray<float> values(input.shape());
  {
    const nb::gil_scoped_release no_gil;
    std::vector<uint8_t> room;
    const Normalisation normalisation(static_cast<float>(mean), static_cast<float>(std));
    normalisation.apply(input.slice(0, input.count(), room), input.count() * kLenet5Pixels, values.data());
  }
  return values.to_python();
}

nb::object pack(nb::handle images) {
  const SampleArray input = SampleArray::pixels(images);
  std::vector<size_t> shape = {kLenet5Side, kLenet5Side / 2};
  if (input.has_batch()) shape.insert(shape.begin(), static_cast<size_t>(input.count()));
  OwnedArray<uint8_t> packed(std::move(shape));
  {
    const nb::gil_scoped_release no_gil;
    std::vector<uint8_t> room;
    convert_pixels(ElementType::kUint8, input.slice(0, input.count(), room), input.count() * kLenet5Pixels,
                   {}, ElementType::kUint4, packed.data());
  }
  return packed.to_python();
}

size_t bytes_of(const nb::tuple& dims, size_t item) {
  size_t bytes = item;
  for (const nb::handle extent : dims) {
    int64_t size = 0;
    if (!nb::try_cast(extent, size) || size < 0 ||
        __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes)) {
      throw nb::value_error(
          concat("shape: expected whole numbers from 0 on whose product is a size in bytes, found ",
                 nb::str(dims).c_str())
              .c_str());
    }
  }
  return bytes;
}

// An array of numpy in page-locked memory, which numpy frees by a capsule.
nb::object empty_pinned(nb::handle shape, nb::handle dtype) {
  const nb::object type = nb::module_::import_("numpy").attr("dtype")(dtype);
  const nb::tuple dims = nb::isinstance<nb::int_>(shape) ? nb::make_tuple(shape) : nb::tuple(shape);
  const size_t bytes = bytes_of(dims, nb::cast<size_t>(type.attr("itemsize")));
  void* memory = nullptr;
  {
    const nb::gil_scoped_release no_gil;  // page-locking a gigabyte takes about 0.1 s
    memory = allocate_host_memory(bytes);
  }
  if (!memory) return nb::module_::import_("numpy").attr("empty")(dims, type);
  const nb::capsule owner(memory, [](void* pointer) noexcept { free_host_memory(pointer); });
  using Array = nb::ndarray<nb::numpy, uint8_t>;
  return nb::cast(Array(memory, {bytes}, owner)).attr("view")(type).attr("reshape")(dims);
}

constexpr const char* kEmptyPinnedDoc =
    R"(Returns an uninitialised array in page-locked memory, which a GPU reads over the bus without a copy by the host.

Args:
    shape: A number or a tuple of them.
    dtype: As NumPy takes it.

Returns:
    An array of NumPy. `predict`, `logits` and `run` read it in place, fastest for many images.

Raises:
    UnavailableError: There is no usable GPU.
    OutOfMemoryError: The system gives no more page-locked memory.)";

constexpr const char* kNormaliseDoc =
    R"(Normalises pixels for the network: (x / 255 - mean) / std, each step rounded to float32.

Args:
    images: uint8, in any shape and kind of array that `Model.predict` accepts.
    mean, std: MNIST's by default, for the built-in weights. For others: `normalize(images, *model.normalization)`.

Returns:
    float32 of the same shape.

Raises:
    TypeError, ValueError: As for `Model.predict`.
    UsageError: The mean or std is not finite, or the std is not above 0.)";

constexpr const char* kPackDoc =
    R"(Packs pixels to 4 bits each, for `dtype="uint4"` of `Model.predict` and `Model.logits`.

Two neighbouring pixels share a byte, the first in its low half. A pixel x becomes the code (x + 8) // 17; a code c
stands for the grey 17 * c. So packing rounds to the nearest of 16 greys, and some answers differ from those for the
pixels.

Args:
    images: uint8, in any shape and kind of array that `Model.predict` accepts.

Returns:
    uint8 [N, 28, 14], or [28, 14] for one image: 392 bytes per image.

Raises:
    TypeError, ValueError: As for `Model.predict`.)";

constexpr const char* kNumThreadsDoc =
    R"(Returns the number of CPU threads: LENSLET_NUM_THREADS, else the cores that the process may run on.)";

constexpr const char* kSetNumThreadsDoc =
    R"(Sets the number of CPU threads for all models, as soon as no call computes.

Args:
    count: 1 to 1,024.

Raises:
    UsageError: The number is out of range.)";

}  // namespace
}  // namespace lenslet::python

NB_MODULE(_core, module) {
  using namespace lenslet::python;
  module.doc() = "The compiled part of lenslet.";
  module.attr("version") = lenslet::kVersion;
  register_errors();
  add_model(module);
  add_backends(module);
  add_own_gpu_array(module);
  module.def(
      "normalize", &normalise, nb::arg("images").none(), nb::arg("mean") = 0.1307, nb::arg("std") = 0.3081,
      nb::sig("def normalize(images: lenslet._types.Images, mean: float = 0.1307, std: float = 0.3081) -> "
              "numpy.typing.NDArray[numpy.float32]"),
      kNormaliseDoc);
  module.def("pack", &pack, nb::arg("images").none(),
             nb::sig("def pack(images: lenslet._types.Images) -> numpy.typing.NDArray[numpy.uint8]"),
             kPackDoc);
  module.def(
      "empty_pinned", &empty_pinned, nb::arg("shape"), nb::arg("dtype") = "uint8",
      nb::sig("def empty_pinned(shape: int | tuple[int, ...], dtype: numpy.typing.DTypeLike = 'uint8') -> "
              "numpy.typing.NDArray[typing.Any]"),
      kEmptyPinnedDoc);
  module.def("num_threads", &lenslet::num_threads, kNumThreadsDoc);
  module.def("set_num_threads", &set_threads, nb::arg("count"), nb::call_guard<nb::gil_scoped_release>(),
             kSetNumThreadsDoc);
}
