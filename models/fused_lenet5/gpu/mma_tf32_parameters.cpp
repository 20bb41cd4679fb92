#include "models/fused_lenet5/gpu/mma_tf32_parameters.h"

#include "models/fused_lenet5/gpu/mma_kernels.h"
#include "models/fused_lenet5/gpu/mma_packing.h"

namespace lenslet::fused_lenet5 {
namespace {

using Map = MmaTf32Map;

double as_tf32(double value) {
  const uint32_t bits = tf32_bits(static_cast<float>(value));
  float rounded;
  std::memcpy(&rounded, &bits, sizeof rounded);
  return static_cast<double>(rounded);
}

// A step is one row of taps over 8 columns of pixels.
void pack_conv1(const FoldedConv1& conv1, ElementType input, MmaPacker& packer) {
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int block = 0; block < 3; ++block) {
      const int channel = kMmaConv1Channels[g / 4][block], position = g % 4;
      for (int i = 0; i < 10; ++i) {
        const int row = i / 2, word = block * 10 + i, s = t + i % 2 * 4 - position;
        if (s < 0 || s >= 5) continue;
        packer.put_tf32(Map::kConv1 + word / 4 * Map::kLane4 + lane * 16 + word % 4 * 4,
                        conv1.weight[static_cast<size_t>(channel * 25 + row * 5 + s)]);
      }
      const auto own = static_cast<size_t>(kMmaConv1Channels[t / 2][block]);
      double bias = conv1.bias[own];
      if (input ==
          ElementType::kUint8) {  // the kernel multiplies 256 + x, by the weights as they were rounded
        for (size_t tap = 0; tap < 25; ++tap) bias -= 256.0 * as_tf32(conv1.weight[own * 25 + tap]);
      }
      for (int e = 0; e < 4; ++e) {
        packer.put_fp32(Map::kConv1Bias + block * Map::kLane4 + lane * 16 + e * 4, bias);
      }
    }
  }
}

// Four steps a row of taps: s = 0..3 of channels 0 and 1, 2 and 3, 4 and 5, then s = 4 of channels 0..3, and 4, 5.
void pack_conv2(const Lenet5Parameters& parameters, MmaPacker& packer) {
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < Map::kConv2Steps * 4; ++i) {
      const int row = i / 16, step = i / 4 % 4, filter = g + i % 2 * 8, half = i / 2 % 2;
      const int channel = step < 3 ? step * 2 + half : half * 4 + t, s = step < 3 ? t : 4;
      if (channel >= 6) continue;
      packer.put_tf32(Map::kConv2 + (row * 4 + step) * Map::kLane4 + lane * 16 + i % 4 * 4,
                      parameters.conv2_weight.data()[((filter * 6 + channel) * 5 + row) * 5 + s]);
    }
    for (int e = 0; e < 4; ++e) {
      packer.put_fp32(Map::kConv2Bias + lane * 16 + e * 4, parameters.conv2_bias.data()[g + e / 2 * 8]);
    }
  }
}

// A lane reads four values for two steps: value j of lane t's piece is column t of the first step for j = 0, t + 4 for
// j = 1, and so on. Of h2, piece 4 c + t holds channel c, column t and rows 0..3; the others are in plain order.
int order_of_h2(int step, int column) { return step / 2 * 16 + (step % 2 * 2 + column / 4) * 4 + column % 4; }
int order_of_pieces(int step, int column) {
  return step / 2 * 16 + column % 4 * 4 + step % 2 * 2 + column / 4;
}

void pack_fc(const MmaFcLayer& layer, int at, int at_bias, MmaPacker& packer) {
  for (int i = 0; i < layer.tiles * layer.steps * 32 * 4; ++i) {
    const int tile = i / 128 / layer.steps, step = i / 128 % layer.steps, lane = i / 4 % 32, e = i % 4;
    packer.put_tf32(at + i * 4,
                    layer.weight_at(tile * 16 + lane / 4 + e % 2 * 8, step, lane % 4 + e / 2 * 4));
  }
  layer.put_bias(packer, at_bias);
}

}  // namespace

std::vector<unsigned char> pack_mma_tf32(const Lenet5Parameters& p, ElementType input) {
  MmaPacker packer(Map::kBytes);
  pack_conv1(conv1_for(p, input), input, packer);
  pack_conv2(p, packer);
  constexpr int kTileBias = 16 * 4, kBias2 = Map::kFcBias + Map::kFc1Tiles * kTileBias;
  pack_fc({p.fc1_weight, p.fc1_bias, Map::kFc1Tiles, Map::kFc1Steps, order_of_h2}, Map::kFc1, Map::kFcBias,
          packer);
  pack_fc({p.fc2_weight, p.fc2_bias, Map::kFc2Tiles, Map::kFc2Steps, order_of_pieces}, Map::kFc2, kBias2,
          packer);
  pack_fc({p.fc3_weight, p.fc3_bias, 1, Map::kFc3Steps, order_of_pieces}, Map::kFc3,
          kBias2 + Map::kFc2Tiles * kTileBias, packer);
  return std::move(packer).bytes();
}

}  // namespace lenslet::fused_lenet5
