// Direct convolution on the GPU:
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//
// x [N, C, H, W] or [N, H, W, C], w [K, C/G, R, S], b [K], y [N, K, P, Q] or [N, P, Q, K], fp32 products and sums, no
// TF32. Nothing is unrolled in memory and no workspace is used. NCHW takes the first of strip, pixels, rows, tile and
// any that fits the problem; NHWC of strip, pixels and nhwc:
//   strip  RGB images in either layout, 3x3, strides 1 and 2: a warp walks down the image and reads each row once
//   pixels RGB images, 3x3, that strips do not support, in NCHW with up to 2^18 positions: one thread per position
//   rows   few channels and filters (LeNet's first layer, small RGB images): filters in the constant bank, inputs as
//          float4
//   tile   3x3 and 5x5 of any number of channels: input tile in shared memory, up to 2 x 4 positions of 8 filters per
//          thread
//   any    everything else in NCHW, and every pooling that the others do not fuse: one position of up to four filters
//          per thread
//   nhwc   everything else in NHWC: 4 positions x 4 filters per thread
// Register tiling of direct convolution after V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear
// algebra", SC 2008, and A. Lavin, "maxDNN", arXiv:1501.06633 (2015), section 3, without their im2col indexing.
#include <memory>

#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/direct/any_launch.cuh"
#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/nhwc_launch.cuh"
#include "layers/conv/gpu/direct/pixels_launch.cuh"
#include "layers/conv/gpu/direct/rows_launch.cuh"
#include "layers/conv/gpu/direct/strip_launch.cuh"
#include "layers/conv/gpu/direct/tile_launch.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

class DirectBackend : public SummingBackend {
 public:
  Support fuses_max_pool(const Conv2dProblem& problem, MathMode /*math*/,
                         const Pool2dWindow& window) const override {
    if (const Support fits = windows_fit(problem, window); !fits) return fits;
    const int64_t outputs = int64_t{window.r} * window.s, max_outputs = max_window(problem);
    if (outputs > max_outputs) {
      return Support::no(concat("direct pools windows of up to ", max_outputs,
                                " outputs of this problem, found ", window.r, "x", window.s, kLeavePooling));
    }
    const int64_t windows = int64_t{problem.n} * window.rows(problem.p()) * window.columns(problem.q());
    if (windows * any_filter_tiles(problem) > GpuLimits::kGridX) {
      return Support::no(concat("direct would need up to ", windows * any_filter_tiles(problem),
                                " thread blocks to pool, the limit is ", GpuLimits::kGridX,
                                ": use a smaller batch"));
    }
    return Support::yes();
  }
  // For other windows the fused kernel computes outputs where windows overlap twice, and is slower for each output: two
  // steps are faster.
  bool suits_max_pool(const Conv2dProblem& /*problem*/, const Pool2dWindow& window) const override {
    return window.is_halving();
  }
  // With more channels the others read each input and weight for more products, except in the layouts that they refuse.
  // kTileChannels was chosen by hand between 6 channels, where direct is faster than winograd (conv2 in
  // docs/results/2026-11-30-h200/ladder.json), and 16, where it is slower (docs/results/2026-11-28-h200/batch1.json).
  bool suits(const Conv2dProblem& problem, MathMode /*math*/) const override {
    return problem.c / problem.groups < kTileChannels;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("direct", math); !fp32) return fp32;
    if (const Support limits = own_kernel_limits("direct", problem); !limits) return limits;
    if (const int64_t blocks = any_blocks(problem); blocks > GpuLimits::kGridX) {
      return Support::no(concat("direct would need ", blocks, " thread blocks, the limit is ",
                                GpuLimits::kGridX, ": use a smaller batch"));
    }
    return filters_fit_grid("direct", problem, 2);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const int multiprocessors = multiprocessor_count(request.stream.device());
    if (request.max_pool) return prepare_pooled(request, multiprocessors);
    if (request.problem.layout == TensorLayout::kNhwc) return prepare_nhwc(request, multiprocessors);
    if (auto kernel = prepare_strip(request, multiprocessors)) return kernel;
    if (auto kernel = prepare_pixels(request)) return kernel;
    if (auto kernel = prepare_rows(request, multiprocessors)) return kernel;
    if (auto kernel = prepare_tile(request, multiprocessors)) return kernel;
    return std::make_unique<DirectAny>(request);
  }
  std::unique_ptr<ConvKernel> prepare_pooled(const ConvPrepare& request, int multiprocessors) const {
    if (request.problem.layout == TensorLayout::kNchw) {
      if (auto kernel = prepare_rows(request, multiprocessors)) return kernel;
      if (auto kernel = prepare_tile(request, multiprocessors)) return kernel;
      if (request.max_pool->is_halving()) return std::make_unique<DirectAny>(request);
    }
    return std::make_unique<DirectAnyPooled>(request, multiprocessors);
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_direct, DirectBackend())

}  // namespace lenslet
