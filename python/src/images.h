// Samples from Python: any array with DLPack or the buffer protocol, read in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/image_check.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/shape.h"
#include "framework/tensor/tensor.h"

namespace lenslet::python {

/// "[5, 10]"; with `first` "N" "[N, 5, 10]".
std::string text_of_dims(const std::vector<int64_t>& dims, const char* first = "");

/// Dimensions of images, packed images and inputs as SampleArray takes them. Returns how many come before those of a
/// sample: 0 or 1. Throws ValueError for others.
size_t check_image_dims(const std::vector<int64_t>& dims);
size_t check_packed_dims(const std::vector<int64_t>& dims);
size_t check_input_dims(const std::vector<int64_t>& dims, const Shape& sample);

/// Samples [count, sample] in the memory of a Python array, which stays alive as long as this object.
class SampleArray {
 public:
  /// Images: takes [N, 28, 28], [N, 1, 28, 28], [N, 28, 28, 1] or [28, 28] of uint8 or float32 in host memory. Throws
  /// TypeError for another type or an object that is no array, ValueError for another shape, GPU memory or masked
  /// values.
  static SampleArray images(nanobind::handle array);
  /// Images of uint8. Throws like images().
  static SampleArray pixels(nanobind::handle array);
  /// Images of 4 bits a pixel: takes [N, 28, 14] or [28, 14] of uint8. Throws like images().
  static SampleArray packed(nanobind::handle array);
  /// One picture of any size: takes [H, W] and [H, W, C], C 1 to 4, of uint8, and one dimension as the bytes of a file.
  /// Throws like images().
  static SampleArray picture(nanobind::handle array);
  /// What a network reads: takes [N, sample] or one sample, of float32. Throws like images().
  static SampleArray inputs(nanobind::handle array, const Shape& sample);

  /// Images whose dark and bright are exchanged when they are read: `sum` - value for each value.
  void invert(float sum) noexcept { inverted_from_ = sum; }
  /// Throws ValueError if a float is NaN or infinite, or if they are no normalised values, or dark on light. The last
  /// two mistakes concern all images, so it looks at no more than 64 for them. Images of one grey pass. `given` is the
  /// array that was passed, for the words of the remedy.
  void check_images(nanobind::handle given, const Normalisation& normalisation) const;

  int64_t count() const noexcept { return count_; }
  /// Whether slice() copies nothing.
  bool is_in_place() const noexcept { return in_order_ && !inverted_from_; }
  /// Whether there is a dimension of samples in front.
  bool has_batch() const noexcept { return has_batch_; }
  /// kUint8, kUint4 or kFp32.
  ElementType type() const noexcept { return type_; }
  /// The shape that was passed.
  std::vector<size_t> shape() const;

  /// Samples [begin, begin + count) without gaps: in place if they are contiguous and not inverted, else copied to
  /// `room`. `Value` is uint8_t, PixelPair or float, by type(). Needs no GIL.
  template <typename Value>
  const Value* slice(int64_t begin, int64_t count, std::vector<Value>& room) const;

 private:
  using Array = nanobind::ndarray<nanobind::ro>;
  /// Dimensions from `first_dim` on are those of a sample.
  SampleArray(Array array, size_t first_dim, ElementType type);
  /// slice() of values that are not inverted.
  template <typename Value>
  const Value* as_given(int64_t begin, int64_t count, std::vector<Value>& room) const;
  template <typename Value>
  void look_at(ImageCheck& check) const;
  template <typename Value>
  Value* copy_in_order(const char* from, size_t dim, Value* to) const;

  Array array_;
  size_t first_dim_;
  ElementType type_;
  bool has_batch_;
  int64_t count_ = 0;
  int64_t sample_values_ = 1;
  bool in_order_ = false;  // without gaps, and aligned
  std::optional<float> inverted_from_;
};

}  // namespace lenslet::python
