// Linear on tensor cores, tf32 or fp16 operands, fp32 sums: Y [N, O] = f(X [N, I] * W^T [I, O] + b). f = ReLU or
// nothing, both in the epilogue.
//
// X, W and Y are fp32 in memory, and X and Y of a layer between others perhaps fp16; operands are rounded to nearest
// before mma.sync, as the convolution's tensor_core does. A layer of a small network is bound by reading X, so a warp
// reads the inputs of its 16 samples once, from global memory straight into mma's fragments: lane 4 g + t reads four
// neighbouring inputs of rows g and g + 8 at once. That fixes which input is which column of a fragment, and W is
// packed once in the same order, so that a lane reads its part of W as one vector too: sums do not depend on the order
// of columns. W passes through shared memory in chunks of 64 inputs, three in flight; all warps of a block share it.
// Fragments after the PTX ISA, "Matrix fragments for mma.m16n8k16" and "mma.m16n8k8" (framework/instructions/mma.cuh);
// the rest of the arrangement is this project's own.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "framework/base/alignment.h"
#include "framework/base/host_device.h"
#include "framework/base/integer_math.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/early_launch.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/instructions/operand_bits.h"
#include "framework/tensor/host_values.h"
#include "framework/tensor/keep_nan.h"
#include "layers/linear/gpu/tensor_core_shape.h"
#include "layers/linear/gpu/tile_height.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {
namespace {

using LaunchShape = LinearTensorCoreShape;

// Warps along the samples: 10,000 samples make 125 blocks of 80 for 132 multiprocessors.
constexpr int kMaxRowWarps = 5;
constexpr int kStages = 3;
constexpr int kStep = 16;                                          // inputs of a fragment: 4 of each lane
constexpr int kSteps = LaunchShape::kChunk / kStep;                // of a chunk
constexpr int64_t kMaxOutputs = int64_t{96} * GpuLimits::kGridYZ;  // at least 96 a block, if there are many
// Up to this number of weights `auto` takes this backend, then cublas where it supports the math mode: a large product
// needs its larger tiles. Chosen by hand: no file compares both near it.
constexpr int64_t kMaxSuitedWeights = 1 << 17;

LENSLET_HOST_DEVICE constexpr int stage_bytes(bool fp16, int columns) {
  return LaunchShape::kChunk * columns * (fp16 ? 2 : 4);
}

/// Four neighbouring inputs from i on; zero past the last.
template <bool kWide>
__device__ __forceinline__ float4 load_quad(const float* row, int i, int inputs) {
  if constexpr (kWide) {
    return i < inputs ? *reinterpret_cast<const float4*>(row + i) : make_float4(0, 0, 0, 0);
  } else {
    float4 quad = make_float4(0, 0, 0, 0);
    if (i < inputs) quad.x = row[i];
    if (i + 1 < inputs) quad.y = row[i + 1];
    if (i + 2 < inputs) quad.z = row[i + 2];
    if (i + 3 < inputs) quad.w = row[i + 3];
    return quad;
  }
}

/// The same of fp16, in rows of whole quads.
template <bool kWide>
__device__ __forceinline__ uint2 load_quad(const uint16_t* row, int i, int inputs) {
  static_assert(kWide, "do_takes_ends() refuses other rows");
  return i < inputs ? *reinterpret_cast<const uint2*>(row + i) : make_uint2(0, 0);
}

/// A step of 16 inputs of 16 samples as fragments A: one for fp16, two for tf32.
template <bool kFp16>
struct Samples {
  uint4 part[kFp16 ? 1 : 2];

