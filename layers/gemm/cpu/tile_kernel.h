// The inner loop of every CPU convolution and matrix product: a tile of J rows by many positions,
//   out[j][i] = after(sum over t of a[t][j] * b[offset(t) + i] + bias[j]),  j < J, i < count,
// the sum in the order of t, with fused multiply-adds if the processor has them. The tile is in registers: J rows by a
// few vectors of positions, so that each vector of b is used for J rows and each value of a for several vectors.
//
// A convolution with stride 1 is this with one offset for each (c, r, s); a matrix product with offset(t) = t * ldb.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/rectifier.h"

namespace lenslet {

/// One register tile: J rows of out over `count` positions.
struct TileArgs {
  const float* a = nullptr;          // [taps, J], packed
  const float* b = nullptr;          // where offsets count from
  const int64_t* offsets = nullptr;  // [taps], elements from b; null: offset(t) = t * b_step
  int64_t b_step = 0;                // elements between taps without a table
  int64_t taps = 0;                  // terms of each sum
  float* out = nullptr;              // row j at out + j * out_step
  int64_t out_step = 0;              // elements between rows of out
  int64_t count = 0;     // positions; b is read at [offset(t), offset(t) + count) and nowhere else
  int64_t lines = 1;     // repeats of all this, such as short rows of an image, which share the values of a
  int64_t b_line = 0;    // elements from a line of b to the next
  int64_t out_line = 0;  // the same of out
  const float* bias = nullptr;  // [J] or null
  Rectifier after = {};         // applied before storing
};

/// The loops compiled for one instruction set.
struct TileKernels {
  /// The loop for one number of rows.
  using Run = void (*)(const TileArgs&);
  static constexpr int kMaxRows = 8;  // of any instruction set
  const char* isa;                    // "AVX-512", "AVX2" or "baseline"
  int vector_floats;                  // positions in one vector
  int max_rows;                       // at most kMaxRows: those that leave registers for two vectors or more
  Run run[kMaxRows + 1];  // by number of rows; null if next_row_block() composes that number of smaller ones
};

/// The best for this processor, selected once. Every processor supports "baseline".
const TileKernels& tile_kernels();
/// All that this processor supports, best first; for tests.
const std::vector<const TileKernels*>& all_tile_kernels();

/// The largest row count with a kernel that fits `rows_left`. With kernels of up to 8 rows, repeated calls split 16
/// into 8 + 8, 6 into 6, 11 into 8 + 2 + 1. A multiple of max_rows is always a border.
int next_row_block(int64_t rows_left);

}  // namespace lenslet
