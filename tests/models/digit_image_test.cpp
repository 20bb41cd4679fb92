// From a picture to 28x28: the geometry of MNIST if it is present, and drawn digits under everything that pictures
// undergo.

#include "models/digit/digit_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "models/digit/image_dataset.h"
#include "models/digit/ink.h"
#include "tests/io/crafted_files.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

constexpr int kSide = DigitImage::kSide;

struct Geometry {
  int longer = 0;
  double x = 0, y = 0;  // centre of mass
};

Geometry geometry(const uint8_t* pixels) {
  int x0 = kSide, y0 = kSide, x1 = -1, y1 = -1;
  double mass = 0, x_sum = 0, y_sum = 0;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double value = pixels[y * kSide + x];
      if (value == 0) continue;
      x0 = std::min(x0, x);
      x1 = std::max(x1, x);
      y0 = std::min(y0, y);
      y1 = std::max(y1, y);
      mass += value;
      x_sum += value * x;
      y_sum += value * y;
    }
  }
  return mass == 0 ? Geometry() : Geometry{std::max(x1 - x0, y1 - y0) + 1, x_sum / mass, y_sum / mass};
}

void expect_placed(const DigitImage& digit, const std::string& what) {
  const Geometry g = geometry(digit.pixels.data());
  EXPECT_EQ(g.longer, 20) << what;
  EXPECT_NEAR(g.x, 14, 0.51) << what;
  EXPECT_NEAR(g.y, 14, 0.51) << what;
}

// Share of ink that two 28x28 images do not share, 0 to 1.
double difference(const uint8_t* a, const uint8_t* b) {
  double apart = 0, both = 0;
  for (int i = 0; i < kSide * kSide; ++i) {
    apart += std::abs(a[i] - b[i]);
    both += a[i] + b[i];
  }
  return both == 0 ? 0 : apart / both;
}

// A "2" as coverage of ink, 0 to 1, at any size: points of a curve, a round pen.
struct Drawing {
  int width, height;
  std::vector<double> ink;
  double at(int x, int y) const { return ink[static_cast<size_t>(y * width + x)]; }
};

Drawing draw_two(int width, int height, double left, double top, double size, double pen) {
  const std::pair<double, double> points[] = {{0.10, 0.25}, {0.20, 0.08}, {0.40, 0.00}, {0.60, 0.08},
                                              {0.66, 0.25}, {0.56, 0.45}, {0.36, 0.68}, {0.16, 0.88},
                                              {0.04, 1.00}, {0.36, 0.98}, {0.70, 1.00}};
  Drawing drawing{width, height, std::vector<double>(static_cast<size_t>(width * height), 0)};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double nearest = 1e9;
      if (x < left - pen * size || x > left + size || y < top - pen * size || y > top + 1.5 * size) continue;
      for (size_t i = 0; i + 1 < std::size(points); ++i) {
        const double ax = left + size * points[i].first, ay = top + size * points[i].second;
        const double dx = left + size * points[i + 1].first - ax, dy = top + size * points[i + 1].second - ay;
        const double along = std::clamp(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0.0, 1.0);
        nearest = std::min(nearest, std::hypot(x - ax - along * dx, y - ay - along * dy));
      }
      drawing.ink[static_cast<size_t>(y * width + x)] = std::clamp(pen * size / 2 - nearest + 0.5, 0.0, 1.0);
    }
  }
  return drawing;
}

const Drawing kTwo = draw_two(200, 220, 60, 50, 120, 0.12);

using PaperAndInk = std::function<double(double ink, int x, int y)>;

Picture paint(const Drawing& drawing, const PaperAndInk& level) {
  Picture picture = make_picture(drawing.width, drawing.height, 1, {});
  for (int y = 0; y < drawing.height; ++y) {
    for (int x = 0; x < drawing.width; ++x) {
      picture.pixels.push_back(
          static_cast<uint8_t>(std::lround(std::clamp(level(drawing.at(x, y), x, y), 0.0, 255.0))));
    }
  }
  return picture;
}

double black_on_white(double ink, int, int) { return 255 * (1 - ink); }

const DigitImage& clean() {
  static const DigitImage digit = prepare_digit(paint(kTwo, black_on_white));
  return digit;
}

