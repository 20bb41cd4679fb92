// The tensor-core convolution for Hopper. It has its own file, because its instructions (wgmma) exist only for sm_90a.
#pragma once

#include <memory>

#include "layers/conv/conv_backend.h"

namespace lenslet {

#ifdef LENSLET_HAS_HOPPER
/// The kernel for compute capability 9.0; null if it does not support the problem or is expected to take more than
/// `cycles_to_beat`.
std::unique_ptr<ConvKernel> prepare_tensor_core_hopper(const ConvPrepare& request, int multiprocessor_count,
                                                       double cycles_to_beat);
#else
/// None: this build has no code for that GPU.
inline std::unique_ptr<ConvKernel> prepare_tensor_core_hopper(const ConvPrepare&, int, double) {
  return nullptr;
}
#endif

}  // namespace lenslet
