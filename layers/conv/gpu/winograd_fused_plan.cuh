// Winograd F(4x4, 3x3) in two kernels, prepared for one problem: when it is taken, its memory, its launches.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/launch_resources.cuh"
#include "layers/conv/conv_backend.h"
#include "layers/conv/gpu/winograd_fused.cuh"

namespace lenslet {

/// What does not depend on the device.
struct WinogradFusedSizes {
  int64_t tile_rows, tile_columns, tiles, tile_blocks, filter_blocks, channels;
  explicit WinogradFusedSizes(const Conv2dProblem& problem)
      : tile_rows(ceil_div(problem.p(), 4)),
        tile_columns(ceil_div(problem.q(), 4)),
        tiles(problem.n * tile_rows * tile_columns),
        tile_blocks(ceil_div(tiles, kWinogradFusedTiles)),
        filter_blocks(ceil_div(problem.k, kWinogradFusedFilters)),
        channels(round_up(problem.c, kWinogradFusedChannels)) {}
  /// Of one tile block's transformed inputs.
  size_t block_bytes() const {
    return sizeof(float) * kWinogradFusedEdge * kWinogradFusedRow * static_cast<size_t>(channels);
  }
};

/// Whether a problem suits F(4x4, 3x3): 3x3, one group, fewer multiplications than F(2x2, 3x3) with whole blocks
/// counted, and enough blocks to keep a large GPU busy. It depends only on the problem, because the stated error bound
/// depends on it.
inline bool winograd_fused_suits(const Conv2dProblem& problem) {
  constexpr int64_t kLeastBlocks = 48;
  if (problem.r != 3 || problem.groups != 1) return false;
  const WinogradFusedSizes sizes(problem);
  const double multiplications =
      36.0 * kWinogradFusedTiles * kWinogradFusedFilters *
      static_cast<double>(sizes.tile_blocks * sizes.filter_blocks * sizes.channels);
  const double of_two = 16.0 *
                        static_cast<double>(problem.n * ceil_div(problem.p(), 2) * ceil_div(problem.q(), 2)) *
                        problem.k * problem.c;
  return multiplications < of_two && sizes.tile_blocks * sizes.filter_blocks >= kLeastBlocks;
}

class WinogradFused : public ConvKernel {
 public:
  /// Whether this GPU has the instructions and the shared memory.
  static bool runs_on(int device) { return stage_channels(device) > 0; }
  /// Tile blocks per chunk that fit into that many bytes, with chunks of similar size; 0 if not even one fits.
  static int64_t chunk_blocks(const Conv2dProblem& problem, size_t limit) {
    const WinogradFusedSizes sizes(problem);
    const auto fitting = static_cast<int64_t>(limit / sizes.block_bytes());
    if (fitting == 0) return 0;
    return ceil_div(sizes.tile_blocks, ceil_div(sizes.tile_blocks, fitting));
  }

