// Selection of the RGB images that get one thread per pixel, and the launch.
#pragma once

#include <memory>

#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/pixels.cuh"

namespace lenslet {

/// One thread per pixel computes all K planes.
template <int K, TensorLayout kLayout>
class DirectPixels
    : public OneLaunchConv<DirectRowsFilter<3, K, 3, 3>, DirectPixelsShape, const float*, float*> {
 public:
  explicit DirectPixels(const ConvPrepare& request) : filter_(rgb_filter<K>(request)) {
    const Conv2dProblem& problem = request.problem;
    set_planes(shape_, problem);
    set_strides(shape_, problem);
    shape_.pixels = problem.n * problem.p() * problem.q();
    shape_.by_q = FastDivide(problem.q());
    shape_.by_p = FastDivide(problem.p());
    shape_.relu = request.rectifier.relu();
    this->launch_ = {"conv_direct_pixels_kernel", &conv_direct_pixels_kernel<K, kLayout>,
                     grid_blocks(shape_.pixels, kDirectPixelsThreads), kDirectPixelsThreads};
    this->detail_ =
        concat("pixels, ", K, " filters per thread", kLayout == TensorLayout::kNhwc ? ", NHWC" : "");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    this->launch_(context.stream, filter_, shape_, args.x, args.y);
  }

 private:
  DirectRowsFilter<3, K, 3, 3> filter_;
  DirectPixelsShape shape_{};
};

/// NCHW problems with few outputs, which the rows kernel would cut too coarsely; else null.
inline std::unique_ptr<ConvKernel> prepare_pixels(const ConvPrepare& request) {
  constexpr int64_t kMaxPixels = int64_t{1} << 18;  // for larger images four pixels per thread are as fast
  const Conv2dProblem& problem = request.problem;
  if (!is_rgb_3x3(problem) || int64_t{problem.n} * problem.p() * problem.q() > kMaxPixels) return nullptr;
  if (problem.k == 1) return std::make_unique<DirectPixels<1, TensorLayout::kNchw>>(request);
  if (problem.k == 3) return std::make_unique<DirectPixels<3, TensorLayout::kNchw>>(request);
  return nullptr;
}

}  // namespace lenslet
