// Linear on the GPU for large batches: Y [N, O] = f(X [N, I] * W^T [I, O] + b), with tiles in shared memory and in
// registers. f = ReLU or nothing, both in the epilogue, so that Y is written once.
//
// Two-level tiling with sizes for a layer with few outputs (V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense
// linear algebra", SC 2008; R. Nath, S. Tomov and J. Dongarra, "An improved MAGMA GEMM for Fermi graphics processing
// units", Int. J. of High Performance Computing Applications 24(4), 2010). One block computes all outputs of its
// samples if they fit. The height of the tile is chosen when the layer is prepared, so that the blocks are spread
// evenly over the multiprocessors: 10,000 samples give 125 blocks of 80 on 132 multiprocessors. Weights are transposed
// and padded with zeros once, so that only X and Y need bounds checks.
#include <vector>

#include "framework/base/alignment.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/tensor/host_values.h"
#include "framework/tensor/keep_nan.h"
#include "layers/linear/gpu/tile_height.h"
#include "layers/linear/gpu/tiled_shape.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {
namespace {

constexpr int64_t kMaxOutputs = int64_t{32} * GpuLimits::kGridYZ;  // at least 32 a block
// Up to this number of outputs (batch * outputs) `auto` takes warp_reduce, the next row. Chosen by hand: no file
// compares both near it. With LeNet-5's 84 outputs it is 952 samples: 48 tiles of 20 samples for 132 multiprocessors.
constexpr int64_t kMaxWarpReduceOutputs = 80 * 1000;
constexpr int kDepth = 16;  // inputs per step
// The 4 x 8 lanes of a warp compute 20 samples x 32 kGroups outputs: a lane 5 samples x kGroups groups of 4
// neighbouring outputs, with the groups 32 apart. The bound is reading shared memory: a 16-byte read costs a warp four
// cycles of the multiprocessor, even if lanes read the same address. So 5 x 4 sums need 9 reads for 80 multiply-adds,
// and 5 x 8 sums need 13 for 160.
constexpr int kLaneRows = 5;
constexpr int kWarpRows = 4 * kLaneRows, kGroupColumns = 32;
// A row of the X tile has 4 floats of padding, so that the four rows that a warp reads at once are in different banks.
constexpr int kPitch = kDepth + 4;

__device__ __forceinline__ float part(const float4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Four neighbouring inputs of one sample; zeros outside.
template <bool kWide>
__device__ __forceinline__ float4 load_inputs(const float* __restrict__ x, int64_t row, int64_t batch, int i,
                                              int inputs) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (row >= batch) return v;
  const float* from = x + row * inputs + i;
  if (kWide) {
    if (i < inputs) v = __ldg(reinterpret_cast<const float4*>(from));
  } else {
    if (i < inputs) v.x = __ldg(from);
    if (i + 1 < inputs) v.y = __ldg(from + 1);
    if (i + 2 < inputs) v.z = __ldg(from + 2);
    if (i + 3 < inputs) v.w = __ldg(from + 3);
  }
  return v;
}

// computes    y = f(x * wt + b) for a tile of (20 kTall) samples x (32 kGroups kBroad) outputs
// work split  grid.x = tiles of samples, grid.y = tiles of outputs; kTall * kBroad warps; a thread computes 5 x 4
//             kGroups sums
// memory      two stages of an X tile [20 kTall][16 + 4] and a W tile [16][outputs], 29 KB for 80 x 128; while one is
//             in use, the next is loaded to registers
// requires    wt [steps * 16, padded outputs] and bias, both padded with zeros and aligned to 16 bytes; kWide only if
//             inputs is a multiple of 4 and x is aligned to 16 bytes (TiledOperator ensures all)
// measured    H100, hot: LeNet's fc1 / fc2 / fc3, batch 10,000: 25.09 / 13.63 / 9.70 us
//             (docs/results/2026-11-27-h100/profile-batch-10000.json)
template <int kTall, int kBroad, int kGroups, bool kWide>
__global__ void __launch_bounds__(GpuLimits::kWarp* kTall* kBroad)
    linear_tiled_kernel(const LinearTiledShape shape,
                        const float* __restrict__ x,     // [batch, inputs]
                        const float* __restrict__ wt,    // [steps * 16, padded]
                        const float* __restrict__ bias,  // [padded]
                        float* __restrict__ y) {         // [batch, outputs]
  constexpr int kThreads = GpuLimits::kWarp * kTall * kBroad;
  constexpr int kRows = kWarpRows * kTall, kWarpColumns = kGroupColumns * kGroups,
                kColumns = kWarpColumns * kBroad;
  constexpr int kQuads = kDepth / 4;                                   // float4 in a row of the X tile
  constexpr int kXLoads = (kRows * kQuads + kThreads - 1) / kThreads;  // float4 per thread
  constexpr int kWLoads = (kDepth * kColumns / 4 + kThreads - 1) / kThreads;
  __shared__ __align__(16) float x_tile[2][kRows][kPitch];
  __shared__ __align__(16) float w_tile[2][kDepth][kColumns];

  const int thread = static_cast<int>(threadIdx.x), lane = thread % GpuLimits::kWarp,
            warp = thread / GpuLimits::kWarp;
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kRows;
  const int first_column = static_cast<int>(blockIdx.y) * kColumns;
  const int row = warp / kBroad * kWarpRows + lane / 8 * kLaneRows;  // of this thread, in the tile
  const int column = warp % kBroad * kWarpColumns + lane % 8 * 4;

  float4 x_next[kXLoads], w_next[kWLoads];
  const auto fetch = [&](int step) {
#pragma unroll
    for (int l = 0; l < kXLoads; ++l) {
      const int quad = thread + l * kThreads;
      if (quad < kRows * kQuads) {
        x_next[l] = load_inputs<kWide>(x, first_row + quad / kQuads, shape.batch,
                                       step * kDepth + quad % kQuads * 4, shape.inputs);
      }
    }
#pragma unroll
    for (int l = 0; l < kWLoads; ++l) {
      const int quad = thread + l * kThreads;
      if (quad < kDepth * kColumns / 4) {
        const int64_t i = step * kDepth + quad / (kColumns / 4);
        w_next[l] = __ldg(reinterpret_cast<const float4*>(wt + i * shape.padded + first_column +
                                                          quad % (kColumns / 4) * 4));
      }
    }
  };
  const auto stage = [&](int buffer) {
#pragma unroll
    for (int l = 0; l < kXLoads; ++l) {
      const int quad = thread + l * kThreads;
      if (quad < kRows * kQuads) {
        *reinterpret_cast<float4*>(&x_tile[buffer][quad / kQuads][quad % kQuads * 4]) = x_next[l];
      }
    }
#pragma unroll
    for (int l = 0; l < kWLoads; ++l) {
      const int quad = thread + l * kThreads;
      if (quad < kDepth * kColumns / 4) {
        *reinterpret_cast<float4*>(&w_tile[buffer][quad / (kColumns / 4)][quad % (kColumns / 4) * 4]) =
            w_next[l];
      }
    }
  };

  float sum[kLaneRows][kGroups][4] = {};
  fetch(0);
  stage(0);
  __syncthreads();
  for (int step = 0; step < shape.steps; ++step) {
    const int buffer = step % 2;
    if (step + 1 < shape.steps) fetch(step + 1);
#pragma unroll
    for (int i = 0; i < kDepth; i += 4) {
      float4 value[kLaneRows];
#pragma unroll
      for (int r = 0; r < kLaneRows; ++r)
        value[r] = *reinterpret_cast<const float4*>(&x_tile[buffer][row + r][i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          const float4 weight =
              *reinterpret_cast<const float4*>(&w_tile[buffer][i + j][column + g * kGroupColumns]);
#pragma unroll
          for (int r = 0; r < kLaneRows; ++r) {
            sum[r][g][0] = fmaf(part(value[r], j), weight.x, sum[r][g][0]);
            sum[r][g][1] = fmaf(part(value[r], j), weight.y, sum[r][g][1]);
            sum[r][g][2] = fmaf(part(value[r], j), weight.z, sum[r][g][2]);
            sum[r][g][3] = fmaf(part(value[r], j), weight.w, sum[r][g][3]);
          }
        }
      }
    }
    // The other buffer was last read in the previous step, before its final barrier.
    if (step + 1 < shape.steps) stage(1 - buffer);
    __syncthreads();
  }

  const bool wide_rows = shape.outputs % 4 == 0 && reinterpret_cast<uintptr_t>(y) % sizeof(float4) == 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int output = first_column + column + g * kGroupColumns;
    const float4 b = __ldg(reinterpret_cast<const float4*>(bias + output));
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      const int64_t sample = first_row + row + r;
      if (sample >= shape.batch) break;
      float out[4] = {sum[r][g][0] + b.x, sum[r][g][1] + b.y, sum[r][g][2] + b.z, sum[r][g][3] + b.w};
#pragma unroll
      for (float& value : out) value = relu_if(shape.relu, value);
      float* to = y + sample * shape.outputs + output;
      if (wide_rows && output < shape.outputs) {
        *reinterpret_cast<float4*>(to) = make_float4(out[0], out[1], out[2], out[3]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (output + j < shape.outputs) to[j] = out[j];
        }
      }
    }
  }
}

