// The backend `mma`, LeNet-5 on tensor cores, for large batches:
//   x [N, 28, 28] -> h1 = pool(relu(conv1 x)) [N, 6, 12, 12] -> h2 = pool(relu(conv2 h1)) [N, 16, 4, 4]
//     -> relu(fc1 h2) [N, 120] -> relu(fc2) [N, 84] -> fc3 [N, 10]
//
// Operands are rounded to fp16 or tf32, sums are fp32. In int8 both convolutions multiply whole numbers instead, with
// exact sums (../quantise.h), and the fully connected layers compute in fp16. Bytes are exact in both, with the
// normalisation folded into conv1; normalised input is rounded. Every layer is a product of mma.sync: conv1 is pixels x
// filters in Toeplitz form, four neighbouring outputs from one run of eight pixels; conv2 and the fully connected
// layers are weights x activations. Fragments after the PTX ISA, "Matrix fragments for mma.m16n8k16". Products chained
// in registers as in T. Dao et al., "FlashAttention" (arXiv:2205.14135). Everything else is this project's own;
// docs/kernels/fused_lenet_mma.md derives it.
#include "framework/base/counted.h"
#include "framework/device/cuda_check.h"
#include "framework/device/gpu_queries.h"
#include "framework/device/launch_check.h"
#include "framework/device/native_stream.h"
#include "framework/tensor/host_values.h"
#include "models/fused_lenet5/error_bound.h"
#include "models/fused_lenet5/gpu/mma/choices.h"
#include "models/fused_lenet5/gpu/mma/kernels.h"
#include "models/fused_lenet5/quantise.h"

namespace lenslet {
namespace fused_lenet5 {
namespace {

class MmaOperator : public Operator {
 public:
  MmaOperator(const MmaKernel& kernel, const std::vector<unsigned char>& packed,
              const OperatorRequest& request, Stream& stream)
      : kernel_(kernel), count_(request.batch()), packed_(uploaded(packed, stream)) {
    allow_shared_bytes(kernel_.function, static_cast<size_t>(kernel_.shared_bytes));
    const MmaLaunch launch = mma_launch(count_, kernel_, gpu_traits(request.device));
    images_per_round_ = launch.images_per_round;
    blocks_ = static_cast<unsigned>(launch.blocks);
  }
  std::string detail() const override {
    return concat(blocks_, " blocks of ", kernel_.warps, " warps, ", counted(images_per_round_, "image"),
                  " per round");
  }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const void* images = inputs[0].data;
    const void* packed = packed_.data();
    void* arguments[] = {&images, &count_, &images_per_round_, &packed, &output.data, &context.pair_values};
    (void)cudaLaunchKernel(kernel_.function, dim3(blocks_), dim3(static_cast<unsigned>(kernel_.warps * 32)),
                           arguments, static_cast<size_t>(kernel_.shared_bytes), native(context.stream));
    LENSLET_CUDA_CHECK_LAUNCH_OF(kernel_.name);
  }

 private:
  MmaKernel kernel_;
  int64_t count_;
  int images_per_round_ = 0;
  unsigned blocks_ = 0;
  Buffer packed_;
};

MmaKernel kernel_for(const OperatorRequest& request, const GpuTraits& gpu) {
  if (request.math == MathMode::kInt8) return mma_int8_kernel(request, gpu);
  return request.math == MathMode::kTf32 ? mma_tf32_kernel(request) : mma_fp16_kernel(request, gpu);
}

std::vector<unsigned char> packed_for(const Lenet5Parameters& parameters, const OperatorRequest& request) {
  if (request.math == MathMode::kInt8) return pack_mma_int8(parameters);
  return request.math == MathMode::kTf32 ? pack_mma_tf32(parameters, request.input_type)
                                         : pack_mma_fp16(parameters, request.input_type);
}

double int8_bound(const Lenet5Parameters& parameters, const LayerRounding& fully_connected) {
  const QuantisedConvolutions quantised = quantise_convolutions(parameters);
  const LayerRounding whole{0, 0, 0}, scaled{0, 0, kUnitFp32};  // sums of whole numbers are exact
  return quantised_lenet5_logit_bound(parameters, with_quantised_values(parameters, quantised),
                                      quantised.h1_unit,
                                      {whole, scaled, fully_connected, fully_connected, fully_connected});
}

class Mma : public NetworkBackend {
 public:
  Support supports(const OperatorRequest& request) const override {
    if (request.math == MathMode::kFp32) {
      return Support::no("mma rounds its operands to tf32 or fp16, not fp32: choose math tf32 or fp16");
    }
    if (request.math == MathMode::kInt8 && request.input_type != ElementType::kUint8) {
      return Support::no(concat("mma computes in int8 on bytes, not on ", to_string(request.input_type),
                                ": use bytes, or choose math fp16"));
    }
    const std::optional<GpuTraits> gpu = find_gpu(request.device);
    if (!gpu) return Support::yes();
    const Support instructions =
        needs_capability("mma needs", GpuLimits::kAsyncCopies, gpu->compute_capability, "choose math fp32");
    if (!instructions) return instructions;
    const MmaKernel kernel = kernel_for(request, *gpu);
    return needs_shared_bytes("mma", static_cast<size_t>(kernel.shared_bytes), *gpu, "use the layered plan");
  }

  // Tensor cores multiply exactly and truncate their sums, one or two bits below fp32's last place. In conv1 on bytes
  // they sum 1024 + x (tf32: 256 + x), five times the x in the model of the bound.
  double output_bound(const Lenet5Parameters& parameters, const OperatorRequest& request) const override {
    constexpr double kSum = 4 * kUnitFp32;
    const double unit = request.math == MathMode::kTf32 ? kUnitTf32 : kUnitFp16;
    const LayerRounding layer{unit, unit, kSum};
    if (request.math == MathMode::kInt8) return int8_bound(parameters, layer);
    LayerRounding first = layer;
    if (request.input_type == ElementType::kUint8) first = {unit, 0, 5 * kSum};
    return lenet5_logit_bound(parameters, {first, layer, layer, layer, layer});
  }

 private:
  std::unique_ptr<Operator> make_operator(const Lenet5Parameters& parameters, const OperatorRequest& request,
                                          Stream& stream) const override {
    const MmaKernel kernel = kernel_for(request, gpu_traits(request.device));
    return std::make_unique<MmaOperator>(kernel, packed_for(parameters, request), request, stream);
  }
};

}  // namespace

}  // namespace fused_lenet5

LENSLET_BACKEND(network, gpu_mma, fused_lenet5::Mma())

}  // namespace lenslet
