// Notices images with dark ink on light paper, floats that are not normalised, and floats that are no numbers: a
// network would answer them wrongly. The C interface and the Python package check images by it; Model does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "framework/tensor/normalisation.h"
#include "framework/tensor/pixels.h"
#include "models/lenet5.h"

namespace lenslet {

/// Samples some images [28, 28], because a wrong polarity or scale affects the whole call. Images of one value are
/// skipped. A NaN or an infinity affects its image only, so look_for_numbers() reads every value.
class ImageCheck {
 public:
  static constexpr int64_t kMaxLookedAt = 64;  ///< Images to look at.

  /// For pixels of 0 to 255. `inverted`: the caller exchanges dark and bright after the check, which looks at the
  /// images as they were passed.
  explicit ImageCheck(bool inverted = false) : inverted_(inverted) {}
  /// For floats: the values of paper and of full ink.
  explicit ImageCheck(const Normalisation& normalisation, bool inverted = false)
      : paper_(-normalisation.mean() / normalisation.std()),
        ink_((1 - normalisation.mean()) / normalisation.std()),
        inverted_(inverted) {}

  /// Looks at one image more.
  void look_at(const PixelPair* pairs) {
    uint8_t image[kLenet5Pixels];
    unpack_pixels(pairs, kLenet5Pixels, image);
    look_at(image);
  }
  template <typename Value>
  void look_at(const Value* image) {
    constexpr int kSide = kLenet5Side, kPixels = kLenet5Pixels;
    if (is_one_grey(image, kPixels)) return;
    ++with_ink_;
    const float middle = (paper_ + ink_) / 2;
    int bright = 0;
    const auto count = [&](const Value* pixel) {
      const auto value = static_cast<float>(*pixel);
      bright += inverted_ ? value < middle : value > middle;
    };
    for (int i = 0; i < kSide; ++i) count(image + i);
    for (int i = 0; i < kSide; ++i) count(image + kPixels - kSide + i);
    for (int i = 1; i + 1 < kSide; ++i) count(image + i * kSide), count(image + i * kSide + kSide - 1);
    light_ += 4 * bright > 3 * (4 * kSide - 4);  // more than half would refuse every other picture of noise
    if (!(paper_ < 0)) return;                   // pixels are what is expected
    for (int i = 0; i < kPixels && !(min_ < 0); ++i) {
      min_ = std::fmin(min_, static_cast<float>(image[i]));
      max_ = std::fmax(max_, static_cast<float>(image[i]));
    }
  }

  /// Reads every value of `images` [count, 28, 28], until one is NaN or infinite. They are `first` and the following
  /// ones of the call.
  void look_for_numbers(const float* images, int64_t first, int64_t count);

  /// Whether all values read by look_for_numbers() are finite.
  bool are_numbers() const { return odd_image_ < 0; }
  /// Whether floats have no value below 0, as pixels have none.
  bool are_pixels() const {
    // Dark on light normalised has none either if its ink is pale, but paper that inverting moves below 0.
    const bool has_paper = inverted_ && max_ > paper_ + ink_ && max_ < 2 * ink_;
    return paper_ < 0 && with_ink_ > 0 && min_ >= 0 && !has_paper;
  }
  /// Whether pixels seem to go to 1, not to 255.
  bool are_shares() const { return max_ <= 1; }
  /// Whether most are dark ink on light paper; of images to be inverted, whether most are bright on dark.
  bool are_of_wrong_polarity() const { return 2 * light_ > with_ink_; }
  /// What was expected and found, for the first of these that holds; without a remedy. Empty: nothing is wrong.
  std::string complaint() const;

 private:
  static bool is_one_grey(const uint8_t* image, size_t pixels) {
    return std::memcmp(image, image + 1, pixels - 1) == 0;
  }
  // True for NaN.
  static bool is_one_grey(const float* image, size_t pixels) {
    return !std::any_of(image, image + pixels, [&](float v) { return v < image[0] || v > image[0]; });
  }

  float paper_ = 0, ink_ = 255;
  bool inverted_ = false;
  float min_ = HUGE_VALF, max_ = -HUGE_VALF;  // until a value below 0 was seen
  int64_t with_ink_ = 0, light_ = 0;          // images
  int64_t odd_image_ = -1;                    // the first with a value that is not finite
  int odd_pixel_ = 0;                         // the first of those in that image
  float odd_value_ = 0;
};

}  // namespace lenslet
