// The tensor-core convolutions for Hopper. They have files of their own, because their instructions (wgmma) exist only
// for sm_90a.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>

#include "framework/base/text.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {

#ifdef LENSLET_HAS_HOPPER
/// The kernel `wgmma`, for compute capability 9.0; null if it does not support the problem or is estimated to take more
/// than `cycles_to_beat`.
std::unique_ptr<ConvKernel> prepare_tensor_core_wgmma(const ConvPrepare& request, int multiprocessors,
                                                      double cycles_to_beat);
/// The estimated time of that kernel; infinite for problems that it does not support and for 1x1 filters.
double wgmma_us(const Conv2dProblem& problem, MathMode math, int multiprocessors);
/// The kernel `tma`, for compute capability 9.0; null if it does not support the problem or the workspace limit, or is
/// estimated to take more than `us_to_beat`.
std::unique_ptr<ConvKernel> prepare_tensor_core_tma(const ConvPrepare& request, int multiprocessors,
                                                    double us_to_beat);
/// Whether that kernel takes this problem's fp16 or bf16 tensors: yes, or no with the reason.
Support tma_takes_16_bits(const Conv2dProblem& problem);
/// The scratch memory of that kernel: for the inputs in another layout or element type; 0 if it reads them as they are
/// or does not support the problem.
size_t tma_workspace_bytes(const Conv2dProblem& problem, MathMode math);
#else
/// Builds without code for Hopper: null.
inline std::unique_ptr<ConvKernel> prepare_tensor_core_wgmma(const ConvPrepare&, int, double) {
  return nullptr;
}
/// Builds without code for Hopper: infinite.
inline double wgmma_us(const Conv2dProblem&, MathMode, int) { return INFINITY; }
/// Builds without code for Hopper: null.
inline std::unique_ptr<ConvKernel> prepare_tensor_core_tma(const ConvPrepare&, int, double) {
  return nullptr;
}
/// Builds without code for Hopper: 0.
inline size_t tma_workspace_bytes(const Conv2dProblem&, MathMode) { return 0; }
/// Builds without code for Hopper: no.
inline Support tma_takes_16_bits(const Conv2dProblem& problem) {
  return Support::no(concat("tensor_core takes ", problem.type.name(),
                            " tensors in builds that have code for Hopper, not in this one: use cudnn"));
}
#endif

}  // namespace lenslet
