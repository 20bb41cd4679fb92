// Linear on the GPU for large batches: Y [N, O] = f(X [N, I] * W^T [I, O] + b), with tiles in shared memory and in
// registers. f = ReLU or nothing, both in the epilogue, so that Y is written once.
//
// Two-level tiling with sizes for a layer with few outputs (V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense
// linear algebra", SC 2008; R. Nath, S. Tomov and J. Dongarra, "An improved MAGMA GEMM for Fermi graphics processing
// units", Int. J. of High Performance Computing Applications 24(4), 2010). Blocks are narrow, so that a layer of few
// samples occupies the GPU, and several are resident on a multiprocessor: 10,000 samples x 120 outputs make 250 blocks
// for 132 multiprocessors. A lane loads its next operands before the last products of those that it holds. Weights are
// packed once in the order in which lanes read them, and padded with zeros.
//
// The next launch does not begin early (framework/instructions/early_launch.cuh): its blocks would gather on the
// multiprocessors that this launch leaves free, and take longer there than they save.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "framework/base/alignment.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/async_copy.cuh"
#include "framework/tensor/host_values.h"
#include "framework/tensor/keep_nan.h"
#include "layers/linear/gpu/tiled_shape.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {
namespace {

using LaunchShape = LinearTiledShape;
constexpr int kThreads = LaunchShape::kWarps * GpuLimits::kWarp;
constexpr int kMaxColumns = LaunchShape::kColumnLanes * kLaneOutputs[0];
constexpr int64_t kMaxOutputs = int64_t{kMaxColumns} * GpuLimits::kGridYZ;
// Up to this number of outputs (batch * outputs) `auto` takes warp_reduce, the next row. Chosen by hand: no file
// compares both near it.
constexpr int64_t kMaxWarpReduceOutputs = 80 * 1000;
constexpr int kStages = 2;  // in shared memory: one is copied while the other is multiplied
constexpr int kQuads = LaunchShape::kDepth / 4;  // groups of four inputs, float4, in a stage
// A row of the X tile has 4 floats of padding, so that the four rows that a warp reads at once are in different banks.
constexpr int kPitch = LaunchShape::kDepth + 4;
constexpr int kXFloats = LaunchShape::kRows * kPitch;  // of a stage

// The weights of a stage: [kQuads][lane_outputs][kColumnLanes] float4. A lane's lane_outputs float4 of a quad are the
// weights of its outputs for input 0 of the quad, then those for input 1, 2 and 3.
__host__ __device__ constexpr int weight_floats(int lane_outputs) {
  return LaunchShape::kDepth * LaunchShape::kColumnLanes * lane_outputs;
}
// The output, in the tile, of a lane's lane_output: four neighbouring ones for each whole group of four, stored as
// float4; the rest alternate with those of the other lanes.
__host__ __device__ constexpr int column_of(int lane_outputs, int lane, int lane_output) {
  const int group = lane_output / 4, within = lane_output % 4;
  return group * 4 * LaunchShape::kColumnLanes +
         (group < lane_outputs / 4 ? lane * 4 + within : within * LaunchShape::kColumnLanes + lane);
}

__device__ __forceinline__ float part(const float4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// What a lane loads of a quad of inputs before it multiplies the quad before: its samples, and up to eight weights.
template <int kOutputs>
struct Front {
  static constexpr int kWeights = kOutputs < 8 ? kOutputs : 8;  // float4
  float4 x[LaunchShape::kLaneRows], w[kWeights];
};

// computes    y = f(x * w^T + b) for a tile of 80 samples x 8 kOutputs outputs
// work split  grid.x = tiles of samples, grid.y = tiles of outputs; four warps of 4 x 8 lanes, each 20 samples x all
//             outputs; a lane computes 5 x kOutputs sums, each over the inputs in ascending order
// memory      two stages of an X tile [80][32 + 4] and of packed weights, 39 KB for 64 outputs; a lane reads 5 float4
//             of X and kOutputs float4 of weights for 20 kOutputs multiply-adds
// requires    weights packed as weight_floats() states and bias, both padded with zeros and aligned to 16 bytes;
//             shape.wide as stated there (TiledOperator ensures all)
// measured    H200, hot: LeNet's fc1 / fc2 / fc3, batch 10,000: 21.98 / 11.55 / 6.08 us
//             (docs/results/2026-11-30-h200/profile-batch-10000.json)
template <int kOutputs>
__global__ void __launch_bounds__(kThreads, 1)
    linear_tiled_kernel(const LaunchShape shape,
                        const float* __restrict__ x,        // [batch, inputs]
                        const float* __restrict__ weights,  // [column tiles, steps, weight_floats(kOutputs)]
                        const float* __restrict__ bias,     // [column tiles * 8 kOutputs]
                        float* __restrict__ y) {            // [batch, outputs]
  constexpr int kWeightFloats = weight_floats(kOutputs), kStage = kXFloats + kWeightFloats;
  constexpr int kXCopies = LaunchShape::kRows * kQuads / kThreads;  // of a thread
  constexpr int kXStep = kThreads / kQuads;                         // rows
  constexpr int kWCopies = (kWeightFloats / 4 + kThreads - 1) / kThreads;
  extern __shared__ __align__(16) float linear_tiled_shared[];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % GpuLimits::kWarp,
            warp = thread / GpuLimits::kWarp;
  // Lanes that differ in bit 0 share samples, lanes that differ in bit 1 share outputs: only then does a warp's 16-byte
  // load from shared memory take two passes for either operand.
  static_assert(LaunchShape::kRowLanes == 4 && LaunchShape::kColumnLanes == 8, "the bits of a lane");
  const int row_lane = (lane >> 1 & 1) | (lane >> 3 & 2), column_lane = (lane & 1) | (lane >> 1 & 6);
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * LaunchShape::kRows;

  const int x_row = thread / kQuads, x_quad = thread % kQuads;
  const float* x_from[kXCopies];
#pragma unroll
  for (int l = 0; l < kXCopies; ++l) {
    // Samples past the end read the last one's inputs; their sums are never stored.
    const int64_t row = min(first_row + x_row + l * kXStep, shape.batch - 1);
    x_from[l] = x + row * shape.inputs + x_quad * 4;
  }
  int x_left = shape.inputs - x_quad * 4;
  const float* w_from = weights + static_cast<int64_t>(blockIdx.y) * shape.steps * kWeightFloats + thread * 4;
  float* const x_to = linear_tiled_shared + x_row * kPitch + x_quad * 4;
  float* const w_to = linear_tiled_shared + kXFloats + thread * 4;
  const auto fetch_weights = [&](int stage) {
#pragma unroll
    for (int l = 0; l < kWCopies; ++l) {
      const int at = l * kThreads * 4;
      const bool whole = at + kThreads * 4 <= kWeightFloats;  // every thread has a copy
      if (whole || thread * 4 < kWeightFloats - at) start_copy<16>(w_to + stage * kStage + at, w_from + at);
    }
    w_from += kWeightFloats;
  };
  const auto fetch_x = [&](int stage) {
    float* const first_to = x_to + stage * kStage;
    const auto for_rows = [&](const auto& copy) {
#pragma unroll
      for (int l = 0; l < kXCopies; ++l) copy(first_to + l * kXStep * kPitch, x_from[l]);
    };
    // One branch for all rows, and copies without a condition, are fewer instructions than copies of zeros or values.
    if (!shape.wide) {
      for_rows([&](float* to, const float* from) {
#pragma unroll
        for (int i = 0; i < 4; ++i) start_copy_or_zero<4>(to + i, i < x_left ? from + i : x, i < x_left);
      });
    } else if (x_left > 0) {
      for_rows([](float* to, const float* from) { start_copy<16>(to, from); });
    } else {
      for_rows([](float* to, const float*) { *reinterpret_cast<float4*>(to) = float4{}; });
    }
#pragma unroll
    for (int l = 0; l < kXCopies; ++l) x_from[l] += LaunchShape::kDepth;
    x_left -= LaunchShape::kDepth;
  };

#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage) {
    if (stage < shape.steps) {
      fetch_weights(stage);
      fetch_x(stage);
    }
    commit_started_copies();  // also an empty group, so that the number of pending groups stays the same
  }

  float sum[LaunchShape::kLaneRows][kOutputs] = {};
  // The row of this lane's first sample in the tile.
  const int row = (warp * LaunchShape::kRowLanes + row_lane) * LaunchShape::kLaneRows;
  const float* x_stage = linear_tiled_shared + row * kPitch;
  const float* w_stage = linear_tiled_shared + kXFloats + column_lane * 4;
  int stage = 0, quad = 0, steps_left = shape.steps - 1;
  const auto weight = [&](int index) {
    return *reinterpret_cast<const float4*>(w_stage +
                                            (quad * kOutputs + index) * LaunchShape::kColumnLanes * 4);
  };
  const auto load = [&](Front<kOutputs>& front) {
#pragma unroll
    for (int r = 0; r < LaunchShape::kLaneRows; ++r)
      front.x[r] = *reinterpret_cast<const float4*>(x_stage + r * kPitch + quad * 4);
#pragma unroll
    for (int i = 0; i < Front<kOutputs>::kWeights; ++i) front.w[i] = weight(i);
  };
  // From an odd quad to the next one, which after the last of a stage is the first of the next stage.
  const auto advance = [&] {
    if (++quad < kQuads) return;
    quad = 0;
    if (steps_left == 0) return;
    wait_for_started_copies<kStages - 2>();
    __syncthreads();  // the next stage is visible to all threads, and no thread reads this one any more
    if (steps_left >= kStages) {
      fetch_weights(stage);
      fetch_x(stage);
    }
    commit_started_copies();
    --steps_left;
    const int move = stage == kStages - 1 ? -(kStages - 1) * kStage : kStage;
    stage = stage == kStages - 1 ? 0 : stage + 1;
    x_stage += move;
    w_stage += move;
  };
  // Multiplies a quad, and goes to the next. The products that follow its loads hide their latency.
  const auto multiply_quad = [&](const Front<kOutputs>& now, Front<kOutputs>& next, const auto& go_on) {
    constexpr int kAfter =
        kOutputs < 6 ? kOutputs : 6;  // weights that are multiplied after the loads; chosen by hand
    float4 w[kOutputs];
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      constexpr int kWeights = Front<kOutputs>::kWeights;
      w[i] = i < kWeights ? now.w[i < kWeights ? i : 0] : weight(i);
    }
    // The register file supplies two operands a cycle, one from each of its halves, and a product has three. So an
    // input stays for a row of outputs, and the next row begins with the weight with which this one ends.
    const auto multiply = [&](int from, int to) {
#pragma unroll
      for (int input = 0; input < 4; ++input) {
#pragma unroll
        for (int r = 0; r < LaunchShape::kLaneRows; ++r) {
#pragma unroll
          for (int j = 0; j < kOutputs; ++j) {
            const bool back = (input * LaunchShape::kLaneRows + r) % 2 == 1;
            const int output = back ? kOutputs - 1 - j : j, i = input * kOutputs + output;
            if (i < from || i >= to) continue;
            sum[r][output] = fmaf(part(now.x[r], input), part(w[i / 4], i % 4), sum[r][output]);
          }
        }
      }
    };
    multiply(0, 4 * (kOutputs - kAfter));
    go_on();
    load(next);
    multiply(4 * (kOutputs - kAfter), 4 * kOutputs);
  };

