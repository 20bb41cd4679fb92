// Internal: weights as the kernels multiply them, whatever their order.
#pragma once

#include <cuda_fp16.h>
#include <cstdint>

#include <cstring>

#include "framework/instructions/operand_bits.h"
#include "models/fused_lenet5/fold.h"

namespace lenslet::fused_lenet5 {

/// A weight as a kernel in that math mode multiplies it, rounded once.
inline float rounded_weight(double value, MathMode math) {
  const auto single = static_cast<float>(value);
  if (math == MathMode::kFp16) return __half2float(__double2half(value));
  if (math != MathMode::kTf32) return single;
  const uint32_t bits = tf32_bits(single);
  float rounded;
  std::memcpy(&rounded, &bits, sizeof rounded);
  return rounded;
}

/// conv1 on pixels as the kernel reads them: bytes with the normalisation folded in, or normalised values.
inline FoldedConv1 conv1_for(const Lenet5Parameters& parameters, ElementType input) {
  if (input == ElementType::kUint8) return fold_normalisation(parameters);
  FoldedConv1 plain{};
  for (size_t i = 0; i < plain.weight.size(); ++i) plain.weight[i] = parameters.conv1_weight.data()[i];
  for (size_t i = 0; i < plain.bias.size(); ++i) plain.bias[i] = parameters.conv1_bias.data()[i];
  return plain;
}

}  // namespace lenslet::fused_lenet5
