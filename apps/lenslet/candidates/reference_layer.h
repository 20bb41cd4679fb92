// A layer of a graph by the judge (layers/reference).
#pragma once

#include <cstdint>
#include <vector>

#include "framework/graph/graph.h"
#include "layers/reference/reference.h"

namespace lenslet {

/// What a layer reads; the values are borrowed.
struct LayerInput {
  Shape shape;
  const float* values = nullptr;
};

/// The reference's output of one layer. `terms` gets the number of products per output, plus one for the bias; 0
/// without sums. Throws std::logic_error for a layer without a judge.
reference::Result reference_layer(const Layer& layer, const std::vector<LayerInput>& inputs, int64_t& terms);

/// Operations of one sample by the direct algorithms, 1 at least: by them the reference's time is estimated.
double flops_of(const Graph& graph);

}  // namespace lenslet
