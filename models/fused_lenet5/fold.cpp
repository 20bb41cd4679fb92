#include "models/fused_lenet5/fold.h"

#include "models/lenet5.h"

namespace lenslet {

FoldedConv1 fold_normalization(const Lenet5Parameters& parameters) {
  // The constants as normalize_mnist uses them: rounded to fp32.
  const double mean = kMnistMean, deviation = kMnistStd;
  FoldedConv1 folded{};
  for (size_t k = 0; k < folded.bias.size(); ++k) {
    double sum = 0;
    for (size_t tap = 0; tap < 25; ++tap) {
      const double weight = parameters.conv1_weight.data()[k * 25 + tap];
      folded.weight[k * 25 + tap] = weight / (255 * deviation);
      sum += weight;
    }
    folded.bias[k] = parameters.conv1_bias.data()[k] - mean / deviation * sum;
  }
  return folded;
}

}  // namespace lenslet
