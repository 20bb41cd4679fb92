// LeNet-5 as a whole: intermediate values stay in registers and on-chip memory (docs/kernels/fused_lenet.md).
#pragma once

#include <memory>

#include "framework/graph/layer.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// The graph that make_lenet5 builds from the same weights, which must be complete, as one layer of type "network". It
/// reads normalised values, bytes or packed pixels and writes logits or classes.
std::unique_ptr<Layer> make_fused_lenet5(const Safetensors& weights);

}  // namespace lenslet
