// The whole-network LeNet-5 with fp16 operands, its convolutions also in 8-bit integers: mma/fp16_kernel.cuh
// instantiated for all input and output types.
#include "models/fused_lenet5/gpu/mma/choices.h"
#include "models/fused_lenet5/gpu/mma/fp16_kernel.cuh"
#include "models/prediction.h"

namespace lenslet::fused_lenet5 {
namespace {

template <class Convolutions, typename Pixel, typename Output, int kWarps, int kTogether, int kEights>
MmaKernel kernel() {
  using Shared = MmaFp16Shared<Convolutions, Pixel, kWarps, kTogether, kEights>;
  const auto function =
      &fused_lenet5_mma_fp16_kernel<Convolutions, Pixel, Output, kWarps, kTogether, kEights>;
  return {"fused_lenet5_mma_fp16_kernel",
          reinterpret_cast<const void*>(function),
          kWarps,
          Shared::kBytes,
          kTogether,
          Shared::kImages};
}

template <typename Pixel, int kWarps, int kTogether>
MmaKernel kernel_for(ElementType output) {
  using Convolutions = MmaFp16Convolutions;
  return output == kPrediction ? kernel<Convolutions, Pixel, Prediction, kWarps, kTogether, kTogether>()
                               : kernel<Convolutions, Pixel, float, kWarps, kTogether, kTogether>();
}

template <int kWarps, int kEights>
MmaKernel int8_kernel_for(ElementType output) {
  using Convolutions = MmaInt8Convolutions;
  return output == kPrediction ? kernel<Convolutions, uint8_t, Prediction, kWarps, 2, kEights>()
                               : kernel<Convolutions, uint8_t, float, kWarps, 2, kEights>();
}

bool fits(const MmaKernel& kernel, const GpuTraits& gpu) {
  return static_cast<size_t>(kernel.shared_bytes) <= gpu.shared_bytes_per_block_optin;
}

// With 12 warps a lane has the 168 registers that it needs. 6 warps are for the 163 KB of compute capability 8.0.
template <typename Pixel>
MmaKernel kernel_for(ElementType output, const GpuTraits& gpu) {
  const MmaKernel large = kernel_for<Pixel, 12, 1>(output);
  return fits(large, gpu) ? large : kernel_for<Pixel, 6, 1>(output);
}

}  // namespace

MmaKernel mma_fp16_kernel(const OperatorRequest& request, const GpuTraits& gpu) {
  if (request.input_type != ElementType::kUint8) return kernel_for<float>(request.output_type, gpu);
  // Only of bytes there is room for four images in each of 8 warps, and only in 227 KB.
  const MmaKernel pairs = kernel_for<uint8_t, 8, 2>(request.output_type);
  const bool suits = mma_pairs_suit(request.batch(), pairs, gpu);
  return suits && fits(pairs, gpu) ? pairs : kernel_for<uint8_t>(request.output_type, gpu);
}

MmaKernel mma_int8_kernel(const OperatorRequest& request, const GpuTraits& gpu) {
  const MmaKernel large = int8_kernel_for<8, 2>(request.output_type);
  return fits(large, gpu) ? large : int8_kernel_for<6, 1>(request.output_type);
}

}  // namespace lenslet::fused_lenet5
