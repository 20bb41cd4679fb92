// `lenslet.backends` and `lenslet.devices`: what can compute on this machine.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/model_setup.h"
#include "framework/base/error.h"
#include "framework/device/device.h"
#include "framework/device/stream.h"
#include "framework/graph/determinism.h"
#include "python/src/bindings.h"
#include "python/src/process.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

struct Backend {
  std::string name;
  std::optional<std::string> reason;  // why it is unavailable
  Determinism determinism = Determinism::kBounded;
};

struct LayerBackends {
  std::string layer;
  std::vector<Backend> backends;
};

// Prepares the backend, because only opening a library shows that it is missing. `prepare` returns the promise.
void try_out(Backend& backend, const Support& support, const std::function<Determinism()>& prepare) {
  if (!support) {
    backend.reason = support.reason();
    return;
  }
  try {
    backend.determinism = prepare();
  } catch (const UnavailableError& error) {
    backend.reason = error.what();
  } catch (const MemoryError& error) {
    backend.reason = error.what();
  }
}

LayerBackends layer_backends(const Layer& layer, const std::string& name, const OperatorRequest& request,
                             Stream& stream) {
  LayerBackends row{name, {}};
  for (const std::string& backend : layer.backends(request.device.kind)) {
    row.backends.push_back({backend, std::nullopt});
    try_out(row.backends.back(), layer.supports(backend, request), [&] {
      layer.prepare(backend, request, stream);
      return layer.determinism(backend, request);
    });
  }
  return row;
}

std::vector<LayerBackends> list_backends(const std::string& device_name, const std::string& math_name,
                                         const std::string& model) {
  const Computation computation;
  const Device device = choose_device(device_name).device;
  const MathMode math = parse_math_mode(math_name);
  const DeviceGuard guard(device);
  Stream stream(device);
  const std::shared_ptr<const Network> network = load_network(model);
  const Graph& graph = network->graph;
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  std::vector<LayerBackends> rows;
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer) continue;
    rows.push_back(layer_backends(*node.layer, node.name,
                                  request_for(*node.layer, node.input_shapes(shapes), device, math), stream));
  }
  if (!graph.network()) return rows;
  rows.push_back(
      layer_backends(*graph.network(), graph.name(), graph.network_request(device, 1, math), stream));
  return rows;
}

nb::dict backends(const std::string& device, const std::string& math,
                  const std::optional<std::filesystem::path>& model) {
  std::vector<LayerBackends> rows;
  {
    const nb::gil_scoped_release no_gil;
    rows = list_backends(device, math, model ? model->string() : std::string());
  }
  nb::dict result;
  for (const LayerBackends& row : rows) {
    nb::dict names;
    for (const Backend& backend : row.backends) {
      nb::dict entry;
      entry["supported"] = !backend.reason;
      entry["reason"] = backend.reason.value_or("");
      entry["determinism"] = backend.reason ? "" : to_string(backend.determinism);
      names[backend.name.c_str()] = entry;
    }
    result[row.layer.c_str()] = names;
  }
  return result;
}

nb::list devices() {
  nb::list names;
  names.append("cpu");
  const CudaStatus& cuda = cuda_status();
  for (size_t i = 0; i < cuda.devices.size(); ++i) {
    if (cuda.usable && cuda.devices[i].has_code) names.append(Device::cuda(static_cast<int>(i)).to_string());
  }
  return names;
}

constexpr const char* kBackendsDoc =
    R"(Lists the backends of each layer, in the order in which "auto" tries them.

Args:
    device: As for `Model.load`.
    math: "fp32", "tf32", "fp16" or "int8".
    model: An ONNX file, whose layers are listed; None: LeNet-5's.

Returns:
    A dict by layer, then by backend, of dicts: "supported", whether it is supported; "reason", why it is not;
    "determinism", which bits it repeats: "bounded", "bitwise" in every run of the same batch, or "position" in any
    batch and at any place in it. For LeNet-5 the entry "lenet5" has the whole-network backends. Each
    backend is prepared once to find out.

Raises:
    UsageError: An unknown device or math mode.
    DataError: The file is missing or damaged, or has a network that Lenslet cannot run.
    UnavailableError: The device does not exist.)";

constexpr const char* kDevicesDoc =
    R"(Lists the usable devices: "cpu", and "cuda:0" and so on if there are usable GPUs.)";

}  // namespace

void add_backends(nb::module_& module) {
  module.def(
      "backends", &backends, nb::arg("device") = "auto", nb::kw_only(), nb::arg("math") = "fp32",
      nb::arg("model") = nb::none(),
      nb::sig("def backends(device: str = 'auto', *, math: str = 'fp32', model: str | os.PathLike[str] | "
              "None = None) -> dict[str, dict[str, lenslet._types.Backend]]"),
      kBackendsDoc);
  module.def("devices", &devices, nb::sig("def devices() -> list[str]"), kDevicesDoc);
}

}  // namespace lenslet::python
