// Tensor-core convolution of few channels to few filters: tensor_core/few.cuh. This file: supported problems, tiling,
// the order of the filters in memory.
#include "layers/conv/gpu/tensor_core/few.h"

#include <algorithm>
#include <vector>

#include "framework/base/counted.h"
#include "framework/base/integer_math.h"
#include "framework/instructions/operand_bits.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/tensor_core/few.cuh"

namespace lenslet {
namespace {

using FewFunction = void (*)(TensorCoreFewShape, const float*, const uint32_t*, const float*, float*);

/// A kernel for each math mode, and the sizes that it is compiled for.
struct Variant {
  int r, wide, units;
  FewFunction kernel[2];  // [fp16]
  FewFunction of_halves;  // reads x as fp16; null for few taps, as no network needs it

  int filters() const { return 16 / wide; }
  int taps() const { return 8 * units; }
};

// Images of a stage. Chosen by hand: with more, a block has fewer barriers, but waits longer for its first stage.
constexpr int kFewMaxImages = 4;

template <int kR, int kWide, int kUnits>
constexpr Variant variant() {
  FewFunction of_halves = nullptr;
  if constexpr (kUnits == 4) {
    of_halves = &conv_tensor_core_few_kernel<TensorCoreFewTile<MathMode::kFp16, kR, kWide, kUnits, true>>;
  }
  return {kR,
          kWide,
          kUnits,
          {&conv_tensor_core_few_kernel<TensorCoreFewTile<MathMode::kTf32, kR, kWide, kUnits>>,
           &conv_tensor_core_few_kernel<TensorCoreFewTile<MathMode::kFp16, kR, kWide, kUnits>>},
          of_halves};
}

/// The first that fits computes the fewest products that no output needs.
constexpr Variant kVariants[] = {
    variant<5, 2, 1>(), variant<5, 2, 2>(), variant<5, 1, 1>(), variant<5, 1, 2>(), variant<5, 1, 4>(),
    variant<3, 2, 1>(), variant<3, 2, 2>(), variant<3, 1, 1>(), variant<3, 1, 2>(), variant<3, 1, 4>(),
};

/// A problem with what its launch depends on.
struct FewRequest {
  const Conv2dProblem& problem;
  bool pool = false;   // 2x2
  ConvEnds ends = {};  // types of x and y
};

/// Variant, sizes and shared memory of a launch for a request, apart from the rectifier.
struct FewLaunch {
  const Variant* variant;
  TensorCoreFewShape shape{};
  int64_t shared_bytes = 0;

