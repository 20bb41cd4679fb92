// The backends of the linear layer, one file each. Internal to this folder.
#pragma once

#include <memory>

#include "framework/layer.h"

namespace lenslet {

/// Sizes and host weights of a layer that is being prepared. The pointers are valid only during preparation.
struct LinearProblem {
  int64_t batch = 0, inputs = 0, outputs = 0;
  const float* weights = nullptr;  // [outputs, inputs]
  const float* bias = nullptr;     // [outputs] or null
  bool relu = false;
  MathMode math = MathMode::kFp32;
};

std::unique_ptr<Operator> prepare_linear_direct_cpu(const LinearProblem& problem, Stream& stream);
std::unique_ptr<Operator> prepare_linear_gemm_cpu(const LinearProblem& problem, Stream& stream);
std::unique_ptr<Operator> prepare_linear_warp_reduce_gpu(const LinearProblem& problem, Stream& stream);
std::unique_ptr<Operator> prepare_linear_tiled_gpu(const LinearProblem& problem, Stream& stream);
std::unique_ptr<Operator> prepare_linear_cublas_gpu(const LinearProblem& problem, Stream& stream);

}  // namespace lenslet
