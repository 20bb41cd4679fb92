// Arrays of other libraries in the memory of a GPU: PyTorch, CuPy, JAX, and any with DLPack or the CUDA Array
// Interface.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/device/device.h"

namespace lenslet::python {

/// An array of another library, or one that is made for a call's answers.
class GpuArray {
 public:
  /// Nothing for an array in host memory, and for what is no array. The work that has been enqueued for the array comes
  /// before what is enqueued on stream() afterwards. `name` is the argument's, for errors.
  static std::optional<GpuArray> from(nanobind::handle object, const char* name);

  /// Throws ValueError unless it is in order (contiguous) in the memory of one of these devices.
  void check_in_place(const std::vector<Device>& devices) const;
  /// The device whose memory it is; all of `devices` if it has no values.
  std::vector<Device> place_among(const std::vector<Device>& devices) const {
    return ordinal_ < 0 ? devices : std::vector<Device>{Device::cuda(ordinal_)};
  }
  /// Throws TypeError unless its values are of one of these types: 'u' uint8, 'i' int32, 'f' float32.
  void check_type(const char* types) const;
  /// Throws TypeError unless it may be written to.
  void check_writable() const;

  void* data() const noexcept { return data_; }
  /// The device whose memory it is, as its library states it, not the driver; the CPU if there is none.
  Device device() const noexcept { return ordinal_ < 0 ? Device::cpu() : Device::cuda(ordinal_); }
  const std::vector<int64_t>& dims() const noexcept { return dims_; }
  bool holds_bytes() const noexcept { return type_ == 'u'; }
  /// A cudaStream_t.
  void* stream() const noexcept { return stream_; }

  /// A new array of the same library on the same device, of int32 ('i') or float32 ('f') values that are written on
  /// stream() before publish().
  GpuArray make(char type, const std::vector<int64_t>& dims) const;
  /// The array as its library has it, once the work that writes it has been enqueued.
  nanobind::object publish() const;
  /// Keeps the memory until the work enqueued so far is done, where the library would not.
  void keep_while_used() const;

 private:
  enum class Kind { kHost, kTorch, kCupy, kJax, kOther };
  static Kind kind_of(nanobind::handle object);
  static std::optional<GpuArray> from_torch(nanobind::handle tensor);
  static std::optional<GpuArray> from_view(nanobind::handle tensor, const nanobind::dlpack::dltensor& view);
  static std::optional<GpuArray> from_interface(nanobind::handle object);
  static std::optional<GpuArray> from_dlpack(nanobind::handle object, Kind kind);

  Kind kind_ = Kind::kHost;
  const char* name_ = "";
  nanobind::object object_;                 // the array
  nanobind::ndarray<nanobind::ro> memory_;  // holds it, if it came by DLPack
  void* data_ = nullptr;
  void* stream_ = nullptr;
  std::vector<int64_t> dims_;
  char type_ = 0;          // 'u', 'i', 'f', or 0 for another one
  std::string type_name_;  // of another one
  int ordinal_ = -1;       // of the device; -1 for no values
  bool in_order_ = false, read_only_ = false;
};

}  // namespace lenslet::python
