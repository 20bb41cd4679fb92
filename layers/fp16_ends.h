// When `auto` stores the tensors between layers as fp16. Internal.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// Samples of a pass from which on fp16 tensors between layers are measured to be faster, with LeNet-5 on an H200
/// (docs/kernels/tensor_core.md, "Tensors of fp16 between layers"). Smaller passes were not measured: they have little
/// to gain, as the kernels wait for latencies and not for memory.
inline constexpr int64_t kMinFp16Samples = 512;

/// Whether the input or the output of a request is fp16.
inline bool has_fp16_ends(const OperatorRequest& request) {
  return request.input_type == ElementType::kFp16 || request.output_type == ElementType::kFp16;
}
/// Whether they are likely to be faster than fp32.
inline bool suits_fp16_ends(const OperatorRequest& request) { return request.batch() >= kMinFp16Samples; }

}  // namespace lenslet
