// Selection of the RGB images that get one thread per pixel, and the launch.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "layers/conv/gpu/direct_pixels.cuh"
#include "layers/conv/gpu/direct_plan.cuh"

namespace lenslet {

/// One thread per pixel computes all K planes.
template <int K, TensorLayout kLayout>
class DirectPixels : public ConvKernel {
 public:
  explicit DirectPixels(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    std::copy_n(request.weights, K * 27, filter_.weights);
    for (int k = 0; k < K; ++k) filter_.bias[k] = request.bias ? request.bias[k] : 0.0f;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.p = problem.p();
    shape_.q = problem.q();
    shape_.pixels = problem.n * problem.p() * problem.q();
    shape_.stride_h = problem.stride_h;
    shape_.stride_w = problem.stride_w;
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.by_q = FastDivide(problem.q());
    shape_.by_p = FastDivide(problem.p());
    shape_.relu = request.relu;
  }
  std::string detail() const override {
    return concat("pixels, ", K, " channels a thread", kLayout == TensorLayout::kNhwc ? ", NHWC" : "");
  }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources("conv_direct_pixels_kernel",
                             kernel_address(&conv_direct_pixels_kernel<K, kLayout>), kDirectPixelsThreads,
                             0)};
  }
  void run(const ConvArgs& args, RunContext& context) override {
    const auto blocks = static_cast<unsigned>(ceil_div(shape_.pixels, kDirectPixelsThreads));
    conv_direct_pixels_kernel<K, kLayout>
        <<<blocks, kDirectPixelsThreads, 0, direct_stream(context)>>>(filter_, shape_, args.x, args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_direct_pixels_kernel");
  }

 private:
  DirectRowsFilter<3, K, 3, 3> filter_;
  DirectPixelsShape shape_{};
};

/// NCHW problems with few outputs, which the rows kernel would cut too coarsely; else null.
inline std::unique_ptr<ConvKernel> prepare_pixels(const ConvPrepare& request) {
  constexpr int64_t kMostPixels = int64_t{1} << 18;  // for larger images four pixels per thread are as fast
  const Conv2dProblem& problem = request.problem;
  if (!is_rgb_3x3(problem) || int64_t{problem.n} * problem.p() * problem.q() > kMostPixels) return nullptr;
  if (problem.k == 1) return std::make_unique<DirectPixels<1, TensorLayout::kNchw>>(request);
  if (problem.k == 3) return std::make_unique<DirectPixels<3, TensorLayout::kNchw>>(request);
  return nullptr;
}

}  // namespace lenslet
