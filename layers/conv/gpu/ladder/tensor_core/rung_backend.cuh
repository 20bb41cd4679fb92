// The host side of all rungs of the tensor_core ladder. A rung is a kernel and a RungDesign.
//
// Filters come as w [K, C, R, S]. They are rounded and packed step by step, so that a block's filters of a step are
// contiguous: [filter tiles, steps, filters of a tile, kStep]. Steps count taps and then channels, or where one has
// several products those of a row, [R, channels / (step_runs * kStep), S, step_runs].
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_queries.h"
#include "framework/instructions/operand_bits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/im2col_map.cuh"
#include "layers/conv/gpu/ladder/ladder_backend.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_kernel.cuh"

namespace lenslet {
namespace tensor_core_ladder {

struct RungDesign {
  const char* name = nullptr;         // of the backend: "tensor_core.01_shared_tiles"
  const char* kernel_name = nullptr;  // "conv_tensor_core_shared_tiles_kernel"
  void (*kernel)(RungShape, RungOperands) = nullptr;
  int threads = 0;
  int block_positions = 0, block_filters = 0;  // outputs of a block; blockIdx.x counts tiles, filters fastest
  int cluster = 1;                             // blocks with the same filters and neighbouring positions
  size_t shared_bytes = 0;                     // dynamic
  bool tensor_copies = false;                  // by TMA: inputs by a map, filters packed in swizzled order
  int resident_blocks = 0;  // of a multiprocessor, if blocks are persistent, with one filter tile
  int dropped_columns = 0;  // at the end of each row of positions, whose inputs a copy takes with the others
  int stages = 0;           // where they are not compiled in
  int step_runs = 0;   // runs of kStep channels of a step, whose filters of all taps of a row lie together
  bool early = false;  // the launch may begin before the one before ends
};

class RungConv : public OneLaunchConv<RungShape, RungOperands> {
 public:
  using Design = RungDesign;
  static constexpr MathMode kMath = MathMode::kTf32;
  static constexpr TensorLayout kLayout = TensorLayout::kNhwc;
  static Support supports(const Conv2dProblem& problem, const RungDesign& design) {
    constexpr int kWindow = 128;  // rows, columns and padding that TMA describes at stride 1
    const bool dense =
        problem.stride_h == 1 && problem.stride_w == 1 && problem.dilation_h == 1 && problem.dilation_w == 1;
    const bool small =
        std::max(problem.r, problem.s) <= kWindow && std::max(problem.pad_h, problem.pad_w) < kWindow;
    if (!dense || !small) {
      return Support::no(concat(design.name, " supports stride 1 without dilation, filters of up to ",
                                kWindow, " rows and columns and less padding, found ", window_text(problem),
                                ": use tensor_core"));
    }
    if (problem.c % kStep != 0 || problem.k % kPiece != 0) {
      return Support::no(concat(design.name, " supports channels in multiples of ", kStep,
                                " and filters in multiples of ", kPiece, ", found ", problem.c, " and ",
                                problem.k, ": use tensor_core"));
    }
    return current_gpu_supports([&](int capability) { return gpu_supports(design, capability); });
  }

