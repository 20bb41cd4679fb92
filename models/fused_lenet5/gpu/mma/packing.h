// Internal: common parts of the packers of the tensor-core kernels.
#pragma once

#include <cuda_fp16.h>
#include <cstdint>

#include <cstring>
#include <vector>

#include "framework/instructions/operand_bits.h"
#include "framework/tensor/tensor.h"

namespace lenslet::fused_lenet5 {

/// Stores values, rounded once to the type of the kernel's arithmetic, at byte `at`. All other bytes are zero.
class MmaPacker {
 public:
  explicit MmaPacker(int bytes) : bytes_(static_cast<size_t>(bytes), 0) {}
  void put_fp16(int at, double value) { put(at, __double2half(value)); }
  void put_tf32(int at, double value) { put(at, tf32_bits(static_cast<float>(value))); }
  void put_fp32(int at, double value) { put(at, static_cast<float>(value)); }
  void put_int8(int at, int8_t value) { put(at, value); }
  void put_int32(int at, int32_t value) { put(at, value); }
  std::vector<unsigned char> bytes() && { return std::move(bytes_); }

 private:
  template <typename T>
  void put(int at, T value) {
    std::memcpy(&bytes_.at(static_cast<size_t>(at)), &value, sizeof value);
  }
  std::vector<unsigned char> bytes_;
};

// conv1 is pixels [16 runs of 8 columns, 5 rows x 8 columns] x filters [40, 24]: six channels at the four positions
// that a run serves. The 24 columns are three blocks of 8, of which lane 4 g + t holds columns 2t and 2t + 1: the two
// positions of window t % 2, for the channel that this lists for t / 2 and the block.
constexpr int kMmaConv1Channels[2][3] = {{0, 1, 2}, {3, 4, 5}};
// In int8 a word of h1 is channels 0 to 3, of which each half of the lanes writes two; 4 and 5 are apart.
constexpr int kMmaInt8Conv1Channels[2][3] = {{0, 1, 4}, {2, 3, 5}};

/// A fully connected layer as weights [16 outputs a tile, inputs] x activations [inputs, 8 images].
struct MmaFcLayer {
  const Tensor& weight;  // [outputs, inputs]
  int tiles;
  int steps;                              // products along the inputs
  int (*input_of)(int step, int column);  // the input in that column of a step

  int outputs() const { return static_cast<int>(weight.shape()[0]); }
  int inputs() const { return static_cast<int>(weight.shape()[1]); }
  /// Zero for the padding of the tiles beyond the layer's outputs and inputs.
  double weight_at(int output, int step, int column) const {
    const int input = input_of(step, column);
    return output < outputs() && input < inputs() ? weight.data()[output * inputs() + input] : 0;
  }
};

}  // namespace lenslet::fused_lenet5
