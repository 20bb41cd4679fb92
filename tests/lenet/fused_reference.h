// What the tests of the fused LeNet-5 compare with: parameters that exercise it, and the fp64 judge's logits.
#pragma once

#include <vector>

#include "framework/io/safetensors.h"

namespace lenslet {

/// Uniformly random, scaled so that activations neither die out nor grow.
Safetensors random_lenet5_parameters();

/// The judge's logits of images [N, 28, 28]; what a layer hands on is rounded to fp32 once. `largest_sum`, unless null,
/// gets the largest sum of absolute products behind any value of any layer.
std::vector<double> reference_logits(const Safetensors& parameters, const std::vector<float>& images,
                                     double* largest_sum = nullptr);

}  // namespace lenslet
