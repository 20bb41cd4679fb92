// What the rungs of the tensor_core ladder share from 13 on, whose blocks keep the filters of a tile in shared memory:
// the size of a stage, and the host side.
//
// The ring of a block and its lines of sums are those of persistent.cuh. Its shared memory has the filters of all
// steps, the stages of inputs, the lines, the barriers, and from 18 on the bias.
#pragma once

#include <algorithm>

#include "framework/device/gpu_queries.h"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {

/// The inputs of a stage: 32 channels of a tile's positions, and of those to the right of it that `taps` of a row need.
__host__ __device__ constexpr int copied_bytes(int taps, int positions = kBlock) {
  return (positions + taps - 1) * kRowBytes;
}
__host__ __device__ constexpr int stage_bytes(int taps, int positions = kBlock) {
  return (copied_bytes(taps, positions) + 1023) / 1024 * 1024;
}

constexpr int kMinStages = 3, kMaxStages = 8;

// Where the filters of a tile are operand A: a warpgroup multiplies them with all positions of the tile, and a warp
// stores 16 filters of eight positions at a time by way of shared memory.
constexpr int kRowFilters = 64, kColumnPositions = 192;
constexpr int kRowWarps = 4, kRowThreads = kRowWarps * 32 + 32;
constexpr int kPitch = 16 + 4;                // floats, from position to position
constexpr int kTurnedBytes = 8 * kPitch * 4;  // of a warp

// Where warpgroups take turns, and filters are no rows: the positions of a tile.
constexpr int kTurnPositions = 64;

/// A design whose kernel depends on the filters of a tile, and on the channels of a step.
struct KeptDesign : RungDesign {
  void (*kernel_128)(RungShape, RungOperands) = nullptr;  // with 128 filters a tile
  void (*kernel_64)(RungShape, RungOperands) = nullptr;
  void (*kernel_128_two_runs)(RungShape,
                              RungOperands) = nullptr;  // with 64 channels a step; null: not supported
  bool shares_inputs = false;    // a stage has the inputs for all taps of a row, not for one
  bool filters_as_rows = false;  // where a tile has kRowFilters
  bool takes_turns = false;  // each of two warpgroups has a tile; filters have barriers, and lie step by step
};

/// How many filters a tile has, and how many runs of kStep channels a step.
struct KeptSizes {
  int filters, runs = 1;
};

/// What a design needs for a problem with these sizes: no kernel if the filters do not fit.
inline RungDesign kept_design(const KeptDesign& design, const Conv2dProblem& problem,
                              const KeptSizes& sizes) {
  RungDesign kept = design;
  const bool rows = design.filters_as_rows && sizes.filters == kRowFilters;
  if (rows) kept.block_positions = kColumnPositions;
  if (rows && !design.takes_turns) kept.threads = kRowThreads;
  const int warps = kept.threads / 32 - 1;                // without the one that copies
  const int taps = design.shares_inputs ? problem.s : 1;  // of a stage
  const int64_t filter_bytes = int64_t{problem.r} * problem.s * problem.c * sizes.filters * 4,
                bytes_of_stage = sizes.runs * stage_bytes(taps, kept.block_positions) + kBarrierPairBytes;
  int64_t own_bytes = filter_bytes + warps * (rows ? kTurnedBytes : kLinesBytes);
  if (design.takes_turns) {
    const int64_t steps = int64_t{problem.r} * (problem.c / kStep / sizes.runs);
    own_bytes += kBarrierPairBytes + steps * kBarrierBytes;
    kept.step_runs = sizes.runs;
  }
  if (design.early) own_bytes += sizes.filters * 4;  // the bias
  const int64_t stages = (GpuLimits::kHopperSharedBytes - own_bytes) / bytes_of_stage;
  if (stages < kMinStages) return kept;
  kept.kernel = sizes.filters != 128 ? design.kernel_64
                : sizes.runs == 2    ? design.kernel_128_two_runs
                                     : design.kernel_128;
  kept.block_filters = sizes.filters;
  kept.dropped_columns = taps - 1;
  kept.stages = static_cast<int>(std::min<int64_t>(stages, kMaxStages));
  kept.shared_bytes = static_cast<size_t>(own_bytes + kept.stages * bytes_of_stage);
  return kept;
}

/// With 128 filters, if they fit and there are more than 64; else with 64. Of those with 128 filters with two runs a
/// step, if the design has them and they fit.
inline RungDesign kept_design(const KeptDesign& design, const Conv2dProblem& problem) {
  RungDesign kept;
  if (problem.k > 64) {
    if (design.kernel_128_two_runs && problem.c % (2 * kStep) == 0)
      kept = kept_design(design, problem, {128, 2});
    if (!kept.kernel) kept = kept_design(design, problem, {128});
  }
  return kept.kernel ? kept : kept_design(design, problem, {64});
}

class KeptFiltersConv : public RungConv {
 public:
  using Design = KeptDesign;
  static Support supports(const Conv2dProblem& problem, const KeptDesign& design) {
    if (const Support rung = RungConv::supports(problem, design); !rung) return rung;
    const RungDesign kept = kept_design(design, problem);
    if (!kept.kernel) {
      return Support::no(concat(design.name, " keeps 64 filters in shared memory, beside ", kMinStages,
                                " steps of inputs, and has no place for filters of ", problem.c, " x ",
                                problem.r, " x ", problem.s, ": use tensor_core"));
    }
    const int64_t columns = int64_t{problem.q()} + kept.dropped_columns,
                  positions = int64_t{problem.n} * problem.p() * columns;
    if (positions <= GpuLimits::kElements) return Support::yes();
    return Support::no(concat(design.name, " supports up to ", GpuLimits::kElements,
                              " positions in rows of Q + S - 1, found ", positions, ": use tensor_core"));
  }
  KeptFiltersConv(const ConvPrepare& request, const KeptDesign& design)
      : RungConv(request, kept_design(design, request.problem)) {}
};

}  // namespace tensor_core_ladder
}  // namespace lenslet
