// Plan: the choices for a graph on a device, saved as JSON and replayed exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/tensor/math_mode.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

/// The choice for one layer.
struct PlanLayer {
  std::string name;     // the graph node
  std::string type;     // "conv2d"
  std::string backend;  // the one that runs; "fused" if another layer's operator computes this node
  MathMode math = MathMode::kFp32;  // of the backend's products
  std::string choice;  // what the backend chose by timing (Operator::choice); empty if there was no choice
  std::string fused_into;  // the layer that computes this node, if backend is "fused"
  // Type of the tensor that the operator of this layer writes between layers; empty: the executable chooses it.
  std::optional<ElementType> output = {};
};

/// The choices for a graph: backend, math mode, fusion and algorithm of each layer. Saved as JSON and replayed.
struct Plan {
  static constexpr const char* kSchema = "lenslet.plan/1";  // of the JSON
  static constexpr size_t kMaxBytes = 4u << 20;             // of the JSON
  /// Also the most of an ONNX model. from_json() compares each layer with all before it.
  static constexpr size_t kMaxLayers = 4096;
  static constexpr const char* kLayered = "layered";  // execution step by step
  /// All at once; `layers` then has one entry: the model's name, and the backend of Graph::network().
  static constexpr const char* kFused = "fused";

  std::string model;                        // the graph's name
  std::string version;                      // of Lenslet
  std::string device;                       // "cuda:0"
  std::string device_name;                  // "NVIDIA H200"
  std::string execution = kLayered;         // kLayered or kFused
  ElementType input = ElementType::kFp32;   // type that a run reads
  ElementType output = ElementType::kFp32;  // type that a run writes
  int64_t batch = 0;                        // samples per pass
  std::vector<PlanLayer> layers;            // every layer of the graph, in order
  size_t workspace_bytes = 0;               // shared by all layers
  size_t activation_bytes = 0;              // of the block that the activations share
  std::string origin;                       // the file it was read from, for messages; not part of the JSON

  /// The choice for that layer; null if there is none.
  const PlanLayer* find(const std::string& layer) const noexcept;
  /// The least exact math mode of all layers.
  MathMode math() const noexcept;
  /// Throws DataError unless the plan is for the graph of that name.
  void check_is_for(const std::string& graph) const;
  /// The text of a plan file.
  std::string to_json() const;
  /// Inverse of to_json(). `outputs`: the types that a run may write. Throws DataError naming `origin` and the fault.
  static Plan from_json(const std::string& text, const std::string& origin,
                        const std::vector<ElementType>& outputs = {ElementType::kFp32});
};

}  // namespace lenslet
