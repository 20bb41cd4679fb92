// LinearTensorCoreShape: what linear_tensor_core_kernel takes beside its arrays.
#pragma once

#include <cstdint>

namespace lenslet {

/// Sizes and flags of a launch of linear_tensor_core_kernel; its arrays are separate arguments.
struct LinearTensorCoreShape {
  static constexpr int kWarpRows = 16;  ///< samples of a warp
  static constexpr int kChunk = 64;     ///< inputs of a stage

  int64_t batch;      ///< samples
  int inputs;         ///< of a sample
  int outputs;        ///< of a sample
  int chunks;         ///< along the inputs
  bool relu;          ///< negative outputs become 0
  bool pair_store;    ///< outputs are even and y is aligned to pairs
  bool half_outputs;  ///< y is fp16
};

}  // namespace lenslet
