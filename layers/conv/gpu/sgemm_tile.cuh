// One block's part of a matrix product A [M, L] x B [L, N] in fp32. The caller provides loaders of the operands.
//
// A block computes a kBlockM x kBlockN tile of the result. L is processed in steps of kBlockL through two shared
// buffers: the next step is loaded to registers while this one is computed. A thread computes kThreadM x kThreadN sums
// as outer products (V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008). The tile of a
// thread consists of groups of four, so that a warp reads shared memory as float4 without bank conflicts, after CUTLASS
// (NVIDIA, "CUTLASS: fast linear algebra in CUDA C++", 2017).
#pragma once

#include <cstdint>

namespace lenslet {

/// Sizes of one variant. kLanesM x (32 / kLanesM) is the arrangement of a warp's lanes over the tile. kBlocks is the
/// number of blocks that must fit a multiprocessor; it limits the registers.
template <int kBlockM_, int kBlockN_, int kBlockL_, int kThreadM_, int kThreadN_, int kLanesM, int kBlocks_>
struct SgemmTile {
  static constexpr int kBlockM = kBlockM_, kBlockN = kBlockN_, kBlockL = kBlockL_;
  static constexpr int kThreadM = kThreadM_, kThreadN = kThreadN_, kBlocks = kBlocks_;
  static constexpr int kThreadsM = kBlockM / kThreadM, kThreadsN = kBlockN / kThreadN;
  static constexpr int kThreads = kThreadsM * kThreadsN;
  static constexpr int kLanesN = 32 / kLanesM, kWarpsN = kThreadsN / kLanesN;
  static_assert(kThreadM % 4 == 0 && kThreadN % 4 == 0, "a thread reads its operands as float4");
  static_assert(kThreadsM % kLanesM == 0 && kThreadsN % kLanesN == 0, "warps tile the block");

  struct Shared {
    float a[2][kBlockL][kBlockM];
    float b[2][kBlockL][kBlockN];
  };

  /// Row of the block's tile that holds sum i of this thread, and column of sum j.
  static __device__ __forceinline__ int row(int i) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (i / 4) * (kThreadsM * 4) + (warp / kWarpsN * kLanesM + lane / kLanesN) * 4 + i % 4;
  }
  static __device__ __forceinline__ int column(int j) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return (j / 4) * (kThreadsN * 4) + (warp % kWarpsN * kLanesN + lane % kLanesN) * 4 + j % 4;
  }
};

/// Loads kBlockL x kWidth floats per step from a row-major matrix [rows, pitch] with 16-byte aligned rows;
/// pitch is a multiple of kWidth. Rows past the last read as zero.
template <class Tile, int kWidth>
class SgemmDenseLoader {
 public:
  __device__ SgemmDenseLoader(const float* matrix, int rows, int pitch)
      : source_(matrix), rows_(rows), pitch_(pitch) {}
  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int index = i * Tile::kThreads + threadIdx.x, row = index / kRow;
      if (!kExact && index >= kVectors) continue;
      const float4* source = reinterpret_cast<const float4*>(source_ + static_cast<int64_t>(row) * pitch_);
      values_[i] = row < rows_ ? __ldg(source + index % kRow) : make_float4(0, 0, 0, 0);
    }
    source_ += static_cast<int64_t>(Tile::kBlockL) * pitch_;
    rows_ -= Tile::kBlockL;
  }
  __device__ __forceinline__ void store(float (*shared)[kWidth]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int index = i * Tile::kThreads + threadIdx.x;
      if (kExact || index < kVectors) reinterpret_cast<float4*>(&shared[0][0])[index] = values_[i];
    }
  }

 private:
  static constexpr int kRow = kWidth / 4;                // float4 of one row
  static constexpr int kVectors = Tile::kBlockL * kRow;  // float4 of one step
  static constexpr int kCount = (kVectors + Tile::kThreads - 1) / Tile::kThreads;
  static constexpr bool kExact = kVectors % Tile::kThreads == 0;
  const float* source_;
  int rows_, pitch_;
  float4 values_[kCount];
};

/// sums += A x B over `steps` steps of kBlockL. Each loader's fetch() reads the next step into its registers,
/// store() writes them to a shared buffer.
template <class Tile, class LoaderA, class LoaderB>
__device__ __forceinline__ void sgemm_tile_multiply(typename Tile::Shared& shared, LoaderA& load_a,
                                                    LoaderB& load_b, int steps,
                                                    float (&sums)[Tile::kThreadM][Tile::kThreadN]) {
  load_a.fetch();
  load_b.fetch();
  load_a.store(shared.a[0]);
  load_b.store(shared.b[0]);
  __syncthreads();
  const int row = Tile::row(0), column = Tile::column(0);
  for (int step = 0; step < steps; ++step) {
    const int current = step & 1;
    const bool more = step + 1 < steps;
    if (more) {
      load_a.fetch();
      load_b.fetch();
    }
#pragma unroll
    for (int l = 0; l < Tile::kBlockL; ++l) {
      float a[Tile::kThreadM], b[Tile::kThreadN];
#pragma unroll
      for (int i = 0; i < Tile::kThreadM; i += 4) {
        *reinterpret_cast<float4*>(&a[i]) =
            *reinterpret_cast<const float4*>(&shared.a[current][l][row + i * Tile::kThreadsM]);
      }
#pragma unroll
      for (int j = 0; j < Tile::kThreadN; j += 4) {
        *reinterpret_cast<float4*>(&b[j]) =
            *reinterpret_cast<const float4*>(&shared.b[current][l][column + j * Tile::kThreadsN]);
      }
#pragma unroll
      for (int i = 0; i < Tile::kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kThreadN; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
    // The other buffer was read before the last barrier, so it may be overwritten now.
    if (more) {
      load_a.store(shared.a[current ^ 1]);
      load_b.store(shared.b[current ^ 1]);
      __syncthreads();
    }
  }
}

}  // namespace lenslet
