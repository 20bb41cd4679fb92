// The backend `simd`: runs the kernels of simd/kernels.h over a batch, with the images split among threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "framework/tensor/pixels.h"
#include "models/fused_lenet5/cpu/simd/kernels.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/winograd.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Pixels;
constexpr int kClasses = kLenet5Classes;
// With fewer images, waking a thread would cost more than it saves. Chosen by hand.
constexpr int64_t kImagesPerThread = 8;

/// 1 / sum exp(logit - largest) is the softmax of the largest. A NaN among the logits makes it NaN.
Prediction predict(const float* logits) {
  Prediction prediction;
  for (int32_t k = 1; k < kClasses; ++k) {
    if (logits[k] > logits[prediction.label]) prediction.label = k;
  }
  float sum = 0;
  for (int k = 0; k < kClasses; ++k) sum += std::exp(logits[k] - logits[prediction.label]);
  prediction.probability = 1 / sum;
  return prediction;
}

class SimdOperator : public Operator {
 public:
  SimdOperator(const Lenet5Parameters& parameters, const OperatorRequest& request, const SimdKernels& kernels)
      : parameters_(parameters, request.input_type, kernels.lanes), request_(request), kernels_(kernels) {}

  std::string detail() const override { return kernels_.isa; }
  double products_saved() const override { return fused_lenet5::network_products_saved(); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& /*context*/) override {
    if (request_.input_type == ElementType::kUint8)
      return run_batch(inputs[0].as<uint8_t>(), kernels_.run_uint8, output);
    if (request_.input_type == ElementType::kUint4)
      return run_batch(inputs[0].as<PixelPair>(), kernels_.run_uint8, output);
    run_batch(inputs[0].data, kernels_.run_fp32, output);
  }

 private:
  template <typename Given, typename Pixel>
  void run_batch(const Given* images, SimdKernels::Run<Pixel> kernel, const TensorView& output) const {
    LoopShares shares;
    shares.items = request_.batch();
    shares.slots = std::min<int64_t>(num_threads(), ceil_div(request_.batch(), kImagesPerThread));
    shares.grain = SimdKernels::kGroup;
    shared_loop(shares, [&](int64_t /*slot*/, int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += SimdKernels::kGroup) {
        const int count = static_cast<int>(std::min<int64_t>(SimdKernels::kGroup, end - first));
        [[maybe_unused]] uint8_t unpacked[SimdKernels::kGroup * kPixels];  // fits the first cache
        const Pixel* group;
        if constexpr (std::is_same_v<Given, PixelPair>) {
          unpack_pixels(images + first * kPixels / 2, count * kPixels, unpacked);
          group = unpacked;
        } else {
          group = images + first * kPixels;
        }
        if (request_.output_type == kPrediction) {
          float logits[SimdKernels::kGroup * kClasses];
          kernel(parameters_, group, count, logits);
          for (int i = 0; i < count; ++i) output.as<Prediction>()[first + i] = predict(logits + i * kClasses);
        } else {
          kernel(parameters_, group, count, output.data + first * kClasses);
        }
      }
    });
  }

  SimdLenet5Parameters parameters_;
  OperatorRequest request_;
  const SimdKernels& kernels_;
};

class SimdBackend : public NetworkBackend {
 public:
  Support supports(const OperatorRequest& request) const override {
    if (request.math == MathMode::kFp32) return Support::yes();
    return Support::no(
        concat("simd computes in fp32 only, not in ", to_string(request.math), ": choose math fp32"));
  }

  bool reads_packed() const override { return true; }

  double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& /*request*/) const override {
    // Without fused multiply-add every product is rounded, which is the same as rounding its weight. A transformed
    // filter has been rounded once, a transformed input four times.
    constexpr double kUnit = fused_lenet5::WinogradF45::kDeviation * kUnitFp32;
    const LayerRounding convolution{2 * kUnit, 4 * kUnit, kUnit}, direct{kUnitFp32, 0, kUnitFp32};
    return lenet5_logit_bound(parameters, {convolution, convolution, direct, direct, direct});
  }

 private:
  std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                          Stream& /*stream*/) const override {
    return make_simd_operator(parameters, request, *all_simd_kernels().front());
  }
};

}  // namespace

std::unique_ptr<Operator> make_simd_operator(const Lenet5Parameters& parameters,
                                             const OperatorRequest& request, const SimdKernels& kernels) {
  return std::make_unique<SimdOperator>(parameters, request, kernels);
}

LENSLET_BACKEND(network, cpu_simd, SimdBackend())

}  // namespace lenslet
