// The whole-network LeNet-5 with fp16 operands: mma/fp16_kernel.cuh instantiated for all input and output types.
#include "models/fused_lenet5/gpu/mma/fp16_kernel.cuh"
#include "models/prediction.h"

namespace lenslet::fused_lenet5 {
namespace {

template <typename Pixel, typename Output, int kWarps>
MmaKernel kernel() {
  return {"fused_lenet5_mma_fp16_kernel",
          reinterpret_cast<const void*>(&fused_lenet5_mma_fp16_kernel<Pixel, Output, kWarps>), kWarps,
          MmaFp16Shared<Pixel, kWarps>::kBytes};
}

template <typename Pixel, int kWarps>
MmaKernel kernel_for(ElementType output) {
  return output == kPrediction ? kernel<Pixel, Prediction, kWarps>() : kernel<Pixel, float, kWarps>();
}

// With 12 warps a lane has the 168 registers that it needs. 6 warps are for the 163 KB of compute capability 8.0.
template <typename Pixel>
MmaKernel kernel_for(ElementType output, size_t shared_limit) {
  const MmaKernel large = kernel_for<Pixel, 12>(output);
  return static_cast<size_t>(large.shared_bytes) <= shared_limit ? large : kernel_for<Pixel, 6>(output);
}

}  // namespace

MmaKernel mma_fp16_kernel(const OperatorRequest& request, size_t shared_limit) {
  return request.input_type == ElementType::kUint8 ? kernel_for<uint8_t>(request.output_type, shared_limit)
                                                   : kernel_for<float>(request.output_type, shared_limit);
}

}  // namespace lenslet::fused_lenet5
