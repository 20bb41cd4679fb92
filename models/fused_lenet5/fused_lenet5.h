// LeNet-5 as a whole: intermediate values stay in registers and on-chip memory (docs/kernels/fused_lenet.md).
#pragma once

#include <memory>

#include "framework/graph/fused_model.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// The fused form of the model that make_lenet5 builds from the same weights, which must be complete.
std::shared_ptr<const FusedModel> make_fused_lenet5(const Safetensors& weights);

}  // namespace lenslet