  RungConv(const ConvPrepare& request, const RungDesign& design)
      : problem_(request.problem), design_(design) {
    const Support gpu = gpu_supports(design, compute_capability(request.stream.device()));
    if (!gpu) throw UnavailableError(gpu.reason());
    const int filter_tiles = static_cast<int>(ceil_div(problem_.k, design.block_filters));
    fill_shape(filter_tiles);
    shape_.relu = request.rectifier.relu();
    pack(request, filter_tiles);
    bias_ = upload_bias(request, int64_t{filter_tiles} * design.block_filters);
    int64_t tiles = ceil_div(shape_.positions, design.cluster * design.block_positions);
    shape_.tiles = static_cast<int>(filter_tiles * tiles);
    if (design.resident_blocks > 0) {
      const int slots = design.resident_blocks * multiprocessor_count(request.stream.device());
      tiles = std::clamp<int64_t>(slots / filter_tiles, 1, tiles);
    }
    launch_ = {design.kernel_name, design.kernel,
               static_cast<unsigned>(filter_tiles * tiles * design.cluster),
               static_cast<unsigned>(design.threads), design.shared_bytes};
    detail_ = concat(design.block_positions, " positions x ", design.block_filters, " filters per block");
    operands_.filters = filters_.get();
    operands_.bias = bias_.get();
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    if (design_.tensor_copies && operands_.x != args.x) {
      Im2colBox box;
      box.tensor_channels = problem_.c;
      box.more_columns = design_.dropped_columns;
      box.positions = design_.block_positions + box.more_columns;
      box.channels = kStep;
      operands_.map = im2col_map(encode_, problem_, box, args.x);
    }
    operands_.x = args.x;
    operands_.y = args.y;
    if (design_.early) {
      launch_.early(context.stream, shape_, operands_);
    } else {
      launch_(context.stream, shape_, operands_);
    }
  }

 private:
  static Support gpu_supports(const RungDesign& design, int capability) {
    if (capability == GpuLimits::kWgmma) return Support::yes();
    return Support::no(concat(design.name, " has code for compute capability ",
                              capability_text(GpuLimits::kWgmma), " alone, this GPU has ",
                              capability_text(capability), ": use tensor_core"));
  }
  void fill_shape(int filter_tiles) {
    shape_.c = problem_.c;
    shape_.h = problem_.h;
    shape_.w = problem_.w;
    shape_.k = problem_.k;
    shape_.s = problem_.s;
    shape_.q = problem_.q();
    const int columns = shape_.q + design_.dropped_columns;
    shape_.plane = problem_.p() * columns;
    shape_.positions = problem_.n * shape_.plane;
    shape_.pad_h = problem_.pad_h;
    shape_.pad_w = problem_.pad_w;
    shape_.steps = problem_.r * problem_.s * (problem_.c / kStep);
    shape_.stages = design_.stages;
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(columns);
    shape_.by_filter_tiles = FastDivide(filter_tiles);
  }
  /// Rounds and packs filters from [K, C, R, S]: piece i of filter f at i, or swizzled at i ^ (f % 8).
  void pack(const ConvPrepare& request, int filter_tiles) {
    const int taps = problem_.r * problem_.s;
    const size_t rows = size_t{1} * filter_tiles * shape_.steps * design_.block_filters;
    std::vector<float> packed(rows * kStep, 0.0f);
    auto* const target = reinterpret_cast<unsigned char*>(packed.data());
    const float* weight = request.weights;
    for (int k = 0; k < problem_.k; ++k) {
      const int64_t tile = k / design_.block_filters, filter = k % design_.block_filters;
      for (int c = 0; c < problem_.c; ++c) {
        const int64_t swizzle = design_.tensor_copies ? filter % 8 : 0;
        const int64_t piece = (c % kStep / kPiece) ^ swizzle;
        for (int tap = 0; tap < taps; ++tap) {
          const int64_t product = tile * shape_.steps + product_of(tap, c / kStep);
          const int64_t row = product * design_.block_filters + filter;
          put_operand(target, (row * kPieces + piece) * kPiece + c % kPiece, *weight++, true);
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }
  /// The place of a tap and a run of kStep channels among the products of a tile.
  int product_of(int tap, int run) const {
    const int runs = problem_.c / kStep, columns = problem_.s;
    if (design_.step_runs == 0) return tap * runs + run;
    const int row = tap / columns, column = tap % columns, own_run = run % design_.step_runs;
    return row * columns * runs + (run - own_run) * columns + column * design_.step_runs + own_run;
  }

  Conv2dProblem problem_;
  RungDesign design_;
  decltype(&cuTensorMapEncodeIm2col) encode_ = encode_im2col_map();
  RungShape shape_{};
  RungOperands operands_{};  // x: the tensor that `map` describes
  std::shared_ptr<float> filters_, bias_;
};

using RungBackend = LadderBackend<RungConv>;

}  // namespace tensor_core_ladder
}  // namespace lenslet
