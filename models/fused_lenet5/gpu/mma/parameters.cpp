#include "models/fused_lenet5/gpu/mma/parameters.h"
#include <cstdint>
#include <cstring>
#include <vector>

#include "models/fused_lenet5/gpu/mma/kernels.h"
#include "models/fused_lenet5/gpu/mma/packing.h"
#include "models/fused_lenet5/gpu/weights.h"
#include "models/fused_lenet5/quantise.h"

namespace lenslet::fused_lenet5 {
namespace {

// The two arithmetics. `column`: the column of pixels that lane t reads as value i % 2 of a row of taps.
struct Fp16 {
  using Map = MmaFp16Map;
  // Bytes of a value, and what the kernel adds to a byte of an image.
  static constexpr int kBytes = 2, kByteOffset = 1024;
  static int column(int t, int i) { return 2 * t + i % 2; }
  static double rounded(double value) { return static_cast<double>(__half2float(__double2half(value))); }
  static void put(MmaPacker& packer, int at, double value) { packer.put_fp16(at, value); }
};
struct Tf32 {
  using Map = MmaTf32Map;
  static constexpr int kBytes = 4, kByteOffset = 256;
  static int column(int t, int i) { return t + i % 2 * 4; }
  static double rounded(double value) {
    const uint32_t bits = tf32_bits(static_cast<float>(value));
    float rounded;
    std::memcpy(&rounded, &bits, sizeof rounded);
    return static_cast<double>(rounded);
  }
  static void put(MmaPacker& packer, int at, double value) { packer.put_tf32(at, value); }
};

constexpr int kLanes = 32, kTaps = 5 * 5;
constexpr int kFragmentBytes = 16;  // of a lane: four registers

/// Where byte `at` of a lane's values lies in fragments of four registers.
int in_fragments(int at, int lane) {
  return (at / kFragmentBytes * kLanes + lane) * kFragmentBytes + at % kFragmentBytes;
}

template <class Arithmetic>
void pack_conv1(const FoldedConv1& conv1, ElementType input, MmaPacker& packer) {
  using Map = typename Arithmetic::Map;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int block = 0; block < 3; ++block) {
      // Operand B's column g is D's column g, which lane t = g / 2 holds.
      const int channel = kMmaConv1Channels[g / 4][block], position = g % 4;
      for (int i = 0; i < 10; ++i) {
        const int row = i / 2, s = Arithmetic::column(t, i) - position;
        if (s < 0 || s >= 5) continue;
        Arithmetic::put(packer, Map::kConv1 + in_fragments((block * 10 + i) * Arithmetic::kBytes, lane),
                        conv1.weight[static_cast<size_t>(channel * kTaps + row * 5 + s)]);
      }
      const auto own = static_cast<size_t>(kMmaConv1Channels[t / 2][block]);
      double bias = conv1.bias[own];
      // The kernel multiplies the offset too, by the weights as they were rounded.
      if (input == ElementType::kUint8) {
        for (size_t tap = 0; tap < kTaps; ++tap) {
          bias -= Arithmetic::kByteOffset * Arithmetic::rounded(conv1.weight[own * kTaps + tap]);
        }
      }
      for (int e = 0; e < 4; ++e) {
        packer.put_fp32(Map::kConv1Bias + block * Map::kLane4 + lane * kFragmentBytes + e * 4, bias);
      }
    }
  }
}

template <class Map>
void pack_conv2_bias(const Lenet5Parameters& parameters, MmaPacker& packer) {
  for (int i = 0; i < kLanes * 4; ++i) {
    packer.put_fp32(Map::kConv2Bias + i * 4, parameters.conv2_bias.data()[i / 16 + i % 4 / 2 * 8]);
  }
}

// conv2 in fp16 as filters [16, K] x h1 [K, 8 positions of a row]: for each of the five rows of taps two steps of 16. A
// word of h1 holds a pair of channels, and there are three planes of words. The first step takes the taps s = 0..3 of
// plane 0 and of plane 1, the second s = 0..3 of plane 2, and s = 4 of planes 0, 1, 2.
constexpr int kPlanes[3][2] = {{0, 1}, {2, 5}, {3, 4}};

void pack_fp16_conv2(const Lenet5Parameters& parameters, MmaPacker& packer) {
  using Map = MmaFp16Map;
  const float* weight = parameters.conv2_weight.data();
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int row = 0; row < 5; ++row) {
      for (int word = 0; word < 8; ++word) {
        const int step = word / 4, upper_half = word % 4 / 2, filter = g + word % 2 * 8;
        const bool last_column = step == 1 && upper_half == 1;
        if (last_column && t == 3) continue;
        const int plane = last_column ? t : step * 2 + upper_half, s = last_column ? 4 : t;
        for (int e = 0; e < 2; ++e) {
          packer.put_fp16(Map::kConv2 + in_fragments((row * 8 + word) * 4 + e * 2, lane),
                          weight[((filter * 6 + kPlanes[plane][e]) * 5 + row) * 5 + s]);
        }
      }
    }
  }
}

