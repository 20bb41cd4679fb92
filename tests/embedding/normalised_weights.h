// The built-in weights, rewritten for another normalisation of the pixels: the answers are equal if the file's mean and
// std are obeyed.
#pragma once

#include <cstring>
#include <string>

#include "models/lenet5.h"
#include "tests/support/files.h"

namespace lenslet::test {

/// Writes a file with that metadata (members of an object, as JSON), and with conv1 changed to accept pixels normalised
/// by `normalisation`. Returns its path.
inline std::string write_weights(const std::string& metadata, const Normalisation& normalisation) {
  const Safetensors weights = builtin_lenet5_weights();
  std::string header = "{\"__metadata__\":{" + metadata + "}", data;
  for (const auto& [name, tensor] : weights.tensors) {
    std::string shape;
    for (int i = 0; i < tensor.shape().rank(); ++i)
      shape += (i ? "," : "") + std::to_string(tensor.shape()[i]);
    const size_t count = static_cast<size_t>(tensor.shape().num_elements());
    std::vector<float> values(tensor.data(), tensor.data() + count);
    // x1 = (x2 std2 + mean2 - mean1) / std1, in conv1, which has no padding.
    const double scale = normalisation.std() / double{kMnistStd};
    const double shift = (normalisation.mean() - double{kMnistMean}) / double{kMnistStd};
    for (size_t i = 0; i < count; ++i) {
      if (name == "conv1.weight") values[i] = static_cast<float>(values[i] * scale);
      if (name != "conv1.bias") continue;
      double sum = 0;
      for (size_t tap = 0; tap < 25; ++tap) sum += weights.tensors.at("conv1.weight").data()[i * 25 + tap];
      values[i] = static_cast<float>(values[i] + shift * sum);
    }
    header += ",\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + count * sizeof(float)) + "]}";
    data.append(reinterpret_cast<const char*>(values.data()), count * sizeof(float));
  }
  header += "}";
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);  // tests run on little-endian machines
  return temporary_file("normalised.safetensors", bytes + header + data);
}

/// The metadata with mean and std.
inline std::string metadata_of(const std::string& mean, const std::string& std) {
  return "\"model\":\"lenet5\",\"mean\":\"" + mean + "\",\"std\":\"" + std + "\"";
}

struct StatedNormalisation {
  const char *mean, *std;
  Normalisation normalisation;
};

/// A file that states it, by which the answers are those of the built-in weights.
inline std::string write_weights(const StatedNormalisation& stated) {
  return write_weights(metadata_of(stated.mean, stated.std), stated.normalisation);
}

inline std::vector<float> normalised(const std::vector<uint8_t>& pixels, const Normalisation& by) {
  std::vector<float> values;
  values.reserve(pixels.size());
  for (const uint8_t pixel : pixels)
    values.push_back((static_cast<float>(pixel) / 255.0f - by.mean()) / by.std());
  return values;
}

inline std::vector<StatedNormalisation> stated_normalisations() {
  return {{"0", "1", {0, 1}}, {"0.5", "5e-1", {0.5f, 0.5f}}, {"0.0", "0.00392156862745098", {0, 1 / 255.0f}}};
}

}  // namespace lenslet::test
