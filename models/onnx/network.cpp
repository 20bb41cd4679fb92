#include "models/onnx/network.h"

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/onnx/import/import.h"
#include "models/onnx/lenet5_weights.h"
#include "models/onnx/model_file.h"

namespace lenslet::onnx {

std::string network_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = file.rfind('.');
  const std::string name = printable_excerpt(dot == std::string::npos ? file : file.substr(0, dot), 60);
  return name.empty() ? "network" : name;
}

std::string note_of_output(const Model& model, const Values& values, const std::string& origin) {
  if (model.outputs.size() != 1) return {};
  const ValueInfo& declared = model.outputs[0];
  const std::optional<Shape>& computed = values.at(declared.name).shape;
  if (!declared.has_shape || !computed) return {};
  bool agrees = static_cast<int>(declared.dims.size()) == computed->rank();
  for (int i = 1; agrees && i < computed->rank(); ++i) {
    const int64_t size = declared.dims[static_cast<size_t>(i)].size;
    agrees = size < 0 || size == (*computed)[i];
  }
  if (agrees) return {};
  return concat(origin, " declares its output \"", printable_excerpt(declared.name, 60), "\" as ",
                declared.shape_text(), ", but its nodes compute ", computed->to_string(),
                " of one sample, which Lenslet returns");
}

NetworkFile read_network(const std::string& path) {
  const std::string origin = printable_excerpt(path);
  const Model model = read_model(path, [&](const Model& unread) { check_operators(unread, origin); });
  const Values values = infer_values(model, origin);
  NetworkFile network;
  network.metadata = model.metadata;
  network.external_files = model.external_files;
  network.note = note_of_output(model, values, origin);
  Lenet5Match match = match_lenet5(model, values, origin);
  if (match.difference.empty()) {
    network.lenet5 = std::move(match.weights);
    network.input_shape = std::move(match.input_shape);
    return network;
  }
  Import import = import_model(model, values, network_name(path), origin);
  if (!import.graph) throw DataError(concat(origin, ": ", faults_of(import, model)));
  network.graph = std::move(import.graph);
  return network;
}

}  // namespace lenslet::onnx
