// CUTLASS's convolutions for Hopper. They have their own file, because their instructions (wgmma) exist only for sm_90a
// and because only that file includes CUTLASS's headers.
#pragma once

#include <memory>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// The fastest of CUTLASS's tiles for a supported problem, or the one that the request's choice names.
std::unique_ptr<ConvKernel> prepare_cutlass_hopper(const ConvPrepare& request);

}  // namespace lenslet
