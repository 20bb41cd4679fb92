// The backend `fp32`, LeNet-5 with fp32 operands, products and sums, for large batches, in two kernels:
//   x [N, 28, 28] -> h1 = pool(relu(conv1 x)) [N, 6, 12, 12] -> h2 = pool(relu(conv2 h1)) [N, 16, 4, 4]   fp32/conv.cuh
//     -> relu(fc1 h2) [N, 120] -> relu(fc2) [N, 84] -> fc3 [N, 10]
//     fp32/linear.cuh
//
// The convolutions need 8 multiplications instead of 20 for 4 neighbouring outputs of a row of taps (winograd.h).
// h2 passes through device memory, 1 KB per image, because the fully connected layers use 128 images per block and the
// convolutions use eight. Batches are split into chunks, so that h2 needs at most 128 MB. docs/kernels/fused_lenet.md
// has the counts.
#include <algorithm>

#include "framework/base/integer_math.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/tensor/host_values.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/gpu/fp32/choices.h"
#include "models/fused_lenet5/gpu/fp32/conv.cuh"
#include "models/fused_lenet5/gpu/fp32/linear.cuh"
#include "models/prediction.h"

namespace lenslet {
namespace fused_lenet5 {
namespace {

constexpr int64_t kChunk = 131072;  // images; a multiple of Fp32Conv::kTile

template <typename Pixel, typename Output>
class Fp32Operator : public Operator {
 public:
  Fp32Operator(const Lenet5Parameters& parameters, const OperatorRequest& request, Stream& stream)
      : count_(request.batch()),
        gpu_(gpu_traits(request.device)),
        constants_(pack_winograd_constants(parameters, request.input_type)),
        conv2_(uploaded(pack_fp32_conv2(parameters), stream)),
        linear_(uploaded(pack_fp32_linear(parameters), stream)) {
    const auto conv = fused_lenet5_fp32_conv_kernel<Pixel>;
    allow_shared_bytes(reinterpret_cast<const void*>(conv), Fp32Conv::kSharedBytes);
    int resident = 0;
    LENSLET_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, conv, Fp32Conv::kThreads,
                                                                     Fp32Conv::kSharedBytes));
    max_blocks_ = static_cast<unsigned>(std::max(resident, 1) * gpu_.multiprocessors);
    allow_shared<8>();
    allow_shared<4>();
    allow_shared<2>();
    allow_shared<1>();
  }

  size_t workspace_bytes() const override {
    const int64_t images = round_up(std::min(count_, kChunk), Fp32Conv::kTile);
    return static_cast<size_t>(images) * 256 * sizeof(float);
  }
  std::string detail() const override {
    return concat("Winograd F(4, 5) along rows, ", linear_images(std::min(count_, kChunk)) * 16,
                  " images per block in the linear layers");
  }
  double products_saved() const override { return network_products_saved(); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const cudaStream_t stream = native(context.stream);
    auto* const h2 = static_cast<float*>(context.workspace);
    constexpr int kOutputs = std::is_same_v<Output, float> ? kClasses : 1;
    for (int64_t first = 0; first < count_; first += kChunk) {
      const int images = static_cast<int>(std::min(count_ - first, kChunk));
      const unsigned blocks = std::min(grid_blocks(images, Fp32Conv::kImages), max_blocks_);
      launch("fused_lenet5_fp32_conv_kernel", fused_lenet5_fp32_conv_kernel<Pixel>, blocks,
             Fp32Conv::kThreads, Fp32Conv::kSharedBytes, stream, constants_,
             inputs[0].as<Pixel>() + first * kPixels, images, conv2_.as<float>(), h2);
      float* const probabilities = context.pair_values ? context.pair_values + first : nullptr;
      Output* const target = probabilities ? reinterpret_cast<Output*>(output.as<int32_t>() + first)
                                           : output.as<Output>() + first * kOutputs;
      switch (linear_images(images)) {
        case 8:
          launch_linear<8>(h2, images, target, probabilities, stream);
          break;
        case 4:
          launch_linear<4>(h2, images, target, probabilities, stream);
          break;
        case 2:
          launch_linear<2>(h2, images, target, probabilities, stream);
          break;
        default:
          launch_linear<1>(h2, images, target, probabilities, stream);
      }
    }
  }

 private:
  int linear_images(int64_t images) const {
    return fp32_images_per_thread(images, gpu_, [](int each) {
      return static_cast<size_t>(each == 8   ? Fp32LinearTile<8>::kSharedBytes
                                 : each == 4 ? Fp32LinearTile<4>::kSharedBytes
                                             : Fp32LinearTile<2>::kSharedBytes);
    });
  }
  template <int kEach>
  void allow_shared() {
    if (Fp32LinearTile<kEach>::kSharedBytes > gpu_.shared_bytes_per_block_optin) return;
    const auto kernel = fused_lenet5_fp32_linear_kernel<kEach, Output>;
    allow_shared_bytes(reinterpret_cast<const void*>(kernel), Fp32LinearTile<kEach>::kSharedBytes);
  }
  template <int kEach>
  void launch_linear(const float* h2, int images, Output* output, float* probabilities,
                     cudaStream_t stream) const {
    using Tile = Fp32LinearTile<kEach>;
    launch("fused_lenet5_fp32_linear_kernel", fused_lenet5_fp32_linear_kernel<kEach, Output>,
           grid_blocks(images, Tile::kImages), Tile::kThreads, Tile::kSharedBytes, stream, h2, images,
           linear_.template as<float>(), output, probabilities);
  }

  int64_t count_;
  GpuTraits gpu_;
  WinogradConstants constants_;
  Buffer conv2_, linear_;
  unsigned max_blocks_ = 0;  // of the convolution kernel, all resident
};

class Fp32 : public NetworkBackend {
 public:
  Support supports(const OperatorRequest& request) const override {
    if (request.math != MathMode::kFp32) {
      return Support::no(
          concat("fp32 rounds no operand, unlike ", to_string(request.math), ": choose math fp32"));
    }
    const std::optional<GpuTraits> gpu = find_gpu(request.device);
    if (!gpu) return Support::yes();
    return needs_capability("fp32 copies to shared memory asynchronously: it needs", GpuLimits::kAsyncCopies,
                            gpu->compute_capability, "use the layered plan");
  }

  // A transformed filter has been rounded once, a transformed input three times.
  double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& /*request*/) const override {
    constexpr double kUnit = WinogradF45::kDeviation * kUnitFp32;
    const LayerRounding convolution{kUnit, 3 * kUnit, kUnit}, direct{0, 0, kUnitFp32};
    return lenet5_logit_bound(parameters, {convolution, convolution, direct, direct, direct});
  }

 private:
  std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                          Stream& stream) const override {
    return request.input_type == ElementType::kUint8 ? prepare_for<uint8_t>(parameters, request, stream)
                                                     : prepare_for<float>(parameters, request, stream);
  }
  template <typename Pixel>
  static std::unique_ptr<Operator> prepare_for(const Lenet5Parameters& parameters,
                                               const OperatorRequest& request, Stream& stream) {
    if (request.output_type == kPrediction)
      return std::make_unique<Fp32Operator<Pixel, Prediction>>(parameters, request, stream);
    return std::make_unique<Fp32Operator<Pixel, float>>(parameters, request, stream);
  }
};

}  // namespace

}  // namespace fused_lenet5

LENSLET_BACKEND(network, gpu_fp32, fused_lenet5::Fp32())

}  // namespace lenslet
