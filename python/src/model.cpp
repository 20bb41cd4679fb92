// The class `lenslet.Model`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <filesystem>
#include <memory>

#include "framework/base/error.h"
#include "models/lenet5.h"
#include "python/src/bindings.h"
#include "python/src/owned_array.h"
#include "python/src/shared_model.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

using OptionalPath = std::optional<std::filesystem::path>;
using OptionalText = std::optional<std::string>;

// Lets Python handle Ctrl-C and other work that waits for the main thread.
void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

OptionalText text_of(const OptionalPath& path) { return path ? OptionalText(path->string()) : std::nullopt; }

std::unique_ptr<SharedModel> open(const OptionalText& path, const std::string& device,
                                  const std::filesystem::path& plan, const OptionalText& backend,
                                  const std::string& math, std::optional<int64_t> max_batch,
                                  std::optional<int64_t> workspace_limit) {
  ModelOptions options;
  options.device = device;
  options.plan = plan.string();
  options.backend = backend.value_or("");
  options.math = math;
  if (max_batch) {
    if (*max_batch < 1) throw UsageError(concat("max_batch must be 1 or more, found ", *max_batch));
    options.max_batch = *max_batch;
  }
  if (workspace_limit) {
    if (*workspace_limit < 0)
      throw UsageError(concat("workspace_limit must be 0 bytes or more, found ", *workspace_limit));
    options.workspace_limit = static_cast<size_t>(*workspace_limit);
  }
  const nb::gil_scoped_release no_gil;
  return std::make_unique<SharedModel>(path, std::move(options));
}

nb::object predict(SharedModel& self, nb::handle images, const OptionalPath& plan,
                   const OptionalText& backend, const OptionalText& math) {
  const ImageArray input(images);
  const auto count = static_cast<size_t>(input.count());
  OwnedArray<int32_t> labels({count});
  OwnedArray<float> probabilities({count});
  {
    const nb::gil_scoped_release no_gil;
    self.predict(input, {text_of(plan), backend, math}, labels.data(), probabilities.data(), check_signals);
  }
  return nb::module_::import_("lenslet._types")
      .attr("Prediction")(labels.to_python(), probabilities.to_python());
}

nb::object logits(SharedModel& self, nb::handle images, const OptionalPath& plan, const OptionalText& backend,
                  const OptionalText& math) {
  const ImageArray input(images);
  OwnedArray<float> values({static_cast<size_t>(input.count()), kLenet5Classes});
  {
    const nb::gil_scoped_release no_gil;
    self.logits(input, {text_of(plan), backend, math}, values.data(), check_signals);
  }
  return values.to_python();
}

nb::dict profile(SharedModel& self, int64_t batch, double min_time_ms, const OptionalPath& plan,
                 const OptionalText& backend, const OptionalText& math) {
  ModelProfile profile;
  {
    const nb::gil_scoped_release no_gil;
    profile = self.profile(batch, min_time_ms, {text_of(plan), backend, math}, check_signals);
  }
  nb::dict layers;
  for (const LayerTime& layer : profile.layers) {
    nb::dict row;
    row["backend"] = layer.backend;
    row["math"] = layer.math;
    row["median_ns"] = layer.median_ns;
    row["p10_ns"] = layer.p10_ns;
    row["p90_ns"] = layer.p90_ns;
    layers[layer.name.c_str()] = row;
  }
  nb::dict result;
  result["device"] = profile.device;
  result["plan"] = profile.plan;
  result["batch"] = profile.batch;
  result["total_ns"] = profile.total_ns;
  result["layers"] = layers;
  return result;
}

nb::object plan(SharedModel& self, int64_t batch, const OptionalPath& plan, const OptionalText& backend,
                const OptionalText& math) {
  std::string json;
  {
    const nb::gil_scoped_release no_gil;
    json = self.plan(batch, {text_of(plan), backend, math}).to_json();
  }
  return nb::module_::import_("json").attr("loads")(json);
}

