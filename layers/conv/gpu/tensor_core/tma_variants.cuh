// The tiles of the convolution that TMA feeds, of both kernels (tensor_core/tma_kernel.cuh, tma_kept.cuh), with their
// kernels and the times by which tma_choice.h chooses among them.
#pragma once

#include "layers/conv/gpu/tensor_core/tma_choice.h"
#include "layers/conv/gpu/tensor_core/tma_kept.cuh"

namespace lenslet {

using TmaFunction = void (*)(TmaShape, TmaMaps, const unsigned char*, const float*, void*);
/// Kernels of one tile. Null: not supported.
struct TmaFunctions {
  TmaFunction nchw = nullptr, nhwc = nullptr;
};

/// A tile, by its sizes and times, with its kernels by their operands: tf32 or fp16 for fp32 tensors, fp16 or bf16 for
/// tensors of 16 bits.
struct TmaKernel : TmaVariant {
  const char* kernel_name;
  TmaFunctions tf32, fp16, bf16;
};

inline bool has_16_bits(const Conv2dProblem& problem) { return problem.type != ElementType::kFp32; }

/// The kernel for a problem; null if there is none.
inline TmaFunction tma_function(const TmaKernel& kernel, const Conv2dProblem& problem, MathMode math) {
  const bool tf32 = !has_16_bits(problem) && math == MathMode::kTf32;
  const TmaFunctions& functions = problem.type == ElementType::kBf16 ? kernel.bf16
                                  : tf32                             ? kernel.tf32
                                                                     : kernel.fp16;
  return problem.layout == TensorLayout::kNhwc ? functions.nhwc : functions.nchw;
}

/// A tile's sizes, without its kernels and times.
template <class Tile>
constexpr TmaKernel tma_kernel_of() {
  TmaKernel kernel{};
  kernel.positions = Tile::kPositions;
  kernel.filters = Tile::kFilters;
  kernel.blocks = Tile::kBlocks;
  kernel.threads = Tile::kThreads;
  kernel.shared_bytes = Tile::kSharedBytes;
  kernel.row_bytes = Tile::kRowBytes;
  kernel.output_bytes = Tile::k16Bits ? 2 : 4;
  kernel.splits = Tile::kSplits;
  kernel.stores_pieces = Tile::kKeepsFilters || Tile::kStores == TmaStores::kBoxes;
  kernel.kernel_name = Tile::kKeepsFilters ? "conv_tensor_core_kept_kernel" : "conv_tensor_core_tma_kernel";
  return kernel;
}

/// A tile of fp32 tensors.
template <class Sizes>
constexpr TmaKernel tma_kernel(const TmaTimes& us) {
  using Tf32 = TmaTile<MathMode::kTf32, TensorLayout::kNhwc, Sizes>;
  using Fp16 = TmaTile<MathMode::kFp16, TensorLayout::kNhwc, Sizes>;
  TmaKernel kernel = tma_kernel_of<Tf32>();
  kernel.tf32.nhwc = &conv_tensor_core_tma_kernel<Tf32>;
  kernel.fp16.nhwc = &conv_tensor_core_tma_kernel<Fp16>;
  if constexpr (Sizes::kStores != TmaStores::kBoxes) {
    using Tf32Nchw = TmaTile<MathMode::kTf32, TensorLayout::kNchw, Sizes>;
    using Fp16Nchw = TmaTile<MathMode::kFp16, TensorLayout::kNchw, Sizes>;
    kernel.tf32.nchw = &conv_tensor_core_tma_kernel<Tf32Nchw>;
    kernel.fp16.nchw = &conv_tensor_core_tma_kernel<Fp16Nchw>;
  }
  kernel.us = us;
  return kernel;
}

/// A tile of tensors of 16 bits.
template <class Sizes>
constexpr TmaKernel tma_16_bit_kernel(const TmaTimes& us) {
  using Fp16 = Tma16BitTile<TmaElements::kFp16, Sizes>;
  using Bf16 = Tma16BitTile<TmaElements::kBf16, Sizes>;
  TmaKernel kernel = tma_kernel_of<Fp16>();
  kernel.fp16.nhwc = &conv_tensor_core_tma_kernel<Fp16>;
  kernel.bf16.nhwc = &conv_tensor_core_tma_kernel<Bf16>;
  kernel.us = us;
  return kernel;
}

/// A tile of fp32 tensors whose blocks keep their filters, in tf32.
template <class Filters, class Positions, class Runs>
constexpr TmaKernel tma_kept_kernel(const TmaKeptTimes& us) {
  using Tile = TmaKeptTile<MathMode::kTf32, TmaElements::kFp32, RowBytes<128>, Filters, Positions, Runs>;
  TmaKernel kernel = tma_kernel_of<Tile>();
  kernel.tf32.nhwc = &conv_tensor_core_kept_kernel<Tile>;
  kernel.kept_runs = Tile::kRuns;
  kernel.kept_us = us;
  return kernel;
}

/// The same of tensors of 16 bits.
template <class Row, class Filters, class Runs>
constexpr TmaKernel tma_kept_16_bit_kernel(const TmaKeptTimes& us) {
  using Fp16 = TmaKeptTile<MathMode::kFp16, TmaElements::kFp16, Row, Filters, Positions<64>, Runs>;
  using Bf16 = TmaKeptTile<MathMode::kFp16, TmaElements::kBf16, Row, Filters, Positions<64>, Runs>;
  TmaKernel kernel = tma_kernel_of<Fp16>();
  kernel.fp16.nhwc = &conv_tensor_core_kept_kernel<Fp16>;
  kernel.bf16.nhwc = &conv_tensor_core_kept_kernel<Bf16>;
  kernel.kept_runs = Fp16::kRuns;
  kernel.kept_us = us;
  return kernel;
}

// Small tiles reach more multiprocessors, large ones read each operand less often. The times are parameters, in the
// order of TmaTimes or TmaKeptTimes, fitted to trials of all variants and splits with problems/resnet50.txt and
// problems/deep3x3.txt, tf32 for tensors of 32 bits and fp16 for those of 16 (not measured: no result file has each
// variant). Kernels that differ only in the runs of a step have the same: where both fit, the first in the list is
// taken, which has more.

// product, tile, start, box, lone_start
inline constexpr TmaKeptTimes kTmaKept128x64Us = {0.077, 1.031, 0.942, 0.077, 1.288},
                              kTmaKept64x64Us = {0.048, 0.567, 0.997, 0.074, 1.454};
/// The tiles of fp32 tensors.
inline constexpr TmaKernel kTmaKernels[] = {
    // product, tile, start, lone_product, lone_start
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<2>, Filters<128>, Stages<3>, Blocks<2>,
                        TmaStores::kFromRegisters>>({0.356, 2.371, 0.011, 0.339, 3.639}),
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<128>, Stages<3>, Blocks<3>,
                        TmaStores::kFromRegisters>>({0.219, 1.208, 0.451, 0.27, 2.926}),
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<2>, Filters<128>, Stages<4>, Blocks<1>, TmaStores::kBoxes>>(
        {0.357, 2.089, 0.656, 0.0, 3.673}),
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<128>, Stages<6>, Blocks<1>, TmaStores::kBoxes>>(
        {0.214, 0.996, 0.89, 0.151, 2.386}),
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<128>, Stages<8>, Blocks<1>,
                        TmaStores::kFromRegisters>>({0.226, 2.011, 0.434, 0.144, 3.087}),
    tma_kernel<TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<64>, Stages<12>, Blocks<1>,
                        TmaStores::kFromRegisters>>({0.168, 1.137, 0.251, 0.101, 2.454}),
    tma_kept_kernel<Filters<128>, Positions<64>, Runs<2>>(kTmaKept128x64Us),
    tma_kept_kernel<Filters<128>, Positions<64>, Runs<1>>(kTmaKept128x64Us),
    tma_kept_kernel<Filters<64>, Positions<64>, Runs<2>>(kTmaKept64x64Us),
    tma_kept_kernel<Filters<64>, Positions<64>, Runs<1>>(kTmaKept64x64Us),
    tma_kept_kernel<Filters<64>, Positions<192>, Runs<1>>({0.096, 1.66, 1.051, 0.266, 1.415}),
};

// product, tile, start, box, lone_start
inline constexpr TmaKeptTimes kTmaKept16Bits128Us = {0.144, 0.499, 1.275, 0.014, 1.541},
                              kTmaKept16Bits64Us = {0.068, 0.347, 1.172, 0.062, 1.393};
/// The tiles of tensors of 16 bits. Rows of 64 bytes do not pad 32 channels to 64; they have an odd
/// number of runs, since an even one has half as many rows of 128.
inline constexpr TmaKernel kTma16BitKernels[] = {
    // product, tile, start, lone_product, lone_start
    tma_16_bit_kernel<TmaSizes<RowBytes<128>, Warpgroups<2>, Filters<128>, Stages<3>, Blocks<2>,
                               TmaStores::kFromRegisters>>({0.337, 1.483, 0.771, 0.318, 3.159}),
    tma_16_bit_kernel<
        TmaSizes<RowBytes<128>, Warpgroups<2>, Filters<128>, Stages<6>, Blocks<1>, TmaStores::kBoxes>>(
        {0.336, 1.162, 1.151, 0.0, 2.655}),
    tma_16_bit_kernel<
        TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<128>, Stages<8>, Blocks<1>, TmaStores::kBoxes>>(
        {0.189, 0.728, 1.211, 0.0, 2.169}),
    tma_16_bit_kernel<TmaSizes<RowBytes<128>, Warpgroups<1>, Filters<64>, Stages<12>, Blocks<1>,
                               TmaStores::kFromRegisters>>({0.145, 0.754, 0.648, 0.071, 2.233}),
    tma_kept_16_bit_kernel<RowBytes<128>, Filters<256>, Runs<1>>({0.209, 1.261, 0.961, 0.0, 1.44}),
    tma_kept_16_bit_kernel<RowBytes<128>, Filters<128>, Runs<2>>(kTmaKept16Bits128Us),
    tma_kept_16_bit_kernel<RowBytes<128>, Filters<128>, Runs<1>>(kTmaKept16Bits128Us),
    tma_kept_16_bit_kernel<RowBytes<128>, Filters<64>, Runs<2>>(kTmaKept16Bits64Us),
    tma_kept_16_bit_kernel<RowBytes<128>, Filters<64>, Runs<1>>(kTmaKept16Bits64Us),
    tma_kept_16_bit_kernel<RowBytes<64>, Filters<256>, Runs<1>>({0.118, 1.174, 1.201, 0.0, 1.51}),
    tma_kept_16_bit_kernel<RowBytes<64>, Filters<128>, Runs<1>>({0.070, 0.441, 1.439, 0.056, 1.389}),
};

}  // namespace lenslet
