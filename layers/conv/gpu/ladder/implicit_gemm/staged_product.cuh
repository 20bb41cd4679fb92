// The product of rungs 10 to 12: asynchronous copies into four stages of shared memory. A rung is a choice of the two
// parameters below.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {

/// What a block of 128 filters x 128 columns copies and computes. A thread has kThreadFilters x kThreadColumns outputs,
/// in tiles of 4 x 4.
template <int kThreadFilters_>
struct StagedTile {
  static constexpr int kBlock = 128, kStep = 8, kStages = 4;
  static constexpr int kThreadFilters = kThreadFilters_, kThreadColumns = 8;
  static constexpr int kAcrossFilters = kBlock / kThreadFilters,
                       kAcrossColumns = kBlock / kThreadColumns;  // threads of a block
  static constexpr int kThreads = kAcrossFilters * kAcrossColumns;
  static constexpr int kWarpFilters = 4, kWarpColumns = 8;  // threads of a warp
  static constexpr int kRows = kStep * kBlock / kThreads;   // taps of its column that a thread copies a step

  struct Stage {
    float filters[kStep][kBlock];  // [tap][filter]
    float inputs[kStep][kBlock];   // [tap][column]
  };
};

/// Three steps are in flight while one is computed. With kReadAhead the operands of the next tap are read from shared
/// memory while this tap is computed. Without padding and with full steps, kChecked is false.
template <typename Tile, bool kReadAhead, bool kChecked>
__device__ __forceinline__ void staged_product(const RungShape& shape, const RungOperands& operands) {
  using Stage = typename Tile::Stage;
  constexpr int kBlock = Tile::kBlock, kStep = Tile::kStep, kStages = Tile::kStages, kRows = Tile::kRows;
  constexpr int kThreads = Tile::kThreads, kThreadFilters = Tile::kThreadFilters,
                kThreadColumns = Tile::kThreadColumns;
  constexpr int kAcrossFilters = Tile::kAcrossFilters, kAcrossColumns = Tile::kAcrossColumns;
  constexpr int kWarpFilters = Tile::kWarpFilters, kWarpColumns = Tile::kWarpColumns;
  __shared__ __align__(16) Stage stages[kStages];
  const RungTile tile(shape, kBlock, kBlock);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int kWarpsAcross = kAcrossColumns / kWarpColumns;
  const int filter = (warp / kWarpsAcross * kWarpFilters + lane / kWarpColumns) * 4;
  const int column = (warp % kWarpsAcross * kWarpColumns + lane % kWarpColumns) * 4;

  const int load_column = threadIdx.x % kBlock, load_tap = threadIdx.x / kBlock * kRows;
  const RungWindow window(shape, tile.column + load_column);
  constexpr int kRowVectors = kBlock / 4, kFilterRows = kThreads / kRowVectors;
  const int load_filter = threadIdx.x % kRowVectors * 4, load_row = threadIdx.x / kRowVectors;
  const float* next_filters =
      operands.filters + static_cast<int64_t>(load_row) * shape.pitch + tile.filter + load_filter;
  const uint32_t input_target = shared_address(&stages[0].inputs[load_tap][load_column]);
  const uint32_t filter_target = shared_address(&stages[0].filters[load_row][load_filter]);
  const int* next_offsets = operands.offsets + load_tap;
  int offsets[kRows];  // of the taps that are copied next
  const auto look_up = [&] {
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
      *reinterpret_cast<int4*>(&offsets[i]) = __ldg(reinterpret_cast<const int4*>(next_offsets + i));
    }
    next_offsets += kStep;
  };
  const auto copy_input = [&](int step, int stage, int i) {
    const uint32_t target = input_target + stage * sizeof(Stage) + i * sizeof(Stage::inputs[0]);
    if constexpr (kChecked) {
      const bool inside = window.holds(shape, operands.shifts[step * kStep + load_tap + i]);
      copy_async_4_or_zero(target, operands.x + (inside ? window.corner + offsets[i] : 0), inside);
    } else {
      copy_async_4(target, operands.x + (window.corner + offsets[i]));
    }
  };
  const auto copy_filters = [&](int stage, int i) {
    copy_async_16(filter_target + stage * sizeof(Stage) + i * kFilterRows * sizeof(Stage::filters[0]),
                  next_filters + static_cast<int64_t>(i) * kFilterRows * shape.pitch);
  };
  constexpr int kFilterCopies = kStep / kFilterRows;
  const auto finish_step = [&](int step) {
    next_filters += static_cast<int64_t>(kStep) * shape.pitch;
    if (step + 1 < shape.steps) look_up();
  };

  look_up();
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < shape.steps) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) copy_input(stage, stage, i);
#pragma unroll
      for (int i = 0; i < kFilterCopies; ++i) copy_filters(stage, i);
      finish_step(stage);
    }
    commit_copies();
  }
  float sums[kThreadFilters][kThreadColumns] = {};
  constexpr int kTaps = kReadAhead ? 2 : 1;  // this tap and the next, or this one alone
  float a[kTaps][kThreadFilters], b[kTaps][kThreadColumns];
  const auto read = [&](int buffer, const Stage& stage, int l) {
#pragma unroll
    for (int i = 0; i < kThreadFilters; i += 4) {
      *reinterpret_cast<float4*>(&a[buffer][i]) =
          *reinterpret_cast<const float4*>(&stage.filters[l][filter + i * kAcrossFilters]);
    }
#pragma unroll
    for (int j = 0; j < kThreadColumns; j += 4) {
      *reinterpret_cast<float4*>(&b[buffer][j]) =
          *reinterpret_cast<const float4*>(&stage.inputs[l][column + j * kAcrossColumns]);
    }
  };
  wait_for_copies<kStages - 2>();
  __syncthreads();
  if (kReadAhead) read(0, stages[0], 0);
  int reading = 0, writing = kStages - 1;  // stages
