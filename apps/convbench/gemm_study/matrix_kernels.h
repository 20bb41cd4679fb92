// The matrix product of im2col as a course on parallel programming measured it: C = A * B, row-major fp32.
//
// A [rows, inner] holds the filters, one per row; B [inner, columns] the inputs of each position, one per column. Each
// kernel shows one idea in a few lines, in a file of its own. They serve as examples; the framework's own products are
// in layers/gemm.
#pragma once

#include <string>
#include <vector>

#include "framework/device.h"
#include "framework/launch_resources.h"
#include "framework/layer.h"

namespace lenslet {

struct MatrixShape {
  int rows = 0, columns = 0, inner = 0;  // K, P * Q and C * R * S of the convolution
};

/// C [rows, columns] = A [rows, inner] * B [inner, columns].
struct MatrixArgs {
  MatrixShape shape;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

/// A kernel, and how it divides its outputs into blocks.
struct MatrixKernel {
  using Function = void (*)(MatrixShape shape, const float* a, const float* b, float* c);
  const char* name = nullptr;        // "matrix_shared_kernel"
  Function function = nullptr;       // null: no code for this tile
  int threads_x = 1, threads_y = 1;  // threads of a block along columns and rows of C
  int rows = 1, columns = 1;         // columns and rows of C that a block computes; 0: all

  int block_threads() const noexcept { return threads_x * threads_y; }
};

// One file each. `tile` and `block` in threads along an edge.
MatrixKernel matrix_element(int tile);   // one thread per element, operands from global memory
MatrixKernel matrix_shared(int tile);    // the same, operands staged in shared memory
MatrixKernel matrix_register(int tile);  // 4 x 4 elements per thread, outer products in registers
MatrixKernel matrix_row(int block);      // one thread per row
MatrixKernel matrix_column(int block);   // one thread per column

/// Whether the device can launch it, by its limits; if not, the reason.
Support matrix_support(const MatrixKernel& kernel, Device device);
/// Registers, shared memory and occupancy. Throws DeviceError.
LaunchResources matrix_launch_resources(const MatrixKernel& kernel);
/// Enqueues one product. Throws DeviceError if the launch fails.
void matrix_enqueue(const MatrixKernel& kernel, const MatrixArgs& args, Stream& stream);

}  // namespace lenslet
