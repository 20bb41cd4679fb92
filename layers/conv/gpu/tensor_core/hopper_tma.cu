// Tensor-core convolution for Hopper whose inputs TMA gathers: one group; fp32 tensors of both layouts in tf32 or
// fp16, fp16 and bf16 tensors in NHWC as they are; see tensor_core/tma_kernel.cuh; blocks that keep their filters:
// tensor_core/tma_kept.cuh. This file: supported problems, the choice of a tile, the order of operands in memory.
#include "layers/conv/gpu/tensor_core/hopper.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/counted.h"
#include "framework/base/integer_math.h"
#include "framework/device/cluster_launch.cuh"
#include "framework/measuring/tracer.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/im2col_map.cuh"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/tensor_core/pack.h"
#include "layers/conv/gpu/tensor_core/tma_kept.cuh"
#include "layers/conv/gpu/tensor_core/tma_pack.cuh"

namespace lenslet {
namespace {

constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16;
constexpr int kPieceBytes = 16;  // of a row in shared memory

int lanes(MathMode math) { return math == kTf32 ? 4 : 8; }  // elements in a piece

bool has_16_bits(const Conv2dProblem& problem) { return problem.type != ElementType::kFp32; }

constexpr int kMaxStride = 8, kMaxOffset = 255, kMinCorner = -128,
              kMaxCorner = 127;  // of TMA; see tma_describes()

using TmaFunction = void (*)(TmaShape, CUtensorMap, const unsigned char*, const float*, float*);
using PackFunction = void (*)(TmaPackShape, const float*, uint4*);

struct Variant {
  const char* kernel_name;
  int pixels, filters, blocks, threads, shared_bytes, row_bytes;
  double step_us, tile_us, step_latency_us;  // see estimated_us()
  TmaFunction kernel[2][2];                  // see kernel_of(); null: not supported
  bool keeps_filters;                        // the form of tma_kept.cuh
};

/// A tile's sizes with its times and its kernels, in the order of Variant::kernel.
template <class Tile>
constexpr Variant variant_of(double step_us, double tile_us, double step_latency_us,
                             const TmaFunction (&kernel)[2][2]) {
  return {Tile::kKeepsFilters ? "conv_tensor_core_kept_kernel" : "conv_tensor_core_tma_kernel",
          Tile::kPixels,
          Tile::kFilters,
          Tile::kBlocks,
          Tile::kThreads,
          Tile::kSharedBytes,
          Tile::kRowBytes,
          step_us,
          tile_us,
          step_latency_us,
          {{kernel[0][0], kernel[0][1]}, {kernel[1][0], kernel[1][1]}},
          Tile::kKeepsFilters};
}

template <int kGroups, int kFilters, int kStages, int kBlocks>
constexpr Variant variant(double step_us, double tile_us, double step_latency_us) {
  using Tile = TmaTile<kTf32, true, kGroups, kFilters, kStages, kBlocks>;
  return variant_of<Tile>(
      step_us, tile_us, step_latency_us,
      {{&conv_tensor_core_tma_kernel<TmaTile<kTf32, false, kGroups, kFilters, kStages, kBlocks>>,
        &conv_tensor_core_tma_kernel<Tile>},
       {&conv_tensor_core_tma_kernel<TmaTile<kFp16, false, kGroups, kFilters, kStages, kBlocks>>,
        &conv_tensor_core_tma_kernel<TmaTile<kFp16, true, kGroups, kFilters, kStages, kBlocks>>}});
}

template <int kRow, int kGroups, int kFilters, int kStages, int kBlocks>
constexpr Variant variant_of_16_bits(double step_us, double tile_us, double step_latency_us) {
  using Fp16 = Tma16BitTile<false, kRow, kGroups, kFilters, kStages, kBlocks>;
  using Bf16 = Tma16BitTile<true, kRow, kGroups, kFilters, kStages, kBlocks>;
  return variant_of<Fp16>(
      step_us, tile_us, step_latency_us,
      {{nullptr, &conv_tensor_core_tma_kernel<Fp16>}, {nullptr, &conv_tensor_core_tma_kernel<Bf16>}});
}

template <int kFilters>
constexpr Variant kept_variant(double step_us, double tile_us) {
  using Tile = TmaKeptTile<kTf32, false, false, 128, kFilters>;
  return variant_of<Tile>(step_us, tile_us, 0,
                          {{nullptr, &conv_tensor_core_kept_kernel<Tile>}, {nullptr, nullptr}});
}

template <int kRow, int kFilters>
constexpr Variant kept_variant_of_16_bits(double step_us, double tile_us) {
  using Fp16 = TmaKeptTile<kFp16, true, false, kRow, kFilters>;
  using Bf16 = TmaKeptTile<kFp16, true, true, kRow, kFilters>;
  return variant_of<Fp16>(
      step_us, tile_us, 0,
      {{nullptr, &conv_tensor_core_kept_kernel<Fp16>}, {nullptr, &conv_tensor_core_kept_kernel<Bf16>}});
}

/// Small tiles reach more multiprocessors, large ones read each operand less often. The times are
/// parameters, fitted to trials of all variants and splits on an H200 with problems/resnet50.txt and
/// problems/deep3x3.txt in tf32 (not measured: no result file has each variant).
constexpr Variant kVariants[] = {
    variant<2, 128, 3, 2>(0.369, 2.011, 0.674),
    variant<1, 128, 4, 2>(0.117, 0.298, 0.419),
    variant<1, 128, 3, 3>(0.257, 0.984, 0.497),
    variant<1, 64, 6, 2>(0.164, 0.644, 0.179),
    variant<1, 64, 4, 3>(0.150, 0.827, 0.260),
    kept_variant<128>(0.107, 0.95),
    kept_variant<64>(0.077, 0.50),
};
/// The tiles of tensors of 16 bits. Rows of 64 bytes do not pad 32 channels to 64. The times are as above, chosen by
/// hand from trials in fp16 with problems/deep3x3.txt and ten problems of ResNets (not measured: no result file has
/// each variant).
constexpr Variant k16BitVariants[] = {
    variant_of_16_bits<128, 2, 128, 3, 2>(0.340, 1.7, 0.310),
    variant_of_16_bits<128, 1, 64, 6, 2>(0.165, 0.45, 0.100),
    variant_of_16_bits<64, 2, 128, 6, 2>(0.178, 1.6, 0.178),
    variant_of_16_bits<64, 2, 256, 8, 1>(0.325, 3.1, 0.310),
    kept_variant_of_16_bits<128, 128>(0.130, 0.55),
    kept_variant_of_16_bits<128, 64>(0.078, 0.36),
    kept_variant_of_16_bits<64, 256>(0.120, 1.15),
    kept_variant_of_16_bits<64, 128>(0.077, 0.55),
};
constexpr double kFirstStepUs = 3.478, kSumUs = 0.909, kSumUsOfPart = 0.354;  // of the same fit
/// Start-up times of variants that keep the filters: of a block with one tile, and with several. Their step_us is that
/// of a tap and a run of channels. Chosen by hand from trials in tf32 and fp16 with problems/deep3x3.txt and 18
/// problems of ResNet-50 (not measured: as above).
constexpr double kKeptFirstTileUs = 2.4, kKeptStartUs = 0.4;

/// First index of Variant::kernel: bf16 for tensors of 16 bits, fp16 products for fp32 tensors. Second: NHWC.
TmaFunction kernel_of(const Variant& variant, const Conv2dProblem& problem, MathMode math) {
  const bool second = has_16_bits(problem) ? problem.type == ElementType::kBf16 : math == kFp16;
  return variant.kernel[second][problem.layout == TensorLayout::kNhwc];
}

/// A variant, and how it is launched.
struct Choice {
  const Variant* variant = nullptr;
  double time_us = INFINITY;
  int parts = 1;
  int columns = 0;  // of a row of positions
  int64_t clusters = 0, shared_bytes = 0;
  TmaKeptSizes kept = {};  // of a variant that keeps the filters
};

int64_t position_tiles(const Conv2dProblem& problem, const Variant& variant, int columns) {
  return ceil_div(int64_t{problem.n} * problem.p() * columns, variant.pixels);
}
int64_t tile_count(const Conv2dProblem& problem, const Variant& variant, int columns) {
  return position_tiles(problem, variant, columns) * ceil_div(problem.k, variant.filters);
}
int step_channels(const Variant& variant, MathMode math) {
  return variant.row_bytes / kPieceBytes * lanes(math);
}
int channel_steps(const Conv2dProblem& problem, const Variant& variant, MathMode math) {
  return static_cast<int>(ceil_div(problem.c, step_channels(variant, math)));
}
int step_count(const Conv2dProblem& problem, const Variant& variant, MathMode math) {
  return problem.r * problem.s * channel_steps(problem, variant, math);
}

/// A problem in tiles, each a sum of some steps in some parts.
struct Split {
  int64_t tiles;
  int steps, parts;
};

/// Estimated time: a multiprocessor with many tiles is bound by the rate of their steps, one with few by the latency of
/// a step. The parts of a split tile are added up.
double estimated_us(const Split& split, const Variant& variant, int multiprocessors) {
  const int parts = split.parts;
  const auto own_tiles = static_cast<double>(ceil_div(split.tiles * parts, multiprocessors));
  const auto own_steps = static_cast<double>(ceil_div(split.steps, parts));
  const double many = own_tiles * (own_steps * variant.step_us + variant.tile_us);
  const double few =
      std::ceil(own_tiles / variant.blocks) * (own_steps * variant.step_latency_us + kFirstStepUs);
  return std::max(many, few) + (parts > 1 ? kSumUs + parts * kSumUsOfPart : 0);
}

/// The sizes of a variant that keeps the filters. There are no stages if they do not fit.
TmaKeptSizes kept_sizes(const Conv2dProblem& problem, const Variant& variant, MathMode math) {
  constexpr int kSwizzledBytes = 1024, kMinStages = 3, kMaxStages = 8;
  const int reach = (problem.s - 1) * problem.dilation_w,
            copied = (variant.pixels + reach) * variant.row_bytes;
  const int64_t boxes = channel_steps(problem, variant, math);
  const int64_t row_bytes = problem.s * boxes * variant.filters * variant.row_bytes;
  TmaKeptSizes sizes{};
  sizes.filter_rows = problem.r;
  sizes.q = problem.q();
  sizes.columns = sizes.q + reach;
  sizes.box_bytes = static_cast<int>(round_up(copied, kSwizzledBytes));
  sizes.tap_bytes = problem.dilation_w * variant.row_bytes;
  const int64_t stage_bytes = boxes * sizes.box_bytes;
  if (row_bytes + stage_bytes > GpuLimits::kHopperSharedBytes) return sizes;
  sizes.filter_row_bytes = static_cast<int>(row_bytes);
  sizes.stage_bytes = static_cast<int>(stage_bytes);
  sizes.copied_bytes = static_cast<int>(boxes * copied);
  const int64_t left = GpuLimits::kHopperSharedBytes - variant.shared_bytes - tma_kept_bytes(sizes);
  const int64_t stages = std::min<int64_t>(left / (stage_bytes + kBarrierPairBytes), kMaxStages);
  if (stages >= kMinStages) sizes.stages = static_cast<int>(stages);
  return sizes;
}

/// Blocks for each tile of filters.
int64_t kept_blocks(const Conv2dProblem& problem, const Variant& variant, int columns, int multiprocessors) {
  return std::min(position_tiles(problem, variant, columns),
                  multiprocessors / ceil_div(problem.k, variant.filters));
}

/// A variant that keeps the filters, with its estimated time: infinite for problems that it does not support.
Choice choose_kept(const Conv2dProblem& problem, const Variant& variant, MathMode math, int multiprocessors) {
  Choice choice;
  const bool moves_by_one = problem.s == 1 || problem.stride_w == 1;  // from a position to the next
  if (!kernel_of(variant, problem, math) || !moves_by_one || problem.pad_w > kMaxCorner) return choice;
  if (problem.k % lanes(math) != 0) return choice;  // it stores pieces
  const TmaKeptSizes sizes = kept_sizes(problem, variant, math);
  const int64_t positions = int64_t{problem.n} * problem.p() * sizes.columns;
  const int64_t blocks = kept_blocks(problem, variant, sizes.columns, multiprocessors);
  if (sizes.stages == 0 || blocks == 0 || positions > GpuLimits::kElements) return choice;
  const auto tiles = static_cast<double>(ceil_div(position_tiles(problem, variant, sizes.columns), blocks));
  const double tile_us = step_count(problem, variant, math) * variant.step_us + variant.tile_us;
  choice.variant = &variant;
  choice.time_us = std::max(kKeptStartUs + tiles * tile_us, kKeptFirstTileUs + tile_us);
  choice.columns = sizes.columns;
  choice.clusters = blocks * ceil_div(problem.k, variant.filters);
  choice.shared_bytes = variant.shared_bytes + tma_kept_bytes(sizes);
  choice.kept = sizes;
  return choice;
}

/// A variant of the first form in the parts with the least estimated time. It splits only tiles that leave
/// multiprocessors without a block. With so few tiles, small ones are better.
Choice choose_parts(const Conv2dProblem& problem, const Variant& variant, MathMode math,
                    int multiprocessors) {
  const int steps = step_count(problem, variant, math), columns = problem.q();
  const int64_t tiles = tile_count(problem, variant, columns);
  const int max_parts = variant.pixels > 64 ? 1 : std::min(GpuLimits::kPortableCluster, steps);
  Choice best;
  for (int parts = 1; parts == 1 || (parts <= max_parts && tiles * parts / 2 < multiprocessors); parts *= 2) {
    const double time_us = estimated_us({tiles, steps, parts}, variant, multiprocessors);
    if (time_us >= best.time_us) continue;
    const int64_t resident = int64_t{multiprocessors} * variant.blocks;
    best = {&variant,
            time_us,
            parts,
            columns,
            parts > 1 ? tiles : std::min(tiles, resident),
            variant.shared_bytes,
            {}};
  }
  return best;
}

/// The variant with the least estimated time, of both forms.
Choice choose(const Conv2dProblem& problem, MathMode math, int multiprocessors) {
  const bool of_16_bits = has_16_bits(problem);
  const Variant* const begin = of_16_bits ? std::begin(k16BitVariants) : std::begin(kVariants);
  const Variant* const end = of_16_bits ? std::end(k16BitVariants) : std::end(kVariants);
  Choice best;
  for (const Variant* variant = begin; variant != end; ++variant) {
    const auto choose_form = variant->keeps_filters ? choose_kept : choose_parts;
    const Choice choice = choose_form(problem, *variant, math, multiprocessors);
    if (choice.time_us < best.time_us) best = choice;
  }
  return best;
}

/// Whether the copies can read x as it is.
bool reads_x(const Conv2dProblem& problem, MathMode math) {
  if (has_16_bits(problem)) return true;
  return math == kTf32 && problem.layout == TensorLayout::kNhwc && problem.c % lanes(math) == 0;
}

/// Estimated time to pack x: a launch and a rate, fitted to the same trials (not measured: it has no row of its own).
double pack_us(const Conv2dProblem& problem, MathMode math) {
  if (reads_x(problem, math)) return 0;
  constexpr double kLaunchUs = 2.5, kBytesPerUs = 1.9e6;
  const int64_t elements = int64_t{problem.n} * problem.c * problem.h * problem.w;
  return kLaunchUs + static_cast<double>(elements * (4 + kPieceBytes / lanes(math))) / kBytesPerUs;
}

class TensorCoreTma : public ConvKernel {
 public:
  TensorCoreTma(const ConvPrepare& request, const Choice& choice)
      : problem_(request.problem),
        math_(request.math),
        variant_(choice.variant),
        shared_bytes_(static_cast<int>(choice.shared_bytes)),
        clusters_(static_cast<int>(choice.clusters)),
        encode_(encode_im2col_map()) {
    const bool nhwc = problem_.layout == TensorLayout::kNhwc, fp16 = math_ == kFp16;
    shape_.channel_steps = channel_steps(problem_, *variant_, math_);
    shape_.steps = step_count(problem_, *variant_, math_);
    kernel_ = kernel_of(*variant_, problem_, math_);
    const int filter_tiles = static_cast<int>(ceil_div(problem_.k, variant_->filters));
    set_strides(shape_, problem_);
    shape_.dilation_h = problem_.dilation_h;
    shape_.dilation_w = problem_.dilation_w;
    shape_.k = problem_.k;
    shape_.plane = problem_.p() * problem_.q();
    shape_.positions = problem_.n * shape_.plane;
    shape_.s = problem_.s;
    shape_.kept = choice.kept;
    shape_.tiles = static_cast<int>(tile_count(problem_, *variant_, choice.columns));
    shape_.parts = choice.parts;
    shape_.by_filter_tiles = FastDivide(filter_tiles);
    shape_.by_plane = FastDivide(problem_.p() * choice.columns);
    shape_.by_q = FastDivide(choice.columns);
    shape_.by_channel_steps = FastDivide(shape_.channel_steps);
    shape_.by_s = FastDivide(problem_.s);
    shape_.relu = request.rectifier.relu();
    allow_shared_bytes(reinterpret_cast<const void*>(kernel_), static_cast<size_t>(shared_bytes_));
    upload_filters(request, filter_tiles);
    if (reads_x(problem_, math_)) return;
    pack_shape_.c = problem_.c;
    pack_shape_.plane = problem_.h * problem_.w;
    pack_shape_.pieces = static_cast<int>(ceil_div(problem_.c, lanes(math_)));
    pack_shape_.pixels = problem_.n * pack_shape_.plane;
    pack_shape_.by_plane = FastDivide(pack_shape_.plane);
    constexpr PackFunction kPacks[2][2] = {
        {&conv_tensor_core_pack_kernel<kTf32, false>, &conv_tensor_core_pack_kernel<kTf32, true>},
        {&conv_tensor_core_pack_kernel<kFp16, false>, &conv_tensor_core_pack_kernel<kFp16, true>}};
    pack_ = {"conv_tensor_core_pack_kernel", kPacks[fp16][nhwc],
             dim3(static_cast<unsigned>(ceil_div(pack_shape_.pixels, kTmaPackPixels)),
                  static_cast<unsigned>(ceil_div(pack_shape_.pieces, kTmaPackPieces))),
             kTmaPackThreads};
  }
  size_t workspace_bytes() const override { return tma_workspace_bytes(problem_, math_); }
  std::string detail() const override {
    return concat("tma, ", variant_->pixels, " positions x ", variant_->filters, " filters, ",
                  counted(variant_->blocks, "block"), " a multiprocessor",
                  variant_->row_bytes < 128 ? ", steps of 32 channels" : "",
                  variant_->keeps_filters ? ", filters kept in shared memory" : "",
                  shape_.parts > 1 ? concat(", split-K in ", shape_.parts, " parts") : "");
  }
  std::vector<LaunchResources> launches() const override {
    std::vector<LaunchResources> rows;
    if (pack_) rows.push_back(pack_.resources());
    rows.push_back(launch_resources(variant_->kernel_name, reinterpret_cast<const void*>(kernel_),
                                    variant_->threads, static_cast<size_t>(shared_bytes_)));
    return rows;
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    const void* x = args.x;
    if (pack_) {
      ScopedStage stage(context.tracer, "pack");
      pack_.early(context.stream, pack_shape_, args.x, static_cast<uint4*>(context.workspace));
      x = context.workspace;
    }
    if (x != mapped_) encode_map(x);
    ScopedStage stage(context.tracer, "multiply");
    launch_clusters(variant_->kernel_name, kernel_, clusters_,
                    {shape_.parts, variant_->threads, shared_bytes_}, context.stream, shape_, x_,
                    reinterpret_cast<const unsigned char*>(filters_.get()),
                    static_cast<const float*>(bias_.get()), args.y);
  }

