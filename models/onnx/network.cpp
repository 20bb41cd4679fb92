#include "models/onnx/network.h"

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/onnx/import/import.h"
#include "models/onnx/lenet5_weights.h"
#include "models/onnx/read/reader.h"

namespace lenslet::onnx {

std::string network_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = file.rfind('.');
  const std::string name = printable_excerpt(dot == std::string::npos ? file : file.substr(0, dot), 60);
  return name.empty() ? "network" : name;
}

NetworkFile read_network(const std::string& path) {
  const std::string origin = printable_excerpt(path);
  const Model model = read_model(path);
  const Values values = infer_values(model, origin);
  NetworkFile network;
  network.metadata = model.metadata;
  network.external_files = model.external_files;
  Lenet5Match match = match_lenet5(model, values, origin);
  if (match.difference.empty()) {
    network.lenet5 = std::move(match.weights);
    return network;
  }
  Import import = import_model(model, values, network_name(path), origin);
  if (!import.graph) throw DataError(concat(origin, ": ", faults_of(import, model)));
  network.graph = std::move(import.graph);
  return network;
}

}  // namespace lenslet::onnx
