// Internal: the network of an ONNX file, ready to run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/io/safetensors.h"

namespace lenslet::onnx {

/// Either LeNet-5's weights, which the whole-network backends compute, or a graph of layers.
struct NetworkFile {
  std::optional<Safetensors> lenet5;
  std::unique_ptr<Graph> graph;  // null for LeNet-5
  std::map<std::string, std::string> metadata;
  std::vector<std::string> external_files;  // paths of the files that hold weights beside `path`
};

/// Throws DataError for a damaged file, and with all nodes that keep a network from running.
NetworkFile read_network(const std::string& path);

/// The graph's name: that of the file, without folder and ending.
std::string network_name(const std::string& path);

}  // namespace lenslet::onnx
