// Shape: the dimensions of a tensor, outermost first (N, C, H, W for activations).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace lenslet {

/// Up to kMaxRank dimensions, without memory of their own on the heap.
class Shape {
 public:
  static constexpr int kMaxRank = 8;  // also the limit of a weights file

  Shape() = default;
  /// Throws DataError if the rank exceeds kMaxRank, a dimension is negative or the element count exceeds 2^63 - 1.
  Shape(std::initializer_list<int64_t> dims) : Shape(dims.begin(), static_cast<int>(dims.size())) {}
  /// From `rank` sizes, outermost first. Throws like the other constructor.
  Shape(const int64_t* dims, int rank);
  /// From sizes, outermost first. Throws like the other constructor.
  explicit Shape(const std::vector<int64_t>& dims) : Shape(dims.data(), static_cast<int>(dims.size())) {}

  /// 0 to kMaxRank; 0 for a scalar.
  int rank() const noexcept { return rank_; }
  /// Dimension `i`, counted from the outermost; a negative `i` counts from the innermost (-1 is the last).
  int64_t operator[](int i) const noexcept { return dims_[static_cast<size_t>(i < 0 ? rank_ + i : i)]; }
  /// All of them, outermost first.
  std::vector<int64_t> dims() const { return {dims_.begin(), dims_.begin() + rank_}; }
  /// Product of the dimensions; 1 for rank 0.
  int64_t num_elements() const noexcept { return num_elements_; }
  /// Bytes of that many fp32 values.
  size_t bytes() const noexcept { return static_cast<size_t>(num_elements_) * sizeof(float); }
  /// [count, dims...]: that many samples of this shape. Throws DataError beyond kMaxRank.
  Shape batch_of(int64_t count) const;
  /// [count, all dims but the first]: as many samples instead. Not of rank 0.
  Shape with_batch(int64_t count) const;
  /// All dims but the first: one sample of a batch of this shape; a scalar of rank 0 or 1.
  Shape sample() const;
  /// "16x6x5x5"; "scalar" for rank 0.
  std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.rank_ == b.rank_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const Shape& a, const Shape& b) noexcept { return !(a == b); }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
  int64_t num_elements_ = 1;
};

}  // namespace lenslet
