#include "models/fused_lenet5/fused_lenet5.h"

#include <cstring>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/fused_lenet5/fold.h"
#include "models/fused_lenet5/variant.h"

namespace lenslet {

namespace fused_lenet5 {  // one getter per variant, in the file of that name
const FusedLenet5Variant& cpu_simd();
#ifdef LENSLET_HAS_CUDA
const FusedLenet5Variant& gpu_mma();
const FusedLenet5Variant& gpu_fp32();
const FusedLenet5Variant& gpu_small();
#endif
}  // namespace fused_lenet5

namespace {

constexpr double kMultiplyAdds = 281640;  // per image: 86400 + 153600 + 30720 + 10080 + 840
constexpr double kParameters = 44426;
constexpr double kPixels = 28 * 28, kClasses = 10;

// In rank order for each kind of device: `auto` takes the first that supports a request and suits it.
const std::vector<const FusedLenet5Variant*>& all_variants() {
  static const std::vector<const FusedLenet5Variant*> variants = {
      &fused_lenet5::cpu_simd(),
#ifdef LENSLET_HAS_CUDA
      &fused_lenet5::gpu_small(),
      &fused_lenet5::gpu_mma(),
      &fused_lenet5::gpu_fp32(),
#endif
  };
  return variants;
}

Tensor clone(const Safetensors& weights, const char* name) {
  const Tensor& source = weights.tensors.at(name);
  Tensor copy(source.shape());
  std::memcpy(copy.data(), source.data(), source.shape().bytes());
  return copy;
}

class FusedLenet5 : public FusedModel {
 public:
  explicit FusedLenet5(const Safetensors& weights) : parameters_(lenet5_parameters(weights)) {}

  Work work(const FusedRequest& request) const override {
    const double images = static_cast<double>(request.batch);
    const double output = request.output == ElementType::kClass ? 1 : kClasses;
    return {2 * kMultiplyAdds * images,
            images * (kPixels * static_cast<double>(element_bytes(request.input)) +
                      output * static_cast<double>(element_bytes(request.output))) +
                kParameters * sizeof(float)};
  }

  std::vector<std::string> variants(DeviceKind kind) const override {
    std::vector<std::string> names;
    for (const FusedLenet5Variant* variant : all_variants()) {
      if (variant->device_kind() == kind) names.push_back(variant->name());
    }
    return names;
  }

  Support supports(const std::string& name, const FusedRequest& request) const override {
    const FusedLenet5Variant* const variant = find(name, request.device.kind);
    return variant ? variant->supports(request) : Support::no(unknown(name, request.device.kind));
  }

  std::string preferred(const FusedRequest& request) const override {
    for (const FusedLenet5Variant* variant : all_variants()) {
      const bool legal = variant->device_kind() == request.device.kind && variant->supports(request);
      if (legal && variant->suits(request)) return variant->name();
    }
    return FusedModel::preferred(request);
  }

  double output_bound(const std::string& name, const FusedRequest& request) const override {
    const FusedLenet5Variant* const variant = find(name, request.device.kind);
    if (!variant) throw UnavailableError(unknown(name, request.device.kind));
    return variant->logit_bound(parameters_, request);
  }

  Determinism determinism(const std::string& name, const FusedRequest& request) const override {
    const FusedLenet5Variant* const variant = find(name, request.device.kind);
    if (!variant) throw UnavailableError(unknown(name, request.device.kind));
    return variant->determinism(request);
  }

  std::unique_ptr<Operator> prepare(const std::string& name, const FusedRequest& request,
                                    Stream& stream) const override {
    const Support support = supports(name, request);
    if (!support) throw UnavailableError(concat("fused LeNet-5, variant ", name, ": ", support.reason()));
    return find(name, request.device.kind)->prepare(parameters_, request, stream);
  }

 private:
  static const FusedLenet5Variant* find(const std::string& name, DeviceKind kind) {
    for (const FusedLenet5Variant* variant : all_variants()) {
      if (variant->device_kind() == kind && variant->name() == name) return variant;
    }
    return nullptr;
  }

  std::string unknown(const std::string& name, DeviceKind kind) const {
    return concat("no variant '", name, "'; there are: ", comma_list(variants(kind)));
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

std::shared_ptr<const FusedModel> make_fused_lenet5(const Safetensors& weights) {
  return std::make_shared<FusedLenet5>(weights);
}

}  // namespace lenslet
