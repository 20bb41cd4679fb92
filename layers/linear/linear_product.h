// Internal: a linear layer as one matrix product.
#pragma once

#include "layers/gemm/gemm_backend.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {

/// Y [N, O] = X [N, I] * W [O, I]^T, all of them contiguous.
inline GemmProblem product_of(const LinearProblem& problem) {
  GemmProblem product;
  product.m = static_cast<int>(problem.batch);
  product.n = static_cast<int>(problem.outputs);
  product.k = static_cast<int>(problem.inputs);
  product.transpose_b = true;
  product.lda = product.ldb = problem.inputs;
  product.ldc = problem.outputs;
  return product;
}

}  // namespace lenslet
