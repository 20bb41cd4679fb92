// Direct convolution on the GPU:
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//
// x [N, C, H, W], w [K, C/G, R, S], b [K], y [N, K, P, Q], fp32 products and sums, no TF32. Nothing is
// unrolled in memory and no workspace is used. Three kernels, the first that fits the problem is taken:
//   rows  few channels and filters (LeNet's first layer, RGB images): filters in the constant bank, inputs
//         as float4
//   tile  3x3 and 5x5 of any number of channels: input tile in shared memory, up to 2 x 4 positions of 8
//         channels a thread
//   any   everything else: a thread computes one position for four channels
// Register tiling of direct convolution after V. Volkov and J. Demmel, "Benchmarking GPUs to tune
// dense linear algebra", SC 2008, and A. Lavin, "maxDNN", arXiv:1501.06633 (2015), section 3,
// without their im2col indexing.
#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/multiprocessors.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/direct_any.cuh"
#include "layers/conv/gpu/direct_rows.cuh"
#include "layers/conv/gpu/direct_tile.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

constexpr int kBlock = 128;
constexpr size_t kSharedBytes = 48 * 1024;  // every GPU has it without asking

cudaStream_t native(Stream& stream) { return static_cast<cudaStream_t>(stream.native_handle()); }

bool is_plain(const Conv2dProblem& problem) {
  return problem.groups == 1 && problem.dilation_h == 1 && problem.dilation_w == 1 &&
         problem.stride_h == problem.stride_w;
}

// ---- rows: few channels and filters