std::string describe(const SharedModel& self) {
  const ModelOptions& options = self.options();
  return concat("<lenslet.Model on ", self.device().to_string(), ", plan ", options.plan,
                options.backend.empty() ? "" : ", backend ", options.backend, ", math ", options.math, ">");
}

constexpr const char* kClassDoc =
    R"(LeNet-5 with its weights on one device. Classifies batches of any size.

Make one with `Model.load` or `Model.built_in`. Threads may share a model: they take turns, and each computes without
the interpreter's lock. A signal handler may call the model that it interrupted. A model cannot be pickled or copied,
and no model computes in a process forked after the first call.)";

constexpr const char* kLoadDoc =
    R"(Reads the weights from a safetensors file (weights/FORMAT.md) or an ONNX file (docs/models.md).

Args:
    path: The file, or a built-in set: "robust" for pictures, or "mnist".
    device: "cpu", "cuda" or "cuda:N"; "auto" takes a usable GPU, else the CPU.
    plan: "layered", layer by layer; "fused", the whole network at once; "auto"; or the path of a plan saved as JSON.
    backend: One name for all layers that have it, or by layer: "conv1=direct,conv2=winograd". With plan "fused" one
        of its variants. None: the library chooses. `lenslet.backends` lists the names.
    math: "fp32", "tf32" or "fp16", for convolutions and matrix products. Never changed silently.
    max_batch: Images computed in one pass; more take several. None: 1,024 on the CPU, 65,536 on a GPU.
    workspace_limit: Bytes of scratch memory that a layer may take.

Raises:
    UsageError: An invalid option value.
    DataError: The file is missing, is of neither format, or has no LeNet-5.
    UnavailableError: The device is unavailable, or the backend or math mode unsupported; the message has the reason.
    OutOfMemoryError: The device has too little memory.)";

constexpr const char* kBuiltInDoc =
    R"(Uses the weights in the package, which classify 99.63 % of MNIST's test images correctly.

The arguments and errors are those of `load`.)";

constexpr const char* kPredictDoc = R"(Returns the digit of each image and its probability.

Args:
    images: [N, 28, 28], [N, 1, 28, 28], or [28, 28] for one image. A NumPy array, or any object with DLPack or the
        buffer protocol, such as a torch.Tensor on the CPU. uint8, ink bright on 0; or float32, normalised by
        `lenslet.normalize` with the model's `normalization`. Contiguous arrays are read in place, others are copied
        in parts. N may be 0.
    plan, backend, math: Override the model's options for this call. A plan has its own choice of backends, unless
        `backend` is given too. A plan's file is read once.

Returns:
    Prediction(labels int32 [N], probabilities float32 [N]).

Raises:
    TypeError: `images` is no array, or has another type.
    ValueError: `images` has another shape, or is in the memory of a GPU.
    UsageError, UnavailableError, OutOfMemoryError: As for `load`.
    DeviceError: The GPU failed.)";

constexpr const char* kLogitsDoc = R"(Returns the 10 values of each image before softmax, float32 [N, 10].

Arguments and errors are those of `predict`.)";

constexpr const char* kProfileDoc = R"(Times one pass of `batch` random images, layer by layer.

Args:
    batch: Images in the pass, 1 to 1,048,576.
    min_time_ms: Least time to measure, up to 600,000.
    plan, backend, math: As for `predict`, except that plan "auto" is "layered" here.

Returns:
    A dict with "device", "plan", "batch", "total_ns" (a pass without events between the layers) and "layers". These
    map each layer's name, in order, to its "backend", "math", "median_ns", "p10_ns" and "p90_ns". A fused plan has
    one layer, "lenet5".)";

constexpr const char* kPlanDoc =
    R"(Returns the plan of a pass of `batch` images with bytes in and predictions out, as a dict.

Save it with `json.dump` to get a file for `plan=`. The arguments are those of `profile`.)";

[[noreturn]] nb::object refuse_pickling(const SharedModel&) {
  throw nb::type_error(
      "a lenslet.Model holds a device's memory and cannot be pickled or copied: load it in each process");
}

}  // namespace