#pragma unroll 1
  for (int step = 0; step < shape.steps; ++step) {
    const int ahead = step + kStages - 1;
    const bool more = ahead < shape.steps;
#pragma unroll
    for (int l = 0; l < kStep; ++l) {
      if (!kReadAhead) read(0, stages[reading], l);
      if (l == kStep - 1) {
        // Also the barrier after which the stage that was read may be overwritten.
        wait_for_copies<kStages - 2>();
        __syncthreads();
        reading = reading + 1 == kStages ? 0 : reading + 1;
        if (kReadAhead) read(0, stages[reading], 0);
      } else {
        if (kReadAhead) read((l + 1) & 1, stages[reading], l + 1);
        // The copies of a step are spread over the arithmetic of another.
        constexpr int kTurns = kStep - 1;
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          if (more && i * kTurns / kRows == l) copy_input(ahead, writing, i);
        }
#pragma unroll
        for (int i = 0; i < kFilterCopies; ++i) {
          if (more && i * kTurns / kFilterCopies == l) copy_filters(writing, i);
        }
        if (l == kStep - 2) {
          if (more) finish_step(ahead);
          commit_copies();
          writing = writing + 1 == kStages ? 0 : writing + 1;
        }
      }
#pragma unroll
      for (int i = 0; i < kThreadFilters; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadColumns; ++j)
          sums[i][j] = fmaf(a[l % kTaps][i], b[l % kTaps][j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kThreadFilters; ++i) {
    const int row = tile.filter + filter + i / 4 * 4 * kAcrossFilters + i % 4;
#pragma unroll
    for (int j = 0; j < kThreadColumns; j += 4) {
      rung_store_four(shape, operands, row, tile.column + column + j * kAcrossColumns, &sums[i][j]);
    }
  }
}

/// The design of a rung, but for its names and kernels.
template <typename Tile>
RungDesign staged_design() {
  RungDesign design;
  design.threads = Tile::kThreads;
  design.block_filters = Tile::kBlock;
  design.block_columns = Tile::kBlock;
  design.step = Tile::kStep;
  design.packs_filters = true;
  design.min_capability = GpuLimits::kAsyncCopies;
  return design;
}

}  // namespace implicit_gemm_ladder
}  // namespace lenslet