template <int C, int K, int R, int S, int kStride, int kPad, int kRows, int kOut>
class DirectRows : public ConvKernel {
 public:
  DirectRows(const ConvPrepare& request, int multiprocessor_count) {
    const Conv2dProblem& problem = request.problem;
    std::copy_n(request.weights, K * C * R * S, filter_.weights);
    for (int k = 0; k < K; ++k) filter_.bias[k] = request.bias ? request.bias[k] : 0.0f;
    const int row_segments = static_cast<int>(ceil_div(problem.p(), kRows));
    const int column_segments = static_cast<int>(ceil_div(problem.q(), 4));
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.p = problem.p();
    shape_.q = problem.q();
    shape_.segments = problem.n * row_segments * column_segments;
    shape_.row_segments = FastDivide(row_segments);
    shape_.column_segments = FastDivide(column_segments);
    shape_.store_width = problem.q() % 4 == 0 ? 4 : problem.q() % 2 == 0 ? 2 : 1;
    shape_.relu = request.relu;
    // Small problems are spread over as many multiprocessors as there are warps.
    block_ = shape_.segments >= kBlock * multiprocessor_count ? kBlock : 32;
  }
  std::string detail() const override {
    return concat("rows, ", kRows, "x4 positions x ", kOut, " channels a thread");
  }
  void run(const ConvArgs& args, RunContext& context) override {
    const dim3 grid(static_cast<unsigned>(ceil_div(shape_.segments, block_)), K / kOut);
    conv_direct_rows_kernel<C, K, R, S, kStride, kPad, kRows, kOut>
        <<<grid, block_, 0, native(context.stream)>>>(filter_, shape_, args.x, args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_direct_rows_kernel");
  }

 private:
  DirectRowsFilter<C, K, R, S> filter_;
  DirectRowsShape shape_;
  int block_;
};

/// The rows kernel where the problem has exactly these sizes, else null. kRows is for problems that fill the
/// GPU; smaller ones are cut finer: one row a thread, and kFewOut channels where even that leaves
/// multiprocessors idle.
template <int C, int K, int R, int S, int kStride, int kPad, int kRows, int kFewOut>
std::unique_ptr<ConvKernel> try_rows(const ConvPrepare& request, int multiprocessor_count) {
  const Conv2dProblem& problem = request.problem;
  const bool fits = is_plain(problem) && problem.c == C && problem.k == K && problem.r == R &&
                    problem.s == S && problem.stride_h == kStride && problem.pad_h == kPad &&
                    problem.pad_w == kPad && problem.w % 4 == 0;
  if (!fits) return nullptr;
  const int64_t row_threads = int64_t{problem.n} * problem.p() * ceil_div(problem.q(), 4);
  if (row_threads < int64_t{kBlock} * multiprocessor_count) {
    return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 1, kFewOut>>(request, multiprocessor_count);
  }
  if (row_threads < int64_t{8} * kBlock * multiprocessor_count) {
    return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 1, K>>(request, multiprocessor_count);
  }
  return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, kRows, K>>(request, multiprocessor_count);
}

std::unique_ptr<ConvKernel> prepare_rows(const ConvPrepare& request, int multiprocessor_count) {
  using Try = std::unique_ptr<ConvKernel> (*)(const ConvPrepare&, int);
  constexpr Try kTries[] = {
      &try_rows<1, 6, 5, 5, 1, 0, 1, 2>,                                     // LeNet-5's first layer
      &try_rows<3, 1, 3, 3, 1, 1, 2, 1>, &try_rows<3, 3, 3, 3, 1, 1, 2, 1>,  // RGB image to 1 or 3 planes
      &try_rows<3, 1, 3, 3, 2, 1, 2, 1>, &try_rows<3, 3, 3, 3, 2, 1, 2, 1>,
      &try_rows<3, 1, 3, 3, 3, 1, 1, 1>, &try_rows<3, 3, 3, 3, 3, 1, 1, 1>,
  };
  for (const Try attempt : kTries) {
    if (auto kernel = attempt(request, multiprocessor_count)) return kernel;
  }
  return nullptr;
}

// ---- tile: 3x3 and 5x5 of any number of channels

struct TileVariant {
  int r, s, stride, k_out, rows, columns;
  double overhead;  // cost of a multiply-add with its share of the reads, relative to one that reads nothing
  void (*kernel)(DirectTileShape, const float*, const float*, const float*, float*);
};

template <int R, int S, int kStride, int kOut, int kRows, int kColumns>
constexpr TileVariant tile_variant() {
  // For a row of the filter: float4 reads of inputs and of weights, each worth four multiply-adds of issue time.
  constexpr double kReads = kRows * (((kColumns - 1) * kStride + S + 3) / 4) + S * ((kOut + 3) / 4);
  constexpr double kOverhead = 1 + 4 * kReads / (S * kOut * kRows * kColumns);
  return {R,     S,        kStride,   kOut,
          kRows, kColumns, kOverhead, &conv_direct_tile_kernel<R, S, kStride, kOut, kRows, kColumns>};
}

constexpr TileVariant kTileVariants[] = {
    tile_variant<5, 5, 1, 4, 2, 4>(), tile_variant<5, 5, 1, 8, 1, 4>(), tile_variant<5, 5, 1, 2, 1, 4>(),
    tile_variant<3, 3, 1, 8, 2, 4>(), tile_variant<3, 3, 1, 8, 1, 4>(), tile_variant<3, 3, 1, 2, 1, 4>(),
    tile_variant<3, 3, 2, 8, 2, 4>(), tile_variant<3, 3, 2, 8, 1, 4>(), tile_variant<3, 3, 2, 2, 1, 4>(),
};

constexpr double kBusyThreads = 256;  // two warps for each scheduler keep its multiply-add pipe fed

/// The variant that needs the fewest instructions, padding of K, P and Q included; one that cannot give each
/// multiprocessor kBusyThreads pays for the idle ones.
const TileVariant* choose_tile_variant(const Conv2dProblem& problem, int multiprocessor_count) {
  const TileVariant* best = nullptr;
  double best_cost = INFINITY;
  for (const TileVariant& variant : kTileVariants) {
    if (variant.r != problem.r || variant.s != problem.s || variant.stride != problem.stride_h) continue;
    const double threads = static_cast<double>(ceil_div(problem.k, variant.k_out)) * problem.n *
                           ceil_div(problem.p(), variant.rows) * ceil_div(problem.q(), variant.columns);
    const double busy = std::min(1.0, threads / (kBusyThreads * multiprocessor_count));
    const double cost = threads * variant.k_out * variant.rows * variant.columns * variant.overhead / busy;
    if (cost < best_cost) {
      best_cost = cost;
      best = &variant;
    }
  }
  return best;
}

class DirectTile : public ConvKernel {
 public:
  DirectTile(const ConvPrepare& request, const TileVariant& variant, int multiprocessor_count)
      : variant_(variant) {
    const Conv2dProblem& problem = request.problem;
    cut(problem, multiprocessor_count);
    shape_.relu = request.relu;
    // [K, C, R, S] to [K tiles, C, R, S, channels of a tile]: the weights of one tap lie together.
    const int64_t taps = int64_t{problem.c} * problem.r * problem.s, width = tile_channels();
    std::vector<float> packed(static_cast<size_t>(channel_tiles_ * width * taps), 0.0f);
    std::vector<float> bias(static_cast<size_t>(channel_tiles_ * width), 0.0f);
    for (int64_t k = 0; k < problem.k; ++k) {
      if (request.bias) bias[static_cast<size_t>(k)] = request.bias[k];
      for (int64_t i = 0; i < taps; ++i) {
        packed[static_cast<size_t>((k / width * taps + i) * width + k % width)] =
            request.weights[k * taps + i];
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = request.services.upload(bias.data(), bias.size());
  }
  std::string detail() const override {
    return concat("tile, ", variant_.rows, "x", variant_.columns, " positions x ", variant_.k_out,
                  " channels a thread, ", shared_bytes_, " bytes shared");
  }
  void run(const ConvArgs& args, RunContext& context) override {
    const dim3 grid(blocks_, static_cast<unsigned>(channel_tiles_));
    variant_.kernel<<<grid, threads_, shared_bytes_, native(context.stream)>>>(shape_, args.x, filters_.get(),
                                                                               bias_.get(), args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_direct_tile_kernel");
  }

 private:
  int64_t tile_channels() const { return int64_t{shape_.channel_groups} * variant_.k_out; }

  /// Chooses what one block computes: several small images, or a tile of a large one.
  void cut(const Conv2dProblem& problem, int multiprocessor_count) {
    const int p = problem.p(), q = problem.q();
    const int rows = static_cast<int>(ceil_div(p, variant_.rows));
    const int columns = static_cast<int>(ceil_div(q, variant_.columns));
    const int64_t all_threads = ceil_div(problem.k, variant_.k_out) * problem.n * rows * columns;
    int budget = kDirectTileThreads;
    while (budget > 32 && all_threads / budget < 2 * multiprocessor_count) budget /= 2;
    // Two groups of channels share a staged input, where blocks are plentiful and neither group stays empty.
    const bool pair = budget == kDirectTileThreads && ceil_div(problem.k, variant_.k_out) % 2 == 0;
    shape_.channel_groups = pair ? 2 : 1;
    budget /= shape_.channel_groups;
    channel_tiles_ = ceil_div(problem.k, tile_channels());
    // Equal tiles rather than full ones with a thin rest.
    constexpr int kMaxColumnPatches = 8;
    shape_.column_tiles = static_cast<int>(ceil_div(columns, kMaxColumnPatches));
    shape_.column_patches = static_cast<int>(ceil_div(columns, shape_.column_tiles));
    shape_.row_tiles = static_cast<int>(ceil_div(rows, std::max(1, budget / shape_.column_patches)));
    shape_.row_patches = static_cast<int>(ceil_div(rows, shape_.row_tiles));
    const int patches = shape_.row_patches * shape_.column_patches;
    const bool whole_plane = shape_.column_tiles == 1 && shape_.row_tiles == 1;
    shape_.images = whole_plane ? std::clamp(budget / patches, 1, problem.n) : 1;

    const int read_columns =
        static_cast<int>(round_up((variant_.columns - 1) * variant_.stride + variant_.s, 4));
    shape_.tile_h = (shape_.row_patches * variant_.rows - 1) * variant_.stride + variant_.r;
    shape_.pitch = (shape_.column_patches - 1) * variant_.columns * variant_.stride + read_columns;
    const size_t filter_floats = static_cast<size_t>(variant_.r * variant_.s * tile_channels());
    const size_t tile_floats = size_t{1} * shape_.images * shape_.tile_h * shape_.pitch;
    const size_t channel_bytes = (tile_floats + filter_floats) * sizeof(float);
    const int fitting = static_cast<int>(kSharedBytes / channel_bytes);
    const int64_t image_floats = int64_t{problem.c} * problem.h * problem.w;
    shape_.contiguous = whole_plane && fitting >= problem.c && shape_.tile_h == problem.h &&
                        shape_.pitch == problem.w && problem.pad_h == 0 && problem.pad_w == 0 &&
                        image_floats % 4 == 0;
    // Beyond eight channels a longer stage costs occupancy and saves little waiting.
    constexpr int kMaxChunk = 8;
    shape_.chunk = shape_.contiguous ? problem.c : std::min({problem.c, fitting, kMaxChunk});
    shared_bytes_ = channel_bytes * static_cast<size_t>(shape_.chunk);

    shape_.n = problem.n;
    shape_.c = problem.c;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.k = problem.k;
    shape_.p = p;
    shape_.q = q;
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.lanes = 8;
    while (shape_.lanes < 32 && shape_.lanes < shape_.pitch) shape_.lanes *= 2;
    shape_.by_images = FastDivide(shape_.images);
    shape_.by_column_patches = FastDivide(shape_.column_patches);
    shape_.by_row_patches = FastDivide(shape_.row_patches);
    shape_.by_tile_h = FastDivide(shape_.tile_h);
    shape_.by_chunk = FastDivide(shape_.chunk);
    shape_.by_row_tiles = FastDivide(shape_.row_tiles);
    shape_.by_column_tiles = FastDivide(shape_.column_tiles);
    shape_.vector_store = q % 4 == 0;
    // At least two warps, so that staging has enough threads even where few of them compute.
    threads_ = static_cast<unsigned>(
        std::max<int64_t>(64, round_up(int64_t{shape_.channel_groups} * shape_.images * patches, 32)));
    blocks_ =
        static_cast<unsigned>(ceil_div(problem.n, shape_.images) * shape_.row_tiles * shape_.column_tiles);
  }

  TileVariant variant_;
  DirectTileShape shape_{};
  int64_t channel_tiles_ = 0;
  unsigned blocks_ = 0, threads_ = 0;
  size_t shared_bytes_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

// ---- any: all other shapes

int any_channels_a_thread(const Conv2dProblem& problem) { return problem.k / problem.groups == 1 ? 1 : 4; }

int64_t any_blocks(const Conv2dProblem& problem) {
  const int64_t pixels = int64_t{problem.n} * problem.p() * problem.q();
  const int64_t tiles = ceil_div(problem.k / problem.groups, any_channels_a_thread(problem)) * problem.groups;
  return ceil_div(pixels, kBlock) * tiles;
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
  void run(const ConvArgs& args, RunContext& context) override {
    const auto kernel = k_out_ == 1 ? &conv_direct_any_kernel<1> : &conv_direct_any_kernel<4>;
    kernel<<<blocks_, kBlock, 0, native(context.stream)>>>(shape_, args.x, filters_.get(), bias_.get(),
                                                           args.y);
    LENSLET_CUDA_CHECK_LAUNCH("conv_direct_any_kernel");
  }

 private:
  int k_out_;
  DirectAnyShape shape_;
  unsigned blocks_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

class DirectBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("direct", math); !fp32) return fp32;
    if (const Support nchw = nchw_only("direct", problem); !nchw) return nchw;
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