  wait_for_started_copies<kStages - 1>();
  __syncthreads();
  Front<kOutputs> even, odd;
  load(even);
  // Two quads at a time, so that each has its registers. Inputs past the end are zeros.
  for (int pairs = (shape.inputs + 7) / 8; pairs > 0; --pairs) {
    multiply_quad(even, odd, [&] { ++quad; });
    multiply_quad(odd, even, advance);
  }

  const int first_column = static_cast<int>(blockIdx.y) * LaunchShape::kColumnLanes * kOutputs;
  const bool wide_rows = shape.outputs % 4 == 0 && reinterpret_cast<uintptr_t>(y) % sizeof(float4) == 0;
#pragma unroll
  for (int first = 0; first < kOutputs; first += 4) {
    const int output = first_column + column_of(kOutputs, column_lane, first);
    const bool four = first + 4 <= kOutputs;  // neighbours
    const int apart = four ? 1 : LaunchShape::kColumnLanes;
    float b[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) b[j] = first + j < kOutputs ? __ldg(bias + output + j * apart) : 0.0f;
#pragma unroll
    for (int r = 0; r < LaunchShape::kLaneRows; ++r) {
      const int64_t sample = first_row + row + r;
      if (sample >= shape.batch) break;
      float out[4];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        out[j] = first + j < kOutputs
                     ? relu_if(shape.relu, sum[r][first + j < kOutputs ? first + j : 0] + b[j])
                     : 0.0f;
      float* const to = y + sample * shape.outputs + output;
      if (four && wide_rows) {
        if (output < shape.outputs)
          *reinterpret_cast<float4*>(to) = make_float4(out[0], out[1], out[2], out[3]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (first + j < kOutputs && output + j * apart < shape.outputs) to[j * apart] = out[j];
        }
      }
    }
  }
}