// In tf32 four steps a row of taps: s = 0..3 of channels 0 and 1, 2 and 3, 4 and 5, then s = 4 of channels 0..3, and 4,
// 5.
void pack_tf32_conv2(const Lenet5Parameters& parameters, MmaPacker& packer) {
  using Map = MmaTf32Map;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 5 * Map::kConv2Steps * 4; ++i) {
      const int row = i / 16, step = i / 4 % 4, filter = g + i % 2 * 8, half = i / 2 % 2;
      const int channel = step < 3 ? step * 2 + half : half * 4 + t, s = step < 3 ? t : 4;
      if (channel >= 6) continue;
      packer.put_tf32(Map::kConv2 + in_fragments(i * 4, lane),
                      parameters.conv2_weight.data()[((filter * 6 + channel) * 5 + row) * 5 + s]);
    }
  }
}

int plain_order(int step, int column) { return step * 16 + column; }

// h2 as fp16's conv2 leaves it: lane 4 g + t holds channels g and g + 8 as a pair, at column t and rows 0..3, as one
// 16-byte piece; fc1's lane t reads piece 4 g + t for its steps 2g and 2g + 1.
int order_of_fp16_h2(int step, int column) {
  const int g = step / 2, t = column % 8 / 2, y = step % 2 * 2 + column / 8, channel = g + column % 2 * 8;
  return channel * 16 + y * 4 + t;
}

// In tf32 a lane reads four values for two steps: value j of lane t's piece is column t of the first step for j = 0,
// t + 4 for j = 1, and so on. Of h2, piece 4 c + t holds channel c, column t and rows 0..3; the others are in plain
// order.
int order_of_tf32_h2(int step, int column) {
  return step / 2 * 16 + (step % 2 * 2 + column / 4) * 4 + column % 4;
}
int order_of_pieces(int step, int column) {
  return step / 2 * 16 + column % 4 * 4 + step % 2 * 2 + column / 4;
}

/// Fragments [tiles, steps] of four registers at `at`; a last step of 8 inputs [tiles] of two at `at_last`, unless < 0.
void pack_fp16_fc(const MmaFcLayer& layer, int at, int at_last, MmaPacker& packer) {
  using Map = MmaFp16Map;
  for (int tile = 0; tile < layer.tiles; ++tile) {
    for (int i = 0; i < 32 * 8; ++i) {
      const int lane = i / 8, e = i % 8;
      const int output = tile * 16 + lane / 4 + e / 2 % 2 * 8, column = lane % 4 * 2 + e % 2 + e / 4 * 8;
      for (int step = 0; step < layer.steps; ++step) {
        packer.put_fp16(at + (tile * layer.steps + step) * Map::kLane4 + lane * 16 + e * 2,
                        layer.weight_at(output, step, column));
      }
      if (at_last >= 0 && e < 4) {
        packer.put_fp16(at_last + tile * Map::kLane2 + lane * 8 + e * 2,
                        layer.weight_at(output, layer.steps, column));
      }
    }
  }
}

void pack_tf32_fc(const MmaFcLayer& layer, int at, MmaPacker& packer) {
  for (int i = 0; i < layer.tiles * layer.steps * 32 * 4; ++i) {
    const int tile = i / 128 / layer.steps, step = i / 128 % layer.steps, lane = i / 4 % 32, e = i % 4;
    packer.put_tf32(at + i * 4,
                    layer.weight_at(tile * 16 + lane / 4 + e % 2 * 8, step, lane % 4 + e / 2 * 4));
  }
}

template <class Map>
void pack_fc_biases(const Lenet5Parameters& p, MmaPacker& packer) {
  int at = Map::kFcBias;
  for (const Tensor* bias : {&p.fc1_bias, &p.fc2_bias, &p.fc3_bias}) {  // fp32 [tiles, 16]
    const int outputs = static_cast<int>(bias->shape()[0]);
    for (int i = 0; i < outputs; ++i) packer.put_fp32(at + i * 4, bias->data()[i]);
    at += (outputs + 15) / 16 * 16 * 4;
  }
}

/// What is alike in fp16 and tf32: conv1, and all biases.
template <class Arithmetic>
MmaPacker packed_beginning(const Lenet5Parameters& p, ElementType input) {
  using Map = typename Arithmetic::Map;
  MmaPacker packer(Map::kBytes);
  pack_conv1<Arithmetic>(conv1_for(p, input), input, packer);
  pack_conv2_bias<Map>(p, packer);
  pack_fc_biases<Map>(p, packer);
  return packer;
}

void pack_fp16_fc_weights(const Lenet5Parameters& p, MmaPacker& packer) {
  using Map = MmaFp16Map;
  pack_fp16_fc({p.fc1_weight, Map::kFc1Tiles, Map::kFc1Steps, order_of_fp16_h2}, Map::kFc1, -1, packer);
  pack_fp16_fc({p.fc2_weight, Map::kFc2Tiles, Map::kFc2Steps, plain_order}, Map::kFc2, Map::kFc2Last, packer);
  pack_fp16_fc({p.fc3_weight, 1, Map::kFc3Steps, plain_order}, Map::kFc3, Map::kFc3Last, packer);
}

