// Plan: the choices made for a graph on a device, saved as JSON and replayed exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/math_mode.h"
#include "framework/tensor.h"

namespace lenslet {

/// The choice for one layer.
struct PlanLayer {
  std::string name;     // the graph node
  std::string type;     // "conv2d"
  std::string backend;  // the one that runs; "fused" where another layer's operator computes this node
  MathMode math = MathMode::kFp32;  // of the backend's products
  std::string choice;  // what the backend chose by timing (Operator::choice); empty where it had no choice
  std::string fused_into;  // the layer that computes this node, where backend is "fused"
};

struct Plan {
  static constexpr const char* kSchema = "lenslet.plan/1";  // of the JSON
  static constexpr const char* kLayered = "layered";        // execution step by step
  static constexpr const char* kFused = "fused";  // then `layers` holds one entry: the model and the variant

  std::string model;                        // the graph's name
  std::string version;                      // of Lenslet
  std::string device;                       // "cuda:0"
  std::string device_name;                  // "NVIDIA H200"
  std::string execution = kLayered;         // how the graph is executed: step by step, or all at once
  ElementType input = ElementType::kFp32;   // what a run reads
  ElementType output = ElementType::kFp32;  // and writes
  int64_t batch = 0;                        // images it was made for
  std::vector<PlanLayer> layers;            // every layer of the graph, in order
  size_t workspace_bytes = 0;               // booked once for all layers
  size_t activation_bytes = 0;              // of the block that the activations share
  std::string origin;                       // the file it was read from, for messages; not part of the JSON

  /// The choice for that layer; null where it has none.
  const PlanLayer* find(const std::string& layer) const noexcept;
  /// The least exact math mode of all layers.
  MathMode math() const noexcept;
  /// As --save-plan writes it.
  std::string to_json() const;
  /// Throws DataError naming what is wrong in the text.
  static Plan from_json(const std::string& text, const std::string& origin);
};

}  // namespace lenslet