  WinogradFused(const ConvPrepare& request, int64_t chunk)
      : sizes_(request.problem),
        chunk_(chunk),
        aligned_(request.problem.pad_w == 0 && request.problem.w % 4 == 0) {
    const Conv2dProblem& problem = request.problem;
    shape_.c = problem.c;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.k = problem.k;
    shape_.p = problem.p();
    shape_.q = problem.q();
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.channels = static_cast<int>(sizes_.channels);
    shape_.tiles = static_cast<int>(sizes_.tiles);
    shape_.by_tile_columns = FastDivide(static_cast<int>(sizes_.tile_columns));
    shape_.by_tile_rows = FastDivide(static_cast<int>(sizes_.tile_rows));
    shape_.by_filter_blocks = FastDivide(static_cast<int>(sizes_.filter_blocks));
    shape_.relu = request.relu;
    upload_filters(request);
    std::vector<float> bias(static_cast<size_t>(problem.k), 0.0f);
    if (request.bias) std::copy_n(request.bias, problem.k, bias.begin());
    bias_ = request.services.upload(bias.data(), bias.size());

    const int channels = stage_channels(request.stream.device().ordinal);
    shared_bytes_ = winograd_fused_shared_bytes(channels);
    kernel_ = channels == kWideStage ? &conv_winograd_fused_kernel<kWideStage>
                                     : &conv_winograd_fused_kernel<kNarrowStage>;
    input_kernel_ =
        aligned_ ? &conv_winograd_fused_input_kernel<true> : &conv_winograd_fused_input_kernel<false>;
    LENSLET_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared_bytes_)));
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(chunk_) * sizes_.block_bytes(); }
  std::string detail() const override {
    return concat("F(4x4,3x3), products kept in registers, ", ceil_div(sizes_.tile_blocks, chunk_),
                  " chunks of ", chunk_ * kWinogradFusedTiles, " tiles");
  }
  double products_saved() const override { return 9 * 16 / 36.0; }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources("conv_winograd_fused_input_kernel", reinterpret_cast<const void*>(input_kernel_),
                             kInputThreads, 0),
            launch_resources("conv_winograd_fused_kernel", reinterpret_cast<const void*>(kernel_),
                             kWinogradFusedThreads, shared_bytes_)};
  }
  void run(const ConvArgs& args, RunContext& context) override {
    const auto stream = static_cast<cudaStream_t>(context.stream.native_handle());
    float* transformed = static_cast<float*>(context.workspace);
    for (int64_t first = 0; first < sizes_.tile_blocks; first += chunk_) {
      const auto blocks = static_cast<unsigned>(std::min(chunk_, sizes_.tile_blocks - first));
      {
        ScopedStage stage(context.tracer, "input_transform");
        constexpr int64_t kMaxGridY = 65535;
        const dim3 grid(blocks, static_cast<unsigned>(std::min(
                                    kMaxGridY, ceil_div(sizes_.channels, kWinogradFusedInputWarps))));
        input_kernel_<<<grid, kInputThreads, 0, stream>>>(shape_, static_cast<int>(first), args.x,
                                                          transformed);
        LENSLET_CUDA_CHECK_LAUNCH("conv_winograd_fused_input_kernel");
      }
      ScopedStage stage(context.tracer, "multiply_and_output_transform");
      kernel_<<<blocks* static_cast<unsigned>(sizes_.filter_blocks), kWinogradFusedThreads, shared_bytes_,
                stream>>>(shape_, static_cast<int>(first), filters_.get(), transformed, bias_.get(), args.y);
      LENSLET_CUDA_CHECK_LAUNCH("conv_winograd_fused_kernel");
    }
  }

 private:
  static constexpr unsigned kInputThreads = 32 * kWinogradFusedInputWarps;
  static constexpr int kWideStage = 8, kNarrowStage = 4;  // channels of a stage

  /// Channels of a stage that fit this GPU's shared memory; 0 if it is too small or cp.async is missing.
  static int stage_channels(int device) {
    int major = 0, shared_bytes = 0;
    LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    LENSLET_CUDA_CHECK(
        cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (major < 8) return 0;
    for (const int channels : {kWideStage, kNarrowStage}) {
      if (static_cast<size_t>(shared_bytes) >= winograd_fused_shared_bytes(channels)) return channels;
    }
    return 0;
  }

  /// [K, C, 3, 3] to U [filter blocks, 6, channels, 6, 32], zero padded.
  void upload_filters(const ConvPrepare& request) {
    constexpr int kEdge = kWinogradFusedEdge;
    std::vector<float> packed(
        static_cast<size_t>(sizes_.filter_blocks * kEdge * sizes_.channels * kWinogradFusedRow), 0.0f);
    for (int64_t k = 0; k < shape_.k; ++k) {
      const int64_t block = k / kWinogradFusedFilters, filter = k % kWinogradFusedFilters;
      for (int64_t c = 0; c < shape_.c; ++c) {
        double u[kEdge][kEdge];
        transform_winograd_filter<4, 3>(request.weights + (k * shape_.c + c) * 9, u);
        for (int64_t i = 0; i < kEdge; ++i) {
          const int64_t row = ((block * kEdge + i) * sizes_.channels + c) * kWinogradFusedRow;
          for (int64_t j = 0; j < kEdge; ++j) {
            packed[static_cast<size_t>(row + j * kWinogradFusedFilters + filter)] =
                static_cast<float>(u[i][j]);
          }
        }
      }
    }
    filters_ = request.services.upload(packed.data(), packed.size());
  }

  WinogradFusedSizes sizes_;
  int64_t chunk_;
  bool aligned_;
  WinogradFusedShape shape_{};
  void (*kernel_)(WinogradFusedShape, int, const float*, const float*, const float*, float*) = nullptr;
  void (*input_kernel_)(WinogradFusedShape, int, const float*, float*) = nullptr;
  size_t shared_bytes_ = 0;
  std::shared_ptr<float> filters_, bias_;
};

}  // namespace lenslet
