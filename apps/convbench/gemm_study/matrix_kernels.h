// The matrix product of im2col as a study of parallel programming measured it: C = A * B, row-major fp32.
//
// A [rows, inner] holds the filters, a row each; B [inner, columns] the inputs behind each position, a column each.
// Each kernel is a few lines around one idea, in a file of its own. They are for looking at: products of the
// framework go through layers/gemm.
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

/// A kernel, and how its outputs are cut into blocks.
struct MatrixKernel {
  using Function = void (*)(MatrixShape shape, const float* a, const float* b, float* c);
  const char* name = nullptr;        // "matrix_shared_kernel"
  Function function = nullptr;       // null: there is no code for this tile
  int threads_x = 1, threads_y = 1;  // of a block; along columns and rows of C
  int rows = 1, columns = 1;         // of C that a block computes; 0: all of them

  int block_threads() const noexcept { return threads_x * threads_y; }
};

// One file each. `tile` and `block` in threads along an edge.
MatrixKernel matrix_element(int tile);   // one thread an element, operands from global memory
MatrixKernel matrix_shared(int tile);    // the same, operands staged in shared memory
MatrixKernel matrix_register(int tile);  // 4 x 4 elements a thread, outer products in registers
MatrixKernel matrix_row(int block);      // one thread a row
MatrixKernel matrix_column(int block);   // one thread a column

/// Whether the device can launch it, from the device's own limits; the reason where it cannot.
Support matrix_support(const MatrixKernel& kernel, Device device);
/// What a launch takes. Throws DeviceError.
LaunchResources matrix_launch_resources(const MatrixKernel& kernel);
/// Enqueues one product. Throws DeviceError where the launch is refused.
void matrix_enqueue(const MatrixKernel& kernel, const MatrixArgs& args, Stream& stream);

}  // namespace lenslet
