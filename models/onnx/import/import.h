// Internal: a graph of Lenslet's layers from an ONNX model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {

/// The layer of a node, or why it has none.
struct NodeResult {
  std::string layer;   // "conv2d"; kFolded or kNothing; empty if there is none
  std::string reason;  // why there is none; empty also for constants, and where a shape before it is unknown
};

inline constexpr const char* kFolded = "folded";  // computed by the layer before it, or after it
inline constexpr const char* kNothing = "none";   // there is nothing to compute

struct Import {
  std::vector<NodeResult> node_results;        // by node of the model
  std::string fault;                           // a fault of the whole graph; empty if there is none
  std::unique_ptr<Graph> graph;                // null if a node has a reason or there is a fault
  std::map<std::string, std::string> node_of;  // by value of the model: the graph's node that computes it
};

/// Every node becomes a layer of its own name, except:
/// - what the layer before it computes: BatchNormalization, and constants added or multiplied per channel;
/// - what the layer after it computes: zeros around a convolution's input, and a Transpose whose order the weights of
///   the products after it take.
///
/// The first dimension, free or frozen, becomes the batch: nodes that would mix samples are refused. All refusals are
/// collected. `name` is the graph's. Throws DataError for damaged constants.
Import import_model(const Model& model, const Values& values, const std::string& name,
                    const std::string& origin);

/// Throws DataError with the refusals that do not depend on weights: of operators, their attributes and outputs, and of
/// the graph's input and output. For models whose weights were not read yet (reader.h).
void check_operators(const Model& model, const std::string& origin);

/// The refusals with the nodes' names, and the fault: "Resize_3: operator Resize is not supported; …"; empty if there
/// are none.
std::string faults_of(const Import& import, const Model& model);

}  // namespace lenslet::onnx