bool has(const std::vector<std::string>& lines, const std::string& fragment) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(fragment) != std::string::npos; });
}

void expect_like_clean(const Picture& picture, const std::string& what, double tolerance = 0.12) {
  const DigitImage digit = prepare_digit(picture);
  EXPECT_FALSE(digit.blank) << what;
  expect_placed(digit, what);
  EXPECT_LT(difference(digit.pixels.data(), clean().pixels.data()), tolerance)
      << what << "\n"
      << picture_as_text(digit.pixels.data(), kSide, kSide);
}

class Noise {
 public:
  explicit Noise(double sigma) : normal_(0, sigma) {}
  double operator()() { return normal_(random_); }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

TEST(DigitImage, PlacesACleanDigit) {
  EXPECT_FALSE(clean().blank);
  EXPECT_FALSE(clean().untouched);
  EXPECT_TRUE(clean().warnings.texts.empty()) << clean().warnings.texts[0];
  expect_placed(clean(), "clean");
}

TEST(DigitImage, TakesEitherPolarity) {
  expect_like_clean(paint(kTwo, [](double ink, int, int) { return 255 * ink; }), "white on black", 0.01);
  expect_like_clean(paint(kTwo, [](double ink, int, int) { return 60 + 150 * ink; }), "light on grey");
  expect_like_clean(paint(kTwo, [](double ink, int, int) { return 200 - 120 * ink; }), "dark on grey");
}

// Ink differs strongly from the paper; a large area that differs slightly is not ink, on either side of the threshold.
TEST(DigitImage, ALargeFaintAreaIsNotTheInk) {
  for (const int sign : {-1, 1}) {
    for (const bool patches : {false, true}) {
      const Picture picture = paint(kTwo, [&](double ink, int x, int y) {
        const bool area = x > 18 && x < 182 && y > 18 && y < 202 && (!patches || (x % 18 > 2 && y % 18 > 2));
        return 128 + sign * (ink > 0.5 ? 120 : area ? -35 : 0);
      });
      const Ink ink = find_ink(grey_planes(picture, 1000));
      EXPECT_TRUE(has(ink.steps, sign < 0 ? "polarity: dark ink" : "polarity: light ink")) << sign;
      EXPECT_GT(ink.level, 0) << sign;
    }
  }
}

TEST(DigitImage, TakesColourAndAlpha) {
  const auto painted = [](int channels, const std::function<void(double, uint8_t*)>& pixel) {
    Picture picture = make_picture(kTwo.width, kTwo.height, channels,
                                   Bytes(kTwo.ink.size() * static_cast<size_t>(channels)));
    for (size_t i = 0; i < kTwo.ink.size(); ++i)
      pixel(kTwo.ink[i], &picture.pixels[i * static_cast<size_t>(channels)]);
    return picture;
  };
  const auto byte = [](double v) { return static_cast<uint8_t>(std::lround(255 * v)); };
  expect_like_clean(painted(3, [&](double ink, uint8_t* p) { p[0] = p[1] = 255, p[2] = byte(1 - ink); }),
                    "yellow on white");
  expect_like_clean(painted(3, [&](double ink, uint8_t* p) { p[0] = 255, p[1] = p[2] = byte(1 - ink); }),
                    "red on white");
  expect_like_clean(
      painted(4, [&](double ink, uint8_t* p) { p[0] = 10, p[1] = 40, p[2] = 160, p[3] = byte(ink); }),
      "blue on nothing");
  expect_like_clean(painted(2, [&](double ink, uint8_t* p) { p[0] = 0, p[1] = byte(ink); }),
                    "grey and alpha");
  const Picture white =
      painted(4, [&](double ink, uint8_t* p) { p[0] = p[1] = p[2] = 255, p[3] = byte(ink); });
  expect_like_clean(white, "white on nothing");
  EXPECT_TRUE(has(prepare_digit(white).steps, "alpha: over black"));
  expect_like_clean(
      painted(4, [&](double ink, uint8_t* p) { p[0] = p[1] = p[2] = byte(1 - ink), p[3] = 255; }),
      "opaque alpha", 0.01);
}

TEST(GreyPlanes, AreLumaAndTheChannels) {
  const GreyPlanes grey = grey_planes(make_picture(1, 1, 3, {200, 100, 50}), 100);
  ASSERT_EQ(grey.planes.size(), 4u);
  EXPECT_NEAR(grey.planes[0].values[0], 0.299 * 200 + 0.587 * 100 + 0.114 * 50, 1e-3);
  EXPECT_EQ(grey.planes[1].values[0], 200);
  EXPECT_EQ(grey.planes[2].values[0], 100);
  EXPECT_EQ(grey.planes[3].values[0], 50);
  // Half of a pixel over white; two by two pixels into one.
  EXPECT_NEAR(grey_planes(make_picture(1, 1, 2, {0, 102}), 100).planes[0].values[0], 153, 1e-3);
  const GreyPlanes small = grey_planes(make_picture(3, 2, 1, {0, 100, 7, 200, 100, 9}), 2);
  EXPECT_EQ(small.factor, 2);
  ASSERT_EQ(small.planes[0].values.size(), 2u);
  EXPECT_EQ(small.planes[0].values[0], 100);
  EXPECT_EQ(small.planes[0].values[1], 8);
}

TEST(DigitImage, TakesUnevenLightAndNoise) {
  Noise noise(6);
  expect_like_clean(
      paint(kTwo, [](double ink, int x, int y) { return (230 - 0.5 * x + 0.1 * y) * (1 - 0.75 * ink); }),
      "gradient");
  expect_like_clean(paint(kTwo,
                          [](double ink, int x, int y) {
                            return (220 - 0.004 * (x - 100) * (x - 100) - 0.004 * (y - 110) * (y - 110)) *
                                   (1 - 0.7 * ink);
                          }),
                    "vignette");
  expect_like_clean(paint(kTwo, [&](double ink, int, int) { return 210 - 140 * ink + noise(); }), "noise");
  expect_like_clean(
      paint(kTwo, [&](double ink, int x,
                      int y) { return 220 * (x + y > 240 ? 0.55 : 1) * (1 - 0.75 * ink) + 0.3 * noise(); }),
      "shadow", 0.2);
}

TEST(DigitImage, TakesJpegOfAnyQuality) {
  for (const int quality : {95, 60, 25}) {
    for (const bool inverted : {false, true}) {
      const Picture picture =
          paint(kTwo, [&](double ink, int, int) { return inverted ? 20 + 220 * ink : 245 - 220 * ink; });
      expect_like_clean(decode_picture(jpeg(picture, quality), "picture"), "JPEG");
    }
  }
}

TEST(DigitImage, TakesAnySizeAndPlace) {
  for (const double size : {18.0, 40.0, 120.0, 300.0, 700.0}) {
    const Drawing drawing =
        draw_two(static_cast<int>(3 * size), static_cast<int>(2 * size), 1.7 * size, 0.4 * size, size, 0.12);
    expect_like_clean(paint(drawing, black_on_white), "size " + std::to_string(size), size < 30 ? 0.3 : 0.15);
  }
  const DigitImage small = prepare_digit(paint(draw_two(2600, 1900, 400, 1500, 90, 0.12), black_on_white));
  EXPECT_TRUE(has(small.steps, "small in the picture"));
  EXPECT_LT(difference(small.pixels.data(), clean().pixels.data()), 0.15);
}

TEST(DigitImage, DrawsThinStrokesThickerAndThickOnesThinner) {
  const DigitImage thin = prepare_digit(paint(draw_two(400, 400, 100, 60, 280, 0.008), black_on_white));
  EXPECT_TRUE(has(thin.steps, "drawn thicker"));
  expect_placed(thin, "thin");
  EXPECT_EQ(*std::max_element(thin.pixels.begin(), thin.pixels.end()), 255);
  const DigitImage thick = prepare_digit(paint(draw_two(400, 400, 100, 60, 280, 0.45), black_on_white));
  EXPECT_TRUE(has(thick.steps, "drawn thinner"));
  expect_placed(thick, "thick");
}

TEST(DigitImage, LeavesOutFramesSpecksAndLinesWithAWarning) {
  const auto with = [](const PaperAndInk& extra) {
    return paint(kTwo, [&](double ink, int x, int y) { return std::min(255 - 230 * ink, extra(ink, x, y)); });
  };
  const Picture frame =
      with([](double, int x, int y) { return x < 3 || y < 3 || x > 196 || y > 216 ? 20 : 255; });
  expect_like_clean(frame, "frame");
  EXPECT_TRUE(has(prepare_digit(frame).warnings.texts, "at the edge was left out"));
  const Picture inset = with([](double, int x, int y) {
    const bool inside = x > 12 && y > 12 && x < 187 && y < 207;
    return inside && (x < 16 || y < 16 || x > 183 || y > 203) ? 20 : 255;
  });
  expect_like_clean(inset, "frame away from the edge");
  expect_like_clean(with([](double, int x, int y) { return x > 190 && y > 30 ? 60 : 255; }), "dark edge");
  expect_like_clean(with([](double, int x, int y) { return x % 60 < 2 && y % 70 < 2 ? 0 : 255; }), "specks");
  expect_like_clean(with([](double, int, int y) { return y % 30 == 0 ? 205 : 255; }), "ruled paper");
}

TEST(DigitImage, ReadsFromASheetThatLiesOnSomething) {
  const Picture photo = paint(kTwo, [](double ink, int x, int y) {
    return x < 30 || y < 24 || x > 172 || y > 202 ? 60 + (x + y) % 9 : 225 - 180 * ink;
  });
  expect_like_clean(photo, "white card on a dark table");
  EXPECT_TRUE(has(prepare_digit(photo).steps, "paper: what lies beside it"));
  // A thick stroke is not a sheet of paper.
  const Picture bar = paint({40, 60, std::vector<double>(2400, 0)}, [](double, int x, int y) {
    return x > 12 && x < 28 && y > 8 && y < 52 ? 10 : 240;
  });
  EXPECT_FALSE(has(prepare_digit(bar).steps, "paper: what lies beside it"));
  EXPECT_FALSE(prepare_digit(bar).blank);
  // Neither is a thick ring, although it encloses something.
  const Picture ring = paint({90, 90, std::vector<double>(8100, 0)}, [](double, int x, int y) {
    const double radius = std::hypot(x - 45, y - 45);
    return radius > 10 && radius < 36 ? 10 : 240;
  });
  EXPECT_FALSE(has(prepare_digit(ring).steps, "paper: what lies beside it"));
}

// What is not paper is left out, wherever it lies at the edge and whatever share of the edge it has.
TEST(DigitImage, JudgesPaperByItsMainArea) {
  Noise noise(4);
  const auto on_table = [&](const std::function<bool(int, int)>& table) {
    return paint(kTwo, [&](double ink, int x, int y) {
      return table(x, y) ? 45 + 2 * noise() : (215 - 0.2 * x) * (1 - 0.7 * ink) + noise();
    });
  };
  const auto round = [](int x, int y) { return x < 8 || y < 9 || x >= 192 || y >= 211; };
  const auto corner = [](int x, int y) { return x + y < 70; };
  const auto turned = [](int x, int y) { return 6 * x + y < 130 || 6 * y - x < 20 || 7 * x - y > 1260; };
  for (const std::function<bool(int, int)>& table :
       std::vector<std::function<bool(int, int)>>{round, corner, turned}) {
    const Picture photo = on_table(table);
    expect_like_clean(photo, "photo");
    EXPECT_TRUE(has(prepare_digit(photo).steps, "polarity: dark ink"));
  }
  // Lines cut the paper of an exercise book into squares.
  expect_like_clean(paint(kTwo,
                          [&](double ink, int x, int y) {
                            return 235 - 130 * std::max(ink, x % 13 < 2 || y % 13 < 2 ? 0.2 : 0) + noise();
                          }),
                    "squared paper", 0.2);
}

TEST(DigitImage, WarnsOfWhatMayBeWrong) {
  EXPECT_TRUE(
      has(prepare_digit(paint(kTwo, [](double ink, int, int) { return 200 - 30 * ink; })).warnings.texts,
          "little contrast"));
  EXPECT_TRUE(has(prepare_digit(paint(draw_two(200, 200, -20, 30, 140, 0.1), black_on_white)).warnings.texts,
                  "touches the edge"));
  Drawing two_digits = draw_two(400, 200, 40, 40, 120, 0.1);
  const Drawing other = draw_two(400, 200, 240, 40, 120, 0.1);
  for (size_t i = 0; i < other.ink.size(); ++i) two_digits.ink[i] = std::max(two_digits.ink[i], other.ink[i]);
  EXPECT_TRUE(
      has(prepare_digit(paint(two_digits, black_on_white)).warnings.texts, "two or more separate marks"));
  EXPECT_TRUE(has(prepare_digit(paint(draw_two(16, 16, 5, 5, 4, 0.2), black_on_white)).warnings.texts,
                  "pixels large"));
}

TEST(DigitImage, FlagsBlankPictures) {
  Noise noise(8);
  const Drawing nothing{200, 150, std::vector<double>(200 * 150, 0)};
  for (const Picture& picture :
       {make_picture(1, 1, 1, {7}), make_picture(28, 28, 1, Bytes(784, 0)),
        make_picture(28, 28, 1, Bytes(784, 255)), make_picture(5000, 3, 3, Bytes(45000, 180)),
        make_picture(40, 40, 4, Bytes(6400, 0)), make_picture(2, 2, 1, {9, 9, 9, 9}),
        paint(nothing, [&](double, int, int) { return 180 + noise(); }),
        paint(nothing, [](double, int x, int) { return 250 - 0.5 * x; })}) {
    const DigitImage digit = prepare_digit(picture);
    EXPECT_TRUE(digit.blank) << picture.width << "x" << picture.height;
    EXPECT_TRUE(has(digit.warnings.texts, "blank"));
    EXPECT_EQ(std::count(digit.pixels.begin(), digit.pixels.end(), 0), kSide * kSide);
  }
}

// Found by fuzzing: the columns and the rows with enough ink met in an area without ink.
TEST(DigitImage, FlagsMarksThatLieTooFarApart) {
  constexpr int kWidth = 320, kHeight = 21;
  Bytes pixels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool upright = x == 10 && y >= 3 && y < 8, flat = y == 15 && x >= 300 && x < 306;
      pixels.push_back(upright || flat ? 0 : 255);
    }
  }
  const DigitImage digit = prepare_digit(make_picture(kWidth, kHeight, 1, pixels));
  EXPECT_TRUE(digit.blank);
  EXPECT_EQ(digit.pixels, DigitImage().pixels);
  EXPECT_TRUE(has(digit.warnings.texts, "blank: the marks found lie too far apart"));
}

