// FastDivide: unsigned division by a number known at launch, as one multiply and one shift.
//
// quotient = (umulhi(m, n) + n) >> s with s = ceil(log2 d), m = floor(2^32 * (2^s - d) / d) + 1; exact for 0
// <= n < 2^31. T. Granlund and P. L. Montgomery, "Division by invariant integers using multiplication", PLDI
// 1994, fig. 4.1.
#pragma once

#include <cstdint>

namespace lenslet {

class FastDivide {
 public:
  FastDivide() = default;
  /// 1 <= divisor < 2^31.
  explicit FastDivide(int divisor) : divisor_(static_cast<uint32_t>(divisor)) {
    while ((uint64_t{1} << shift_) < divisor_) ++shift_;
    multiplier_ =
        static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - divisor_) / divisor_ + 1);
  }
  /// n / divisor for 0 <= n < 2^31; `remainder` gets n % divisor.
  __device__ int divide(int n, int& remainder) const {
    const uint32_t value = static_cast<uint32_t>(n);
    const uint32_t quotient = (__umulhi(multiplier_, value) + value) >> shift_;
    remainder = static_cast<int>(value - quotient * divisor_);
    return static_cast<int>(quotient);
  }
  __device__ int divisor() const { return static_cast<int>(divisor_); }

 private:
  uint32_t divisor_ = 1, multiplier_ = 1, shift_ = 0;
};

}  // namespace lenslet
