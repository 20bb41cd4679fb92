#include "framework/tensor/shape.h"

#include "framework/base/error.h"

namespace lenslet {

Shape::Shape(const int64_t* dims, int rank) : rank_(rank) {
  if (rank < 0 || rank > kMaxRank) {
    throw DataError(concat("a shape has at most ", kMaxRank, " dimensions, found ", rank));
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      throw DataError(concat("dimension ", i, " of a shape must not be negative, found ", dims[i]));
    dims_[static_cast<size_t>(i)] = dims[i];
    if (__builtin_mul_overflow(num_elements_, dims[i], &num_elements_) ||
        num_elements_ > INT64_MAX / static_cast<int64_t>(sizeof(double))) {
      throw DataError(concat("the product of the dimensions overflows at dimension ", i, " = ", dims[i]));
    }
  }
}

Shape Shape::batch_of(int64_t count) const {
  std::vector<int64_t> all = dims();
  all.insert(all.begin(), count);
  return Shape(all);
}

Shape Shape::with_batch(int64_t count) const { return sample().batch_of(count); }

Shape Shape::sample() const { return Shape(dims_.data() + 1, rank_ > 0 ? rank_ - 1 : 0); }

std::string Shape::to_string() const {
  if (rank_ == 0) return "scalar";
  std::string text = std::to_string(dims_[0]);
  for (int i = 1; i < rank_; ++i) text += "x" + std::to_string((*this)[i]);
  return text;
}

}  // namespace lenslet
