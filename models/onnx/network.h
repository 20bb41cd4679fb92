// Internal: the network of an ONNX file, ready to run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/io/safetensors.h"
#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {

/// Either LeNet-5's weights, which the whole-network backends compute, or a graph of layers.
struct NetworkFile {
  std::optional<Safetensors> lenet5;
  std::optional<Shape> input_shape;  // of LeNet-5 whose samples are not 1x28x28, as Keras's 28x28x1
  std::unique_ptr<Graph> graph;      // null for LeNet-5
  std::map<std::string, std::string> metadata;
  std::vector<std::string> external_files;  // paths of the files that hold weights beside `path`
  std::string note;                         // note_of_output()
};

/// What a user should know of a file that declares its output in another shape than its nodes compute; empty if it does
/// not, or if one of both is unknown. The nodes decide, as in ONNX Runtime. The batch is not compared.
std::string note_of_output(const Model& model, const Values& values, const std::string& origin);

/// Throws DataError for a damaged file, and with all nodes that keep a network from running.
NetworkFile read_network(const std::string& path);

/// The graph's name: that of the file, without folder and ending.
std::string network_name(const std::string& path);

}  // namespace lenslet::onnx
