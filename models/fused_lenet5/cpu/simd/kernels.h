// Internal: the whole of LeNet-5 for a few images on one thread, compiled for each instruction set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/tensor/tensor.h"
#include "models/fused_lenet5/network_backend.h"

namespace lenslet {

/// The parameters in the order in which the kernels for one vector width read them.
struct SimdLenet5Parameters {
  /// A fully connected layer in panels of 2 * lanes outputs, the last padded with zeros.
  struct Dense {
    Tensor weight;  // [panels, inputs, 2 * lanes]
    Tensor bias;    // [panels, 2 * lanes]
  };

  /// For vectors of `lanes` floats. Of pixels, packed or not, the normalisation is folded into conv1.
  SimdLenet5Parameters(const Lenet5Parameters& parameters, ElementType input, int lanes);

  Tensor conv1_weight;  // G w of each row (winograd.h): [8 points, 5 rows, 6]
  Tensor conv1_bias;    // [6]
  Tensor conv2_weight;  // the same: [8 points, 6 channels, 5 rows, 16]
  Tensor conv2_bias;    // [16]
  Dense fc1;            // its inputs in the order [4 * 4][16]: channels last, as conv2 leaves them
  Dense fc2;
  Dense fc3;
};

struct SimdKernels {
  static constexpr int kGroup = 12;  // images that share one pass over the fully connected layers' weights
  /// Logits [count, 10] of images [count, 784], count <= kGroup. The bits of an image's logits depend only on the image
  /// and the parameters, since every sum has one fixed order.
  template <typename Pixel>
  using Run = void (*)(const SimdLenet5Parameters& parameters, const Pixel* images, int count, float* logits);

  const char* isa;  // "AVX-512", "AVX2" or "baseline"
  int lanes;        // floats in one vector
  Run<float> run_fp32;
  Run<uint8_t> run_uint8;
};

/// All that this processor supports, best first. Every processor supports "baseline".
const std::vector<const SimdKernels*>& all_simd_kernels();

/// The operator with the kernels of one instruction set; the backend itself takes the best.
std::unique_ptr<Operator> make_simd_operator(const Lenet5Parameters& parameters,
                                             const OperatorRequest& request, const SimdKernels& kernels);

}  // namespace lenslet
