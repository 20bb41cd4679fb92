// The whole-network LeNet-5 for some hundred images, up to a few on each multiprocessor:
//   x [N, 28, 28] -> h1 = pool(relu(conv1 x)) [N, 6, 12, 12] -> h2 = pool(relu(conv2 h1)) [N, 16, 4, 4]
//     -> relu(fc1 h2) [N, 120] -> relu(fc2) [N, 84] -> fc3 [N, 10]
//
// One launch; a block computes its images from the pixels to the answer. The convolutions save products as in the
// backend `fp32` (winograd.h), whose threads have eight images' worth of work: with few images most
// multiprocessors would be idle there, and each warp would wait for its own instructions. Here 16 warps share up to
// ten images. The fully connected weights are copied to shared memory meanwhile (bulk copies; PTX ISA,
// "cp.async.bulk").
//
// fp32: operands, products and sums in fp32. tf32: weights are rounded to tf32 and multiplied in fp32; at these batch
// sizes tensor cores save no time.
#include <algorithm>

#include "framework/base/counted.h"
#include "framework/base/integer_math.h"
#include "framework/device/cluster_launch.cuh"
#include "framework/device/cuda_check.h"
#include "framework/tensor/host_values.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/gpu/medium/choices.h"
#include "models/fused_lenet5/gpu/medium/kernel.cuh"
#include "models/fused_lenet5/gpu/medium/parameters.h"
#include "models/prediction.h"

namespace lenslet {
namespace fused_lenet5 {
namespace {

using medium_lenet5::MediumArguments;
using MediumLayout = medium_lenet5::Layout;

using MediumFunction = void (*)(MediumArguments);

// One block: only for the early launch and the count of blocks at once.
constexpr ClusterShape kShape{1, MediumLayout::kThreads, MediumLayout::kSharedBytes};

template <int kMaxImages, typename Pixel>
MediumFunction kernel_for(ElementType output) {
  return output == kPrediction ? &medium_lenet5::fused_lenet5_medium_kernel<kMaxImages, Pixel, Prediction>
                               : &medium_lenet5::fused_lenet5_medium_kernel<kMaxImages, Pixel, float>;
}
template <int kMaxImages>
MediumFunction kernel_for(const OperatorRequest& request) {
  return request.input_type == ElementType::kUint8 ? kernel_for<kMaxImages, uint8_t>(request.output_type)
                                                   : kernel_for<kMaxImages, float>(request.output_type);
}

class MediumOperator : public Operator {
 public:
  MediumOperator(const Lenet5Parameters& parameters, const OperatorRequest& request, Stream& stream)
      : math_(request.math), kernel_(kernel_for<MediumLayout::kImages>(request)) {
    arguments_.count = request.batch();
    arguments_.constants = pack_winograd_constants(parameters, request.input_type, request.math);
    const int at_once = clusters_at_once(reinterpret_cast<const void*>(kernel_), kShape);
    if (at_once == 0) {
      throw UnavailableError(concat("medium: no block with ", MediumLayout::kSharedBytes,
                                    " bytes of shared memory fits on this GPU; use another backend"));
    }
    blocks_ = static_cast<int>(std::min<int64_t>(at_once, arguments_.count));
    if (ceil_div(arguments_.count, blocks_) <= MediumLayout::kFew) {
      kernel_ = kernel_for<MediumLayout::kFew>(request);
      (void)clusters_at_once(reinterpret_cast<const void*>(kernel_), kShape);  // prepares it
    }
    parameters_ = uploaded(medium_lenet5::pack_parameters(parameters, request.math), stream);
    arguments_.packed = parameters_.as<float>();
  }
  std::string detail() const override {
    // Some blocks have one image more than the others, and so other turns.
    const int images = std::max(MediumLayout::images_of_turn(ceil_div(arguments_.count, blocks_)),
                                MediumLayout::images_of_turn(arguments_.count / blocks_));
    return concat("Winograd F(4, 5) along rows, ", counted(blocks_, "block"), ", ", counted(images, "image"),
                  " at once", math_ == MathMode::kFp32 ? "" : concat(", ", to_string(math_), " weights"));
  }
  double products_saved() const override { return network_products_saved(); }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    MediumArguments arguments = arguments_;
    arguments.input = inputs[0].data;
    arguments.output = output.data;
    arguments.probabilities = context.pair_values;
    launch_clusters("fused_lenet5_medium_kernel", kernel_, blocks_, kShape, context.stream, arguments);
  }

 private:
  MathMode math_;
  MediumFunction kernel_;
  MediumArguments arguments_{};
  int blocks_ = 0;
  Buffer parameters_;
};

class Medium : public NetworkBackend {
 public:
  Support supports(const OperatorRequest& request) const override {
    if (request.math != MathMode::kFp32 && request.math != MathMode::kTf32) {
      return Support::no(concat("medium computes in fp32, or with tf32 weights, not in ",
                                to_string(request.math), ": use mma"));
    }
    return medium_support(find_gpu(request.device));
  }
  bool suits(const OperatorRequest& request) const override {
    return medium_suits(request.math, request.batch(), find_gpu(request.device));
  }
  // A transformed filter has been rounded once, a transformed input three times; in tf32 a weight once before.
  double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& request) const override {
    constexpr double kUnit = WinogradF45::kDeviation * kUnitFp32;
    const double weight = request.math == MathMode::kTf32 ? kUnitTf32 : 0;
    const LayerRounding convolution{weight + kUnit, 3 * kUnit, kUnit}, direct{weight, 0, kUnitFp32};
    return lenet5_logit_bound(parameters, {convolution, convolution, direct, direct, direct});
  }

 private:
  std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                          Stream& stream) const override {
    return std::make_unique<MediumOperator>(parameters, request, stream);
  }
};

}  // namespace

}  // namespace fused_lenet5

LENSLET_BACKEND(network, gpu_medium, fused_lenet5::Medium())

}  // namespace lenslet
