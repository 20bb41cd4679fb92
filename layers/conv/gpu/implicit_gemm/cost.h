// Internal: what implicit_gemm estimates of its tilings, to choose one.
#pragma once

#include <cstdint>

#include "framework/base/integer_math.h"

namespace lenslet {

/// What the busiest multiprocessor has to do, in multiply-adds of the largest tile's inner loop a tap.
template <typename Variant>
double implicit_gemm_cost(const Variant& choice, int64_t blocks, int multiprocessor_count) {
  const auto rounds = static_cast<double>(ceil_div(blocks, multiprocessor_count));
  return rounds * choice.block_m * choice.block_n / choice.efficiency;
}

}  // namespace lenslet