void add_model(nb::module_& module) {
  nb::class_<SharedModel>(module, "Model", kClassDoc)
      .def_static(
          "load",
          [](const std::filesystem::path& path, const std::string& device, const std::filesystem::path& plan,
             const OptionalText& backend, const std::string& math, std::optional<int64_t> max_batch,
             std::optional<int64_t> workspace_limit) {
            return open(path.string(), device, plan, backend, math, max_batch, workspace_limit);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("device") = "auto", nb::arg("plan") = "auto",
          nb::arg("backend") = nb::none(), nb::arg("math") = "fp32", nb::arg("max_batch") = nb::none(),
          nb::arg("workspace_limit") = nb::none(),
          nb::sig("def load(path: str | os.PathLike[str], *, device: str = 'auto', plan: str | "
                  "os.PathLike[str] = "
                  "'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, "
                  "workspace_limit: int | None = None) -> Model"),
          kLoadDoc)
      .def_static(
          "built_in",
          [](const std::string& device, const std::filesystem::path& plan, const OptionalText& backend,
             const std::string& math, std::optional<int64_t> max_batch,
             std::optional<int64_t> workspace_limit) {
            return open(std::nullopt, device, plan, backend, math, max_batch, workspace_limit);
          },
          nb::kw_only(), nb::arg("device") = "auto", nb::arg("plan") = "auto",
          nb::arg("backend") = nb::none(), nb::arg("math") = "fp32", nb::arg("max_batch") = nb::none(),
          nb::arg("workspace_limit") = nb::none(),
          nb::sig("def built_in(*, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str "
                  "| None = "
                  "None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = "
                  "None) -> "
                  "Model"),
          kBuiltInDoc)
      .def("predict", &predict, nb::arg("images").none(), nb::kw_only(), nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(),
           nb::sig("def predict(self, images: lenslet._types.Images, *, plan: str | os.PathLike[str] | None "
                   "= None, "
                   "backend: str | None = None, math: str | None = None) -> lenslet._types.Prediction"),
           kPredictDoc)
      .def("logits", &logits, nb::arg("images").none(), nb::kw_only(), nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(),
           nb::sig(
               "def logits(self, images: lenslet._types.Images, *, plan: str | os.PathLike[str] | None = "
               "None, "
               "backend: str | None = None, math: str | None = None) -> numpy.typing.NDArray[numpy.float32]"),
           kLogitsDoc)
      .def("profile", &profile, nb::arg("batch") = 1, nb::kw_only(), nb::arg("min_time_ms") = 100.0,
           nb::arg("plan") = nb::none(), nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(),
           nb::sig(
               "def profile(self, batch: int = 1, *, min_time_ms: float = 100.0, plan: str | "
               "os.PathLike[str] | "
               "None = None, backend: str | None = None, math: str | None = None) -> lenslet._types.Profile"),
           kProfileDoc)
      .def("plan", &plan, nb::arg("batch") = 1, nb::kw_only(), nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(),
           nb::sig("def plan(self, batch: int = 1, *, plan: str | os.PathLike[str] | None = None, backend: "
                   "str | None "
                   "= None, math: str | None = None) -> dict[str, typing.Any]"),
           kPlanDoc)
      .def_prop_ro(
          "device", [](const SharedModel& self) { return self.device().to_string(); },
          "Where it computes: \"cpu\" or \"cuda:0\".")
      .def_prop_ro(
          "normalization",
          [](const SharedModel& self) {
            return nb::make_tuple(self.normalisation().mean(), self.normalisation().std());
          },
          nb::sig("def normalization(self) -> tuple[float, float]"),
          "Mean and std to normalise pixels with for these weights: those of their file, else MNIST's.")
      .def_prop_ro(
          "energy_threshold", [](const SharedModel& self) { return self.energy_threshold(); },
          "An image whose `log(sum(exp(logits)))` is less shows no digit. NaN if the weights cannot tell.")
      .def("__repr__", &describe)
      .def("__reduce__", &refuse_pickling, nb::sig("def __reduce__(self) -> typing.NoReturn"));
}

}  // namespace lenslet::python