using Launch = KernelLaunch<LaunchShape, const float*, const float*, const float*, float*>;

// The kernels of kLaneOutputs.
template <size_t... kIndex>
constexpr std::array<Launch::Function, sizeof...(kIndex)> all_kernels(std::index_sequence<kIndex...>) {
  return {&linear_tiled_kernel<kLaneOutputs[kIndex]>...};
}
constexpr auto kKernels = all_kernels(std::make_index_sequence<std::size(kLaneOutputs)>());

class TiledOperator : public Operator {
 public:
  TiledOperator(const LinearProblem& problem, Stream& stream) {
    const int lane_outputs =
        choose_lane_outputs(problem.batch, problem.outputs, multiprocessor_count(stream.device()));
    const int columns = LaunchShape::kColumnLanes * lane_outputs;
    const int64_t column_tiles = ceil_div(problem.outputs, columns);
    const int64_t steps = ceil_div(problem.inputs, LaunchShape::kDepth);
    shape_ = {problem.batch,
              static_cast<int>(problem.inputs),
              static_cast<int>(problem.outputs),
              static_cast<int>(steps),
              problem.relu,
              problem.inputs % 4 == 0};
    const auto kernel = std::find(std::begin(kLaneOutputs), std::end(kLaneOutputs), lane_outputs);
    launch_ = {"linear_tiled_kernel", kKernels[static_cast<size_t>(kernel - std::begin(kLaneOutputs))],
               dim3(grid_blocks(problem.batch, LaunchShape::kRows), static_cast<unsigned>(column_tiles)),
               dim3(kThreads),
               sizeof(float) * kStages * static_cast<size_t>(kXFloats + weight_floats(lane_outputs))};
    detail_ = concat("tile ", LaunchShape::kRows, "x", columns);
    upload(problem, lane_outputs, column_tiles, stream);
  }

