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

/// Applies a layer that a backend fuses to the results of the layer before it and to their bounds: the error of a
/// maximum is at most that of its operands.
void apply_fused(const Layer& layer, reference::Result& result, std::vector<double>& bounds);

/// The bounds of plain sums, as layer_bounds() takes them for layers whose backend derives none.
std::vector<double> sum_bounds(const reference::Result& result, int64_t terms,
                               MathMode math = MathMode::kFp32);

/// How far each output may change, by rounding aside, if each input changes by at most `errors`: exact for layers that
/// are linear, monotone or products of their inputs, of first order for others. `errors` has the inputs' shapes.
std::vector<double> carried_errors(const Layer& layer, const std::vector<LayerInput>& inputs,
                                   const std::vector<std::vector<float>>& errors,
                                   const reference::Result& result);

/// The standard deviation of the error of each output by that backend, if those of the inputs are `carried`, in their
/// shapes: each error is independent of the others and has the mean 0, as in models/fused_lenet5/error_bound.h. To
/// first order, with e the deviations of the inputs, s = ConvAccuracy::sum_deviation() and m its magnitude:
///   sum of w x (and b)   root of  sum w^2 (e^2 + x^2 product_error^2) + (s m)^2; w = 1 / n for a mean
///   another layer        root of the sum, over its inputs, of the square of carried_errors(), and of (s m)^2
/// and that of a rounding of the output, since the judge rounds the values between layers.
std::vector<double> layer_deviations(const Layer& layer, const BackendEntry& entry, MathMode math,
                                     const std::vector<LayerInput>& inputs,
                                     const std::vector<std::vector<float>>& carried,
                                     const reference::Result& result, int64_t terms);

/// By how much the layer's products are too small on average, relative to them: tensor cores cut tf32 operands and
/// partial sums towards 0, and so the errors of these modes have a mean. 0 in fp32.
double mean_loss(const Layer& layer, MathMode math, int64_t terms);

}  // namespace lenslet
