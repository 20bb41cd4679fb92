// Requirements that all of Lenslet's CUDA convolutions share.
#pragma once

#include <cstdint>

#include "framework/error.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// Elements are counted in 32 bits inside an image, images in 64; grids are one-dimensional.
inline Support own_kernel_limits(const char* backend, const Conv2dProblem& problem) {
  constexpr int64_t kMax = INT32_MAX - 4096;  // the last block may reach past the end
  const int64_t pixels = int64_t{problem.p()} * problem.q();
  const int64_t counts[] = {int64_t{problem.n} * problem.c * problem.h * problem.w,
                            int64_t{problem.n} * problem.k * pixels,
                            int64_t{problem.k} * (problem.c / problem.groups) * problem.r * problem.s};
  const char* names[] = {"input", "output", "filter"};
  for (int i = 0; i < 3; ++i) {
    if (counts[i] > kMax) {
      return Support::no(concat(backend, " serves tensors of up to ", kMax, " elements, the ", names[i],
                                " has ", counts[i], ": use a smaller batch or image"));
    }
  }
  return Support::yes();
}

}  // namespace lenslet