  std::string detail() const override { return detail_; }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const float* const x = inputs[0].data;
    LaunchShape shape = shape_;
    shape.wide = shape.wide && is_aligned(x, sizeof(float4));
    launch_(context.stream, shape, x, weights_.as<float>(), bias_.as<float>(), output.data);
  }

 private:
  /// W [O, I] as [column tiles][quads][lane_outputs][kColumnLanes] float4, zeros past its ends.
  void upload(const LinearProblem& problem, int lane_outputs, int64_t column_tiles, Stream& stream) {
    const int columns = LaunchShape::kColumnLanes * lane_outputs;
    const int64_t tile_floats = int64_t{shape_.steps} * weight_floats(lane_outputs);
    std::vector<float> packed(static_cast<size_t>(column_tiles * tile_floats), 0.0f);
    std::vector<float> bias(static_cast<size_t>(column_tiles * columns), 0.0f);
    if (problem.bias) std::copy_n(problem.bias, problem.outputs, bias.begin());
    for (int64_t tile = 0; tile < column_tiles; ++tile) {
      for (int c = 0; c < columns; ++c) {
        const int lane = c % LaunchShape::kColumnLanes, lane_output = c / LaunchShape::kColumnLanes;
        const int64_t o = tile * columns + column_of(lane_outputs, lane, lane_output);
        if (o >= problem.outputs) continue;
        for (int64_t i = 0; i < problem.inputs; ++i) {
          const int place =
              static_cast<int>(i % 4) * lane_outputs + lane_output;  // among the lane's of the quad
          const int64_t quad = (i / 4 * lane_outputs + place / 4) * LaunchShape::kColumnLanes + lane;
          packed[static_cast<size_t>(tile * tile_floats + quad * 4 + place % 4)] =
              problem.weights[o * problem.inputs + i];
        }
      }
    }
    weights_ = uploaded(packed, stream);
    bias_ = uploaded(bias, stream);
  }

  LaunchShape shape_{};
  Launch launch_;
  std::string detail_;
  Buffer weights_, bias_;
};

class TiledBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    return own_linear_limits("tiled", problem, kMaxOutputs);
  }
  bool suits(const LinearProblem& problem) const override {
    return problem.batch * problem.outputs > kMaxWarpReduceOutputs;
  }

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<TiledOperator>(problem, stream);
  }
};

}  // namespace

LENSLET_BACKEND(linear, gpu_tiled, TiledBackend())

}  // namespace lenslet
