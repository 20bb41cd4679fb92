#include "models/fused_lenet5/gpu/mma_parameters.h"

#include <cuda_fp16.h>

#include <cstring>

#include "models/fused_lenet5/fold.h"

namespace lenslet::fused_lenet5 {
namespace {

using Map = MmaParameterMap;

class Packer {
 public:
  Packer() : bytes_(Map::kBytes, 0) {}

  void put_half(int at, double value) {
    const __half half = __double2half(value);
    std::memcpy(&bytes_[static_cast<size_t>(at)], &half, sizeof half);
  }
  void put_float(int at, double value) {
    const float single = static_cast<float>(value);
    std::memcpy(&bytes_[static_cast<size_t>(at)], &single, sizeof single);
  }
  std::vector<unsigned char> bytes_;
};

// conv1 as pixels [16 windows, 5 rows x 8 columns] x filters [40, 24]: a column is one of six channels at one of the four
// positions that eight pixels serve. Lane 4 g + t of D holds the columns 2t, 2t+1 of three such blocks of 8: two neighbours of
// one pooling window, window t % 2, for the channels that kMmaChannels lists for t / 2.
constexpr int kMmaChannels[2][3] = {{0, 1, 2}, {3, 4, 5}};

void pack_conv1(const Lenet5Parameters& parameters, ElementType input, Packer& packer) {
  const bool bytes = input == ElementType::kUint8;
  const FoldedConv1 folded = fold_normalization(parameters);
  const auto weight = [&](int channel, int tap) {
    const auto at = static_cast<size_t>(channel * 25 + tap);
    return bytes ? folded.weight[at] : double{parameters.conv1_weight.data()[at]};
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int block = 0; block < 3; ++block) {
      // Operand B's column g is D's: lane t = g / 2 holds it.
      const int channel = kMmaChannels[g / 4][block], position = g / 2 % 2 * 2 + g % 2;
      for (int row = 0; row < 5; ++row) {
        const int word = block * 5 + row;
        for (int e = 0; e < 2; ++e) {
          const int s = 2 * t + e - position;
          if (s < 0 || s >= 5) continue;
          packer.put_half(Map::kConv1 + word / 4 * Map::kLane4 + lane * 16 + word % 4 * 4 + e * 2,
                          weight(channel, row * 5 + s));
        }
      }
      const int own = kMmaChannels[t / 2][block];
      double bias = bytes ? folded.bias[static_cast<size_t>(own)] : parameters.conv1_bias.data()[own];
      if (bytes) {  // the kernel multiplies 1024 + x, by the weights as they were rounded
        for (int tap = 0; tap < 25; ++tap) bias -= 1024.0 * __half2float(__double2half(weight(own, tap)));
      }
      for (int e = 0; e < 4; ++e)
        packer.put_float(Map::kConv1Bias + block * Map::kLane4 + lane * 16 + e * 4, bias);
    }
  }
}

// conv2 as filters [16, K] x h1 [K, 8 positions of a row]: for each of the five rows of taps two steps of 16. A word of h1
// holds a pair of channels, and there are three planes of words. The first step takes the taps s = 0..3 of plane 0 and of
// plane 1, the second s = 0..3 of plane 2, and s = 4 of planes 0, 1, 2.
constexpr int kMmaPlanes[3][2] = {{0, 1}, {2, 5}, {3, 4}};

void pack_conv2(const Lenet5Parameters& parameters, Packer& packer) {
  const float* weight = parameters.conv2_weight.data();
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int row = 0; row < 5; ++row) {
      for (int word = 0; word < 8; ++word) {
        const int step = word / 4, upper_half = word % 4 / 2, filter = g + word % 2 * 8;
        const bool last_column = step == 1 && upper_half == 1;
        if (last_column && t == 3) continue;
        const int plane = last_column ? t : step * 2 + upper_half, s = last_column ? 4 : t;
        for (int e = 0; e < 2; ++e) {
          packer.put_half(Map::kConv2 + (row * 2 + step) * Map::kLane4 + lane * 16 + word % 4 * 4 + e * 2,
                          weight[((filter * 6 + kMmaPlanes[plane][e]) * 5 + row) * 5 + s]);
        }
      }
    }
    for (int e = 0; e < 4; ++e) {
      packer.put_float(Map::kConv2Bias + lane * 16 + e * 4, parameters.conv2_bias.data()[g + e / 2 * 8]);
    }
  }
}