  FewLaunch(const FewRequest& request, const Variant& of, int images) : variant(&of) {
    const Conv2dProblem& problem = request.problem;
    const bool pool = request.pool;
    const auto element_bytes = static_cast<int64_t>(bytes_of(request.ends.x, 1));
    const int half = pool ? 2 : 1;
    shape.n = problem.n;
    shape.k = problem.k;
    shape.run = problem.s + of.wide - 1;
    shape.taps = problem.c * shape.run;
    shape.h = problem.h;
    shape.w = problem.w;
    shape.pad_h = problem.pad_h;
    shape.pad_w = problem.pad_w;
    shape.pitch = problem.w + 2 * problem.pad_w;
    shape.plane = (problem.h + 2 * problem.pad_h) * shape.pitch;
    shape.p = problem.p() / half * half;
    shape.q = problem.q() / half * half;
    shape.output_pitch = shape.q / half;
    shape.output_plane = shape.p / half * shape.output_pitch;
    shape.image = problem.c * problem.h * problem.w;
    shape.output_image = problem.k * shape.output_plane;
    shape.images = images;
    shape.row_strips = static_cast<int>(ceil_div(shape.q, of.wide));
    const int64_t rows = round_up(shape.p, kFewRows);
    shape.strips = static_cast<int>(rows / kFewRows) * shape.row_strips;
    // The last element that a strip reads, in the last channel of the last image.
    const int64_t last = (int64_t{images} * problem.c - 1) * shape.plane + (rows + of.r - 2) * shape.pitch +
                         (shape.row_strips - 1) * of.wide + shape.run - 1;
    shape.stage = static_cast<int>(
        round_up(std::max(int64_t{images} * problem.c * shape.plane, last + 1), 16 / element_bytes));
    shape.by_strips = FastDivide(shape.strips);
    shape.by_row_strips = FastDivide(shape.row_strips);
    shape.by_h = FastDivide(problem.h);
    shape.by_w = FastDivide(problem.w);
    shape.pool = pool;
    shape.half_outputs = request.ends.y == ElementType::kFp16;
    shared_bytes =
        int64_t{2} * shape.stage * element_bytes +
        round_up(int64_t{images} * shape.output_image, 4) * static_cast<int64_t>(sizeof(float)) +
        round_up(int64_t{images} * shape.strips, 8) * static_cast<int64_t>(sizeof(TensorCoreFewStrip));
  }
};

/// The variant for a problem of kVariants' filters; null if it has too many filters or taps.
const Variant* choose_variant(const Conv2dProblem& problem) {
  for (const Variant& variant : kVariants) {
    // Wide strips of an odd row would read past its end, where a NaN times a zero is a NaN.
    if (variant.r == problem.r && problem.k <= variant.filters() && problem.q() % variant.wide == 0 &&
        int64_t{problem.c} * (problem.s + variant.wide - 1) <= variant.taps()) {
      return &variant;
    }
  }
  return nullptr;
}

/// The launch for a supported problem: as many images in a stage as fit, if that leaves work for every block.
FewLaunch launch_for(const FewRequest& request, int multiprocessors) {
  const Variant& variant = *choose_variant(request.problem);
  int images = static_cast<int>(
      std::clamp<int64_t>(request.problem.n / (int64_t{kFewBlocks} * multiprocessors), 1, kFewMaxImages));
  while (images > 1 && FewLaunch(request, variant, images).shared_bytes > GpuLimits::kSharedBytes) --images;
  return {request, variant, images};
}

class TensorCoreFew
    : public OneLaunchConv<TensorCoreFewShape, const float*, const uint32_t*, const float*, float*> {
 public:
  TensorCoreFew(const ConvPrepare& request, const FewLaunch& launch, int multiprocessors)
      : shape_(launch.shape) {
    const Variant& variant = *launch.variant;
    shape_.relu = request.rectifier.relu();
    const bool fp16 = request.math == MathMode::kFp16;
    upload_filters(request, variant, fp16);
    const int64_t stages = ceil_div(shape_.n, shape_.images);
    const bool of_halves = request.ends.x == ElementType::kFp16;
    launch_ = {"conv_tensor_core_few_kernel", of_halves ? variant.of_halves : variant.kernel[fp16],
               static_cast<unsigned>(std::min<int64_t>(stages, int64_t{kFewBlocks} * multiprocessors)),
               kFewThreads, static_cast<size_t>(launch.shared_bytes)};
    detail_ = concat("few, strips of ", kFewRows, "x", variant.wide, " positions, ",
                     counted(shape_.images, "image"), " per stage", shape_.pool ? ", pooled 2x2" : "");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, reinterpret_cast<const uint32_t*>(filters_.get()), bias_.get(),
            args.y);
  }