// Found by fuzzing: in a wide and low picture the corners of a frame were searched beyond its rows.
TEST(DigitImage, LooksForFramesInPicturesOfAFewRows) {
  for (const int height : {5, 7, 9, 11, 14}) {
    for (const bool upright : {false, true}) {
      const int width = 24 * height;
      Picture picture = upright ? make_picture(height, width, 1, {}) : make_picture(width, height, 1, {});
      for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
          const int along = upright ? y : x, across = upright ? x : y;
          const bool inside = along >= height && along < width - height && across >= 1 && across < height - 1;
          const bool edge =
              along == height || along == width - height - 1 || across == 1 || across == height - 2;
          picture.pixels.push_back(inside && edge ? 5 : 250);
        }
      }
      EXPECT_FALSE(prepare_digit(picture).steps.empty()) << height;
    }
  }
}

TEST(DigitImage, EndsOnAnyShape) {
  std::mt19937 random(3);
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(1, 2), std::pair(2, 1), std::pair(3, 3), std::pair(1, 400),
        std::pair(400, 1), std::pair(5000, 3), std::pair(28, 28), std::pair(27, 29), std::pair(331, 17)}) {
    for (int channels = 1; channels <= 4; ++channels) {
      Picture picture =
          make_picture(width, height, channels, Bytes(static_cast<size_t>(width * height * channels)));
      for (uint8_t& pixel : picture.pixels) pixel = static_cast<uint8_t>(random());
      prepare_digit(picture);
      for (uint8_t& pixel : picture.pixels) pixel = random() % 8 == 0 ? 255 : 0;
      prepare_digit(picture);
    }
  }
}

