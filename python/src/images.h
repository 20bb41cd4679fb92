// Images from Python: any array with DLPack or the buffer protocol, read in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace lenslet::python {

/// Images [count, 28, 28] in the memory of a Python array, which stays alive as long as this object.
class ImageArray {
 public:
  /// Takes [N, 28, 28], [N, 1, 28, 28] or [28, 28] of uint8 or float32 in host memory. Throws TypeError for another
  /// type or an object that is no array, ValueError for another shape or GPU memory.
  explicit ImageArray(nanobind::handle images);

  int64_t count() const noexcept { return count_; }
  /// Pixels 0..255; otherwise normalised float32.
  bool holds_bytes() const noexcept { return array_.dtype() == nanobind::dtype<uint8_t>(); }
  /// The shape that was passed.
  std::vector<size_t> shape() const;

  /// Images [begin, begin + count) without gaps: in place if they are contiguous, else copied to `room`. `Pixel` is
  /// uint8_t or float, by holds_bytes(). Needs no GIL.
  template <typename Pixel>
  const Pixel* slice(int64_t begin, int64_t count, std::vector<Pixel>& room) const;

 private:
  using Array = nanobind::ndarray<nanobind::ro>;

  Array array_;
  int64_t count_ = 0;
  int64_t image_stride_ = 0, row_stride_ = 0, column_stride_ = 0;  // in elements; may be negative or 0
  bool in_order_ = false;                                          // without gaps, and aligned
};

}  // namespace lenslet::python