 private:
  /// [K, C, R, S] to [R, units, 32 lanes] x the words of a lane. Lane 4 g + t has rows g and g + 8 of the product and
  /// of each the taps t and t + 4: in tf32 a word each, in fp16 two taps in a word. Zeros for what does not exist.
  void upload_filters(const ConvPrepare& request, const Variant& variant, bool fp16) {
    const Conv2dProblem& problem = request.problem;
    const int words = fp16 ? 2 : 4;
    std::vector<float> packed(static_cast<size_t>(variant.r * variant.units * GpuLimits::kWarp * words),
                              0.0f);
    auto* target = reinterpret_cast<unsigned char*>(packed.data());
    for (int row = 0; row < 16; ++row) {
      const int filter = variant.wide == 1 ? row : row % 8, shift = variant.wide == 1 ? 0 : row / 8;
      for (int tap = 0; filter < problem.k && tap < shape_.taps; ++tap) {
        const int c = tap / shape_.run, s = tap % shape_.run - shift;
        if (s < 0 || s >= problem.s) continue;
        for (int r = 0; r < problem.r; ++r) {
          const int lane = row % 8 * 4 + tap % 4, later = tap % 8 / 4;
          const int64_t first = (int64_t{r} * variant.units + tap / 8) * GpuLimits::kWarp + lane;
          put_operand(target, first * 4 + (fp16 ? row / 8 * 2 + later : later * 2 + row / 8),
                      request.weights[((int64_t{filter} * problem.c + c) * problem.r + r) * problem.s + s],
                      !fp16);
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    bias_ = upload_bias(request, 16);
  }

  TensorCoreFewShape shape_;
  std::shared_ptr<float> filters_, bias_;
};

}  // namespace

Support few_support(const char* what, const Conv2dProblem& problem, bool pool, const char* remedy) {
  const auto no = [&](const auto&... reason) { return Support::no(concat(what, reason..., remedy)); };
  if (problem.layout != TensorLayout::kNchw) return no(" in NCHW, found NHWC");
  const bool dense = problem.groups == 1 && problem.stride_h == 1 && problem.stride_w == 1 &&
                     problem.dilation_h == 1 && problem.dilation_w == 1;
  if (!dense || (problem.r != 3 && problem.r != 5)) {
    return no(" of filters with 3 or 5 rows in one group, with stride and dilation 1, found ",
              window_text(problem), " in ", counted(problem.groups, "group"));
  }
  const Variant* const variant = choose_variant(problem);
  if (!variant) {
    return no(" for at most 16 filters of at most 32 values (channels x columns) a row, found ",
              counted(problem.k, "filter"), " of ", int64_t{problem.c} * problem.s);
  }
  // Two stages of one image with its padding. Once they fit, no product of sizes overflows.
  const double staged =
      2.0 * sizeof(float) * problem.c * (problem.h + 2.0 * problem.pad_h) * (problem.w + 2.0 * problem.pad_w);
  const double bytes = staged > GpuLimits::kSharedBytes
                           ? staged
                           : static_cast<double>(FewLaunch({problem, pool}, *variant, 1).shared_bytes);
  if (bytes <= GpuLimits::kSharedBytes) return Support::yes();
  return no(" if two images and the outputs of one fit ", GpuLimits::kSharedBytes,
            " bytes of shared memory, found ", static_cast<int64_t>(bytes));
}

Support few_takes(const Conv2dProblem& problem, bool pool, const ConvEnds& ends) {
  for (const ElementType type : {ends.x, ends.y})
    if (type != ElementType::kFp32 && type != ElementType::kFp16) return refuse_ends(ends.x, ends.y);
  constexpr const char* kLeaveFp32 = ": leave them fp32";
  const Support few =
      few_support("tensor_core has fp16 tensors between layers only", problem, pool, kLeaveFp32);
  if (!few || ends.x == ElementType::kFp32) return few;
  const int taps = problem.c * problem.s, image = problem.c * problem.h * problem.w;
  const bool padded = problem.pad_h != 0 || problem.pad_w != 0;
  if (choose_variant(problem)->of_halves && !padded && image % 8 == 0) return few;
  return Support::no(
      concat("tensor_core reads fp16 between layers only without padding, for rows of a filter of "
             "more than 16 values and images of whole eights, found ",
             taps, padded ? " with padding" : "", " and ", image, kLeaveFp32));
}

bool few_suits(const Conv2dProblem& problem) {
  constexpr int kManyImages = 512;  // chosen by hand: no result file compares it with fp32 near it
  return problem.n >= kManyImages && few_support("", problem, false, "");
}

std::unique_ptr<ConvKernel> prepare_tensor_core_few(const ConvPrepare& request, int multiprocessors) {
  const FewRequest few{request.problem, request.max_pool.has_value(), request.ends};
  if (!few_support("", few.problem, few.pool, "")) return nullptr;
  return std::make_unique<TensorCoreFew>(request, launch_for(few, multiprocessors), multiprocessors);
}

}  // namespace lenslet