 private:
  /// Describes x for TMA.
  void encode_map(const void* x) {
    Im2colBox box;
    box.type = problem_.type == ElementType::kBf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
               : math_ == kTf32                    ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    box.element_bytes = kPieceBytes / lanes(math_);
    box.tensor_channels = static_cast<int>(round_up(problem_.c, lanes(math_)));
    box.more_columns = shape_.kept.columns - shape_.kept.q;
    box.positions = variant_->pixels + box.more_columns;
    box.channels = step_channels(*variant_, math_);
    if (variant_->row_bytes != 128) box.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    x_ = im2col_map(encode_, problem_, box, x);
    mapped_ = x;
  }

  /// [K, C, R, S] to [filter tiles, taps, channel steps, filters] rows of pieces, in the order of
  /// swizzled_operand_descriptor().
  void upload_filters(const ConvPrepare& request, int filter_tiles) {
    const int taps = problem_.r * problem_.s, elements = lanes(math_),
              channels = step_channels(*variant_, math_);
    const int pieces = variant_->row_bytes / kPieceBytes;
    const int64_t bytes = int64_t{filter_tiles} * shape_.steps * variant_->filters * variant_->row_bytes;
    std::vector<float> packed(static_cast<size_t>(bytes / 4), 0.0f);  // all zero bits, in fp16 too
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    const float* weight = request.weights;
    for (int k = 0; k < problem_.k; ++k) {
      const int64_t filter_tile = k / variant_->filters, filter = k % variant_->filters;
      for (int c = 0; c < problem_.c; ++c) {
        const int64_t swizzle = pieces == 8 ? filter % 8 : filter / 2 % 4;
        const int64_t piece = (c % channels / elements) ^ swizzle;
        for (int tap = 0; tap < taps; ++tap) {
          const int64_t step = filter_tile * shape_.steps + tap * shape_.channel_steps + c / channels;
          const int64_t row = step * variant_->filters + filter;
          const int64_t index = (row * pieces + piece) * elements + c % elements;
          problem_.type == ElementType::kBf16 ? put_bf16_operand(target, index, *weight)
                                              : put_operand(target, index, *weight, math_ == kTf32);
          ++weight;
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, int64_t{filter_tiles} * variant_->filters);
  }

  Conv2dProblem problem_;
  MathMode math_;
  const Variant* variant_;
  int shared_bytes_, clusters_;
  decltype(&cuTensorMapEncodeIm2col) encode_;
  TmaShape shape_{};
  TmaFunction kernel_ = nullptr;
  TmaPackShape pack_shape_{};
  KernelLaunch<TmaPackShape, const float*, uint4*> pack_;  // none where the copies read x as it is
  std::shared_ptr<float> filters_, bias_;
  CUtensorMap x_{};  // of the tensor at mapped_
  const void* mapped_ = nullptr;
};

/// What TMA can describe: CUDA Driver API, "cuTensorMapEncodeIm2col", and the offsets of PTX's cp.async.bulk.tensor.
bool tma_describes(int stride, int padding, int reach) {
  return stride <= kMaxStride && reach <= kMaxOffset && -padding >= kMinCorner &&
         padding - reach >= kMinCorner && padding - reach <= kMaxCorner;
}

/// The grid of the packing kernel has a row of blocks for each eight pieces of channels.
bool pack_fits_grid(const Conv2dProblem& problem, MathMode math) {
  return reads_x(problem, math) || ceil_div(problem.c, kTmaPackPieces * lanes(math)) <= GpuLimits::kGridYZ;
}

bool tma_describes_window(const Conv2dProblem& problem) {
  return tma_describes(problem.stride_h, problem.pad_h, (problem.r - 1) * problem.dilation_h) &&
         tma_describes(problem.stride_w, problem.pad_w, (problem.s - 1) * problem.dilation_w);
}

bool supports(const Conv2dProblem& problem, MathMode math) {
  if (has_16_bits(problem)) return static_cast<bool>(tma_takes_16_bits(problem));
  // With fewer, more than half of a tf32 step or of the smallest tile would be zeros; the kernel mma has smaller ones.
  constexpr int kMinChannels = 16, kMinFilters = 32;
  return math != MathMode::kFp32 && problem.groups == 1 && problem.c >= kMinChannels &&
         problem.k >= kMinFilters && pack_fits_grid(problem, math) && tma_describes_window(problem);
}

}  // namespace

Support tma_takes_16_bits(const Conv2dProblem& problem) {
  const std::string who = concat("tensor_core, with ", problem.type.name(), " tensors,");
  if (problem.layout != TensorLayout::kNhwc)
    return Support::no(concat(who, " needs NHWC, found NCHW: use cudnn, or choose layout nhwc"));
  if (problem.groups != 1)
    return Support::no(concat(who, " needs one group, found ", problem.groups, ": use cudnn"));
  if (problem.c % 8 != 0)  // TMA's pitches are multiples of 16 bytes
    return Support::no(concat(who, " needs a multiple of 8 channels, found ", problem.c, ": use cudnn"));
  if (tma_describes_window(problem)) return Support::yes();
  return Support::no(concat(who, " needs windows that TMA describes, with strides up to ", kMaxStride,
                            " and taps within ", kMaxCorner, " pixels, found ", window_text(problem),
                            ": use cudnn"));
}

size_t tma_workspace_bytes(const Conv2dProblem& problem, MathMode math) {
  if (!supports(problem, math) || reads_x(problem, math)) return 0;
  const int64_t pixels = int64_t{problem.n} * problem.h * problem.w;
  return static_cast<size_t>(pixels * ceil_div(problem.c, lanes(math)) * kPieceBytes);
}

std::unique_ptr<ConvKernel> prepare_tensor_core_tma(const ConvPrepare& request, int multiprocessors,
                                                    double us_to_beat) {
  const Conv2dProblem& problem = request.problem;
  if (!supports(problem, request.math)) return nullptr;
  const size_t workspace_bytes = tma_workspace_bytes(problem, request.math);
  if (workspace_bytes > request.workspace_limit) return nullptr;
  const Choice choice = choose(problem, request.math, multiprocessors);
  if (choice.time_us + pack_us(problem, request.math) > us_to_beat) return nullptr;
  return std::make_unique<TensorCoreTma>(request, choice);
}

}  // namespace lenslet
