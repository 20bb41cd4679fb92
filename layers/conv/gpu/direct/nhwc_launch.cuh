// Selection of the kernel for a problem in NHWC, and its launch.
#pragma once

#include <memory>
#include <vector>

#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/nhwc.cuh"
#include "layers/conv/gpu/direct/pixels_launch.cuh"
#include "layers/conv/gpu/direct/strip_launch.cuh"

namespace lenslet {

/// Shapes other than 3x3 on RGB.
class DirectNhwc : public OneLaunchConv<DirectNhwcShape, const float*, const float*, const float*, float*> {
 public:
  explicit DirectNhwc(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const int group_channels = problem.c / problem.groups, group_filters = problem.k / problem.groups;
    k_out_ = group_filters == 1 ? 1 : 4;
    const int tiles = static_cast<int>(ceil_div(group_filters, k_out_));
    const int column_groups = static_cast<int>(ceil_div(problem.q(), kDirectNhwcColumns));
    set_all_sizes(shape_, problem);
    shape_.group_channels = group_channels;
    shape_.group_filters = group_filters;
    shape_.filter_tiles = tiles;
    shape_.threads = problem.n * problem.p() * column_groups * problem.groups * tiles;
    shape_.by_all_filter_tiles = FastDivide(problem.groups * tiles);
    shape_.by_filter_tiles = FastDivide(tiles);
    shape_.by_column_groups = FastDivide(column_groups);
    shape_.by_p = FastDivide(problem.p());
    shape_.relu = request.rectifier.relu();
    pack(request);
    launch_ = {"conv_direct_nhwc_kernel", kernel(group_channels % 4 == 0),
               grid_blocks(shape_.threads, kDirectNhwcThreads), kDirectNhwcThreads};
    detail_ = concat("channels last, ", kDirectNhwcColumns, " columns x ", k_out_, " filters per thread");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  Launch::Function kernel(bool vectors) const {
    if (k_out_ == 1) return vectors ? &conv_direct_nhwc_kernel<1, 4> : &conv_direct_nhwc_kernel<1, 1>;
    return vectors ? &conv_direct_nhwc_kernel<4, 4> : &conv_direct_nhwc_kernel<4, 1>;
  }
  /// [G, K/G, C/G, R, S] to [G, R, S, C/G, tiles * k_out].
  void pack(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const int64_t window = int64_t{problem.r} * problem.s, channels = shape_.group_channels;
    const int64_t pitch = int64_t{shape_.filter_tiles} * k_out_;
    std::vector<float> packed(static_cast<size_t>(problem.groups * window * channels * pitch), 0.0f);
    for (int64_t k = 0; k < problem.k; ++k) {
      const int64_t group = k / shape_.group_filters, filter = k % shape_.group_filters;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < window; ++i) {
          packed[static_cast<size_t>(((group * window + i) * channels + c) * pitch + filter)] =
              request.weights[(k * channels + c) * window + i];
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, pitch);
  }

  int k_out_;
  DirectNhwcShape shape_{};
  std::shared_ptr<float> filters_, bias_;
};

template <int K>
std::unique_ptr<ConvKernel> prepare_rgb_nhwc(const ConvPrepare& request, int multiprocessor_count) {
  if (strips_support(request.problem) && request.problem.w % 4 == 0) {
    return make_strip<K, TensorLayout::kNhwc, true>(request, multiprocessor_count);
  }
  return std::make_unique<DirectPixels<K, TensorLayout::kNhwc>>(request);
}

inline std::unique_ptr<ConvKernel> prepare_nhwc(const ConvPrepare& request, int multiprocessor_count) {
  if (is_rgb_3x3(request.problem)) {
    switch (request.problem.k) {
      case 1:
        return prepare_rgb_nhwc<1>(request, multiprocessor_count);
      case 2:
        return prepare_rgb_nhwc<2>(request, multiprocessor_count);
      case 3:
        return prepare_rgb_nhwc<3>(request, multiprocessor_count);
      case 4:
        return prepare_rgb_nhwc<4>(request, multiprocessor_count);
    }
  }
  return std::make_unique<DirectNhwc>(request);
}

}  // namespace lenslet