  __device__ __forceinline__ void round(const uint2& upper, const uint2& lower) {
    part[0] = make_uint4(upper.x, lower.x, upper.y, lower.y);
  }
  __device__ __forceinline__ void round(const float4& upper, const float4& lower) {
    if constexpr (kFp16) {
      part[0] = make_uint4(pack_halves(upper.x, upper.y), pack_halves(lower.x, lower.y),
                           pack_halves(upper.z, upper.w), pack_halves(lower.z, lower.w));
    } else {
      part[0] = make_uint4(round_to_tf32_in_any_order(upper.x), round_to_tf32_in_any_order(lower.x),
                           round_to_tf32_in_any_order(upper.y), round_to_tf32_in_any_order(lower.y));
      part[1] = make_uint4(round_to_tf32_in_any_order(upper.z), round_to_tf32_in_any_order(lower.z),
                           round_to_tf32_in_any_order(upper.w), round_to_tf32_in_any_order(lower.w));
    }
  }
};

/// Adds one step to the sums of 16 samples x kTiles * 8 outputs. `weights`: this lane's part of the first tile.
template <bool kFp16, int kTiles>
__device__ __forceinline__ void multiply_step(const Samples<kFp16>& samples, const unsigned char* weights,
                                              float (&sums)[kTiles][4]) {
  constexpr int kTileBytes = 8 * kStep * (kFp16 ? 2 : 4);
  if constexpr (kFp16) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint2 w = *reinterpret_cast<const uint2*>(weights + n * kTileBytes);
      multiply_fp16(sums[n], samples.part[0], w.x, w.y, sums[n]);
    }
  } else {
    // Each sum gets two products; those of other tiles are issued between them, so that the second does not wait.
    constexpr int kGroup = kTiles % 4 == 0 ? 4 : 2;
#pragma unroll
    for (int first = 0; first < kTiles; first += kGroup) {
      uint4 w[kGroup];
#pragma unroll
      for (int n = 0; n < kGroup; ++n)
        w[n] = *reinterpret_cast<const uint4*>(weights + (first + n) * kTileBytes);
#pragma unroll
      for (int n = 0; n < kGroup; ++n)
        multiply_tf32(sums[first + n], samples.part[0], w[n].x, w[n].y, sums[first + n]);
#pragma unroll
      for (int n = 0; n < kGroup; ++n)
        multiply_tf32(sums[first + n], samples.part[1], w[n].z, w[n].w, sums[first + n]);
    }
  }
}

// computes    y = f(x * w^T + b), f = ReLU or nothing; operands rounded to tf32 or fp16, sums in fp32
// work split  block = up to kMaxRowWarps * 16 samples (blockIdx.x) x kTiles * kWarps * 8 outputs (blockIdx.y);
//             warp = 16 samples x kTiles * 8 outputs. The warps of the same samples share their inputs through L1
// memory      shared: kStages chunks of 64 inputs of the block's weights, packed, by cp.async two chunks ahead. A lane
//             has 4 * kTiles sums, the next chunk's 32 inputs, and this chunk's in 32 or 16 registers
// requires    compute capability 8.0; kWide only if inputs is a multiple of 4 and x is aligned to quads; kHalves, x of
//             fp16, only with kFp16 and kWide; blockDim.x a multiple of 32 * kWarps (TensorCoreBackend checks the GPU,
//             TensorCoreOperator chooses the rest)
// measured    H200, hot, tf32: LeNet's fc1 / fc2 / fc3, batch 10,000: 13.18 / 9.09 / 5.66 us
//             (docs/results/2026-11-30-h200/profile-batch-10000-tf32.json)
template <bool kFp16, int kTiles, int kWarps, bool kWide, bool kHalves = false>
__global__ void __launch_bounds__(GpuLimits::kWarp* kMaxRowWarps* kWarps)
    linear_tensor_core_kernel(const LinearTensorCoreShape shape,
                              const void* x,  // [batch, inputs] of Input; the launch before may write it
                              const unsigned char* __restrict__ weights,  // [column tiles, chunks] packed
                              const float* __restrict__ bias,             // [column tiles * columns]
                              void* y) {  // [batch, outputs] of fp32, with half_outputs of fp16
  constexpr int kColumns = 8 * kTiles * kWarps;
  constexpr int kStageBytes = stage_bytes(kFp16, kColumns);
  constexpr int kLaneBytes = 4 * (kFp16 ? 2 : 4);  // of a tile in a step
  extern __shared__ __align__(16) unsigned char linear_tensor_core_shared[];
  let_next_launch_begin();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int row_warps = static_cast<int>(blockDim.x) / (32 * kWarps);
  const int warp_column = warp % kWarps, g = lane / 4, t = lane % 4;
  const int64_t first_row =
      (static_cast<int64_t>(blockIdx.x) * row_warps + warp / kWarps) * LaunchShape::kWarpRows + g;
  // Samples past the end read the last one's inputs; their sums are never stored.
  using Input = std::conditional_t<kHalves, uint16_t, float>;
  const auto* const samples_of_x = static_cast<const Input*>(x);
  const Input* const upper = samples_of_x + min(first_row, shape.batch - 1) * shape.inputs;
  const Input* const lower = samples_of_x + min(first_row + 8, shape.batch - 1) * shape.inputs;
  const unsigned char* const packed = weights + static_cast<int64_t>(blockIdx.y) * shape.chunks * kStageBytes;

  const auto fetch = [&](int chunk) {
    if (chunk < shape.chunks) {
      const uint32_t stage = shared_address(linear_tensor_core_shared) + chunk % kStages * kStageBytes;
      for (int i = thread * 16; i < kStageBytes; i += static_cast<int>(blockDim.x) * 16)
        copy_async_16(stage + i, packed + static_cast<int64_t>(chunk) * kStageBytes + i);
    }
    commit_copies();  // also an empty group, so that the number of pending groups stays the same
  };
  std::conditional_t<kHalves, uint2, float4> next[kSteps][2];
  const auto load = [&](int chunk) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int i = chunk * LaunchShape::kChunk + step * kStep + t * 4;
      next[step][0] = load_quad<kWide>(upper, i, shape.inputs);
      next[step][1] = load_quad<kWide>(lower, i, shape.inputs);
    }
  };

