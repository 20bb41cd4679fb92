// OwnGpuArray: answers in memory of Lenslet's own on a GPU, which other libraries read without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "framework/device/device.h"

namespace lenslet::python {

nanobind::tuple tuple_of(const std::vector<int64_t>& dims);

/// The cudaStream_t that DLPack or the CUDA Array Interface names by a number; the default stream for None.
void* stream_from(nanobind::handle number);

/// Values of 4 bytes. The default stream writes them and frees the memory.
class OwnGpuArray {
 public:
  /// Allocates int32 ('i') or float32 ('f') values, undefined until written. Throws MemoryError.
  OwnGpuArray(Device device, char type, std::vector<int64_t> dims);
  OwnGpuArray(const OwnGpuArray&) = delete;
  OwnGpuArray& operator=(const OwnGpuArray&) = delete;
  ~OwnGpuArray();

  /// Null if there are no values.
  void* data() const noexcept { return data_; }
  Device device() const noexcept { return device_; }
  nanobind::tuple shape() const { return tuple_of(dims_); }
  /// The CUDA Array Interface, version 3.
  nanobind::dict interface() const;
  /// A capsule whose memory the consumer may use on `stream` at once.
  static nanobind::object dlpack(const nanobind::object& self, const nanobind::object& stream,
                                 const nanobind::kwargs& others);

 private:
  Device device_;
  char type_;
  std::vector<int64_t> dims_;
  void* data_ = nullptr;
};

/// Adds the class to the module, as GpuArray.
void add_own_gpu_array(nanobind::module_& module);

}  // namespace lenslet::python
