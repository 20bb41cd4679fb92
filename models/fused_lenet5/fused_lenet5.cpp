#include "models/fused_lenet5/fused_lenet5.h"

#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "models/fused_lenet5/fold.h"
#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/unpacking.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"

namespace lenslet {

namespace {

constexpr double kMultiplyAdds = 281640;  // per image: 86400 + 153600 + 30720 + 10080 + 840
constexpr double kParameters = 44426;

const NetworkBackend& open(const BackendEntry& backend) {
  return static_cast<const BackendEntryOf<NetworkBackend>&>(backend).open();
}

// The request that the backend gets: of bytes if the pixels are unpacked before it.
OperatorRequest inner(const NetworkBackend& backend, const OperatorRequest& request) {
  OperatorRequest of_backend = request;
  if (request.input_type == ElementType::kUint4 && !backend.reads_packed())
    of_backend.input_type = ElementType::kUint8;
  return of_backend;
}

Tensor clone(const Safetensors& weights, const char* name) {
  const Tensor& source = weights.tensors.at(name);
  Tensor copy(source.shape());
  std::memcpy(copy.data(), source.data(), source.shape().bytes());
  return copy;
}

class FusedLenet5 : public Layer {
 public:
  explicit FusedLenet5(const Safetensors& weights) : parameters_(lenet5_parameters(weights)) {}

  std::string_view type() const override { return "network"; }
  std::string describe() const override { return "28x28 -> 10, all layers at once"; }
  bool uses_math() const override { return true; }
  bool converts_ends() const override { return true; }
  std::vector<ElementType> output_types() const override { return {ElementType::kFp32, kPrediction}; }

  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    if (inputs.size() != 1 || inputs[0].rank() != 4 || inputs[0] != Shape{inputs[0][0], 1, 28, 28})
      throw DataError(concat("LeNet-5 expected one input [N, 1, 28, 28], found ",
                             inputs.empty() ? "none" : inputs[0].to_string()));
    return {inputs[0][0], kLenet5Classes};
  }

  Work work(const std::vector<Shape>& inputs) const override {
    const Shape output = infer_shape(inputs);
    return {2 * kMultiplyAdds * static_cast<double>(output[0]), static_cast<double>(inputs[0].bytes()) +
                                                                    static_cast<double>(output.bytes()) +
                                                                    kParameters * sizeof(float)};
  }

  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override {
    return network_table().entry_pointers(kind);
  }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override {
    if (!request.fused.empty()) return Support::no("LeNet-5 has no following layer to fuse");
    const NetworkBackend& opened = open(backend);
    return opened.supports(inner(opened, request));
  }
  bool do_suits(const BackendEntry& backend, const OperatorRequest& request) const override {
    const NetworkBackend& opened = open(backend);
    return opened.suits(inner(opened, request));
  }
  Determinism do_determinism(const BackendEntry& backend, const OperatorRequest& request) const override {
    const NetworkBackend& opened = open(backend);
    return opened.determinism(inner(opened, request));
  }
  double do_output_bound(const BackendEntry& backend, const OperatorRequest& request) const override {
    const NetworkBackend& opened = open(backend);
    return opened.output_bound(parameters_, inner(opened, request));
  }
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override {
    const NetworkBackend& opened = open(backend);
    const OperatorRequest of_backend = inner(opened, request);
    std::unique_ptr<Operator> network = opened.prepare(parameters_, of_backend, stream);
    if (of_backend.input_type == request.input_type) return network;
    return std::make_unique<UnpackingOperator>(std::move(network), request);
  }

  Lenet5Parameters parameters_;
};

}  // namespace

Lenet5Parameters lenet5_parameters(const Safetensors& weights) {
  return {clone(weights, "conv1.weight"),
          clone(weights, "conv1.bias"),
          clone(weights, "conv2.weight"),
          clone(weights, "conv2.bias"),
          clone(weights, "fc1.weight"),
          clone(weights, "fc1.bias"),
          clone(weights, "fc2.weight"),
          clone(weights, "fc2.bias"),
          clone(weights, "fc3.weight"),
          clone(weights, "fc3.bias"),
          lenet5_normalisation(weights, "the weights")};
}

std::unique_ptr<Layer> make_fused_lenet5(const Safetensors& weights) {
  return std::make_unique<FusedLenet5>(weights);
}

}  // namespace lenslet
