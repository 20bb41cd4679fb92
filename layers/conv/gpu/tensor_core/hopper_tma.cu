// Tensor-core convolution for Hopper whose inputs TMA gathers: one group; fp32 tensors of both layouts in tf32 or
// fp16, fp16 and bf16 tensors in NHWC as they are; see tensor_core/tma_kernel.cuh; blocks that keep their filters:
// tensor_core/tma_kept.cuh. This file: supported problems, the choice of a tile, the order of operands in memory. The
// tiles are in tensor_core/tma_variants.cuh.
#include "layers/conv/gpu/tensor_core/hopper.h"

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
#include "layers/conv/gpu/tensor_core/tma_choice.h"
#include "layers/conv/gpu/tensor_core/tma_pack.cuh"
#include "layers/conv/gpu/tensor_core/tma_variants.cuh"

namespace lenslet {
namespace {

constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16;
constexpr int kMaxStride = 8, kMaxOffset = 255, kMinCorner = -128;  // of TMA; see tma_describes()

using PackFunction = void (*)(TmaPackShape, const float*, uint4*);

/// A variant with its kernel, and how it is launched.
struct Choice : TmaChoice {
  const TmaKernel* kernel = nullptr;
};

/// The choice among the variants that have a kernel for the problem.
Choice choose(const Conv2dProblem& problem, MathMode math, int multiprocessors) {
  const bool of_16_bits = has_16_bits(problem);
  const TmaKernel* const begin = of_16_bits ? std::begin(kTma16BitKernels) : std::begin(kTmaKernels);
  const TmaKernel* const end = of_16_bits ? std::end(kTma16BitKernels) : std::end(kTmaKernels);
  std::vector<const TmaVariant*> variants;
  for (const TmaKernel* one = begin; one != end; ++one)
    variants.push_back(tma_function(*one, problem, math) ? one : nullptr);
  Choice choice{tma_choose(problem, math, multiprocessors, variants), nullptr};
  choice.kernel = begin + choice.variant;  // the smallest tile supports every problem
  return choice;
}

/// Whether the copies can read x as it is.
bool reads_x(const Conv2dProblem& problem, MathMode math) {
  if (has_16_bits(problem)) return true;
  return math == kTf32 && problem.layout == TensorLayout::kNhwc && problem.c % tma_piece_elements(math) == 0;
}

/// Estimated time to pack x: a launch and a rate, fitted to the same trials (not measured: it has no row of its own).
double pack_us(const Conv2dProblem& problem, MathMode math) {
  if (reads_x(problem, math)) return 0;
  constexpr double kLaunchUs = 2.5, kBytesPerUs = 1.9e6;
  const int64_t elements = int64_t{problem.n} * problem.c * problem.h * problem.w;
  return kLaunchUs +
         static_cast<double>(elements * (4 + kTmaPieceBytes / tma_piece_elements(math))) / kBytesPerUs;
}

class TensorCoreTma : public ConvKernel {
 public:
  TensorCoreTma(const ConvPrepare& request, const Choice& choice)
      : problem_(request.problem),
        math_(request.math),
        variant_(choice.kernel),
        shared_bytes_(static_cast<int>(choice.shared_bytes)),
        clusters_(static_cast<int>(choice.clusters)),
        encode_x_(encode_im2col_map()) {
    const bool nhwc = problem_.layout == TensorLayout::kNhwc, fp16 = math_ == kFp16;
    shape_.runs = tma_runs(problem_, *variant_, math_);
    shape_.products = tma_products(problem_, *variant_, math_);
    kernel_ = tma_function(*variant_, problem_, math_);
    const int filter_tiles = static_cast<int>(ceil_div(problem_.k, variant_->filters));
    set_strides(shape_, problem_);
    shape_.dilation_h = problem_.dilation_h;
    shape_.dilation_w = problem_.dilation_w;
    shape_.k = problem_.k;
    shape_.plane = problem_.p() * problem_.q();
    shape_.positions = problem_.n * shape_.plane;
    shape_.s = problem_.s;
    shape_.kept = choice.kept;
    shape_.tiles = static_cast<int>(tma_tiles(problem_, *variant_, choice.columns));
    shape_.parts = choice.parts;
    shape_.by_filter_tiles = FastDivide(filter_tiles);
    shape_.by_plane = FastDivide(problem_.p() * choice.columns);
    shape_.by_q = FastDivide(choice.columns);
    shape_.by_runs = FastDivide(shape_.runs);
    shape_.by_s = FastDivide(problem_.s);
    shape_.relu = request.rectifier.relu();
    allow_shared_bytes(reinterpret_cast<const void*>(kernel_), static_cast<size_t>(shared_bytes_));
    upload_filters(request, filter_tiles);
    if (stores_boxes()) encode_y_ = encode_tiled_map();
    if (reads_x(problem_, math_)) return;
    pack_shape_.c = problem_.c;
    pack_shape_.plane = problem_.h * problem_.w;
    pack_shape_.pieces = static_cast<int>(ceil_div(problem_.c, tma_piece_elements(math_)));
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
    return concat("tma, ", variant_->positions, " positions x ", variant_->filters, " filters, ",
                  counted(variant_->blocks, "block"), " a multiprocessor",
                  variant_->row_bytes < 128 ? ", runs of 32 channels" : "",
                  variant_->keeps_filters() ? ", filters kept in shared memory" : "",
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
    if (x != mapped_x_) map_x(x);
    if (stores_boxes() && args.y != mapped_y_) map_y(args.y);
    ScopedStage stage(context.tracer, "multiply");
    launch_clusters(variant_->kernel_name, kernel_, clusters_,
                    {shape_.parts, variant_->threads, shared_bytes_}, context.stream, shape_, maps_,
                    reinterpret_cast<const unsigned char*>(filters_.get()),
                    static_cast<const float*>(bias_.get()), args.y);
  }

 private:
  bool stores_boxes() const { return variant_->stores_pieces && !variant_->keeps_filters(); }

  /// Describes x for TMA.
  void map_x(const void* x) {
    Im2colBox box;
    box.type = problem_.type == ElementType::kBf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
               : math_ == kTf32                    ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    box.element_bytes = kTmaPieceBytes / tma_piece_elements(math_);
    box.tensor_channels = static_cast<int>(round_up(problem_.c, tma_piece_elements(math_)));
    box.more_columns = shape_.kept.columns - shape_.kept.q;
    box.positions = variant_->positions + box.more_columns;
    box.channels = tma_run_channels(*variant_, math_);
    if (variant_->row_bytes != 128) box.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    maps_.x = im2col_map(encode_x_, problem_, box, x);
    mapped_x_ = x;
  }

  /// Describes y for TMA: [N*P*Q, K] in boxes of 64 positions x 128 bytes.
  void map_y(const void* y) {
    const int element_bytes = variant_->output_bytes;
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(problem_.k),
                                static_cast<cuuint64_t>(shape_.positions)},
                     pitch_bytes = sizes[0] * element_bytes;
    const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / element_bytes), kWarpgroupRows}, apart[] = {1, 1};
    const CUtensorMapDataType type = problem_.type == ElementType::kBf16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                     : problem_.type == ElementType::kFp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                                           : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const CUresult result = encode_y_(&maps_.y, type, 2, const_cast<void*>(y), sizes, &pitch_bytes, box,
                                      apart, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
      throw DeviceError(concat("cuTensorMapEncodeTiled failed with ", driver_error_name(result),
                               " for the output of ", problem_.to_string(), ": use another backend"));
    mapped_y_ = y;
  }

