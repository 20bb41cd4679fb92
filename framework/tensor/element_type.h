// Types of the elements of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lenslet {

/// The type of an element: its name and its size. The input and output of a whole model may have any type: one of those
/// below, or one that the model defines. Tensors between layers are fp32, or fp16 where all layers that read one
/// multiply in fp16 (Executable). A convolution backend may also take tensors of fp16 or bf16 (ConvBackend::takes).
class ElementType {
 public:
  static const ElementType kFp32;   // a number
  static const ElementType kFp16;   // IEEE binary16
  static const ElementType kBf16;   // bfloat16: the upper half of an fp32
  static const ElementType kUint8;  // a pixel, 0..255, not normalised
  static const ElementType kUint4;  // a pixel of 16 greys, two in a byte (framework/tensor/pixels.h)

  /// How many elements a sample has: those of its shape, or one.
  enum class Count { kOfShape, kOne };

  /// `name` is unique, and a literal. `bits`: the size of an element.
  constexpr ElementType(const char* name, int bits, Count count = Count::kOfShape) noexcept
      : name_(name), bits_(bits), count_(count) {}

  /// As plans, result files and messages name it.
  constexpr const char* name() const noexcept { return name_; }
  /// Bits of an element in memory; 4 for pixels that are packed in pairs.
  constexpr int bits() const noexcept { return bits_; }
  /// Whether a sample has one element, whatever its shape.
  constexpr bool one_for_each_sample() const noexcept { return count_ == Count::kOne; }

  /// Compares the names, which are unique.
  friend constexpr bool operator==(ElementType a, ElementType b) noexcept {
    return std::string_view(a.name_) == b.name_;
  }
  /// Compares the names, as == does.
  friend constexpr bool operator!=(ElementType a, ElementType b) noexcept { return !(a == b); }

 private:
  const char* name_;
  int bits_;
  Count count_;
};

inline constexpr ElementType ElementType::kFp32{"fp32", 32};
inline constexpr ElementType ElementType::kFp16{"fp16", 16};
inline constexpr ElementType ElementType::kBf16{"bf16", 16};
inline constexpr ElementType ElementType::kUint8{"uint8", 8};
inline constexpr ElementType ElementType::kUint4{"uint4", 4};

/// Bytes of `elements` elements without gaps, rounded up to whole bytes.
constexpr size_t bytes_of(ElementType type, int64_t elements) noexcept {
  const auto count = static_cast<size_t>(elements), bits = static_cast<size_t>(type.bits());
  return bits % 8 == 0 ? count * (bits / 8) : (count * bits + 7) / 8;
}
/// name(), for messages.
constexpr const char* to_string(ElementType type) noexcept { return type.name(); }

/// The element types of numbers, not pixels.
inline constexpr ElementType kFloatTypes[] = {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16};
/// Whether it is one of kFloatTypes.
constexpr bool is_float(ElementType type) noexcept {
  for (const ElementType known : kFloatTypes) {
    if (type == known) return true;
  }
  return false;
}

}  // namespace lenslet
