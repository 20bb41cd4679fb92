// Internal: one variant that computes the whole of LeNet-5 at once.
//
// A new variant is one file in gpu/ or cpu/ that defines its getter, one row in fused_lenet5.cpp and one in
// CMakeLists.txt; tests, `lenslet bench`, `lenslet tune` and `lenslet backends` iterate the rows.
#pragma once

#include <memory>

#include "framework/graph/fused_model.h"
#include "framework/io/safetensors.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/tensor.h"
#include "models/prediction.h"

namespace lenslet {

/// The trained parameters on the host, fp32, in PyTorch's shapes.
struct Lenet5Parameters {
  Tensor conv1_weight;          // [6, 1, 5, 5]
  Tensor conv1_bias;            // [6]
  Tensor conv2_weight;          // [16, 6, 5, 5]
  Tensor conv2_bias;            // [16]
  Tensor fc1_weight;            // [120, 256], the 256 in C, H, W order: 16 x 4 x 4
  Tensor fc1_bias;              // [120]
  Tensor fc2_weight;            // [84, 120]
  Tensor fc2_bias;              // [84]
  Tensor fc3_weight;            // [10, 84]
  Tensor fc3_bias;              // [10]
  Normalisation normalisation;  // of the pixels they were trained on
};

/// Copies of the tensors of a complete LeNet-5, with lenet5_normalisation().
Lenet5Parameters lenet5_parameters(const Safetensors& weights);

class FusedLenet5Variant {
 public:
  virtual ~FusedLenet5Variant() = default;
  /// The value of --backend; the name of its file.
  virtual const char* name() const = 0;
  virtual DeviceKind device_kind() const = 0;
  /// Yes, or no with the reason. Depends only on the request: cheap, works without the device.
  virtual Support supports(const FusedRequest& request) const = 0;
  /// Whether `auto` takes it, if it is supported, before the variants of lower rank.
  virtual bool suits(const FusedRequest& /*request*/) const { return true; }
  /// Absolute error bound of a logit for the 8-bit images of MNIST and these parameters, derived in the file. It is
  /// zero for zero weights.
  virtual double logit_bound(const Lenet5Parameters& parameters, const FusedRequest& request) const = 0;
  /// The promise for its output.
  virtual Determinism determinism(const FusedRequest& /*request*/) const { return Determinism::kPosition; }
  /// Packs and uploads the parameters; input, output and run() as in FusedModel::prepare().
  virtual std::unique_ptr<Operator> prepare(const Lenet5Parameters& parameters, const FusedRequest& request,
                                            Stream& stream) const = 0;
};

}  // namespace lenslet
