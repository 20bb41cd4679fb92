// Internal: what a model computes, node by node, and which layer of Lenslet does the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/shapes.h"

namespace lenslet::onnx {

/// A node that depends on the graph's input.
struct NodeSummary {
  std::string node, op;
  std::string output;          // "1x6x24x24"; empty if it is unknown
  int64_t parameters = 0;      // floating values of its constants, counted at their first reader
  std::optional<double> macs;  // multiply-adds per sample; none if a shape is unknown
  std::string layer;   // "conv2d"; "none" if nothing is computed; empty if Lenslet has no layer for it
  std::string reason;  // why there is none
};

struct Summary {
  std::vector<NodeSummary> nodes;
  int64_t constant_nodes = 0;  // not in `nodes`: they depend on no input
  int64_t parameters = 0;      // of all nodes
  std::optional<double> macs;  // of all nodes; none if one is unknown
};

/// In the order of execution.
Summary summarise(const Model& model, const Values& values);

/// The names of the nodes without a layer, with the reasons: "Resize_3: operator Resize is not supported; …".
std::string unsupported_nodes(const Summary& summary);

}  // namespace lenslet::onnx
