// Implicit GEMM, rung 08: 16 x 8 outputs per thread, with half the threads.
//
// 8 x 8 reads 16 floats from shared memory for 64 multiply-adds; 16 x 8 reads 24 for 128, a quarter less. The price:
// half as many warps hide latency, 8 per multiprocessor.
#include "layers/conv/gpu/async_copy.cuh"
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kBlock = 128, kStep = 8, kStages = 4;
constexpr int kThreadFilters = 16, kThreadColumns = 8;
constexpr int kAcrossFilters = kBlock / kThreadFilters,
              kAcrossColumns = kBlock / kThreadColumns;  // threads of a block
constexpr int kThreads = kAcrossFilters * kAcrossColumns;
constexpr int kWarpFilters = 4, kWarpColumns = 8;  // threads of a warp
constexpr int kRows = kStep * kBlock / kThreads;   // taps of its column that a thread copies a step

struct Stage {
  float filters[kStep][kBlock];  // [tap][filter]
  float inputs[kStep][kBlock];   // [tap][column]
};

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 128 filters x 128 columns, thread = 16 x 8: rows 4 x 4, 32 apart; columns 4 + 4, 64 apart
// memory      shared: four stages of 8 taps x 128 filters and 8 taps x 128 columns; registers: 128 sums, two
//             taps of operands
// requires    groups = 1, compute capability 8.0; unless kChecked no padding and C*R*S a multiple of 8 (all
//             by RungBackend)
// measured    H200: docs/results.md, "The ladder of implicit GEMM" (docs/results/2026-11-22-h200/reproduce.json)
template <bool kChecked>
__global__ void __launch_bounds__(kThreads, 2)
    conv_implicit_gemm_thread_16x8_kernel(const RungShape shape, const RungOperands operands) {
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
  float a[2][kThreadFilters], b[2][kThreadColumns];  // of this tap and the next
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
  read(0, stages[0], 0);
  int reading = 0, writing = kStages - 1;  // stages
#pragma unroll 1
  for (int step = 0; step < shape.steps; ++step) {
    const int ahead = step + kStages - 1;
    const bool more = ahead < shape.steps;
#pragma unroll
    for (int l = 0; l < kStep; ++l) {
      if (l == kStep - 1) {
        // Also the barrier after which the stage that was read may be overwritten.
        wait_for_copies<kStages - 2>();
        __syncthreads();
        reading = reading + 1 == kStages ? 0 : reading + 1;
        read(0, stages[reading], 0);
      } else {
        read((l + 1) & 1, stages[reading], l + 1);
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
        for (int j = 0; j < kThreadColumns; ++j) sums[i][j] = fmaf(a[l & 1][i], b[l & 1][j], sums[i][j]);
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

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_08_thread_16x8() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.08_thread_16x8";
    design.kernel_name = "conv_implicit_gemm_thread_16x8_kernel";
    design.kernel = &conv_implicit_gemm_thread_16x8_kernel<true>;
    design.whole = &conv_implicit_gemm_thread_16x8_kernel<false>;
    design.threads = kThreads;
    design.block_filters = kBlock;
    design.block_columns = kBlock;
    design.step = kStep;
    design.least_capability = 80;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
