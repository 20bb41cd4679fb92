// Depthwise convolution on the GPU: one input channel a filter, groups == C, K = C * multiplier:
//   y[n, c*M + m, p, q] = b[c*M + m] + sum over r, s of w[c*M + m, 0, r, s] * x[n, c, h, v]
//   h = p*stride_h - pad_h + r*dilation_h, v = q*stride_w - pad_w + s*dilation_w
//
// x [N, C, H, W] or [N, H, W, C], w [K, 1, R, S], b [K], y [N, K, P, Q] or [N, P, Q, K], fp32 products and sums. The
// first half of a depthwise-separable convolution (L. Sifre, thesis, Ecole polytechnique 2014, section 6.2; A. Howard
// et al., "MobileNets", arXiv:1704.04861 (2017), section 3.1); the second half, 1x1 over all channels, is a matrix
// product, for split_gemm on Hopper and implicit_gemm elsewhere.
// R*S multiply-adds per output against two transfers: memory bound. A matrix product would gain nothing, so each kernel
// is a direct convolution that moves every byte once. The first kernel that supports the problem is taken:
//   rows      NCHW, 3x3, 5x5 and 7x7, strides 1 and 2: as wide loads as width and padding allow
//   channels  NHWC, the same filters and strides
//   any       everything else
#include <algorithm>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/depthwise/channels.cuh"
#include "layers/conv/gpu/depthwise/rows.cuh"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

constexpr int kBlock = 128;
/// Threads per multiprocessor that keep its memory busy: with fewer threads, smaller patches give more of them. Chosen
/// by hand: four blocks, a quarter of the 2,048 threads that a multiprocessor of an H100 or H200 holds.
constexpr int kBusyThreads = 512;

struct RowsVariant {
  int filter, stride, pad;  // of the supported problems: filter x filter; pad may be kDepthwiseAnyPad
  int rows, vector;         // output rows per thread, in 4 columns; floats per load
  void (*kernel)(DepthwiseShape, const float*, const float*, float*);
};
template <int kFilter, int kStride, int kPad, int kRows, int kVector>
constexpr RowsVariant rows_variant() {
  return {kFilter, kStride, kPad,
          kRows,   kVector, &conv_depthwise_rows_kernel<kFilter, kFilter, kStride, kPad, kRows, kVector>};
}
/// In the order of preference: wider loads first, then larger patches.
constexpr RowsVariant kRowsVariants[] = {
    rows_variant<3, 1, 1, 4, 4>(),
    rows_variant<3, 1, 1, 2, 4>(),
    rows_variant<3, 1, 0, 4, 4>(),
    rows_variant<3, 1, 0, 2, 4>(),
    rows_variant<3, 2, 1, 1, 4>(),
    rows_variant<3, 2, 0, 1, 4>(),
    rows_variant<5, 1, 2, 4, 4>(),
    rows_variant<5, 1, 0, 4, 4>(),
    rows_variant<5, 2, 2, 2, 4>(),
    rows_variant<7, 1, 3, 4, 4>(),
    rows_variant<7, 2, 3, 2, 4>(),
    rows_variant<3, 1, 1, 2, 2>(),
    rows_variant<3, 2, 1, 2, 2>(),
    rows_variant<5, 1, 2, 4, 2>(),
    rows_variant<5, 2, 2, 2, 2>(),
    rows_variant<3, 1, kDepthwiseAnyPad, 2, 1>(),
    rows_variant<3, 2, kDepthwiseAnyPad, 2, 1>(),
    rows_variant<5, 1, kDepthwiseAnyPad, 2, 1>(),
    rows_variant<5, 2, kDepthwiseAnyPad, 2, 1>(),
    rows_variant<7, 1, kDepthwiseAnyPad, 2, 1>(),
    rows_variant<7, 2, kDepthwiseAnyPad, 2, 1>(),
};

