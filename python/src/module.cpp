// The extension `lenslet._core`: lenslet::Model for Python. What users import is python/lenslet/__init__.py.
#include <nanobind/nanobind.h>

#include <vector>

#include "framework/parallel.h"
#include "framework/version.h"
#include "models/lenet5.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/images.h"
#include "python/src/owned_array.h"
#include "python/src/process.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

nb::object normalize(nb::handle images) {
  const ImageArray input(images);
  if (!input.holds_bytes()) throw nb::type_error("images: expected uint8 (pixels 0 to 255), found float32");
  OwnedArray<float> values(input.shape());
  {
    const nb::gil_scoped_release no_gil;
    std::vector<uint8_t> room;
    normalize_mnist(input.slice(0, input.count(), room), input.count(), values.data());
  }
  return values.to_python();
}

constexpr const char* kNormalizeDoc =
    R"(Pixels as the network reads them: (x / 255 - 0.1307) / 0.3081, each step rounded to float32.

Args:
    images: uint8, of any shape and kind that `Model.predict` takes.

Returns:
    float32 of the same shape.

Raises:
    TypeError, ValueError: As for `Model.predict`.)";

constexpr const char* kNumThreadsDoc =
    R"(Threads that the CPU side uses: LENSLET_NUM_THREADS, else the cores this process may run on.)";

constexpr const char* kSetNumThreadsDoc =
    R"(Sets the number of threads of the CPU side, for all models, once no call computes.

Args:
    count: 1 to 1,024.

Raises:
    UsageError: Another number.)";

}  // namespace
}  // namespace lenslet::python

NB_MODULE(_core, module) {
  using namespace lenslet::python;
  module.doc() = "The compiled part of lenslet.";
  module.attr("version") = lenslet::kVersion;
  register_errors();
  add_model(module);
  add_backends(module);
  module.def("normalize", &normalize, nb::arg("images").none(),
             nb::sig("def normalize(images: lenslet._types.Images) -> numpy.typing.NDArray[numpy.float32]"),
             kNormalizeDoc);
  module.def("num_threads", &lenslet::num_threads, kNumThreadsDoc);
  module.def("set_num_threads", &set_threads, nb::arg("count"), nb::call_guard<nb::gil_scoped_release>(),
             kSetNumThreadsDoc);
}
