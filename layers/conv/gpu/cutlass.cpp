// Convolution by NVIDIA's CUTLASS on Hopper, which this project's kernels are compared with. Only a build with
// LENSLET_CUTLASS has it.
//
// x and y NHWC, fp32 in memory, products in tf32; see cutlass/hopper.cu. This file decides which problems it supports,
// by the limits of CUTLASS's forward convolution on that GPU, and of TMA's im2col mode, by which it reads x.
#include <string>

#include "framework/base/error.h"
#include "framework/device/gpu_queries.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/gpu/cutlass/hopper.h"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

// TMA's addresses and pitches are multiples of 16 bytes.
constexpr int kAlignment = 4;
// "CUDA Driver API", cuTensorMapEncodeIm2col, for tensors of four dimensions.
constexpr int kMaxStride = 8, kMinCorner = -128, kMaxCorner = 127;
// CUTLASS's limit for the distance between the first and the last tap.
constexpr int64_t kMaxReach = 254;

Support window_fits(const WindowDirection& window) {
  const int64_t before = window.pad, after = before + window.more_pad, reach = window.reach();
  if (window.stride > kMaxStride)
    return Support::no(concat("cutlass supports strides of up to ", kMaxStride, ", found ", window.stride,
                              ": use tensor_core"));
  if (after < 0)
    return Support::no(concat("cutlass cannot leave out the last inputs, found padding ", after,
                              " after them: use tensor_core"));
  if (reach > kMaxReach)
    return Support::no(concat("cutlass supports filters of up to ", kMaxReach + 1, " inputs, found ",
                              reach + 1, ": use tensor_core"));
  if (-before < kMinCorner || after - reach > kMaxCorner || after - reach < kMinCorner) {
    return Support::no(concat("cutlass supports paddings of up to ", -kMinCorner,
                              " and last taps of up to as many inputs after them, found padding ", before,
                              " and ", after, ", last tap ", reach, ": use tensor_core"));
  }
  return Support::yes();
}

Support gpu_supports(int capability) {
  if (capability == GpuLimits::kWgmma) return Support::yes();
  return Support::no(concat("cutlass has kernels for compute capability 9.0 alone here, this GPU has ",
                            capability_text(capability), ": use tensor_core"));
}

class CutlassBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  // The choice is made by timing.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBounded;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (math != MathMode::kTf32) {
      return Support::no(concat("cutlass multiplies fp32 tensors in tf32, not ", to_string(math),
                                math == MathMode::kFp16 ? ": its fp16 kernels read fp16 tensors" : "",
                                ": choose math tf32"));
    }
    if (problem.layout != TensorLayout::kNhwc)
      return Support::no("cutlass reads and writes NHWC, not NCHW: choose layout NHWC or use tensor_core");
    if (problem.groups != 1)
      return Support::no(concat("cutlass supports one group, found ", problem.groups, ": use implicit_gemm"));
    if (problem.c % kAlignment != 0 || problem.k % kAlignment != 0) {
      return Support::no(concat("cutlass supports multiples of ", kAlignment, " channels and filters, found ",
                                problem.c, " and ", problem.k, ": use tensor_core"));
    }
    const Support rows = window_fits(problem.down());
    if (!rows) return rows;
    const Support columns = window_fits(problem.across());
    if (!columns) return columns;
    return current_gpu_supports(gpu_supports);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const Support gpu = gpu_supports(compute_capability(request.stream.device()));
    if (!gpu) throw UnavailableError(gpu.reason());
    return prepare_cutlass_hopper(request);
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_cutlass, CutlassBackend())

}  // namespace lenslet
