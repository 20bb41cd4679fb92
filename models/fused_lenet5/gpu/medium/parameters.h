// Internal: LeNet-5's parameters as the backend `medium` reads them, packed on the host.
#pragma once

#include <vector>

#include "models/fused_lenet5/gpu/medium/layout.h"
#include "models/fused_lenet5/network_backend.h"

namespace lenslet::medium_lenet5 {

/// Packs all parameters but those of conv1 (see pack_winograd_constants()). Returns Layout::kFloats values. In a math
/// mode other than fp32 weights are rounded to it, those of conv2 before they are transformed.
std::vector<float> pack_parameters(const Lenet5Parameters& parameters, MathMode math);

}  // namespace lenslet::medium_lenet5
