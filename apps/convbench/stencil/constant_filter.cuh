// A filter in constant memory. Each kernel's file has its own symbol: without relocatable device code, constant memory
// belongs to one file.
#pragma once

#include "apps/convbench/stencil/stencil_kernels.h"
#include "framework/device/cuda_check.h"
#include "framework/device/native_stream.h"

namespace lenslet {

constexpr int kConstantTaps = 4096;
static_assert(kConstantTaps >= kMaxTaps1d && kConstantTaps >= kMaxTaps2d * kMaxTaps2d);

template <int kCount>
void upload_constant(float (&symbol)[kCount], const float* filter, int count, Stream& stream) {
  LENSLET_CUDA_CHECK(cudaMemcpyToSymbolAsync(symbol, filter, static_cast<size_t>(count) * sizeof(float), 0,
                                             cudaMemcpyHostToDevice, native(stream)));
}

}  // namespace lenslet
