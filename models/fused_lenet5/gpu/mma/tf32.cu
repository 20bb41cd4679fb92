// The whole-network LeNet-5 with tf32 operands: mma/tf32_kernel.cuh instantiated for all input and output types.
#include "models/fused_lenet5/gpu/mma/tf32_kernel.cuh"
#include "models/prediction.h"

namespace lenslet::fused_lenet5 {
namespace {

template <typename Pixel, typename Output>
MmaKernel kernel() {
  using Shared = MmaTf32Shared<Pixel>;
  return {"fused_lenet5_mma_tf32_kernel",
          reinterpret_cast<const void*>(&fused_lenet5_mma_tf32_kernel<Pixel, Output>),
          Shared::kWarps,
          Shared::kBytes,
          1,
          kMmaImagesPerRound};
}

template <typename Pixel>
MmaKernel kernel_for(ElementType output) {
  return output == kPrediction ? kernel<Pixel, Prediction>() : kernel<Pixel, float>();
}

}  // namespace

MmaKernel mma_tf32_kernel(const OperatorRequest& request) {
  return request.input_type == ElementType::kUint8 ? kernel_for<uint8_t>(request.output_type)
                                                   : kernel_for<float>(request.output_type);
}

}  // namespace lenslet::fused_lenet5
