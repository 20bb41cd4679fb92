// Internal: what a model computes, node by node, and which layer of Lenslet does the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/import/import.h"

namespace lenslet::onnx {

/// A node that depends on the graph's input.
struct NodeSummary {
  std::string node, op;
  std::string output;          // "1x6x24x24"; empty if it is unknown
  int64_t parameters = 0;      // floating values of its constants, counted at their first reader
  std::optional<double> macs;  // multiply-adds per sample; none if a shape is unknown
  std::string layer;           // as NodeResult has it
  std::string reason;          // why there is none
};

struct Summary {
  std::vector<NodeSummary> nodes;
  int64_t constant_nodes = 0;  // not in `nodes`: they depend on no input
  int64_t parameters = 0;      // of all nodes
  std::optional<double> macs;  // of all nodes; none if one is unknown
};

/// In the order of execution. `node_results` are those of an Import of the model.
Summary summarise(const Model& model, const Values& values, const std::vector<NodeResult>& node_results);

}  // namespace lenslet::onnx
