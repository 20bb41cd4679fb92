// The class `lenslet.Model`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/device_list.h"
#include "models/lenet5.h"
#include "python/src/bindings.h"
#include "python/src/gpu_array.h"
#include "python/src/model_docs.h"
#include "python/src/owned_array.h"
#include "python/src/reading.h"
#include "python/src/shared_model.h"
#include "python/src/showing.h"

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
                                  std::optional<int64_t> workspace_limit, const std::string& graph) {
  ModelOptions options;
  options.device = device;
  options.plan = plan.string();
  options.backend = backend.value_or("");
  options.math = math;
  options.graph = graph;
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

// Whether `dtype` names packed images. None: the type of their array decides.
bool names_packed(const OptionalText& dtype) {
  if (!dtype) return false;
  if (*dtype == to_string(ElementType::kUint4)) return true;
  throw UsageError(
      concat("dtype: expected \"uint4\" for packed images, or None for the array's own type, found '",
             printable_excerpt(*dtype), "'"));
}

SampleArray images_of(SharedModel& self, nb::handle images, bool packed, bool invert, bool check) {
  SampleArray input = packed ? SampleArray::packed(images) : SampleArray::images(images);
  const Normalisation& normalisation = self.normalisation();
  const bool floats = input.type() == ElementType::kFp32;
  if (invert) input.invert(floats ? (1 - 2 * normalisation.mean()) / normalisation.std() : 255);
  if (check) input.check_images(images, normalisation);
  return input;
}

nb::object prediction(const nb::object& labels, const nb::object& probabilities) {
  static const nb::object& make =  // never destroyed: the interpreter ends first
      *new nb::object(nb::module_::import_("lenslet._types").attr("Prediction"));
  // As Prediction._make() does: its own __new__ is a function of Python.
  const nb::tuple values = nb::make_tuple(nb::make_tuple(labels, probabilities));
  PyObject* const made =
      PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(make.ptr()), values.ptr(), nullptr);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// Images or inputs in the memory of the model's GPU; none if they are elsewhere. `sample` as for SampleArray::inputs().
struct GpuInput {
  GpuArray array;
  ElementType type;
  int64_t count;
  bool has_batch;

  /// For a call that writes to `answers`. All places are known where a library states the device of its arrays.
  GpuSamples samples(std::initializer_list<const GpuArray*> answers) const {
    bool known = array.device().is_cuda();
    for (const GpuArray* answer : answers) known = known && answer->device() == array.device();
    return {array.data(), type, count,
            known ? Place::known_on(array.device(), array.stream()) : Place::on_device(array.stream())};
  }
};

std::optional<GpuInput> gpu_input(SharedModel& self, nb::handle given, const char* name, bool packed,
                                  bool invert, const Shape* sample) {
  std::optional<GpuArray> array = GpuArray::from(given, name);
  if (!array) return std::nullopt;
  array->check_in_place(self.devices());
  array->check_type(sample ? "f" : packed ? "u" : "uf");
  const std::vector<int64_t>& dims = array->dims();
  const bool has_batch = (sample   ? check_input_dims(dims, *sample)
                          : packed ? check_packed_dims(dims)
                                   : check_image_dims(dims)) > 0;
  if (invert)
    throw nb::value_error("invert: arrays in the memory of a GPU are read as they are; pass 255 - images");
  const ElementType type = packed                 ? ElementType::kUint4
                           : array->holds_bytes() ? ElementType::kUint8
                                                  : ElementType::kFp32;
  const int64_t count = has_batch ? dims[0] : 1;
  return GpuInput{std::move(*array), type, count, has_batch};
}

// `out`, or a new array beside the input.
GpuArray gpu_output(SharedModel& self, const GpuInput& input, nb::handle out, const char* name, char type,
                    const std::vector<int64_t>& dims) {
  if (out.is_none()) return input.array.make(type, dims);
  std::optional<GpuArray> array = GpuArray::from(out, name);
  if (!array)
    throw nb::type_error(
        concat(name, ": expected an array in the memory of the GPU, where the input is").c_str());
  array->check_in_place(input.array.place_among(self.devices()));
  array->check_type(type == 'i' ? "i" : "f");
  array->check_writable();
  if (array->dims() != dims)
    throw nb::value_error(
        concat(name, ": expected the shape ", text_of_dims(dims), ", found ", text_of_dims(array->dims()))
            .c_str());
  return std::move(*array);
}

std::pair<nb::object, nb::object> two_of(nb::handle out) {
  if (out.is_none()) return {nb::none(), nb::none()};
  if (!nb::isinstance<nb::tuple>(out) || nb::len(out) != 2)
    throw nb::type_error("out: expected a tuple of two arrays, for labels and probabilities");
  return {nb::object(out[0]), nb::object(out[1])};
}

nb::object predict(SharedModel& self, nb::handle images, const OptionalText& dtype, bool invert, bool check,
                   const OptionalPath& plan, const OptionalText& backend, const OptionalText& math,
                   nb::handle out) {
  self.check_reads_digits();
  const bool packed = names_packed(dtype);
  const auto [first, second] = two_of(out);
  if (const auto gpu = gpu_input(self, images, "images", packed, invert, nullptr)) {
    const GpuArray labels = gpu_output(self, *gpu, first, "out[0]", 'i', {gpu->count});
    const GpuArray probabilities = gpu_output(self, *gpu, second, "out[1]", 'f', {gpu->count});
    {
      const nb::gil_scoped_release no_gil;
      self.predict(gpu->samples({&labels, &probabilities}), {text_of(plan), backend, math},
                   {static_cast<int32_t*>(labels.data()), static_cast<float*>(probabilities.data())});
    }
    gpu->array.keep_while_used();
    return prediction(labels.publish(), probabilities.publish());
  }
  const SampleArray input = images_of(self, images, packed, invert, check);
  const auto count = static_cast<size_t>(input.count());
  OwnedArray<int32_t> labels({count}, first, "out[0]");
  OwnedArray<float> probabilities({count}, second, "out[1]");
  {
    const nb::gil_scoped_release no_gil;
    self.predict(input, {text_of(plan), backend, math}, labels.data(), probabilities.data(), check_signals);
  }
  return prediction(labels.to_python(), probabilities.to_python());
}

nb::object logits(SharedModel& self, nb::handle images, const OptionalText& dtype, bool invert, bool check,
                  const OptionalPath& plan, const OptionalText& backend, const OptionalText& math,
                  nb::handle out) {
  self.check_reads_digits();
  const bool packed = names_packed(dtype);
  if (const auto gpu = gpu_input(self, images, "images", packed, invert, nullptr)) {
    const GpuArray values = gpu_output(self, *gpu, out, "out", 'f', {gpu->count, kLenet5Classes});
    {
      const nb::gil_scoped_release no_gil;
      self.logits(gpu->samples({&values}), {text_of(plan), backend, math},
                  static_cast<float*>(values.data()));
    }
    gpu->array.keep_while_used();
    return values.publish();
  }
  const SampleArray input = images_of(self, images, packed, invert, check);
  OwnedArray<float> values({static_cast<size_t>(input.count()), kLenet5Classes}, out, "out");
  {
    const nb::gil_scoped_release no_gil;
    self.logits(input, {text_of(plan), backend, math}, values.data(), check_signals);
  }
  return values.to_python();
}

std::vector<size_t> sizes_of(const Shape& shape) {
  std::vector<size_t> sizes;
  sizes.reserve(static_cast<size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(static_cast<size_t>(shape[i]));
  return sizes;
}

nb::tuple tuple_of(const Shape& shape) { return nb::tuple(nb::cast(sizes_of(shape))); }

nb::object run(SharedModel& self, nb::handle inputs, const OptionalPath& plan, const OptionalText& backend,
               const OptionalText& math, nb::handle out) {
  const Shape sample = self.input_shape();
  if (const auto gpu = gpu_input(self, inputs, "inputs", false, false, &sample)) {
    std::vector<int64_t> dims = self.output_shape().dims();
    if (gpu->has_batch) dims.insert(dims.begin(), gpu->count);
    const GpuArray values = gpu_output(self, *gpu, out, "out", 'f', dims);
    {
      const nb::gil_scoped_release no_gil;
      self.run(gpu->samples({&values}), {text_of(plan), backend, math}, static_cast<float*>(values.data()));
    }
    gpu->array.keep_while_used();
    return values.publish();
  }
  const SampleArray input = SampleArray::inputs(inputs, sample);
  std::vector<size_t> sizes = sizes_of(self.output_shape());
  if (input.has_batch()) sizes.insert(sizes.begin(), static_cast<size_t>(input.count()));
  OwnedArray<float> values(std::move(sizes), out, "out");
  {
    const nb::gil_scoped_release no_gil;
    self.run(input, {text_of(plan), backend, math}, values.data(), check_signals);
  }
  return values.to_python();
}

nb::list layers(SharedModel& self) {
  std::vector<LayerInfo> all;
  {
    const nb::gil_scoped_release no_gil;
    all = self.layers();
  }
  const nb::object make = nb::module_::import_("lenslet._types").attr("Layer");
  nb::list list;
  for (const LayerInfo& layer : all)
    list.append(make(layer.name, layer.type, layer.description, tuple_of(layer.input), tuple_of(layer.output),
                     layer.backend, layer.computed_by));
  return list;
}

nb::object profile(SharedModel& self, int64_t batch, double min_time_ms, const OptionalPath& plan,
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
  return nb::module_::import_("lenslet._notebook").attr("ProfileDict")(result);
}

nb::dict shares(SharedModel& self) {
  std::vector<DeviceShare> all;
  {
    const nb::gil_scoped_release no_gil;
    all = self.shares();
  }
  nb::dict result;
  for (const DeviceShare& share : all) {
    nb::dict entry;
    entry["images"] = share.images;
    entry["fault"] = share.fault;
    result[share.device.to_string().c_str()] = entry;
  }
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
  return concat("<lenslet.Model on ", device_list(self.devices()), ", plan ", options.plan,
                options.backend.empty() ? "" : ", backend ", options.backend, ", math ", options.math, ">");
}

[[noreturn]] nb::object refuse_pickling(const SharedModel&) {
  throw nb::type_error(
      "a lenslet.Model holds a device's memory and cannot be pickled or copied: load it in each process");
}

void add_constructors(nb::class_<SharedModel>& model) {
  model
      .def_static(
          "load",
          [](const std::filesystem::path& path, const std::string& device, const std::filesystem::path& plan,
             const OptionalText& backend, const std::string& math, std::optional<int64_t> max_batch,
             std::optional<int64_t> workspace_limit, const std::string& graph) {
            return open(path.string(), device, plan, backend, math, max_batch, workspace_limit, graph);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("device") = "auto", nb::arg("plan") = "auto",
          nb::arg("backend") = nb::none(), nb::arg("math") = "fp32", nb::arg("max_batch") = nb::none(),
          nb::arg("workspace_limit") = nb::none(), nb::arg("graph") = "auto",
          nb::sig("def load(path: str | os.PathLike[str], *, device: str = 'auto', plan: str | "
                  "os.PathLike[str] = "
                  "'auto', backend: str | None = None, math: str = 'fp32', max_batch: int | None = None, "
                  "workspace_limit: int | None = None, graph: str = 'auto') -> Model"),
          kLoadDoc)
      .def_static(
          "built_in",
          [](const std::string& device, const std::filesystem::path& plan, const OptionalText& backend,
             const std::string& math, std::optional<int64_t> max_batch,
             std::optional<int64_t> workspace_limit, const std::string& graph) {
            return open(std::nullopt, device, plan, backend, math, max_batch, workspace_limit, graph);
          },
          nb::kw_only(), nb::arg("device") = "auto", nb::arg("plan") = "auto",
          nb::arg("backend") = nb::none(), nb::arg("math") = "fp32", nb::arg("max_batch") = nb::none(),
          nb::arg("workspace_limit") = nb::none(), nb::arg("graph") = "auto",
          nb::sig("def built_in(*, device: str = 'auto', plan: str | os.PathLike[str] = 'auto', backend: str "
                  "| None = "
                  "None, math: str = 'fp32', max_batch: int | None = None, workspace_limit: int | None = "
                  "None, graph: str = 'auto') -> "
                  "Model"),
          kBuiltInDoc);
}

void add_inference(nb::class_<SharedModel>& model) {
  model
      .def("predict", &predict, nb::arg("images").none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
           nb::arg("invert") = false, nb::arg("check") = true, nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(), nb::arg("out") = nb::none(),
           nb::sig(
               "def predict(self, images: lenslet._types.Images, *, dtype: str | None = None, invert: bool = "
               "False, check: bool = True, plan: str | os.PathLike[str] | None = None, backend: str | None = "
               "None, math: str | None = None, out: tuple[lenslet._types.Output, lenslet._types.Output] | "
               "None = None) -> lenslet._types.Prediction"),
           kPredictDoc)
      .def("logits", &logits, nb::arg("images").none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
           nb::arg("invert") = false, nb::arg("check") = true, nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(), nb::arg("out") = nb::none(),
           nb::sig(
               "def logits(self, images: lenslet._types.Images, *, dtype: str | None = None, invert: bool = "
               "False, check: bool = True, plan: str | os.PathLike[str] | None = None, backend: str | None = "
               "None, math: str | None = None, out: lenslet._types.Output | None = None) -> "
               "numpy.typing.NDArray[numpy.float32]"),
           kLogitsDoc)
      .def("read", &reading_of, nb::arg("picture").none(),
           nb::sig("def read(self, picture: lenslet._types.Picture) -> lenslet._types.Reading"), kReadDoc)
      .def(
          "show",
          [](SharedModel& self, nb::handle picture, int64_t batch, const OptionalPath& plan,
             const OptionalText& backend, const OptionalText& math) {
            return show_picture(self, picture, batch, {text_of(plan), backend, math});
          },
          nb::arg("picture").none(), nb::kw_only(), nb::arg("batch") = 1, nb::arg("plan") = nb::none(),
          nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(),
          nb::sig("def show(self, picture: lenslet._types.Picture, *, batch: int = 1, plan: str | "
                  "os.PathLike[str] | None = None, backend: str | None = None, math: str | None = None) -> "
                  "lenslet._notebook.Page"),
          kShowDoc)
      .def("run", &run, nb::arg("inputs").none(), nb::kw_only(), nb::arg("plan") = nb::none(),
           nb::arg("backend") = nb::none(), nb::arg("math") = nb::none(), nb::arg("out") = nb::none(),
           nb::sig("def run(self, inputs: lenslet._types.Inputs, *, plan: str | os.PathLike[str] | None = "
                   "None, "
                   "backend: str | None = None, math: str | None = None, out: lenslet._types.Output | None = "
                   "None) -> "
                   "numpy.typing.NDArray[numpy.float32]"),
           kRunDoc);
}

void add_measuring(nb::class_<SharedModel>& model) {
  model
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
           kPlanDoc);
}

void add_properties(nb::class_<SharedModel>& model) {
  model
      .def_prop_ro(
          "device", [](const SharedModel& self) { return device_list(self.devices()); },
          "Where it computes: \"cpu\", \"cuda:0\" or, on several GPUs, \"cuda:0,2\".")
      .def_prop_ro("shares", &shares, nb::sig("def shares(self) -> dict[str, lenslet._types.Share]"),
                   kSharesDoc)
      .def_prop_ro(
          "input_shape", [](const SharedModel& self) { return tuple_of(self.input_shape()); },
          nb::sig("def input_shape(self) -> tuple[int, ...]"),
          "Shape of one sample that the network reads, without the batch: (1, 28, 28) for LeNet-5.")
      .def_prop_ro(
          "output_shape", [](const SharedModel& self) { return tuple_of(self.output_shape()); },
          nb::sig("def output_shape(self) -> tuple[int, ...]"),
          "Shape of what it writes for one sample: (10,) for LeNet-5.")
      .def_prop_ro("layers", &layers, nb::sig("def layers(self) -> list[lenslet._types.Layer]"), kLayersDoc)
      .def_prop_ro(
          "normalization",
          [](const SharedModel& self) {
            return nb::make_tuple(self.normalisation().mean(), self.normalisation().std());
          },
          nb::sig("def normalization(self) -> tuple[float, float]"),
          "Mean and std to normalise pixels with for these weights: those of their file, else MNIST's.")
      .def_prop_ro(
          "energy_threshold", [](const SharedModel& self) { return self.energy_threshold(); },
          "An image whose `log(sum(exp(logits)))` is not above it shows no digit. NaN if the weights have "
          "none.");
}

}  // namespace

void add_model(nb::module_& module) {
  nb::class_<SharedModel> model(module, "Model", kClassDoc);
  add_constructors(model);
  add_inference(model);
  add_measuring(model);
  add_properties(model);
  model.def("__repr__", &describe)
      .def("__reduce__", &refuse_pickling, nb::sig("def __reduce__(self) -> typing.NoReturn"));
}

}  // namespace lenslet::python