using Kernel = void (*)(LinearTiledShape, const float*, const float*, const float*, float*);

// Width of a tile in groups of 32 outputs, 1 to 4. The widest has two groups per warp, the others one.
int warps_across(int width) { return width == 4 ? 2 : width; }

template <int kTall, bool kWide>
Kernel kernel_of_height(int width) {
  static constexpr Kernel kKernels[4] = {
      linear_tiled_kernel<kTall, 1, 1, kWide>, linear_tiled_kernel<kTall, 2, 1, kWide>,
      linear_tiled_kernel<kTall, 3, 1, kWide>, linear_tiled_kernel<kTall, 2, 2, kWide>};
  return kKernels[width - 1];
}

template <bool kWide>
Kernel kernel_for(int tall, int width) {
  if (tall == 4) return kernel_of_height<4, kWide>(width);
  return tall == 2 ? kernel_of_height<2, kWide>(width) : kernel_of_height<1, kWide>(width);
}

// The widest tile among those that waste the fewest columns.
int choose_width(int64_t outputs) {
  int best = 4;
  for (int width = 3; width >= 1; --width) {
    const auto padded = [outputs](int w) { return ceil_div(outputs, w * kGroupColumns) * w; };
    if (padded(width) < padded(best)) best = width;
  }
  return best;
}

