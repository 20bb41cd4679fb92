#include "api/image_check.h"

#include <algorithm>
#include <atomic>

#include "framework/base/error.h"
#include "framework/base/parallel.h"

namespace lenslet {
namespace {

// By the bits of the exponent, and without a branch, so that the compiler reads several values at a time.
bool all_finite(const float* image) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t odd = 0;
  for (int i = 0; i < kLenet5Pixels; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, image + i, sizeof bits);
    odd |= static_cast<uint32_t>((bits & kExponent) == kExponent);
  }
  return odd == 0;
}

}  // namespace

void ImageCheck::look_for_numbers(const float* images, int64_t first, int64_t count) {
  constexpr int64_t kImagesPerTask = 256;  // 0.8 MB, which takes longer to read than a thread to wake
  std::atomic<int64_t> odd(count);
  parallel_for_light(count, kImagesPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < odd; ++i) {
      if (all_finite(images + i * kLenet5Pixels)) continue;
      int64_t earliest = odd;
      while (i < earliest && !odd.compare_exchange_weak(earliest, i)) {
      }
    }
  });
  if (odd == count || !are_numbers()) return;
  const float* const image = images + odd * kLenet5Pixels;
  const float* const value =
      std::find_if(image, image + kLenet5Pixels, [](float v) { return !std::isfinite(v); });
  odd_image_ = first + odd;
  odd_pixel_ = static_cast<int>(value - image);
  odd_value_ = *value;
}

std::string ImageCheck::complaint() const {
  if (!are_numbers()) {
    return concat("images: expected finite values, found ",
                  std::isnan(odd_value_) ? std::fabs(odd_value_) : odd_value_, " in image ", odd_image_,
                  ", row ", odd_pixel_ / kLenet5Side, ", column ", odd_pixel_ % kLenet5Side,
                  ", each counted from 0");
  }
  if (are_pixels()) {
    return concat("images: expected normalised float32, ", paper_, " for paper to ", ink_, " for ink; found ",
                  min_, " to ", max_, ", which are pixels");
  }
  if (are_of_wrong_polarity()) {
    return concat(inverted_ ? "images to invert: expected dark on light, found bright on dark in "
                            : "images: expected bright ink on dark paper, found dark on light in ",
                  light_, " of ", with_ink_, " images looked at");
  }
  return {};
}

}  // namespace lenslet