TEST(DigitImage, LeavesPicturesLikeMnistUntouched) {
  const Picture mnist_like =
      make_picture(kSide, kSide, 1, Bytes(clean().pixels.begin(), clean().pixels.end()));
  const DigitImage digit = prepare_digit(mnist_like);
  EXPECT_TRUE(digit.untouched);
  EXPECT_EQ(digit.pixels, clean().pixels);
  Picture rgb = make_picture(kSide, kSide, 3, {});
  for (const uint8_t pixel : mnist_like.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, pixel);
  EXPECT_TRUE(prepare_digit(rgb).untouched);
  Picture moved = mnist_like;
  std::rotate(moved.pixels.begin(), moved.pixels.begin() + 3, moved.pixels.end());
  const DigitImage back = prepare_digit(moved);
  EXPECT_FALSE(back.untouched);
  EXPECT_EQ(back.pixels, clean().pixels) << "a shift of a clean picture is undone exactly";
}

TEST(DigitImage, IsQuickEnoughForOnePicture) {
  const Picture picture = paint(kTwo, black_on_white);
  const double time = min_cpu_ms([&] { prepare_digit(picture); });
  RecordProperty("milliseconds", std::to_string(time));
  EXPECT_LT(time, 100 * kSlowdown) << "a few milliseconds are usual";
}

