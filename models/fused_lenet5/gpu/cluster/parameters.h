// Internal: LeNet-5's parameters in the order of the small kernels' threads.
#pragma once

#include <vector>

#include "models/fused_lenet5/gpu/cluster/tile.h"
#include "models/fused_lenet5/network_backend.h"

namespace lenslet::cluster_lenet5 {

/// For pixels as bytes (kUint8: normalisation folded in) or as normalised values (kFp32). Each weight is rounded
/// to fp16 (kFp16) or tf32 (kTf32).
Conv1Parameters pack_conv1(const Lenet5Parameters& parameters, ElementType input, MathMode math);

/// The parameters in device memory for clusters of `blocks` (2, 4, 8 or 16): Tile<blocks>::kPackedFloats values.
std::vector<float> pack_parameters(const Lenet5Parameters& parameters, int blocks, MathMode math);

}  // namespace lenslet::cluster_lenet5