  /// [K, C, R, S] to [filter tiles, products, filters] rows of pieces, in the order of swizzled_operand_descriptor().
  /// The products are [R, runs / tap_runs, S, tap_runs]: [taps, runs] or, of a block that keeps its filters, [R, steps
  /// of a row, S, runs of a step].
  void upload_filters(const ConvPrepare& request, int filter_tiles) {
    const int columns = problem_.s, elements = tma_piece_elements(math_),
              channels = tma_run_channels(*variant_, math_);
    const int pieces = variant_->row_bytes / kTmaPieceBytes;
    const int tap_runs = variant_->keeps_filters() ? variant_->kept_runs : shape_.runs;
    const int64_t bytes = int64_t{filter_tiles} * shape_.products * variant_->filters * variant_->row_bytes;
    std::vector<float> packed(static_cast<size_t>(bytes / 4), 0.0f);  // all zero bits, in fp16 too
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    const float* weight = request.weights;
    for (int k = 0; k < problem_.k; ++k) {
      const int64_t filter_tile = k / variant_->filters, filter = k % variant_->filters;
      for (int c = 0; c < problem_.c; ++c) {
        const int64_t swizzle = pieces == 8 ? filter % 8 : filter / 2 % 4;
        const int64_t piece = (c % channels / elements) ^ swizzle;
        const int64_t run = c / channels, first_run = run / tap_runs * tap_runs;
        for (int tap = 0; tap < problem_.r * columns; ++tap) {
          const int64_t row = tap / columns, column = tap % columns;
          const int64_t product =
              row * columns * shape_.runs + first_run * columns + column * tap_runs + run - first_run;
          const int64_t target_row = (filter_tile * shape_.products + product) * variant_->filters + filter;
          const int64_t index = (target_row * pieces + piece) * elements + c % elements;
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
  const TmaKernel* variant_;
  int shared_bytes_, clusters_;
  decltype(&cuTensorMapEncodeIm2col) encode_x_;
  decltype(&cuTensorMapEncodeTiled) encode_y_ = nullptr;  // of tiles that store boxes
  TmaShape shape_{};
  TmaFunction kernel_ = nullptr;
  TmaPackShape pack_shape_{};
  KernelLaunch<TmaPackShape, const float*, uint4*> pack_;  // none where the copies read x as it is
  std::shared_ptr<float> filters_, bias_;
  TmaMaps maps_{};  // of the tensors at mapped_x_ and mapped_y_
  const void *mapped_x_ = nullptr, *mapped_y_ = nullptr;
};

/// What TMA can describe: CUDA Driver API, "cuTensorMapEncodeIm2col", and the offsets of PTX's cp.async.bulk.tensor.
bool tma_describes(int stride, int padding, int reach) {
  return stride <= kMaxStride && reach <= kMaxOffset && -padding >= kMinCorner &&
         padding - reach >= kMinCorner && padding - reach <= kTmaMaxCorner;
}

/// The grid of the packing kernel has a row of blocks for each eight pieces of channels.
bool pack_fits_grid(const Conv2dProblem& problem, MathMode math) {
  return reads_x(problem, math) ||
         ceil_div(problem.c, kTmaPackPieces * tma_piece_elements(math)) <= GpuLimits::kGridYZ;
}

bool tma_describes_window(const Conv2dProblem& problem) {
  return tma_describes(problem.stride_h, problem.pad_h, (problem.r - 1) * problem.dilation_h) &&
         tma_describes(problem.stride_w, problem.pad_w, (problem.s - 1) * problem.dilation_w);
}

bool supports(const Conv2dProblem& problem, MathMode math) {
  if (has_16_bits(problem)) return static_cast<bool>(tma_takes_16_bits(problem));
  // With fewer, more than half of a tf32 run or of the smallest tile would be zeros; the kernel mma has smaller ones.
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
                            " and taps within ", kTmaMaxCorner, " rows and columns, found ",
                            window_text(problem), ": use cudnn"));
}

size_t tma_workspace_bytes(const Conv2dProblem& problem, MathMode math) {
  if (!supports(problem, math) || reads_x(problem, math)) return 0;
  const int64_t pixels = int64_t{problem.n} * problem.h * problem.w;
  return static_cast<size_t>(pixels * ceil_div(problem.c, tma_piece_elements(math)) * kTmaPieceBytes);
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
