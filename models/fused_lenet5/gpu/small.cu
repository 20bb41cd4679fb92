// The whole-network LeNet-5 for a few images, with the lowest latency:
//   x [N, 28, 28] -> h1 = pool(relu(conv1 x)) [N, 6, 12, 12] -> h2 = pool(relu(conv2 h1)) [N, 16, 4, 4]
//     -> relu(fc1 h2) [N, 120] -> relu(fc2) [N, 84] -> fc3 [N, 10]
//
// One launch; a cluster of up to 16 blocks computes one image. Blocks split conv1 and conv2 by position; both
// neighbours compute the halo instead of exchanging it. They split fc1 by input, so only its partial sums pass between
// blocks. These are stored directly into the leader's shared memory (distributed shared memory, NVIDIA Hopper tuning
// guide), and the leader computes the rest. Splitting the inputs of a sum is the "split-K" of matrix products (NVIDIA
// CUTLASS, "efficient GEMM in CUDA"). A block loads its weights while it waits for the image, or for the previous
// launch (programmatic dependent launch).
//
// fp32: products and sums in fp32. fp16 and tf32: weights are rounded to it and multiplied in fp32. At these batches
// neither bytes nor products limit the time, so activations need not be rounded.
#include <algorithm>

#include "framework/base/counted.h"
#include "framework/device/cluster_launch.cuh"
#include "framework/device/cuda_check.h"
#include "framework/tensor/host_values.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/gpu/cluster/choices.h"
#include "models/fused_lenet5/gpu/cluster/parameters.h"
#include "models/fused_lenet5/gpu/small/kernel.cuh"

namespace lenslet {
namespace fused_lenet5 {
namespace {

using namespace cluster_lenet5;

using SmallFunction = void (*)(SmallArguments);

/// The kernel for one cluster size.
struct SmallChoice {
  int blocks, tail_bytes;
  SmallFunction kernel;
};

template <typename Pixel, int kBlocks>
SmallChoice choice() {
  using T = Tile<kBlocks>;
  return {kBlocks, T::kTailFloats * 4, &fused_lenet5_small_kernel<T, Pixel>};
}

template <typename Pixel>
std::vector<SmallChoice> all_choices() {
  return {choice<Pixel, 16>(), choice<Pixel, 8>(), choice<Pixel, 4>(), choice<Pixel, 2>()};
}

class SmallOperator : public Operator {
 public:
  SmallOperator(const Lenet5Parameters& parameters, const OperatorRequest& request, Stream& stream) {
    if (request.math != MathMode::kFp32) weights_ = concat(", ", to_string(request.math), " weights");
    arguments_.count = request.batch();
    arguments_.logits = request.output_type == ElementType::kFp32;
    arguments_.conv1 = pack_conv1(parameters, request.input_type, request.math);
    choose(request.input_type == ElementType::kUint8 ? all_choices<uint8_t>() : all_choices<float>());
    parameters_ = uploaded(pack_parameters(parameters, choice_.blocks, request.math), stream);
    arguments_.packed = parameters_.as<float>();
  }
  std::string detail() const override {
    return concat(counted(clusters_, "cluster"), " of ", choice_.blocks, " blocks, an image each", weights_);
  }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    SmallArguments arguments = arguments_;
    arguments.input = inputs[0].data;
    arguments.output = output.data;
    arguments.probabilities = context.pair_values;
    arguments.input_on_host = !inputs[0].device.is_cuda();
    launch_clusters("fused_lenet5_small_kernel", choice_.kernel, clusters_,
                    {choice_.blocks, kThreads, choice_.tail_bytes}, context.stream, arguments);
  }

 private:
  void choose(const std::vector<SmallChoice>& choices) {
    const auto of_size = [&](int blocks) -> const SmallChoice& {
      return *std::find_if(choices.begin(), choices.end(),
                           [blocks](const SmallChoice& choice) { return choice.blocks == blocks; });
    };
    const SmallLaunch launch = small_launch(arguments_.count, [&](int blocks) {
      const SmallChoice& candidate = of_size(blocks);
      return clusters_at_once(reinterpret_cast<const void*>(candidate.kernel),
                              {candidate.blocks, kThreads, candidate.tail_bytes});
    });
    if (launch.clusters == 0)
      throw UnavailableError(
          "whole-network backend small: no cluster of 2 to 16 blocks fits on this GPU: use another backend");
    choice_ = of_size(launch.blocks);
    clusters_ = launch.clusters;
  }

  SmallArguments arguments_{};
  SmallChoice choice_{};
  int clusters_ = 0;
  std::string weights_;  // how they are rounded, for detail()
  Buffer parameters_;
};

class Small : public NetworkBackend {
 public:
  Support supports(const OperatorRequest& request) const override {
    if (request.math == MathMode::kInt8)
      return Support::no("small computes in fp32, or with tf32 or fp16 weights, not in int8: use mma");
    return cluster_support("small", find_gpu(request.device));
  }
  bool suits(const OperatorRequest& request) const override {
    return small_suits(request.batch(), find_gpu(request.device));
  }
  // The number of blocks per image, and so the split of its sums, depends on the batch size.
  Determinism determinism(const OperatorRequest& /*request*/) const override { return Determinism::kBitwise; }
  double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& request) const override {
    const double unit = request.math == MathMode::kFp16   ? kUnitFp16
                        : request.math == MathMode::kTf32 ? kUnitTf32
                                                          : kUnitFp32;
    const LayerRounding layer{unit, 0, kUnitFp32};
    return lenet5_logit_bound(parameters, {layer, layer, layer, layer, layer});
  }

 private:
  std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                          Stream& stream) const override {
    return std::make_unique<SmallOperator>(parameters, request, stream);
  }
};

}  // namespace

}  // namespace fused_lenet5

LENSLET_BACKEND(network, gpu_small, fused_lenet5::Small())

}  // namespace lenslet
