#include "models/fused_lenet5/gpu/cluster/parameters.h"

#include "framework/base/error.h"
#include "models/fused_lenet5/gpu/weights.h"

namespace lenslet::cluster_lenet5 {
namespace {

template <class T>
class Packer {
 public:
  Packer(const Lenet5Parameters& parameters, MathMode math)
      : p_(parameters), math_(math), packed_(static_cast<size_t>(T::kPackedFloats), 0.0f) {}

  std::vector<float> pack() && {
    pack_conv2();
    for (int block = 0; block < T::kBlocks; ++block) pack_fc1(block);
    pack_fc2();
    pack_fc3();
    put_all(T::kBias2At, p_.conv2_bias);
    put_all(T::kTailAt + T::kBiasF1InTail, p_.fc1_bias);
    put_all(T::kTailAt + T::kBiasF2InTail, p_.fc2_bias);
    put_all(T::kTailAt + T::kBiasF3InTail, p_.fc3_bias);
    return std::move(packed_);
  }

 private:
  float& at(int place) { return packed_.at(static_cast<size_t>(place)); }
  void put_all(int place, const Tensor& values) {
    for (int64_t i = 0; i < values.shape().num_elements(); ++i)
      at(place + static_cast<int>(i)) = values.data()[i];
  }

  // Lane 8 * o + c has input map c of output map o; maps 6 and 7 are zero.
  void pack_conv2() {
    for (int share = 0; share < T::kConv2Shares; ++share) {
      for (int k = 0; k < T::kConv2Maps; ++k) {
        const int base = T::kConv2At + (share * T::kConv2Maps + k) * T::kConv2Stride;
        for (int lane = 0; lane < 32; ++lane) {
          const int in = lane % 8, out = (share * 4 + lane / 8) * T::kConv2Maps + k;
          if (in >= kMaps1) continue;
          for (int tap = 0; tap < kTaps; ++tap) {
            const int group = tap / 4;
            const int place = group < kTapGroups ? group * kLaneGroups + 4 * lane + tap % 4
                                                 : kTapGroups * kLaneGroups + lane;
            at(base + place) = fused_lenet5::rounded_weight(
                p_.conv2_weight.data()[(out * kMaps1 + in) * kTaps + tap], math_);
          }
        }
      }
    }
  }

  // h2 in a block is [positions][16 maps]; fc1's weights expect [16 maps][4][4].
  void pack_fc1(int block) {
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int i = 0; i < T::kFc1Outputs; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
          const int group = lane % T::kFc1Groups;
          const int out = (warp * (32 / T::kFc1Groups) + lane / T::kFc1Groups) * T::kFc1Outputs + i;
          if (out >= kF1) continue;
          const int position = block * T::kPositions + group / 4;
          for (int e = 0; e < 4; ++e) {
            const int input = (group % 4 * 4 + e) * kLenet5Side2 * kLenet5Side2 +
                              position_row(position) * kLenet5Side2 + position_column(position);
            at(T::kFc1At + block * T::kFc1Share + (warp * T::kFc1Outputs + i) * kLaneGroups + 4 * lane + e) =
                fused_lenet5::rounded_weight(p_.fc1_weight.data()[out * kLenet5Inputs1 + input], math_);
          }
        }
      }
    }
  }

  // A lane's eight inputs are groups lane % 16 and 16 + lane % 16 of four.
  void pack_fc2() {
    for (int warp = 0; warp < T::kFc2Warps; ++warp) {
      for (int i = 0; i < 2 * T::kFc2Outputs; ++i) {
        for (int lane = 0; lane < 32; ++lane) {
          const int out = (2 * warp + lane / 16) * T::kFc2Outputs + i / 2;
          for (int e = 0; e < 4; ++e) {
            const int input = 4 * (lane % 16 + i % 2 * 16) + e;
            if (input >= kF1) continue;
            at(T::kTailAt + T::kFc2InTail + (warp * 2 * T::kFc2Outputs + i) * kLaneGroups + 4 * lane + e) =
                fused_lenet5::rounded_weight(p_.fc2_weight.data()[out * kF1 + input], math_);
          }
        }
      }
    }
  }

  // Lane 10 * part + o has every third group of four inputs of class o.
  void pack_fc3() {
    for (int i = 0; i < 7; ++i) {
      for (int lane = 0; lane < 3 * kLenet5Classes; ++lane) {
        for (int e = 0; e < 4; ++e) {
          const int input = 4 * (lane / kLenet5Classes + 3 * i) + e;
          at(T::kTailAt + T::kFc3InTail + i * kLaneGroups + 4 * lane + e) =
              fused_lenet5::rounded_weight(p_.fc3_weight.data()[lane % kLenet5Classes * kF2 + input], math_);
        }
      }
    }
  }

  const Lenet5Parameters& p_;
  MathMode math_;
  std::vector<float> packed_;
};

}  // namespace

Conv1Parameters pack_conv1(const Lenet5Parameters& parameters, ElementType input, MathMode math) {
  const FoldedConv1 conv1 = fused_lenet5::conv1_for(parameters, input);
  Conv1Parameters packed{};
  for (size_t k = 0; k < conv1.bias.size(); ++k) {
    for (size_t tap = 0; tap < kTaps; ++tap)
      packed.weight[k * kFilterStride + tap] =
          fused_lenet5::rounded_weight(conv1.weight[k * kTaps + tap], math);
    packed.bias[k] = static_cast<float>(conv1.bias[k]);
  }
  return packed;
}

std::vector<float> pack_parameters(const Lenet5Parameters& parameters, int blocks, MathMode math) {
  switch (blocks) {
    case 2:
      return Packer<Tile<2>>(parameters, math).pack();
    case 4:
      return Packer<Tile<4>>(parameters, math).pack();
    case 8:
      return Packer<Tile<8>>(parameters, math).pack();
    case 16:
      return Packer<Tile<16>>(parameters, math).pack();
    default:
      throw UsageError(concat("a cluster has 2, 4, 8 or 16 blocks, found ", blocks));
  }
}

}  // namespace lenslet::cluster_lenet5