#pragma unroll
  for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
  wait_for_launch_before();
  load(0);
  float sums[kTiles][4] = {};
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    Samples<kFp16> samples[kSteps];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) samples[step].round(next[step][0], next[step][1]);
    if (chunk + 1 < shape.chunks) load(chunk + 1);
    wait_for_copies<kStages - 2>();
    __syncthreads();  // the chunk is visible to all threads, and no thread reads the stage to be filled next
    fetch(chunk + kStages - 1);
    const unsigned char* stage = linear_tensor_core_shared + chunk % kStages * kStageBytes +
                                 (warp_column * kTiles * 32 + lane) * kLaneBytes;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      multiply_step(samples[step], stage + step * kTiles * kWarps * 32 * kLaneBytes, sums);
  }

#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const int output = static_cast<int>(blockIdx.y) * kColumns + (warp_column * kTiles + n) * 8 + t * 2;
    const float2 b = __ldg(reinterpret_cast<const float2*>(bias + output));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + 8 * half;
      if (row >= shape.batch || output >= shape.outputs) continue;
      const float first = relu_if(shape.relu, sums[n][2 * half] + b.x);
      const float second = relu_if(shape.relu, sums[n][2 * half + 1] + b.y);
      float* const to = static_cast<float*>(y) + row * shape.outputs + output;
      if (shape.half_outputs) {
        auto* const halves = static_cast<uint16_t*>(y) + row * shape.outputs + output;
        const uint32_t pair = pack_halves(first, second);
        if (shape.pair_store) {
          *reinterpret_cast<uint32_t*>(halves) = pair;
        } else {
          halves[0] = static_cast<uint16_t>(pair);
          if (output + 1 < shape.outputs) halves[1] = static_cast<uint16_t>(pair >> 16);
        }
      } else if (shape.pair_store) {
        *reinterpret_cast<float2*>(to) = make_float2(first, second);
      } else {
        to[0] = first;
        if (output + 1 < shape.outputs) to[1] = second;
      }
    }
  }
}

using Launch = KernelLaunch<LinearTensorCoreShape, const void*, const unsigned char*, const float*, void*>;

struct Variant {
  int columns, warps;             // outputs of a block, and warps along them
  Launch::Function kernel[2][2];  // [fp16][wide]
  Launch::Function of_halves;     // x of fp16
};

template <int kTiles, int kWarps>
constexpr Variant variant() {
  return {8 * kTiles * kWarps,
          kWarps,
          {{&linear_tensor_core_kernel<false, kTiles, kWarps, false>,
            &linear_tensor_core_kernel<false, kTiles, kWarps, true>},
           {&linear_tensor_core_kernel<true, kTiles, kWarps, false>,
            &linear_tensor_core_kernel<true, kTiles, kWarps, true>}},
          &linear_tensor_core_kernel<true, kTiles, kWarps, true, true>};
}

constexpr Variant kVariants[] = {variant<8, 2>(), variant<6, 2>(), variant<4, 2>(), variant<4, 1>(),
                                 variant<2, 1>()};

/// The width with the least work: its columns, and for each tile of columns reading X once more. It depends on the
/// layer alone.
const Variant& choose_variant(int64_t outputs) {
  // Cost of reading X once, in columns. Chosen by hand: more prefers wide tiles, which read X for fewer tiles but have
  // more columns past the outputs.
  constexpr int kReadingColumns = 32;
  const auto cost = [outputs](const Variant& one) {
    return ceil_div(outputs, one.columns) * (one.columns + kReadingColumns);
  };
  return *std::min_element(std::begin(kVariants), std::end(kVariants),
                           [&](const Variant& a, const Variant& b) { return cost(a) < cost(b); });
}