// Result of a measurement on 20,000 images, as a requirement: the steps keep MNIST's own geometry.
class Mnist : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("LENSLET_MNIST_DIR");
    if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "LENSLET_MNIST_DIR is not set";
    set_ = read_image_dataset(folder, "t10k", kSide, kSide);
  }
  const uint8_t* image(int64_t i) const { return set_.images.data() + i * kSide * kSide; }

  ImageDataset set_;
};

TEST_F(Mnist, PassesThroughUntouched) {
  int64_t untouched = 0;
  for (int64_t i = 0; i < set_.count; ++i) {
    const DigitImage digit =
        prepare_digit(make_picture(kSide, kSide, 1, Bytes(image(i), image(i) + kSide * kSide)));
    if (!digit.untouched) continue;
    ++untouched;
    ASSERT_TRUE(std::equal(digit.pixels.begin(), digit.pixels.end(), image(i)));
  }
  EXPECT_GE(untouched, set_.count * 999 / 1000);
}

TEST_F(Mnist, IsRecoveredFromLargerAndInvertedPictures) {
  constexpr int64_t kImages = 300;
  int64_t exact = 0, placed = 0, seen = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    for (const bool inverted : {false, true}) {
      Picture large = make_picture(70, 50, 1, Bytes(70 * 50, inverted ? 255 : 0));
      const int left = static_cast<int>(i * 7 % 42), top = static_cast<int>(i * 5 % 22);
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const uint8_t value = image(i)[y * kSide + x];
          large.pixels[static_cast<size_t>((top + y) * 70 + left + x)] =
              inverted ? static_cast<uint8_t>(255 - value) : value;
        }
      }
      const DigitImage digit = prepare_digit(large);
      const Geometry g = geometry(digit.pixels.data());
      ++seen;
      placed += g.longer == 20 && std::abs(g.x - 14) <= 0.5 && std::abs(g.y - 14) <= 0.5;
      exact += difference(digit.pixels.data(), image(i)) < 0.02;
    }
  }
  EXPECT_GE(placed, seen * 99 / 100);
  EXPECT_GE(exact, seen * 95 / 100);
}

TEST(PictureAsText, ShowsInkAsDenseCharacters) {
  const uint8_t pixels[] = {0, 255, 128, 0};
  EXPECT_EQ(picture_as_text(pixels, 2, 2), "  @@\n++\n");
  EXPECT_EQ(picture_as_text(pixels, 2, 2, 2), "--\n");
  EXPECT_EQ(picture_as_text(pixels, 2, 2, 1), "--\n");
}

TEST(PictureAsText, IsBoundedInBothDirections) {
  const std::vector<uint8_t> pixels(200000, 255);
  for (const auto& [width, height] : {std::pair(1, 200000), std::pair(200000, 1), std::pair(400, 500)}) {
    const std::string text = picture_as_text(pixels.data(), width, height);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 56) << width << "x" << height;
    EXPECT_LE(text.find('\n'), 56u) << width << "x" << height;
  }
}

}  // namespace
}  // namespace lenslet::test
