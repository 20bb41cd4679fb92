// References for the tests of the whole-network LeNet-5: random parameters, and the fp64 reference's logits.
#pragma once

#include <vector>

#include "framework/io/safetensors.h"

namespace lenslet {

/// Uniformly random, scaled so that activations neither vanish nor grow.
Safetensors random_lenet5_parameters();

/// The reference's logits of images [N, 28, 28]; values between layers are rounded to fp32. `largest_sum`, unless null,
/// gets the largest sum of absolute products of any value of any layer.
std::vector<double> reference_logits(const Safetensors& parameters, const std::vector<float>& images,
                                     double* largest_sum = nullptr);

}  // namespace lenslet
