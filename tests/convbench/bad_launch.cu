#include "framework/device/cuda_check.h"
#include "framework/device/native_stream.h"
#include "tests/convbench/bad_launch.h"

namespace lenslet {
namespace {

__global__ void never_kernel() {}

__global__ void lazy_conv_kernel(LazyConv conv, int outputs) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < outputs) conv.output(i);
}

}  // namespace

void launch_too_many_threads(Stream& stream) { never_kernel<<<1, dim3(64, 64), 0, native(stream)>>>(); }

bool is_captured(Stream& stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  LENSLET_CUDA_CHECK(cudaStreamIsCapturing(native(stream), &status));
  return status == cudaStreamCaptureStatusActive;
}

void launch_lazy_conv(Stream& stream, const LazyConv& conv) {
  constexpr int kThreads = 128;
  const int outputs = conv.k * conv.p * conv.q;
  lazy_conv_kernel<<<(outputs + kThreads - 1) / kThreads, kThreads, 0, native(stream)>>>(conv, outputs);
  LENSLET_CUDA_CHECK_LAUNCH("lazy_conv_kernel");
}

}  // namespace lenslet