class TensorCoreOperator : public Operator {
 public:
  TensorCoreOperator(const LinearProblem& problem, Stream& stream) : inputs_(problem.inputs) {
    const bool fp16 = problem.math == MathMode::kFp16;
    const Variant& variant = choose_variant(problem.outputs);
    const int64_t tiles = ceil_div(problem.outputs, variant.columns);
    const int64_t chunks = ceil_div(problem.inputs, LaunchShape::kChunk);
    shape_ = {problem.batch,
              static_cast<int>(problem.inputs),
              static_cast<int>(problem.outputs),
              static_cast<int>(chunks),
              problem.relu,
              problem.outputs % 2 == 0,
              problem.output_type == ElementType::kFp16};
    // The weights' cost, 32 samples, is chosen by hand: more prefers high tiles, which load the weights less often but
    // give fewer blocks.
    constexpr TileWork kWork{LaunchShape::kWarpRows, 32};
    static_assert(kMaxRowWarps == 5, "the heights below");
    const int row_warps = choose_tile_height({5, 4, 3, 2, 1}, kWork, problem.batch, tiles,
                                             multiprocessor_count(stream.device()));
    const int rows = row_warps * LaunchShape::kWarpRows;
    for (const bool wide : {false, true}) {
      const bool of_halves = problem.input_type == ElementType::kFp16;
      launch_[wide] = {"linear_tensor_core_kernel",
                       of_halves ? variant.of_halves : variant.kernel[fp16][wide],
                       dim3(grid_blocks(problem.batch, rows), static_cast<unsigned>(tiles)),
                       dim3(static_cast<unsigned>(GpuLimits::kWarp * row_warps * variant.warps)),
                       static_cast<size_t>(kStages * stage_bytes(fp16, variant.columns))};
    }
    detail_ = concat("tile ", rows, "x", variant.columns);
    upload(problem, variant.columns, tiles, chunks, fp16, stream);
  }

  std::string detail() const override { return detail_; }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const void* const x = inputs[0].data;
    LinearTensorCoreShape shape = shape_;
    shape.pair_store = shape.pair_store && is_aligned(output.data, sizeof(float2));
    const bool wide = inputs_ % 4 == 0 && is_aligned(x, sizeof(float4));
    launch_[wide].early(context.stream, shape, x, weights_.as<unsigned char>(), bias_.as<float>(),
                        output.data);
  }

 private:
  /// W [O, I] as [column tiles, chunks, steps, 8 outputs a tile][8 outputs][16 inputs], zeros past its ends: lane
  /// 4 g + t then finds inputs 4 t to 4 t + 3 of output g side by side, at its place among the lanes.
  void upload(const LinearProblem& problem, int columns, int64_t tiles, int64_t chunks, bool fp16,
              Stream& stream) {
    const int64_t bytes = tiles * chunks * stage_bytes(fp16, columns);
    std::vector<unsigned char> packed(static_cast<size_t>(bytes), 0);
    for (int64_t o = 0; o < problem.outputs; ++o) {
      for (int64_t i = 0; i < problem.inputs; ++i) {
        const int64_t step = (o / columns * chunks * kSteps + i / kStep) * columns;
        put_operand(packed.data(), (step + o % columns) * kStep + i % kStep,
                    problem.weights[o * problem.inputs + i], !fp16);
      }
    }
    std::vector<float> bias(static_cast<size_t>(tiles * columns), 0.0f);
    if (problem.bias) std::copy_n(problem.bias, problem.outputs, bias.begin());
    weights_ = uploaded(packed, stream);
    bias_ = uploaded(bias, stream);
  }

  int64_t inputs_;
  LinearTensorCoreShape shape_{};
  Launch launch_[2];  // [wide]
  std::string detail_;
  Buffer weights_, bias_;
};

Support gpu_supports(int capability) {
  return needs_capability("linear's tensor_core needs tf32 and cp.async,", GpuLimits::kAsyncCopies,
                          capability, "choose math fp32");
}

class TensorCoreBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    if (problem.math == MathMode::kFp32) {
      return Support::no(
          "linear's tensor_core rounds its operands to tf32 or fp16, not fp32: choose math tf32 or fp16");
    }
    if (const Support fits = outputs_fit("tensor_core", problem, kMaxOutputs); !fits) return fits;
    return current_gpu_supports(gpu_supports);
  }
  bool suits(const LinearProblem& problem) const override {
    // No other backend has fp16.
    return problem.math == MathMode::kFp16 || problem.inputs * problem.outputs <= kMaxSuitedWeights;
  }

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<TensorCoreOperator>(problem, stream);
  }
  Support do_takes_ends(const LinearProblem& problem) const override {
    for (const ElementType type : {problem.input_type, problem.output_type}) {
      if (problem.math != MathMode::kFp16 || (type != ElementType::kFp32 && type != ElementType::kFp16))
        return refuse_ends(problem.input_type, problem.output_type, ": choose math fp16, or leave them fp32");
    }
    if (problem.input_type == ElementType::kFp32 || problem.inputs % 4 == 0) return Support::yes();
    return Support::no(concat("linear's tensor_core reads fp16 in multiples of 4 inputs, found ",
                              problem.inputs, ": leave them fp32"));
  }
};

}  // namespace

LENSLET_BACKEND(linear, gpu_tensor_core, TensorCoreBackend())

}  // namespace lenslet
