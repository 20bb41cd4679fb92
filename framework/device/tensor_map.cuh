// Descriptions of tensors for copies by the tensor memory accelerator (TMA), from compute capability 9.0 on. Internal:
// includes CUDA.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/cuda_check.h"

namespace lenslet {

/// The driver's cuTensorMapEncodeIm2col, found through the runtime: the library does not link to the driver. Throws
/// DeviceError, UnavailableError if the driver is too old.
inline decltype(&cuTensorMapEncodeIm2col) encode_im2col_map() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  LENSLET_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &found, 12000, cudaEnableDefault, &status));
#else
  LENSLET_CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeIm2col", &found, cudaEnableDefault, &status));
#endif
  if (status != cudaDriverEntryPointSuccess || !found)
    throw UnavailableError(
        "the NVIDIA driver has no cuTensorMapEncodeIm2col: install a driver for CUDA 12 or later");
  return reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(found);
}

/// "CUDA_ERROR_INVALID_VALUE (1)"; the number alone if the driver does not name it.
inline std::string driver_error_name(CUresult result) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuGetErrorName", &found, 12000, cudaEnableDefault, &status);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuGetErrorName", &found, cudaEnableDefault, &status);
#endif
  const char* name = nullptr;
  if (error == cudaSuccess && status == cudaDriverEntryPointSuccess && found)
    (void)reinterpret_cast<decltype(&cuGetErrorName)>(found)(result, &name);
  return concat(name ? name : "CUresult", " (", static_cast<int>(result), ")");
}

}  // namespace lenslet
