// Tensors: values with a shape on a device, fp32 by default. The layout is row-major, outermost dimension first;
// activations are NCHW.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/device.h"
#include "framework/device/stream.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// The type of an element: its name and its size. Activations between layers are fp32; only the input and output of a
/// whole model may have another type: one of those below, or one that the model defines.
class ElementType {
 public:
  static const ElementType kFp32;   // a number
  static const ElementType kUint8;  // a pixel, 0..255, not normalised
  static const ElementType kUint4;  // a pixel of 16 greys, two in a byte (framework/tensor/pixels.h)

  /// How many elements a sample has: those of its shape, or one.
  enum class Count { kOfShape, kOne };

  /// `name` is unique, and a literal. `bits`: the size of an element.
  constexpr ElementType(const char* name, int bits, Count count = Count::kOfShape) noexcept
      : name_(name), bits_(bits), count_(count) {}

  /// As plans, result files and messages name it.
  constexpr const char* name() const noexcept { return name_; }
  /// The size of an element.
  constexpr int bits() const noexcept { return bits_; }
  /// Whether a sample has one element, whatever its shape.
  constexpr bool one_for_each_sample() const noexcept { return count_ == Count::kOne; }

  /// Whether the names are equal.
  friend constexpr bool operator==(ElementType a, ElementType b) noexcept {
    return std::string_view(a.name_) == b.name_;
  }
  /// Whether the names differ.
  friend constexpr bool operator!=(ElementType a, ElementType b) noexcept { return !(a == b); }

 private:
  const char* name_;
  int bits_;
  Count count_;
};

inline constexpr ElementType ElementType::kFp32{"fp32", 32};
inline constexpr ElementType ElementType::kUint8{"uint8", 8};
inline constexpr ElementType ElementType::kUint4{"uint4", 4};

/// Bytes of `elements` elements without gaps, rounded up to whole bytes.
constexpr size_t bytes_of(ElementType type, int64_t elements) noexcept {
  const auto count = static_cast<size_t>(elements), bits = static_cast<size_t>(type.bits());
  return bits % 8 == 0 ? count * (bits / 8) : (count * bits + 7) / 8;
}
/// The name.
constexpr const char* to_string(ElementType type) noexcept { return type.name(); }

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
  /// The size of all elements.
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
  /// The size of all elements.
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
  /// The requested size.
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
  /// The requested size.
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
