// The one check of a GemmProblem that every backend makes before it touches memory.
#pragma once

#include "framework/base/error.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {

/// Throws UsageError if a size is negative or a row is longer than the distance to the next one.
inline void check_gemm(const GemmProblem& problem) {
  const auto check_step = [](const char* name, int64_t step, int64_t row) {
    if (step < row)
      throw UsageError(
          concat("gemm: ", name, " must be at least the row's ", row, " elements, found ", step));
  };
  if (problem.m < 0 || problem.n < 0 || problem.k < 0 || problem.batch < 0) {
    throw UsageError(concat("gemm sizes must not be negative, found m=", problem.m, " n=", problem.n,
                            " k=", problem.k, " batch=", problem.batch));
  }
  check_step("lda", problem.lda, problem.transpose_a ? problem.m : problem.k);
  check_step("ldb", problem.ldb, problem.transpose_b ? problem.k : problem.n);
  check_step("ldc", problem.ldc, problem.n);
}

}  // namespace lenslet
