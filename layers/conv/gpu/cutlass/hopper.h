// CUTLASS's convolutions for Hopper. Separate file: only it needs sm_90a (wgmma) and CUTLASS's headers.
#pragma once

#include <memory>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// The fastest of CUTLASS's tiles for a supported problem, or the one that the request's choice names.
std::unique_ptr<ConvKernel> prepare_cutlass_hopper(const ConvPrepare& request);

}  // namespace lenslet