struct ChannelsVariant {
  int r, s, stride, vector;
  int rows;
  void (*kernel)(DepthwiseChannelsShape, const float*, const float*, const float*, float*);
};
template <int R, int S, int kStride, int kRows, int kVector>
constexpr ChannelsVariant channels_variant() {
  return {R, S, kStride, kVector, kRows, &conv_depthwise_channels_kernel<R, S, kStride, kRows, kVector>};
}
constexpr ChannelsVariant kChannelsVariants[] = {
    channels_variant<3, 3, 1, 2, 4>(), channels_variant<3, 3, 1, 2, 1>(), channels_variant<3, 3, 2, 1, 4>(),
    channels_variant<3, 3, 2, 1, 1>(), channels_variant<5, 5, 1, 2, 4>(), channels_variant<5, 5, 1, 2, 1>(),
    channels_variant<5, 5, 2, 1, 4>(), channels_variant<5, 5, 2, 1, 1>(), channels_variant<7, 7, 1, 1, 4>(),
    channels_variant<7, 7, 1, 1, 1>(), channels_variant<7, 7, 2, 1, 4>(), channels_variant<7, 7, 2, 1, 1>(),
};

bool plain(const Conv2dProblem& problem) {
  return problem.dilation_h == 1 && problem.dilation_w == 1 && problem.stride_h == problem.stride_w;
}

int64_t row_segments(const Conv2dProblem& problem, const RowsVariant& variant) {
  return int64_t{problem.n} * problem.k * ceil_div(problem.p(), variant.rows) * ceil_div(problem.q(), 4);
}

bool supports(const RowsVariant& variant, const Conv2dProblem& problem) {
  const bool size =
      variant.filter == problem.r && variant.filter == problem.s && variant.stride == problem.stride_h;
  const bool pad =
      variant.pad == kDepthwiseAnyPad || (variant.pad == problem.pad_h && variant.pad == problem.pad_w);
  return size && pad && problem.w % variant.vector == 0;
}

/// The first variant that supports the problem; if it would leave multiprocessors idle, the next with the same loads
/// and smaller patches.
const RowsVariant* choose_rows_variant(const Conv2dProblem& problem, int multiprocessor_count) {
  if (!plain(problem) || problem.layout != TensorLayout::kNchw) return nullptr;
  const RowsVariant* chosen = nullptr;
  for (const RowsVariant& variant : kRowsVariants) {
    if (!supports(variant, problem) || (chosen && variant.vector != chosen->vector)) continue;
    chosen = &variant;
    if (row_segments(problem, variant) >= int64_t{kBusyThreads} * multiprocessor_count) break;
  }
  return chosen;
}

const ChannelsVariant* choose_channels_variant(const Conv2dProblem& problem) {
  if (!plain(problem) || problem.layout != TensorLayout::kNhwc) return nullptr;
  const int vector = problem.k == problem.c && problem.c % 4 == 0 ? 4 : 1;
  for (const ChannelsVariant& variant : kChannelsVariants) {
    if (variant.r == problem.r && variant.s == problem.s && variant.stride == problem.stride_h &&
        variant.vector == vector) {
      return &variant;
    }
  }
  return nullptr;
}

class DepthwiseRows : public OneLaunchConv<DepthwiseShape, const float*, const float*, float*> {
 public:
  DepthwiseRows(const ConvPrepare& request, const RowsVariant& variant) {
    const Conv2dProblem& problem = request.problem;
    pack(request);
    const int p = problem.p(), q = problem.q();
    set_planes(shape_, problem);
    shape_.k = problem.k;
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.segments = static_cast<int>(row_segments(problem, variant));
    shape_.row_segments = FastDivide(static_cast<int>(ceil_div(p, variant.rows)));
    shape_.column_segments = FastDivide(static_cast<int>(ceil_div(q, 4)));
    shape_.by_k = FastDivide(problem.k);
    shape_.by_multiplier = FastDivide(problem.k / problem.c);
    shape_.store_width = q % 4 == 0 ? 4 : q % 2 == 0 ? 2 : 1;
    shape_.after = request.rectifier;
    launch_ = {"conv_depthwise_rows_kernel", variant.kernel, grid_blocks(shape_.segments, kBlock), kBlock};
    detail_ = concat("rows, ", variant.rows, "x4 positions per thread, ", variant.vector * sizeof(float),
                     " bytes a load");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), args.y);
  }

 private:
  /// Each filter followed by its bias, padded to whole float4.
  void pack(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const auto pitch = static_cast<size_t>(depthwise_filter_pitch(problem.r, problem.s));
    const auto taps = static_cast<size_t>(problem.r * problem.s), count = static_cast<size_t>(problem.k);
    std::vector<float> packed(count * pitch, 0.0f);
    for (size_t k = 0; k < count; ++k) {
      std::copy_n(request.weights + k * taps, taps, packed.data() + k * pitch);
      if (request.bias) packed[k * pitch + taps] = request.bias[k];
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }

  DepthwiseShape shape_{};
  std::shared_ptr<float> filters_;
};

