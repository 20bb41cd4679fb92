// Requirements that Lenslet's CUDA convolutions share. Internal: only for files that include CUDA headers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/device/gpu_queries.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// Both ends are padded alike. Elements are counted in 32 bits inside an image, images in 64; grids have one dimension.
inline Support own_kernel_limits(const char* backend, const Conv2dProblem& problem) {
  if (const Support symmetric = symmetric_padding(backend, problem); !symmetric) return symmetric;
  constexpr int64_t kMax = GpuLimits::kElements;
  const int64_t pixels = int64_t{problem.p()} * problem.q();
  const int64_t counts[] = {int64_t{problem.n} * problem.c * problem.h * problem.w,
                            int64_t{problem.n} * problem.k * pixels,
                            int64_t{problem.k} * (problem.c / problem.groups) * problem.r * problem.s};
  const char* names[] = {"input", "output", "filter"};
  for (int i = 0; i < 3; ++i) {
    if (counts[i] > kMax) {
      return Support::no(concat(backend, " supports tensors of up to ", kMax, " elements, the ", names[i],
                                " has ", counts[i], ": use a smaller batch or image"));
    }
  }
  return Support::yes();
}

/// For a grid with a row of blocks for each group.
inline Support groups_fit_grid(const char* backend, const Conv2dProblem& problem) {
  if (problem.groups <= GpuLimits::kGridYZ) return Support::yes();
  return Support::no(concat(backend, " supports up to ", GpuLimits::kGridYZ, " groups, found ",
                            problem.groups, ": use direct"));
}

/// For a grid with a row of blocks for each `tile` filters.
inline Support filters_fit_grid(const char* backend, const Conv2dProblem& problem, int tile) {
  if (ceil_div(problem.k, tile) <= GpuLimits::kGridYZ) return Support::yes();
  return Support::no(concat(backend, " supports up to ", tile * GpuLimits::kGridYZ, " filters, found ",
                            problem.k, ": use implicit_gemm"));
}

/// For kernels that gather by a table. `reach`: the largest offset of a window's corner from the input's start, or of a
/// tap from its corner; `nowhere`: the row of the taps that do not exist, beyond every row and column that does.
inline Support offsets_fit(const char* backend, const Conv2dProblem& problem, int64_t reach, int nowhere) {
  const int64_t size = std::max(int64_t{problem.h} + problem.pad_h, int64_t{problem.w} + problem.pad_w);
  if (size > nowhere) {
    return Support::no(concat(backend, " supports images of up to ", nowhere,
                              " rows and columns, padding included; found ", size,
                              ": use a smaller padding"));
  }
  if (reach > INT32_MAX) {
    return Support::no(concat(backend, " counts ", INT32_MAX,
                              " elements from the start of the input, padding and dilation included; found ",
                              reach, ": use direct"));
  }
  return Support::yes();
}

}  // namespace lenslet
