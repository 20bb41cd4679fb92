// C = alpha * op(A) * op(B) + beta * C by blocks that stay in the caches, after Goto and van de Geijn,
// "Anatomy of High-Performance Matrix Multiplication" (2008): a block of A packed in rows of up to eight, a
// panel of B packed (or read in place), the register tile of tile_kernel.h inside.
//
// A [M, K] or [K, M], B [K, N] or [N, K], C [M, N], row-major. Threads share the blocks of M and N.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "layers/fp32_only.h"
#include "layers/gemm/cpu/tile_kernel.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

// 48 x 256 of A is 48 KiB, a panel of B of 256 x 192 is 192 KiB, the tile of C 36 KiB: together they fit the L2 cache
// of current processors.
constexpr int64_t kRows = 48;
constexpr int64_t kDepth = 256;
constexpr int64_t kColumns = 192;
constexpr int64_t kPanelFloats = kRows * kDepth + kDepth * kColumns + kRows * kColumns;
// Rows of A from which a panel of B is packed, chosen by hand: packing reads and writes each element of B once more,
// and 24 rows are 24 multiply-adds with it.
constexpr int64_t kRowsWorthPacking = 24;

/// Neighbouring indices.
struct Range {
  int64_t first, count;
};

/// Packs a[t][j] of each row block in sequence. alpha is applied to C instead of here, so that integer products stay
/// exact.
void pack_a(const GemmProblem& problem, const float* a, Range rows, Range depths, float* out) {
  const int64_t row_step = problem.transpose_a ? 1 : problem.lda,
                depth_step = problem.transpose_a ? problem.lda : 1;
  for (int64_t j = 0; j < rows.count;) {
    const int block = next_row_block(rows.count - j);
    for (int64_t t = 0; t < depths.count; ++t) {
      const float* from = a + (rows.first + j) * row_step + (depths.first + t) * depth_step;
      for (int i = 0; i < block; ++i) *out++ = from[i * row_step];
    }
    j += block;
  }
}

/// Packs a panel of B row by row, so that its rows are contiguous instead of each on its own page.
void pack_b(const GemmProblem& problem, const float* b, Range depths, Range columns, float* out) {
  for (int64_t t = 0; t < depths.count; ++t) {
    const float* from = b + (depths.first + t) * problem.ldb + columns.first;
    std::copy(from, from + columns.count, out + t * columns.count);
  }
}

/// Packs B stored [N, K] as [depths, columns].
void pack_transposed_b(const GemmProblem& problem, const float* b, Range depths, Range columns, float* out) {
  for (int64_t i = 0; i < columns.count; ++i) {
    const float* from = b + (columns.first + i) * problem.ldb + depths.first;
    for (int64_t t = 0; t < depths.count; ++t) out[t * columns.count + i] = from[t];
  }
}

/// One block of C: columns [column, column + columns) of rows [row, row + rows).
void compute_block(const GemmProblem& problem, const GemmArgs& args, int64_t row, int64_t column,
                   float* memory) {
  const int64_t rows = std::min(kRows, problem.m - row), columns = std::min(kColumns, problem.n - column);
  float* packed_a = memory;
  float* packed_b = packed_a + kRows * kDepth;
  float* tile = packed_b + kDepth * kColumns;
  float* c = args.c + row * problem.ldc + column;
  const TileKernels& kernels = tile_kernels();
  bool first = true;
  for (int64_t depth = 0; depth < problem.k || first; depth += kDepth) {
    TileArgs run;
    run.taps = std::min<int64_t>(kDepth, problem.k - depth);
    run.count = columns;
    run.out_step = columns;
    pack_a(problem, args.a, {row, rows}, {depth, run.taps}, packed_a);
    if (problem.transpose_b) {
      pack_transposed_b(problem, args.b, {depth, run.taps}, {column, columns}, packed_b);
      run.b = packed_b;
      run.b_step = columns;
    } else if (rows >= kRowsWorthPacking) {
      pack_b(problem, args.b, {depth, run.taps}, {column, columns}, packed_b);
      run.b = packed_b;
      run.b_step = columns;
    } else {
      run.b = args.b + depth * problem.ldb + column;
      run.b_step = problem.ldb;
    }
    for (int64_t j = 0; j < rows;) {
      const int block = next_row_block(rows - j);
      run.a = packed_a + j * run.taps;
      run.out = tile + j * columns;
      kernels.run[block](run);
      j += block;
    }
    // beta = 0 must not read C: it may hold NaN.
    for (int64_t j = 0; j < rows; ++j) {
      const float* sum = tile + j * columns;
      float* out = c + j * problem.ldc;
      if (!first) {
        for (int64_t i = 0; i < columns; ++i) out[i] += problem.alpha * sum[i];
      } else if (problem.beta == 0.0f) {
        for (int64_t i = 0; i < columns; ++i) out[i] = problem.alpha * sum[i];
      } else {
        for (int64_t i = 0; i < columns; ++i) out[i] = problem.alpha * sum[i] + problem.beta * out[i];
      }
    }
    first = false;
  }
}

class BlockedGemm : public Gemm {
 public:
  BlockedGemm() : slots_(num_threads()) {}
  size_t workspace_bytes() const override {
    return static_cast<size_t>(slots_ * kPanelFloats) * sizeof(float);
  }

  std::string describe() const override { return concat("blocked loop (", tile_kernels().isa, ")"); }

 private:
  void multiply(const GemmProblem& problem, const GemmArgs& args, void* workspace,
                RunContext& /*context*/) override {
    if (problem.m == 0 || problem.n == 0) return;
    const int64_t row_blocks = ceil_div(problem.m, kRows), column_blocks = ceil_div(problem.n, kColumns);
    const int64_t blocks = problem.batch * row_blocks * column_blocks;
    const double flops = 2.0 * problem.m * problem.n * problem.k * problem.batch;
    const int64_t slots =
        std::clamp<int64_t>(static_cast<int64_t>(flops / kFlopsPerWokenThread), 1, std::min(slots_, blocks));
    shared_loop({blocks, slots}, [&](int64_t slot, int64_t begin, int64_t end) {
      float* const memory = static_cast<float*>(workspace) + slot * kPanelFloats;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / (row_blocks * column_blocks), block = i % (row_blocks * column_blocks);
        const GemmArgs one{args.a + matrix * problem.stride_a, args.b + matrix * problem.stride_b,
                           args.c + matrix * problem.stride_c};
        compute_block(problem, one, block / column_blocks * kRows, block % column_blocks * kColumns, memory);
      }
    });
  }

  int64_t slots_;
};

class BlockedBackend : public GemmBackend {
 public:
  Support supports(MathMode math) const override { return fp32_only("blocked on the CPU", math); }
  Determinism determinism() const override { return Determinism::kPosition; }

 private:
  std::unique_ptr<Gemm> make(MathMode /*math*/, Stream& /*stream*/) const override {
    return std::make_unique<BlockedGemm>();
  }
};

}  // namespace

LENSLET_BACKEND(gemm, cpu_blocked, BlockedBackend())

}  // namespace lenslet
