// The fused LeNet-5 on tensor cores, for large batches:
//   x [N, 28, 28] -> h1 = pool(relu(conv1 x)) [N, 6, 12, 12] -> h2 = pool(relu(conv2 h1)) [N, 16, 4, 4]
//     -> relu(fc1 h2) [N, 120] -> relu(fc2) [N, 84] -> fc3 [N, 10]
//
// fp16: operands are rounded to fp16, sums are fp32. Bytes are exact in fp16, with the normalisation folded into conv1;
// normalised fp32 input is rounded. Every layer is mma.sync with its smallest dimension on the side of the instruction
// that wastes least: conv1 is pixels x filters, the others are weights x activations. Fragments after the PTX ISA, "Matrix
// fragments for mma.m16n8k16"; layers that hand on their result in registers after T. Dao et al., "FlashAttention"
// (arXiv:2205.14135), whose two products are chained so. The Toeplitz form of conv1, several neighbouring outputs from one
// run of pixels, is that of im2col with rows shared (K. Chellapilla et al., "High performance convolutional neural
// networks for document processing", 2006).
#include <algorithm>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/multiprocessors.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/gpu/mma_kernel.cuh"

namespace lenslet {
namespace fused_lenet5 {
namespace {

// 12 warps a multiprocessor leave a lane the 168 registers that the convolutions' weights and sums take.
constexpr int kWarps = 12;

template <typename Pixel, typename Output>
class MmaFp16 : public Operator {
 public:
  MmaFp16(const Lenet5Parameters& parameters, const FusedRequest& request, Stream& stream)
      : count_(request.batch) {
    const std::vector<unsigned char> packed = pack_mma_parameters(parameters, request.input);
    parameters_ = Buffer(request.device, packed.size());
    copy_bytes(parameters_.data(), request.device, packed.data(), Device::cpu(), packed.size(), stream);
    LENSLET_CUDA_CHECK(
        cudaFuncSetAttribute(kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));

    // As many rounds as it takes, and each of them as short as that allows, so that the warps end together.
    const int blocks = multiprocessor_count(request.device);
    const int64_t warps = int64_t{kWarps} * blocks;
    const int64_t rounds = ceil_div(count_, warps * kMmaImagesARound);
    images_a_round_ = static_cast<int>(ceil_div(count_, warps * rounds));
    blocks_ = static_cast<unsigned>(std::min<int64_t>(blocks, ceil_div(count_, images_a_round_)));
  }
  std::string detail() const override {
    return concat(blocks_, " blocks of ", kWarps, " warps, ", images_a_round_, " images a round");
  }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    kernel()<<<blocks_, kWarps * 32, kSharedBytes,
               static_cast<cudaStream_t>(context.stream.native_handle())>>>(
        inputs[0].as<Pixel>(), count_, images_a_round_, parameters_.as<unsigned char>(), output.as<Output>());
    LENSLET_CUDA_CHECK_LAUNCH("fused_lenet5_mma_kernel");
  }

 private:
  static constexpr int kSharedBytes = MmaShared<Pixel, kWarps>::kBytes;
  static auto kernel() { return &fused_lenet5_mma_kernel<Pixel, Output, kWarps>; }

  int64_t count_;
  int images_a_round_ = 0;
  unsigned blocks_ = 0;
  Buffer parameters_;
};

template <typename Pixel>
std::unique_ptr<Operator> prepare_fp16(const Lenet5Parameters& parameters, const FusedRequest& request,
                                       Stream& stream) {
  if (request.output == ElementType::kPrediction) {
    return std::make_unique<MmaFp16<Pixel, Prediction>>(parameters, request, stream);
  }
  return std::make_unique<MmaFp16<Pixel, float>>(parameters, request, stream);
}

class Mma : public FusedLenet5Variant {
 public:
  const char* name() const override { return "mma"; }
  DeviceKind device_kind() const override { return DeviceKind::kCuda; }

  Support supports(const FusedRequest& request) const override {
    if (request.math != MathMode::kFp16) {
      return Support::no(concat("mma rounds its operands to fp16, asked for ", to_string(request.math),
                                ": use --math fp16"));
    }
    const CudaStatus& cuda = cuda_status();
    const auto ordinal = static_cast<size_t>(request.device.ordinal);
    if (ordinal >= cuda.devices.size())
      return Support::yes();  // no such GPU: the answer is about the request alone
    const CudaDeviceInfo& gpu = cuda.devices[ordinal];
    if (gpu.compute_capability < 80) {
      return Support::no(concat("mma needs compute capability 8.0, this GPU has ",
                                gpu.compute_capability / 10, ".", gpu.compute_capability % 10,
                                ": use --math fp32"));
    }
    const int shared = request.input == ElementType::kUint8 ? MmaShared<uint8_t, kWarps>::kBytes
                                                            : MmaShared<float, kWarps>::kBytes;
    if (gpu.shared_bytes_per_block_optin < static_cast<size_t>(shared)) {
      return Support::no(concat("mma needs ", shared, " bytes of shared memory a block, this GPU has ",
                                gpu.shared_bytes_per_block_optin, ": use --plan layered"));
    }
    return Support::yes();
  }

  // Tensor cores multiply exactly and cut off their sums, a bit or two below fp32's last place. In conv1 on bytes they
  // add up 1024 + x, five times what the model of the bound takes for x.
  double logit_bound(const Lenet5Parameters& parameters, const FusedRequest& request) const override {
    constexpr double kSum = 4 * kUnitFp32;
    const LayerRounding layer{kUnitFp16, kUnitFp16, kSum};
    LayerRounding first = layer;
    if (request.input == ElementType::kUint8) first = {kUnitFp16, 0, 5 * kSum};
    return lenet5_logit_bound(parameters, {first, layer, layer, layer, layer});
  }

  std::unique_ptr<Operator> prepare(const Lenet5Parameters& parameters, const FusedRequest& request,
                                    Stream& stream) const override {
    return request.input == ElementType::kUint8 ? prepare_fp16<uint8_t>(parameters, request, stream)
                                                : prepare_fp16<float>(parameters, request, stream);
  }
};

}  // namespace

const FusedLenet5Variant& gpu_mma() {
  static const Mma variant;
  return variant;
}

}  // namespace fused_lenet5
}  // namespace lenslet
