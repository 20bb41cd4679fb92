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

/// Sets `found` to a function of the driver, which the runtime finds, because the library does not link to the driver;
/// to null if the driver is too old.
inline cudaError_t find_driver_function(const char* name, void*& found) {
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status);
#endif
  if (error != cudaSuccess || status != cudaDriverEntryPointSuccess) found = nullptr;
  return error;
}

/// A function of the driver that describes tensors. Throws DeviceError, UnavailableError if the driver is too old.
template <typename Function>
Function find_encode_function(const char* name) {
  void* found = nullptr;
  LENSLET_CUDA_CHECK(find_driver_function(name, found));
  if (!found) {
    throw UnavailableError(
        concat("the NVIDIA driver has no ", name, ": install a driver for CUDA 12 or later"));
  }
  return reinterpret_cast<Function>(found);
}
/// The driver's cuTensorMapEncodeIm2col. Throws like find_encode_function().
inline decltype(&cuTensorMapEncodeIm2col) encode_im2col_map() {
  return find_encode_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
}
/// The driver's cuTensorMapEncodeTiled. Throws like find_encode_function().
inline decltype(&cuTensorMapEncodeTiled) encode_tiled_map() {
  return find_encode_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
}

/// "CUDA_ERROR_INVALID_VALUE (1)"; "CUresult (1)" if the driver does not name it.
inline std::string driver_error_name(CUresult result) {
  void* found = nullptr;
  const char* name = nullptr;
  if (find_driver_function("cuGetErrorName", found) == cudaSuccess && found)
    (void)reinterpret_cast<decltype(&cuGetErrorName)>(found)(result, &name);
  return concat(name ? name : "CUresult", " (", static_cast<int>(result), ")");
}

}  // namespace lenslet