class TiledOperator : public Operator {
 public:
  TiledOperator(const LinearProblem& problem, Stream& stream) : problem_(problem) {
    width_ = choose_width(problem.outputs);
    column_tiles_ = ceil_div(problem.outputs, width_ * kGroupColumns);
    padded_ = column_tiles_ * width_ * kGroupColumns;
    steps_ = ceil_div(problem.inputs, kDepth);
    constexpr TileWork kWork{kWarpRows, 6};  // the weights' cost is chosen by hand
    tall_ = choose_tile_height({4, 2, 1}, kWork, problem.batch, column_tiles_,
                               multiprocessor_count(stream.device()));

    // wt, then the bias.
    std::vector<float> packed(static_cast<size_t>((steps_ * kDepth + 1) * padded_), 0.0f);
    for (int64_t o = 0; o < problem.outputs; ++o) {
      for (int64_t i = 0; i < problem.inputs; ++i) {
        packed[static_cast<size_t>(i * padded_ + o)] = problem.weights[o * problem.inputs + i];
      }
      if (problem.bias) packed[static_cast<size_t>(steps_ * kDepth * padded_ + o)] = problem.bias[o];
    }
    weights_ = uploaded(packed, stream);
  }

  std::string detail() const override {
    return concat("tile ", tall_ * kWarpRows, "x", width_ * kGroupColumns);
  }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const float* x = inputs[0].data;
    const float* wt = weights_.as<float>();
    const bool wide = problem_.inputs % 4 == 0 && is_aligned(x, sizeof(float4));
    const Kernel kernel = wide ? kernel_for<true>(tall_, width_) : kernel_for<false>(tall_, width_);
    const LinearTiledShape shape{problem_.batch,
                                 static_cast<int>(problem_.inputs),
                                 static_cast<int>(problem_.outputs),
                                 static_cast<int>(padded_),
                                 static_cast<int>(steps_),
                                 problem_.relu};
    const dim3 grid(grid_blocks(problem_.batch, tall_ * kWarpRows), static_cast<unsigned>(column_tiles_));
    launch("linear_tiled_kernel", kernel, grid,
           static_cast<unsigned>(GpuLimits::kWarp * tall_ * warps_across(width_)), 0, native(context.stream),
           shape, x, wt, wt + steps_ * kDepth * padded_, output.data);
  }

 private:
  LinearProblem problem_;
  int tall_ = 1, width_ = 1;
  int64_t column_tiles_ = 0, padded_ = 0, steps_ = 0;
  Buffer weights_;
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
