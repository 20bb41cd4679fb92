// Descriptions of a convolution's input for TMA's copies in im2col mode, from compute capability 9.0 on. Internal: only
// for files that include CUDA headers. CUDA Driver API, "cuTensorMapEncodeIm2col".
#pragma once

#include "framework/device/tensor_map.cuh"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// What one copy takes of a tensor [N, H, W, C]: positions x channels.
struct Im2colBox {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  int element_bytes = 4;
  int tensor_channels = 0;  // C in memory: whole pieces of 16 bytes
  int positions = 0, channels = 0;
  int more_columns = 0;  // of the bounding box, under the other taps of a row
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
};

/// Describes x for the windows of a problem; `encode` is encode_im2col_map(). The bounding box holds the pixels under
/// the first tap of every window. Throws DeviceError.
inline CUtensorMap im2col_map(decltype(&cuTensorMapEncodeIm2col) encode, const Conv2dProblem& problem,
                              const Im2colBox& box, const void* x) {
  const auto c = static_cast<cuuint64_t>(box.tensor_channels), w = static_cast<cuuint64_t>(problem.w),
             h = static_cast<cuuint64_t>(problem.h);
  const cuuint64_t sizes[] = {c, w, h, static_cast<cuuint64_t>(problem.n)},
                   pixel_bytes = c * box.element_bytes;
  const cuuint64_t pitches[] = {pixel_bytes, w * pixel_bytes, h * w * pixel_bytes};
  const int first[] = {-problem.pad_w, -problem.pad_h};
  const int last[] = {problem.pad_w - (problem.s - 1) * problem.dilation_w + box.more_columns,
                      problem.pad_h - (problem.r - 1) * problem.dilation_h};
  const cuuint32_t strides[] = {1, static_cast<cuuint32_t>(problem.stride_w),
                                static_cast<cuuint32_t>(problem.stride_h), 1};
  CUtensorMap map{};
  const CUresult result =
      encode(&map, box.type, 4, const_cast<void*>(x), sizes, pitches, first, last,
             static_cast<cuuint32_t>(box.channels), static_cast<cuuint32_t>(box.positions), strides,
             CU_TENSOR_MAP_INTERLEAVE_NONE, box.swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw DeviceError(concat("cuTensorMapEncodeIm2col failed with ", driver_error_name(result),
                             " for the convolution ", problem.to_string(), ": use another backend"));
  return map;
}

}  // namespace lenslet
