// Winograd F(4x4, 3x3) in two kernels, prepared for one problem: when it is taken, its memory, its launches.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/counted.h"
#include "framework/base/integer_math.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/winograd/fused.cuh"

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
  /// The size of one tile block's transformed inputs.
  size_t block_bytes() const {
    return sizeof(float) * kWinogradFusedEdge * kWinogradFusedRow * static_cast<size_t>(channels);
  }
};

/// Whether a problem suits F(4x4, 3x3): 3x3, one group, fewer multiplications than F(2x2, 3x3) with whole blocks
/// counted, and enough blocks to keep a large GPU busy. It depends only on the problem, because the stated error bound
/// depends on it.
inline bool winograd_fused_suits(const Conv2dProblem& problem) {
  // With fewer than kMinBlocks F(2x2, 3x3) runs. Chosen by hand: no file compares the two variants near 48 blocks. With
  // 52 blocks F(4x4, 3x3) takes 39 us where implicit_gemm takes 67 (128 channels, 28 x 28, batch 8:
  // docs/results/2026-11-27-h100/reproduce.json).
  constexpr int64_t kMinBlocks = 48;
  if (problem.r != 3 || problem.groups != 1) return false;
  const WinogradFusedSizes sizes(problem);
  const double multiplications =
      36.0 * kWinogradFusedTiles * kWinogradFusedFilters *
      static_cast<double>(sizes.tile_blocks * sizes.filter_blocks * sizes.channels);
  const double of_two = 16.0 *
                        static_cast<double>(problem.n * ceil_div(problem.p(), 2) * ceil_div(problem.q(), 2)) *
                        problem.k * problem.c;
  return multiplications < of_two && sizes.tile_blocks * sizes.filter_blocks >= kMinBlocks;
}

class WinogradFused : public ConvKernel {
 public:
  /// Whether this GPU has the instructions and the shared memory.
  static bool runs_on(const GpuTraits& gpu) { return stage_channels(gpu) > 0; }
  /// Tile blocks per chunk that fit into that many bytes, with chunks of similar size; 0 if not even one fits.
  static int64_t chunk_blocks(const Conv2dProblem& problem, size_t limit) {
    const WinogradFusedSizes sizes(problem);
    const auto fitting = static_cast<int64_t>(limit / sizes.block_bytes());
    if (fitting == 0) return 0;
    return ceil_div(sizes.tile_blocks, ceil_div(sizes.tile_blocks, fitting));
  }

  WinogradFused(const ConvPrepare& request, int64_t chunk) : sizes_(request.problem), chunk_(chunk) {
    const Conv2dProblem& problem = request.problem;
    set_unit_stride_sizes(shape_, problem);
    shape_.channels = static_cast<int>(sizes_.channels);
    shape_.tiles = static_cast<int>(sizes_.tiles);
    shape_.by_tile_columns = FastDivide(static_cast<int>(sizes_.tile_columns));
    shape_.by_tile_rows = FastDivide(static_cast<int>(sizes_.tile_rows));
    shape_.by_filter_blocks = FastDivide(static_cast<int>(sizes_.filter_blocks));
    shape_.relu = request.rectifier.relu();
    upload_filters(request);
    bias_ = upload_bias(request, problem.k);
    const bool aligned = problem.pad_w == 0 && problem.w % 4 == 0;
    input_ = {"conv_winograd_fused_input_kernel",
              aligned ? &conv_winograd_fused_input_kernel<true> : &conv_winograd_fused_input_kernel<false>,
              {},
              32 * kWinogradFusedInputWarps};
    const int channels = stage_channels(gpu_traits(request.stream.device()));
    product_ = {"conv_winograd_fused_kernel",
                channels == kWideStage ? &conv_winograd_fused_kernel<kWideStage>
                                       : &conv_winograd_fused_kernel<kNarrowStage>,
                {},
                kWinogradFusedThreads,
                winograd_fused_shared_bytes(channels)};
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(chunk_) * sizes_.block_bytes(); }
  std::string detail() const override {
    return concat("F(4x4,3x3), products kept in registers, ",
                  counted(ceil_div(sizes_.tile_blocks, chunk_), "chunk"), " of ",
                  chunk_ * kWinogradFusedTiles, " tiles");
  }
  double products_saved() const override { return 9 * 16 / 36.0; }
  std::vector<LaunchResources> launches() const override {
    return {input_.resources(), product_.resources()};
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    float* transformed = static_cast<float*>(context.workspace);
    const auto rows = static_cast<unsigned>(
        std::min<int64_t>(GpuLimits::kGridYZ, ceil_div(sizes_.channels, kWinogradFusedInputWarps)));
    for (int64_t next = 0; next < sizes_.tile_blocks; next += chunk_) {
      const auto blocks = static_cast<unsigned>(std::min(chunk_, sizes_.tile_blocks - next));
      const int first = static_cast<int>(next);
      {
        ScopedStage stage(context.tracer, "input_transform");
        input_.with_grid(dim3(blocks, rows))(context.stream, shape_, first, args.x, transformed);
      }
      ScopedStage stage(context.tracer, "multiply_and_output_transform");
      product_.with_grid(blocks * static_cast<unsigned>(sizes_.filter_blocks))(
          context.stream, shape_, first, filters_.get(), transformed, bias_.get(), args.y);
    }
  }

 private:
  static constexpr int kWideStage = 8, kNarrowStage = 4;  // channels of a stage

  /// Channels of a stage that fit this GPU's shared memory; 0 if it is too small or cp.async is missing.
  static int stage_channels(const GpuTraits& gpu) {
    if (gpu.compute_capability < GpuLimits::kAsyncCopies) return 0;
    for (const int channels : {kWideStage, kNarrowStage}) {
      if (gpu.shared_bytes_per_block_optin >= winograd_fused_shared_bytes(channels)) return channels;
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
  WinogradFusedShape shape_{};
  KernelLaunch<WinogradFusedShape, int, const float*, float*> input_;
  KernelLaunch<WinogradFusedShape, int, const float*, const float*, const float*, float*> product_;
  std::shared_ptr<float> filters_, bias_;
};

}  // namespace lenslet
