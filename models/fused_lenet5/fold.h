// Internal: the normalisation of the pixels, read from a weights file and folded into conv1, so that a kernel reads
// bytes.
//
//   sum w[k, r, s] * ((x / 255 - mean) / std) + b[k]  =  sum w'[k, r, s] * x + b'[k]
//   w'[k, r, s] = w[k, r, s] / (255 * std)      b'[k] = b[k] - mean / std * sum w[k, r, s]
// Exact algebra, because conv1 has no padding: every output sees 25 pixels. x is 0..255.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "models/fused_lenet5/network_backend.h"

namespace lenslet {

/// conv1 on raw pixels. In fp64, for a packer to round each value once to the type it computes in.
struct FoldedConv1 {
  std::array<double, 150> weight;  // [6, 1, 5, 5]
  std::array<double, 6> bias;      // [6]
};

/// Throws UsageError for a mean outside 0..1 or a std outside 0.001..10.
void check_foldable(const Normalisation& normalisation);

/// The number in one entry of a weights file's metadata. Throws DataError unless it is a decimal number in that range;
/// `note` ends the message.
float metadata_number(const std::pair<const std::string, std::string>& metadata, float min_value,
                      float max_value, const std::string& origin, const char* note = "");

/// The metadata `mean` and `std` of a weights file (weights/FORMAT.md), else `fallback`. Throws DataError for one
/// without the other, an invalid decimal number, a mean outside 0..1, or a std outside 0.001..10.
Normalisation metadata_normalisation(const std::map<std::string, std::string>& metadata,
                                     const Normalisation& fallback, const std::string& origin);
/// metadata_normalisation() of LeNet-5's weights, with MNIST's as the fallback.
Normalisation lenet5_normalisation(const Safetensors& weights, const std::string& origin);

FoldedConv1 fold_normalisation(const Lenet5Parameters& parameters);

}  // namespace lenslet
