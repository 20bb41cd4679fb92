// The error bound of one layer by one backend, derived from its inputs.
#pragma once

#include <vector>

#include "apps/lenslet/candidates/reference_layer.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// How far each output of the layer by that backend may lie from the reference's, `result` and `terms` of
/// reference_layer() for `inputs`: of a convolution as its backend derived it, of other sums as for a plain sum; layers
/// without sums are exact.
std::vector<double> layer_bounds(const Layer& layer, const BackendEntry& entry, MathMode math,
                                 const std::vector<LayerInput>& inputs, const reference::Result& result,
                                 int64_t terms);

/// The bounds of plain sums, as layer_bounds() takes them for layers whose backend derives none.
std::vector<double> sum_bounds(const reference::Result& result, int64_t terms,
                               MathMode math = MathMode::kFp32);

/// How far each output may change, by rounding aside, if each input changes by at most `errors`: exact for layers that
/// are linear, monotone or products of their inputs, of first order for others. `errors` has the inputs' shapes.
std::vector<double> carried_errors(const Layer& layer, const std::vector<LayerInput>& inputs,
                                   const std::vector<std::vector<float>>& errors,
                                   const reference::Result& result);

}  // namespace lenslet
