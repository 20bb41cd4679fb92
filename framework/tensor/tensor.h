// Tensors: values with a shape on a device, fp32 by default. The layout is row-major, outermost dimension first;
// activations are NCHW.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/device.h"
#include "framework/device/stream.h"
#include "framework/tensor/element_type.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// Borrowed read-only values.
struct ConstTensorView {
  const float* data = nullptr;            // of other element types through as()
  Shape shape;                            // outermost dimension first
  Device device;                          // whose memory it is
  ElementType type = ElementType::kFp32;  // of each element
  /// The data as elements of T, which must be those of `type`.
  template <typename T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(data);
  }
  /// Bytes of all elements, without gaps.
  size_t bytes() const noexcept { return bytes_of(type, shape.num_elements()); }
};

/// Borrowed values that may be written.
struct TensorView {
  float* data = nullptr;                  // of other element types through as()
  Shape shape;                            // outermost dimension first
  Device device;                          // whose memory it is
  ElementType type = ElementType::kFp32;  // of each element
  /// The data as elements of T, which must be those of `type`.
  template <typename T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
  /// Bytes of all elements, without gaps.
  size_t bytes() const noexcept { return bytes_of(type, shape.num_elements()); }
  /// A view of this memory to read.
  operator ConstTensorView() const { return {data, shape, device, type}; }
};

/// Owns bytes on a device, aligned to kAlignment. On the CPU the memory is pageable; PinnedBuffer is page-locked.
class Buffer {
 public:
  static constexpr size_t kAlignment = 256;  // of every allocation, bytes

  Buffer() = default;
  /// Throws MemoryError with the requested and the free bytes. Zero bytes give a null pointer.
  Buffer(Device device, size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Null if it is empty.
  void* data() const noexcept { return data_; }
  /// The memory as elements of T, the type that the caller wrote there.
  template <typename T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// Bytes as requested; the allocation may be larger.
  size_t bytes() const noexcept { return bytes_; }
  /// Whose memory it is.
  Device device() const noexcept { return device_; }

 private:
  Device device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Host memory for fast copies from and to `device`: page-locked for a GPU, pageable for the CPU.
class PinnedBuffer {
 public:
  /// Throws MemoryError.
  PinnedBuffer(Device device, size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  /// Null if it is empty.
  void* data() const noexcept { return data_; }
  /// Bytes as requested; the allocation may be larger.
  size_t bytes() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool pinned_ = false;
};

/// Owns fp32 values, uninitialised until written.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised. Throws MemoryError.
  explicit Tensor(Shape shape, Device device = Device::cpu())
      : shape_(shape), buffer_(device, shape.bytes()) {}
  /// In host memory, with these values. Throws DataError unless there is one for each element, MemoryError.
  Tensor(Shape shape, const std::vector<float>& values);

  /// Outermost dimension first.
  const Shape& shape() const noexcept { return shape_; }
  /// Whose memory it is.
  Device device() const noexcept { return buffer_.device(); }
  /// The elements, in C order.
  float* data() noexcept { return buffer_.as<float>(); }
  /// The elements, in C order.
  const float* data() const noexcept { return buffer_.as<float>(); }
  /// All of it; it must not outlive the tensor.
  TensorView view() noexcept { return {data(), shape_, device()}; }
  /// All of it; it must not outlive the tensor.
  ConstTensorView view() const noexcept { return {data(), shape_, device()}; }

 private:
  Shape shape_;
  Buffer buffer_;
};

/// Enqueues a copy of `bytes` on `stream`. A copy of pageable host memory is complete when this returns.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                Stream& stream);
/// Enqueues a copy. Throws DataError if element counts or types differ; shapes may differ.
void copy(ConstTensorView src, TensorView dst, Stream& stream);
/// Enqueues a fill with one byte value.
void fill_bytes(void* dst, Device device, int byte, size_t bytes, Stream& stream);

}  // namespace lenslet