class DepthwiseChannels
    : public OneLaunchConv<DepthwiseChannelsShape, const float*, const float*, const float*, float*> {
 public:
  /// `variant` null: the kernel for any shape.
  DepthwiseChannels(const ConvPrepare& request, const ChannelsVariant* variant) {
    const Conv2dProblem& problem = request.problem;
    upload(request, variant != nullptr);
    const int vector = variant ? variant->vector : 1, rows = variant ? variant->rows : 1;
    const int columns = variant ? 4 : 1, groups = problem.k / vector;
    const auto row_segments = static_cast<int>(ceil_div(problem.p(), rows));
    const auto column_segments = static_cast<int>(ceil_div(problem.q(), columns));
    set_all_sizes(shape_, problem);
    shape_.threads = problem.n * groups * row_segments * column_segments;
    shape_.by_multiplier = FastDivide(problem.k / problem.c);
    shape_.by_channel_groups = FastDivide(groups);
    shape_.by_column_segments = FastDivide(column_segments);
    shape_.by_row_segments = FastDivide(row_segments);
    shape_.after = request.rectifier;
    const unsigned blocks = grid_blocks(shape_.threads, kBlock);
    if (variant) {
      launch_ = {"conv_depthwise_channels_kernel", variant->kernel, blocks, kBlock};
      detail_ = concat("channels, ", rows, "x4 positions x ", vector, " channels per thread");
    } else {
      const bool channels_last = problem.layout == TensorLayout::kNhwc;
      launch_ = {"conv_depthwise_any_kernel",
                 channels_last ? &conv_depthwise_any_kernel<true> : &conv_depthwise_any_kernel<false>, blocks,
                 kBlock};
      detail_ = "any, 1 position a thread";
    }
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(), args.y);
  }

 private:
  /// Filters as [R, S, K], so that neighbouring channels are contiguous, or in the original order.
  void upload(const ConvPrepare& request, bool taps_first) {
    const Conv2dProblem& problem = request.problem;
    const auto count = static_cast<size_t>(problem.k);
    const size_t taps = static_cast<size_t>(problem.r) * static_cast<size_t>(problem.s);
    std::vector<float> packed(request.weights, request.weights + count * taps);
    for (size_t i = 0; taps_first && i < packed.size(); ++i) {
      packed[i % taps * count + i / taps] = request.weights[i];
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, problem.k / problem.groups);
  }

  DepthwiseChannelsShape shape_{};
  std::shared_ptr<float> filters_, bias_;
};

class DepthwiseBackend : public SummingBackend {
 public:
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("depthwise", math); !fp32) return fp32;
    if (const Support groups = depthwise_groups(problem); !groups) return groups;
    return own_kernel_limits("depthwise", problem);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const int multiprocessors = multiprocessor_count(request.stream.device());
    if (const RowsVariant* variant = choose_rows_variant(request.problem, multiprocessors)) {
      return std::make_unique<DepthwiseRows>(request, *variant);
    }
    return std::make_unique<DepthwiseChannels>(request, choose_channels_variant(request.problem));
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_depthwise, DepthwiseBackend())

}  // namespace lenslet