// conv1 in int8: for each block of columns, then the upper and the lower of two rows of outputs, three words of B. Word
// j of lane t holds the filters' weights for four pixels of row 2j + t / 2 of a window, from column t % 2 * 4 on.
void pack_int8_conv1(const QuantisedConvolutions& convolutions, MmaPacker& packer) {
  using Map = MmaInt8Map;
  constexpr double kZero = 3 << 22;  // kInt8Zero as a float
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int block = 0; block < 3; ++block) {
      const int channel = kMmaInt8Conv1Channels[g / 4][block], position = g % 4;
      for (int i = 0; i < 2 * 3 * 4; ++i) {
        const int output_row = i / 12, r = i / 4 % 3 * 2 + t / 2 - output_row,
                  s = t % 2 * 4 + i % 4 - position;
        if (r < 0 || r >= 5 || s < 0 || s >= 5) continue;
        packer.put_int8(Map::kConv1 + in_fragments(block * 24 + i, lane),
                        convolutions.conv1_weight[static_cast<size_t>(channel * kTaps + r * 5 + s)]);
      }
      const auto own = static_cast<size_t>(kMmaInt8Conv1Channels[t / 2][block]);
      packer.put_int32(Map::kConv1Bias + block * Map::kLane4 + lane * kFragmentBytes,
                       kInt8Zero + convolutions.conv1_bias[own]);
      const auto scale = static_cast<double>(convolutions.conv1_scale[own]);
      const int at = Map::kConv1Scale + lane * kFragmentBytes + block * 4;
      packer.put_fp32(at, scale);
      packer.put_fp32(at + Map::kLane4, kZero - kZero * scale);  // the byte ends up in the lowest bits
    }
  }
}

// conv2 in int8 as filters [16, 32] x h1 [32, 8 positions]: a product for each row of taps. A lane's lower word is
// s = t of channels 0..3; the upper one of t = 0 is s = 4 of these, else s = 2t - 2 and 2t - 1 of channels 4 and 5.
void pack_int8_conv2(const QuantisedConvolutions& convolutions, MmaPacker& packer) {
  using Map = MmaInt8Map;
  constexpr double kZero = 3 << 22;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 5 * 16; ++i) {
      const int row = i / 16, word = i / 4 % 4, filter = g + word % 2 * 8, e = i % 4;
      const bool pairs = word >= 2 && t > 0;
      const int channel = pairs ? 4 + e % 2 : e, s = pairs ? 2 * t - 2 + e / 2 : word < 2 ? t : 4;
      if (s >= 5) continue;
      packer.put_int8(
          Map::kConv2 + in_fragments(i, lane),
          convolutions.conv2_weight[static_cast<size_t>(((filter * 6 + channel) * 5 + row) * 5 + s)]);
    }
    for (int high = 0; high < 2; ++high) {
      const auto filter = static_cast<size_t>(g + high * 8);
      packer.put_int32(Map::kConv2Bias + lane * kFragmentBytes + high * 8,
                       kInt8Zero + convolutions.conv2_bias[filter]);
      const auto scale = static_cast<double>(convolutions.conv2_scale[filter]);
      const int at = Map::kConv2Scale + lane * kFragmentBytes + high * 4;
      packer.put_fp32(at, scale);
      packer.put_fp32(at + 8, -kZero * scale);
    }
  }
}

}  // namespace

std::vector<unsigned char> pack_mma_fp16(const Lenet5Parameters& p, ElementType input) {
  MmaPacker packer = packed_beginning<Fp16>(p, input);
  pack_fp16_conv2(p, packer);
  pack_fp16_fc_weights(p, packer);
  return std::move(packer).bytes();
}

std::vector<unsigned char> pack_mma_int8(const Lenet5Parameters& p) {
  const QuantisedConvolutions convolutions = quantise_convolutions(p);
  MmaPacker packer(MmaInt8Map::kBytes);
  pack_int8_conv1(convolutions, packer);
  pack_int8_conv2(convolutions, packer);
  pack_fc_biases<MmaFp16Map>(p, packer);
  pack_fp16_fc_weights(p, packer);
  return std::move(packer).bytes();
}

std::vector<unsigned char> pack_mma_tf32(const Lenet5Parameters& p, ElementType input) {
  using Map = MmaTf32Map;
  MmaPacker packer = packed_beginning<Tf32>(p, input);
  pack_tf32_conv2(p, packer);
  pack_tf32_fc({p.fc1_weight, Map::kFc1Tiles, Map::kFc1Steps, order_of_tf32_h2}, Map::kFc1, packer);
  pack_tf32_fc({p.fc2_weight, Map::kFc2Tiles, Map::kFc2Steps, order_of_pieces}, Map::kFc2, packer);
  pack_tf32_fc({p.fc3_weight, 1, Map::kFc3Steps, order_of_pieces}, Map::kFc3, packer);
  return std::move(packer).bytes();
}

}  // namespace lenslet::fused_lenet5