// A fully connected layer as weights [16 neurons a tile, inputs] x activations [inputs, 8 images].
struct FcLayer {
  const float* weight;  // [neurons, inputs]
  const float* bias;
  int neurons, inputs;
  int tiles, steps;  // of 16 inputs
  int at;            // the fragments [tiles, steps] of four registers
  int at_last;       // [tiles] of two registers, the step of 8 inputs after them; < 0: none
  int at_bias;       // fp32 [tiles, 16]
  int (*input_of)(int step, int column);  // which input stands in that column of a step
};

int plain_order(int step, int column) { return step * 16 + column; }

// h2 as conv2 leaves it: lane 4 g + t holds channels g and g + 8 as a pair, at column t and rows 0..3, as one 16-byte piece;
// fc1's lane t reads piece 4 g + t for its steps 2g and 2g + 1.
int order_of_h2(int step, int column) {
  const int g = step / 2, t = column % 8 / 2, y = step % 2 * 2 + column / 8, channel = g + column % 2 * 8;
  return channel * 16 + y * 4 + t;
}

void pack_fc(const FcLayer& layer, Packer& packer) {
  const auto put = [&](int at, int neuron, int input) {
    if (neuron < layer.neurons && input < layer.inputs) {
      packer.put_half(at, layer.weight[neuron * layer.inputs + input]);
    }
  };
  for (int tile = 0; tile < layer.tiles; ++tile) {
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int e = 0; e < 8; ++e) {
        const int neuron = tile * 16 + g + e / 2 % 2 * 8, column = 2 * t + e % 2 + e / 4 * 8;
        for (int step = 0; step < layer.steps; ++step) {
          put(layer.at + (tile * layer.steps + step) * Map::kLane4 + lane * 16 + e * 2, neuron,
              layer.input_of(step, column));
        }
        if (layer.at_last >= 0 && e < 4) {
          put(layer.at_last + tile * Map::kLane2 + lane * 8 + e * 2, neuron,
              layer.input_of(layer.steps, column));
        }
      }
    }
    for (int row = 0; row < 16 && tile * 16 + row < layer.neurons; ++row) {
      packer.put_float(layer.at_bias + (tile * 16 + row) * 4, layer.bias[tile * 16 + row]);
    }
  }
}

}  // namespace

std::vector<unsigned char> pack_mma_parameters(const Lenet5Parameters& p, ElementType input) {
  Packer packer;
  pack_conv1(p, input, packer);
  pack_conv2(p, packer);
  constexpr int kTileBias = 16 * 4;
  pack_fc({p.fc1_weight.data(), p.fc1_bias.data(), 120, 256, Map::kFc1Tiles, Map::kFc1Steps, Map::kFc1, -1,
           Map::kFcBias, order_of_h2},
          packer);
  pack_fc({p.fc2_weight.data(), p.fc2_bias.data(), 84, 120, Map::kFc2Tiles, Map::kFc2Steps, Map::kFc2,
           Map::kFc2Last, Map::kFcBias + Map::kFc1Tiles * kTileBias, plain_order},
          packer);
  pack_fc({p.fc3_weight.data(), p.fc3_bias.data(), 10, 84, 1, Map::kFc3Steps, Map::kFc3, Map::kFc3Last,
           Map::kFcBias + (Map::kFc1Tiles + Map::kFc2Tiles) * kTileBias, plain_order},
          packer);
  return packer.bytes_;
}

}  // namespace lenslet::fused_lenet5
