#include "models/fused_lenet5/gpu/mma_fp16_parameters.h"

#include "models/fused_lenet5/gpu/mma_kernels.h"
#include "models/fused_lenet5/gpu/mma_packing.h"

namespace lenslet::fused_lenet5 {
namespace {

using Map = MmaFp16Map;

void pack_conv1(const FoldedConv1& conv1, ElementType input, MmaPacker& packer) {
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int block = 0; block < 3; ++block) {
      // Operand B's column g is D's column g, which lane t = g / 2 holds.
      const int channel = kMmaConv1Channels[g / 4][block], position = g % 4;
      for (int i = 0; i < 10; ++i) {
        const int row = i / 2, word = block * 5 + row, s = 2 * t + i % 2 - position;
        if (s < 0 || s >= 5) continue;
        packer.put_fp16(Map::kConv1 + word / 4 * Map::kLane4 + lane * 16 + word % 4 * 4 + i % 2 * 2,
                        conv1.weight[static_cast<size_t>(channel * 25 + row * 5 + s)]);
      }
      const auto own = static_cast<size_t>(kMmaConv1Channels[t / 2][block]);
      double bias = conv1.bias[own];
      if (input ==
          ElementType::kUint8) {  // the kernel multiplies 1024 + x, by the weights as they were rounded
        for (size_t tap = 0; tap < 25; ++tap) {
          bias -= 1024.0 * static_cast<double>(__half2float(__double2half(conv1.weight[own * 25 + tap])));
        }
      }
      for (int e = 0; e < 4; ++e) {
        packer.put_fp32(Map::kConv1Bias + block * Map::kLane4 + lane * 16 + e * 4, bias);
      }
    }
  }
}

// conv2 as filters [16, K] x h1 [K, 8 positions of a row]: for each of the five rows of taps two steps of 16. A word of
// h1 holds a pair of channels, and there are three planes of words. The first step takes the taps s = 0..3 of plane 0
// and of plane 1, the second s = 0..3 of plane 2, and s = 4 of planes 0, 1, 2.
constexpr int kPlanes[3][2] = {{0, 1}, {2, 5}, {3, 4}};

void pack_conv2(const Lenet5Parameters& parameters, MmaPacker& packer) {
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
          packer.put_fp16(Map::kConv2 + (row * 2 + step) * Map::kLane4 + lane * 16 + word % 4 * 4 + e * 2,
                          weight[((filter * 6 + kPlanes[plane][e]) * 5 + row) * 5 + s]);
        }
      }
    }
    for (int e = 0; e < 4; ++e) {
      packer.put_fp32(Map::kConv2Bias + lane * 16 + e * 4, parameters.conv2_bias.data()[g + e / 2 * 8]);
    }
  }
}

int plain_order(int step, int column) { return step * 16 + column; }

// h2 as conv2 leaves it: lane 4 g + t holds channels g and g + 8 as a pair, at column t and rows 0..3, as one 16-byte
// piece; fc1's lane t reads piece 4 g + t for its steps 2g and 2g + 1.
int order_of_h2(int step, int column) {
  const int g = step / 2, t = column % 8 / 2, y = step % 2 * 2 + column / 8, channel = g + column % 2 * 8;
  return channel * 16 + y * 4 + t;
}

/// Fragments [tiles, steps] of four registers at `at`; a last step of 8 inputs [tiles] of two at `at_last`, unless < 0.
void pack_fc(const MmaFcLayer& layer, int at, int at_last, int at_bias, MmaPacker& packer) {
  for (int tile = 0; tile < layer.tiles; ++tile) {
    for (int i = 0; i < 32 * 8; ++i) {
      const int lane = i / 8, e = i % 8;
      const int neuron = tile * 16 + lane / 4 + e / 2 % 2 * 8, column = lane % 4 * 2 + e % 2 + e / 4 * 8;
      for (int step = 0; step < layer.steps; ++step) {
        packer.put_fp16(at + (tile * layer.steps + step) * Map::kLane4 + lane * 16 + e * 2,
                        layer.weight_at(neuron, step, column));
      }
      if (at_last >= 0 && e < 4) {
        packer.put_fp16(at_last + tile * Map::kLane2 + lane * 8 + e * 2,
                        layer.weight_at(neuron, layer.steps, column));
      }
    }
  }
  layer.put_bias(packer, at_bias);
}

}  // namespace

std::vector<unsigned char> pack_mma_fp16(const Lenet5Parameters& p, ElementType input) {
  MmaPacker packer(Map::kBytes);
  pack_conv1(conv1_for(p, input), input, packer);
  pack_conv2(p, packer);
  constexpr int kTileBias = 16 * 4, kBias2 = Map::kFcBias + Map::kFc1Tiles * kTileBias;
  pack_fc({p.fc1_weight, p.fc1_bias, Map::kFc1Tiles, Map::kFc1Steps, order_of_h2}, Map::kFc1, -1,
          Map::kFcBias, packer);
  pack_fc({p.fc2_weight, p.fc2_bias, Map::kFc2Tiles, Map::kFc2Steps, plain_order}, Map::kFc2, Map::kFc2Last,
          kBias2, packer);
  pack_fc({p.fc3_weight, p.fc3_bias, 1, Map::kFc3Steps, plain_order}, Map::kFc3, Map::kFc3Last,
          kBias2 + Map::kFc2Tiles * kTileBias, packer);
  return std::move(packer).bytes();
}

}  // namespace lenslet::fused_lenet5
