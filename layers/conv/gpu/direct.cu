// Direct convolution on the GPU:
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//
// x [N, C, H, W] or [N, H, W, C], w [K, C/G, R, S], b [K], y [N, K, P, Q] or [N, P, Q, K], fp32 products and sums, no
// TF32. Nothing is unrolled in memory and no workspace is used. The first kernel that fits the problem is taken:
//   strip  RGB images in either layout, 3x3, strides 1 and 2: a warp walks down the image and reads each row once
//   rows   few channels and filters (LeNet's first layer, small RGB images): filters in the constant bank, inputs
//          as float4
//   tile   3x3 and 5x5 of any number of channels: input tile in shared memory, up to 2 x 4 positions of 8
//          channels a thread
//   any    everything else: a thread computes one position for four channels
//   pixels RGB images stored channels last that strips do not serve: a thread a pixel
//   nhwc   everything else stored channels last: 4 positions x 4 filters a thread
// Register tiling of direct convolution after V. Volkov and J. Demmel, "Benchmarking GPUs to tune
// dense linear algebra", SC 2008, and A. Lavin, "maxDNN", arXiv:1501.06633 (2015), section 3,
// without their im2col indexing.
#include <memory>
#include <vector>

#include "framework/multiprocessors.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/direct_any.cuh"
#include "layers/conv/gpu/direct_nhwc_plan.cuh"
#include "layers/conv/gpu/direct_pixels_plan.cuh"
#include "layers/conv/gpu/direct_plan.cuh"
#include "layers/conv/gpu/direct_rows_plan.cuh"
#include "layers/conv/gpu/direct_strip_plan.cuh"
#include "layers/conv/gpu/direct_tile_plan.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

constexpr int kDirectAnyThreads = 128;

int any_channels_a_thread(const Conv2dProblem& problem) { return problem.k / problem.groups == 1 ? 1 : 4; }

int64_t any_blocks(const Conv2dProblem& problem) {
  const int64_t pixels = int64_t{problem.n} * problem.p() * problem.q();
  const int64_t tiles = ceil_div(problem.k / problem.groups, any_channels_a_thread(problem)) * problem.groups;
  return ceil_div(pixels, kDirectAnyThreads) * tiles;
}

class DirectAny : public ConvKernel {
 public:
  explicit DirectAny(const ConvPrepare& request) : k_out_(any_channels_a_thread(request.problem)) {
    const Conv2dProblem& problem = request.problem;
    const int group_filters = problem.k / problem.groups, group_channels = problem.c / problem.groups;
    const int tiles = static_cast<int>(ceil_div(group_filters, k_out_));
    blocks_ = static_cast<unsigned>(any_blocks(problem));
    const int p = problem.p(), q = problem.q();
    shape_ = {problem.c,
              problem.h,
              problem.w,
              problem.k,
              p,
              q,
              problem.r,
              problem.s,
              problem.stride_h,
              problem.stride_w,
              problem.pad_h,
              problem.pad_w,
              problem.dilation_h,
              problem.dilation_w,
              group_channels,
              group_filters,
              problem.n * p * q,
              tiles,
              FastDivide(q),
              FastDivide(p),
              FastDivide(tiles),
              FastDivide(tiles * problem.groups),
              request.relu};
    // [G, K/G, C/G, R, S] to [G, tiles, C/G, R, S, k_out].
    const int64_t taps = int64_t{group_channels} * problem.r * problem.s;
    const int64_t all_tiles = int64_t{problem.groups} * tiles;
    std::vector<float> packed(static_cast<size_t>(all_tiles * taps * k_out_), 0.0f);
    std::vector<float> bias(static_cast<size_t>(all_tiles * k_out_), 0.0f);
    for (int k = 0; k < problem.k; ++k) {
      const int64_t filter = k % group_filters;
      const int64_t tile = int64_t{k / group_filters} * tiles + filter / k_out_, lane = filter % k_out_;
      if (request.bias) bias[static_cast<size_t>(tile * k_out_ + lane)] = request.bias[k];
      for (int64_t i = 0; i < taps; ++i) {
        packed[static_cast<size_t>((tile * taps + i) * k_out_ + lane)] = request.weights[k * taps + i];
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = request.services.upload(bias.data(), bias.size());
  }
  std::string detail() const override { return concat("any, ", k_out_, " channels a thread"); }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources("conv_direct_any_kernel", kernel_address(kernel()), kDirectAnyThreads, 0)};
  }
  void run(const ConvArgs& args, RunContext& context) override {
    kernel()<<<blocks_, kDirectAnyThreads, 0, direct_stream(context)>>>(shape_, args.x, filters_.get(),
                                                                        bias_.get(), args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_direct_any_kernel");
  }

 private:
  auto kernel() const -> void (*)(DirectAnyShape, const float*, const float*, const float*, float*) {
    return k_out_ == 1 ? &conv_direct_any_kernel<1> : &conv_direct_any_kernel<4>;
  }

  int k_out_;
  DirectAnyShape shape_;
  unsigned blocks_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

class DirectBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("direct", math); !fp32) return fp32;
    if (const Support limits = own_kernel_limits("direct", problem); !limits) return limits;
    if (const int64_t blocks = any_blocks(problem); blocks > INT32_MAX) {
      return Support::no(concat("direct would need ", blocks, " thread blocks, the limit is ", INT32_MAX,
                                ": use a smaller batch"));
    }
    if (ceil_div(problem.k, 2) > kMaxGridY) {
      return Support::no(concat("direct serves up to ", 2 * kMaxGridY, " filters, asked for ", problem.k,
                                ": use implicit_gemm"));
    }
    return Support::yes();
  }
  size_t workspace_bytes(const Conv2dProblem&, MathMode) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const override {
    if (const Support support = supports(request.problem, request.math); !support) {
      throw UnavailableError(support.reason());
    }
    const int multiprocessors = multiprocessor_count(request.stream.device());
    if (request.problem.layout == TensorLayout::kNhwc) return prepare_nhwc(request, multiprocessors);
    if (auto kernel = prepare_strip(request, multiprocessors)) return kernel;
    if (auto kernel = prepare_pixels(request)) return kernel;
    if (auto kernel = prepare_rows(request, multiprocessors)) return kernel;
    if (is_plain(request.problem)) {
      if (const TileVariant* variant = choose_tile_variant(request.problem, multiprocessors)) {
        return std::make_unique<DirectTile>(request, *variant, multiprocessors);
      }
    }
    return std::make_unique<DirectAny>(request);
  }

 private:
  static constexpr int kMaxGridY = 65535;
};

}  // namespace

namespace conv_backends {
const ConvBackend& gpu_direct() {
  static const DirectBackend backend;
  return backend;
}
}  // namespace conv_backends
}  // namespace lenslet
