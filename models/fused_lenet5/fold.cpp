#include "models/fused_lenet5/fold.h"

#include <charconv>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/mnist.h"

namespace lenslet {
namespace {

// x / 255 lies in 0..1, and so does its mean; beyond these deviations fp16 has no digits left for the folded weights.
constexpr float kMaxMean = 1, kMinStd = 1e-3f, kMaxStd = 10;
constexpr const char* kOfPixels = " (of pixels / 255)";

}  // namespace

void check_foldable(const Normalisation& normalisation) {
  const float mean = normalisation.mean(), deviation = normalisation.std();
  if (mean >= 0 && mean <= kMaxMean && deviation >= kMinStd && deviation <= kMaxStd) return;
  throw UsageError(concat("LeNet-5 takes a mean of pixels / 255 from 0 to ", kMaxMean,
                          " and a standard deviation from ", kMinStd, " to ", kMaxStd, ", found ", mean,
                          " and ", deviation));
}

float metadata_number(const std::pair<const std::string, std::string>& metadata, float min_value,
                      float max_value, const std::string& origin, const char* note) {
  const std::string& text = metadata.second;
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= min_value && value <= max_value)) {
    throw DataError(concat(origin, ": its metadata have ", metadata.first, " \"", printable_excerpt(text),
                           "\", expected a decimal number from ", min_value, " to ", max_value, note));
  }
  return value;
}

Normalisation lenet5_normalisation(const Safetensors& weights, const std::string& origin) {
  return metadata_normalisation(weights.metadata, {kMnistMean, kMnistStd}, origin);
}

Normalisation metadata_normalisation(const std::map<std::string, std::string>& metadata,
                                     const Normalisation& fallback, const std::string& origin) {
  const auto mean = metadata.find("mean"), deviation = metadata.find("std");
  const auto none = metadata.end();
  if (mean == none && deviation == none) return fallback;
  if (mean == none || deviation == none) {
    throw DataError(concat(origin, ": its metadata have ", mean == none ? "std" : "mean", " without ",
                           mean == none ? "mean" : "std", ", expected both or neither"));
  }
  return {metadata_number(*mean, 0, kMaxMean, origin, kOfPixels),
          metadata_number(*deviation, kMinStd, kMaxStd, origin, kOfPixels)};
}

FoldedConv1 fold_normalisation(const Lenet5Parameters& parameters) {
  // In fp32, as Normalisation has them.
  const double mean = parameters.normalisation.mean(), deviation = parameters.normalisation.std();
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
