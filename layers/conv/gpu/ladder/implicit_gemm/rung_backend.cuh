// The host side of all rungs of the implicit-GEMM ladder. A rung is a kernel and a RungDesign.
//
// Filters come as w [K, C, R, S]. If a design has a step, a table has the offset of each tap. Rungs from 07 on have
// their filters packed tap by tap.
#pragma once

#include <memory>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/ladder/implicit_gemm/rung_kernel.cuh"
#include "layers/conv/gpu/ladder/ladder_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {

using RungKernel = void (*)(RungShape, RungOperands);

struct RungDesign {
  const char* name = nullptr;         // of the backend: "implicit_gemm.03_thread_tile"
  const char* kernel_name = nullptr;  // "conv_implicit_gemm_thread_tile_kernel"
  RungKernel kernel = nullptr;        // supports every problem
  RungKernel whole = nullptr;  // without padding, steps filled by taps: nothing to check; null: the same
  int threads = 0;
  int block_filters = 0, block_columns = 0;  // outputs of a block; blockIdx.x counts tiles, filters fastest
  int step = 0;                              // taps of a step, for the table of offsets; 0: no table
  bool packs_filters = false;                // tap by tap, in whole steps; else as given
  size_t shared_bytes = 0;                   // dynamic
  int min_capability = 0;                    // 80: compute capability 8.0
};

class RungConv : public OneLaunchConv<RungShape, RungOperands> {
 public:
  using Design = RungDesign;
  static constexpr MathMode kMath = MathMode::kFp32;
  static constexpr TensorLayout kLayout = TensorLayout::kNchw;
  static Support supports(const Conv2dProblem& problem, const RungDesign& design) {
    const int64_t rows = int64_t{problem.h} + 2 * int64_t{problem.pad_h} + problem.stride_h;
    const int64_t columns = int64_t{problem.w} + 2 * int64_t{problem.pad_w} + problem.stride_w;
    const int64_t reach = (int64_t{problem.n} * problem.c * problem.h + rows) * columns;
    if (reach > INT32_MAX || rows > kNowhere || columns > kNowhere) {
      return Support::no(concat(design.name, " counts ", INT32_MAX, " elements, padding included; found ",
                                reach, ": use direct"));
    }
    return Support::yes();
  }

  RungConv(const ConvPrepare& request, const RungDesign& design) : step_(design.step) {
    const Support gpu =
        needs_capability(concat(design.name, " copies to shared memory asynchronously: it needs"),
                         design.min_capability, compute_capability(request.stream.device()), "use direct");
    if (!gpu) throw UnavailableError(gpu.reason());
    const Conv2dProblem& problem = request.problem;
    fill_shape(problem, design.block_filters);
    shape_.relu = request.rectifier.relu();
    const bool whole =
        design.whole && problem.pad_h == 0 && problem.pad_w == 0 && shape_.taps % design.step == 0;
    const int64_t column_tiles = ceil_div(int64_t{shape_.columns}, design.block_columns);
    const int filter_tiles = static_cast<int>(ceil_div(problem.k, design.block_filters));
    shape_.by_filter_tiles = FastDivide(filter_tiles);

    bias_ = upload_bias(request, shape_.pitch);
    if (design.packs_filters) {
      pack_filters(request);
    } else {
      filters_ =
          request.services.upload(request.weights, static_cast<size_t>(int64_t{problem.k} * shape_.taps));
    }
    if (design.step > 0) upload_offsets(request);
    launch_ = {design.kernel_name, whole ? design.whole : design.kernel,
               static_cast<unsigned>(column_tiles * filter_tiles), static_cast<unsigned>(design.threads),
               design.shared_bytes};
    detail_ = concat(design.block_filters, " filters x ", design.block_columns, " positions per block");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    const RungOperands operands{args.x,
                                filters_.get(),
                                bias_.get(),
                                static_cast<const int*>(offsets_.get()),
                                static_cast<const int2*>(shifts_.get()),
                                args.y};
    launch_(context.stream, shape_, operands);
  }

 private:
  void fill_shape(const Conv2dProblem& problem, int block_filters) {
    set_strides(shape_, problem);
    shape_.c = problem.c;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.k = problem.k;
    shape_.r = problem.r;
    shape_.s = problem.s;
    shape_.q = problem.q();
    shape_.plane = problem.p() * problem.q();
    shape_.image = problem.c * problem.h * problem.w;
    shape_.columns = problem.n * shape_.plane;
    shape_.taps = problem.c * problem.r * problem.s;
    shape_.steps = step_ > 0 ? static_cast<int>(ceil_div(shape_.taps, step_)) : 0;
    shape_.pitch = static_cast<int>(round_up(problem.k, block_filters));
    shape_.dilation_h = problem.dilation_h;
    shape_.dilation_w = problem.dilation_w;
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(problem.q());
    shape_.by_rs = FastDivide(problem.r * problem.s);
    shape_.by_s = FastDivide(problem.s);
  }
  size_t padded_taps() const { return static_cast<size_t>(shape_.steps) * step_; }
  /// Packs filters from [K, taps] to [padded taps, pitch].
  void pack_filters(const ConvPrepare& request) {
    const size_t pitch = static_cast<size_t>(shape_.pitch);
    std::vector<float> packed(padded_taps() * pitch, 0.0f);
    for (int tap = 0; tap < shape_.taps; ++tap) {
      for (int k = 0; k < request.problem.k; ++k)
        packed[static_cast<size_t>(tap) * pitch + k] = request.weights[int64_t{k} * shape_.taps + tap];
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }
  /// Builds the table of the taps' offsets.
  void upload_offsets(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    std::vector<int> offsets(padded_taps(), 0);
    std::vector<int2> shifts(padded_taps(), int2{kNowhere, 0});
    for (int tap = 0; tap < shape_.taps; ++tap) {
      const size_t at = static_cast<size_t>(tap);
      const int c = tap / (problem.r * problem.s), r = tap / problem.s % problem.r, s = tap % problem.s;
      shifts[at] = {r * problem.dilation_h, s * problem.dilation_w};
      offsets[at] = (c * problem.h + shifts[at].x) * problem.w + shifts[at].y;
    }
    offsets_ = upload_table(request, offsets);
    shifts_ = upload_table(request, shifts);
  }

  int step_;
  RungShape shape_{};
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> offsets_, shifts_;
};

using RungBackend = LadderBackend<RungConv>;

}  // namespace implicit_gemm_ladder
}  // namespace lenslet
