// Internal: NetworkBackend, one way to compute the whole of LeNet-5 at once on one kind of device.
#pragma once

#include <memory>

#include "framework/graph/backend_table.h"
#include "framework/graph/layer.h"
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

/// One way to compute LeNet-5 as a whole: which requests it supports, its error bound, and its prepared operators. One
/// object serves all threads.
class NetworkBackend {
 public:
  virtual ~NetworkBackend() = default;
  /// Yes, or no with the reason. Depends only on the request: cheap, works without the device.
  virtual Support supports(const OperatorRequest& request) const = 0;
  /// Whether `auto` takes it, if it is supported, before backends of later rows.
  virtual bool suits(const OperatorRequest& /*request*/) const { return true; }
  /// Absolute error bound of a logit for the 8-bit images of MNIST and these parameters, derived in the file. It is
  /// zero for zero weights.
  virtual double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& request) const = 0;
  /// The promise for its output.
  virtual Determinism determinism(const OperatorRequest& /*request*/) const { return Determinism::kPosition; }
  /// Whether it reads packed pixels (ElementType::kUint4) itself. Any other backend gets bytes, unpacked before it.
  virtual bool reads_packed() const { return false; }
  /// Packs and uploads the parameters. The operator's run() takes one input [N, 1, 28, 28] of the request's input type
  /// and an output of its output type, [N, 10] fp32 or [N] predictions. Both are on the device or in page-locked host
  /// memory that the device can address. A NaN in an image affects only that image's output. Throws UnavailableError
  /// with the reason if the request is not supported, MemoryError.
  std::unique_ptr<Operator> prepare(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                    Stream& stream) const {
    if (const Support support = supports(request); !support) throw UnavailableError(support.reason());
    return make_operator(parameters, request, stream);
  }

 private:
  /// prepare(), for a supported request.
  virtual std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters,
                                                  const OperatorRequest& request, Stream& stream) const = 0;
};

/// The rows of models/fused_lenet5/CMakeLists.txt.
const BackendTable<NetworkBackend>& network_table();

namespace network_backends {
using Interface = NetworkBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
