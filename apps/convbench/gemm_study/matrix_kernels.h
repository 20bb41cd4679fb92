// The matrix product of im2col as a course on parallel programming measured it: C = A * B, row-major fp32.
//
// A [rows, inner] holds the filters, one per row; B [inner, columns] the inputs of each position, one per column. Each
// kernel shows one idea in a few lines, in a file of its own. They serve as examples; the framework's own products are
// in layers/gemm.
#pragma once

#include "apps/convbench/bench/study_kernel.h"

namespace lenslet {

struct MatrixShape {
  int rows = 0, columns = 0, inner = 0;  // K, P * Q and C * R * S of the convolution
};

/// A kernel, and how it divides its outputs into blocks.
struct MatrixKernel {
  using Function = StudyKernel<MatrixShape>::Function;
  const char* name = nullptr;        // "matrix_shared_kernel"
  Function function = nullptr;       // null: no code for this tile
  int threads_x = 1, threads_y = 1;  // of a block; along columns and rows of C
  int rows = 1, columns = 1;         // of C that a block computes; 0: all of them
};

// One file each. `tile` and `block` in threads along an edge.
MatrixKernel matrix_element(int tile);   // one thread per element, operands from global memory
MatrixKernel matrix_shared(int tile);    // the same, operands staged in shared memory
MatrixKernel matrix_register(int tile);  // 4 x 4 elements per thread, outer products in registers
MatrixKernel matrix_row(int block);      // one thread per row
MatrixKernel matrix_column(int block);   // one thread per column

}  // namespace lenslet
