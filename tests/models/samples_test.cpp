// The twenty sample digits through the default model: as they are, inverted, shifted, scaled, as JPEG, transparent.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include "framework/execution/executable.h"
#include "framework/io/picture.h"
#include "models/digit/digit_image.h"
#include "tests/io/crafted_files.h"
#include "tests/support/lenet5.h"

namespace lenslet::test {
namespace {

constexpr int kSamples = 20, kEnough = 18;

Picture sample(int i) {
  return read_picture(std::string(LENSLET_SOURCE_DIR) + "/samples/digit_" + std::to_string(i / 2) +
                      (i % 2 ? "_b.png" : "_a.png"));
}

class Samples : public ::testing::Test {
 protected:
  int classify(const Picture& picture) {
    static Executable model(lenet5(), BuildOptions());
    const DigitImage digit = prepare_digit(picture);
    EXPECT_FALSE(digit.blank);
    normalise_mnist(digit.pixels.data(), 1, model.input().data);
    model.run();
    model.stream().synchronise();
    const float* logits = model.output().data;
    return static_cast<int>(std::max_element(logits, logits + kLenet5Classes) - logits);
  }

  // At least 18 of 20 are correct after `change`.
  void expect_read(const std::function<Picture(const Picture&)>& change) {
    int right = 0;
    std::string missed;
    for (int i = 0; i < kSamples; ++i) {
      const int digit = classify(change(sample(i)));
      if (digit == i / 2) {
        ++right;
      } else {
        missed += " " + std::to_string(i / 2) + (i % 2 ? "b" : "a") + " as " + std::to_string(digit);
      }
    }
    EXPECT_GE(right, kEnough) << "missed:" << missed;
    RecordProperty("right", right);
  }
};

// Every output pixel from one of the input's.
Picture remap(const Picture& in, int width, int height,
              const std::function<std::pair<int, int>(int, int)>& from) {
  Picture out = make_picture(width, height, in.channels, {});
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto [sx, sy] = from(x, y);
      const auto* pixel = &in.pixels[static_cast<size_t>(
          (std::clamp(sy, 0, in.height - 1) * in.width + std::clamp(sx, 0, in.width - 1)) * in.channels)];
      out.pixels.insert(out.pixels.end(), pixel, pixel + in.channels);
    }
  }
  return out;
}

// Without alpha: over white.
Picture opaque(const Picture& in) {
  if (in.channels % 2 == 1) return in;
  Picture out = make_picture(in.width, in.height, in.channels - 1, {});
  const auto channels = static_cast<size_t>(in.channels);
  for (size_t i = 0; i < in.pixels.size(); i += channels) {
    const int alpha = in.pixels[i + channels - 1];
    for (size_t c = 0; c + 1 < channels; ++c)
      out.pixels.push_back(static_cast<uint8_t>((in.pixels[i + c] * alpha + 255 * (255 - alpha)) / 255));
  }
  return out;
}

TEST_F(Samples, AsTheyAre) {
  expect_read([](const Picture& picture) { return picture; });
}

TEST_F(Samples, Inverted) {
  expect_read([](const Picture& picture) {
    Picture out = opaque(picture);
    for (uint8_t& pixel : out.pixels) pixel = static_cast<uint8_t>(255 - pixel);
    return out;
  });
}

TEST_F(Samples, Shifted) {
  for (const int dx : {-40, 55}) {
    for (const int dy : {-30, 70}) {
      expect_read([=](const Picture& picture) {
        const int left = std::max(dx, 0), top = std::max(dy, 0);
        return remap(picture, picture.width + std::abs(dx), picture.height + std::abs(dy),
                     [=](int x, int y) { return std::pair(x - left, y - top); });
      });
    }
  }
}

TEST_F(Samples, Scaled) {
  for (const double factor : {0.75, 1.5, 3.0}) {
    expect_read([=](const Picture& picture) {
      return remap(picture, static_cast<int>(picture.width * factor),
                   static_cast<int>(picture.height * factor), [=](int x, int y) {
                     return std::pair(static_cast<int>((x + 0.5) / factor),
                                      static_cast<int>((y + 0.5) / factor));
                   });
    });
  }
}

TEST_F(Samples, AsJpeg) {
  for (const int quality : {90, 50, 20}) {
    expect_read(
        [=](const Picture& picture) { return decode_picture(jpeg(opaque(picture), quality), "sample"); });
  }
}

TEST_F(Samples, OnATransparentBackground) {
  // Alpha from the distance to the paper's colour, the ink of one colour: as a drawing program exports it.
  for (const uint8_t ink : {uint8_t{0}, uint8_t{90}, uint8_t{255}}) {
    expect_read([=](const Picture& picture) {
      const Picture source = opaque(picture);
      const auto distance = [&](size_t i) {
        int sum = 0;
        for (size_t c = 0; c < 3; ++c) sum += std::abs(source.pixels[3 * i + c] - source.pixels[c]);
        return sum;
      };
      const size_t count = source.pixels.size() / 3;
      int largest = 1;
      for (size_t i = 0; i < count; ++i) largest = std::max(largest, distance(i));
      Picture out = make_picture(source.width, source.height, 4, {});
      for (size_t i = 0; i < count; ++i) {
        out.pixels.insert(out.pixels.end(),
                          {ink, ink, ink, static_cast<uint8_t>(255 * distance(i) / largest)});
      }
      return out;
    });
  }
}

}  // namespace
}  // namespace lenslet::test
