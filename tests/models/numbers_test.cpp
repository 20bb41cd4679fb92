// Reads drawn pictures of numbers with the built-in weights for pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include "framework/io/picture.h"
#include "models/digit/ink_picture.h"
#include "tests/embedding/model_options.h"
#include "tests/io/crafted_files.h"
#include "tests/models/number_pictures.h"
#include "tests/models/number_reading.h"

namespace lenslet::test {
namespace {

Model load(const char* weights) { return Model::load(weights, on_cpu()); }

Picture written(const std::string& text, double spacing = 0.25, const Pen& pen = {}) {
  return DrawnPicture(160 + 130 * static_cast<int>(text.size()), 240)
      .write(text, 70, 50, 130, pen, spacing)
      .picture();
}

// A hard picture may be refused. A wrong number is a failure.
TEST(Numbers, AreReadInDrawnPicturesOrRefused) {
  constexpr int kMaxRefused = 0;
  int refused = 0;
  std::string which;
  for (const NumberPicture& picture : number_pictures()) {
    const Reading reading = read(picture.picture);
    EXPECT_EQ(reading.number.empty(), reading.refusal != Refusal::kNone) << picture.name;
    EXPECT_EQ(reading.reason.empty(), reading.refusal == Refusal::kNone) << picture.name;
    if (picture.number.empty()) {
      EXPECT_EQ(reading.reason.rfind(picture.reason, 0), 0u) << picture.name << ": " << told(reading);
    } else if (reading.number.empty()) {
      ++refused;
      which += " " + picture.name;
    } else {
      EXPECT_EQ(reading.number, picture.number) << picture.name;
    }
  }
  EXPECT_LE(refused, kMaxRefused) << "refused:" << which;
}

TEST(Numbers, HaveTheBoxAndTheProbabilityOfEachDigit) {
  // The picture is reduced, and the part with ink is read again at a higher resolution. Boxes are in its pixels all
  // the same.
  const Reading reading =
      read(DrawnPicture(2400, 1800, kWhite, 16).write("1984", 1300, 900, 130, {kBlueInk, .08}).picture());
  ASSERT_EQ(reading.number, "1984") << told(reading);
  ASSERT_EQ(reading.digits.size(), 4u);
  double product = 1;
  int right = 1290;
  for (const ReadDigit& digit : reading.digits) {
    EXPECT_GT(digit.box.x0, right - 4);
    EXPECT_NEAR(digit.box.y0, 895, 10);
    EXPECT_NEAR(digit.box.y1, 1035, 10);
    EXPECT_LT(digit.box.width(), 110);
    right = digit.box.x1;
    product *= digit.top[0].probability;
    ASSERT_EQ(digit.top.size(), 3u);
    EXPECT_GT(digit.top[0].probability, digit.top[1].probability);
  }
  EXPECT_LT(right, 1690);
  EXPECT_DOUBLE_EQ(reading.probability, product);
}

TEST(Numbers, AreRefusedForMarksThatAreNoDigits) {
  for (const char* text : {"1+2", "5-2", "3.14", "12:30", "-5", "A7", "7E"}) {
    const Reading reading = read(written(text));
    EXPECT_EQ(reading.refusal, Refusal::kNoNumber) << text << " as " << told(reading);
    EXPECT_TRUE(std::isnan(reading.probability)) << text;
    EXPECT_EQ(reading.reason.rfind("no number: mark ", 0), 0u) << reading.reason;
  }
  // A dash near a digit is not part of it, such as the flag of a 5.
  for (const uint32_t seed : {1, 2, 3}) {
    const Reading minus = read(DrawnPicture(550, 240, kWhite, seed).write("5-2", 70, 50, 130).picture());
    EXPECT_EQ(minus.digits.size(), 3u) << told(minus);
    EXPECT_EQ(minus.refusal, Refusal::kNoNumber) << told(minus);
  }
  const Reading point = read(written("3.14"));
  ASSERT_EQ(point.digits.size(), 4u);
  EXPECT_EQ(point.digits[1].refusal, Refusal::kTooSmall);
  EXPECT_FALSE(point.warnings.has(PictureWarning::kUnevenHeights));
  EXPECT_EQ(point.digits[3].top[0].digit, 4);
}

// Noise as deep as ink is no blank paper, and the grain of paper is no such noise.
TEST(Numbers, AreRefusedInNoiseButPaperIsBlank) {
  std::mt19937 random(6);
  const auto noisy = [&](int width, int height, int channels, double sigma) {
    Picture picture{width, height, channels, {}, "PNG"};
    std::normal_distribution<double> normal(128, sigma);
    std::uniform_int_distribution<int> uniform(0, 255);
    for (int i = 0; i < width * height * channels; ++i) {
      const double value = sigma > 0 ? std::clamp(normal(random), 0.0, 255.0) : uniform(random);
      picture.pixels.push_back(static_cast<uint8_t>(value));
    }
    return picture;
  };
  for (const Picture& picture : {noisy(28, 28, 1, 0), noisy(200, 150, 1, 0), noisy(200, 150, 1, 20),
                                 noisy(2000, 1500, 1, 0), noisy(1200, 900, 3, 0)}) {
    const Reading reading = read(picture);
    EXPECT_EQ(reading.refusal, Refusal::kTexture) << picture.width << ": " << told(reading);
    EXPECT_EQ(reading.reason.rfind("texture: noise of ", 0), 0u) << reading.reason;
    EXPECT_EQ(reading.warnings.codes, 0u) << told(reading);
  }
  for (const double sigma : {1.0, 5.0, 9.0}) {
    for (const Picture& picture : {noisy(200, 150, 1, sigma), noisy(1200, 900, 3, sigma)}) {
      const Reading reading = read(picture);
      EXPECT_EQ(reading.refusal, Refusal::kBlank) << picture.width << ": " << told(reading);
    }
  }
}

TEST(Numbers, AreRefusedInSeveralRows) {
  const Reading reading =
      read(DrawnPicture(500, 500).write("12", 90, 50, 140).write("34", 90, 290, 140).picture());
  EXPECT_EQ(reading.refusal, Refusal::kRows) << told(reading);
}

TEST(Numbers, AreCutWhereDigitsTouchWithAWarning) {
  const Reading reading = read(written("66", -.05));
  EXPECT_EQ(reading.number, "66") << told(reading);
  EXPECT_TRUE(reading.warnings.has(PictureWarning::kTouching));
  ASSERT_EQ(reading.digits.size(), 2u);
  EXPECT_LE(std::abs(reading.digits[0].box.x1 - reading.digits[1].box.x0), 12);
}

// A line below the digits is no stroke of them: taken for one, it turned 512 into 22.
TEST(Numbers, AreReadWithoutTheirUnderline) {
  const Reading reading = read(DrawnPicture(560, 320, kWhite, 20)
                                   .write("512", 120, 70, 150, {kBlueInk, .07})
                                   .stroke({{90, 262}, {470, 255}}, 7, kBlueInk)
                                   .picture());
  EXPECT_EQ(reading.number, "512") << told(reading);
  EXPECT_TRUE(reading.warnings.has(PictureWarning::kMarkLeftOut));
  for (const ReadDigit& digit : reading.digits) EXPECT_LT(digit.box.y1, 240);
}

TEST(Numbers, ComeWithWarningsWhereTheyMayBeWrong) {
  const Reading plain = read(written("27"));
  EXPECT_EQ(plain.number, "27");
  EXPECT_EQ(plain.warnings.codes, 0u) << told(plain);

  EXPECT_TRUE(read(DrawnPicture(620, 240).write("27", 60, 50, 130, {}, 2).picture())
                  .warnings.has(PictureWarning::kWideGap));
  EXPECT_TRUE(read(DrawnPicture(420, 260).write("27", 60, 80, 140).write("2", 290, 50, 70).picture())
                  .warnings.has(PictureWarning::kUnevenHeights));
  EXPECT_TRUE(read(DrawnPicture(420, 260)
                       .write("27", 60, 60, 140)
                       .write("2", 290, 60, 140, {{190, 190, 190}})
                       .picture())
                  .warnings.has(PictureWarning::kFaintMark));
  EXPECT_TRUE(read(written("12?")).warnings.has(PictureWarning::kSeveralMarks));
}

// Mixes of a 2 and a 7, of which some are about as likely to be the one as the other.
TEST(Numbers, ComeWithAWarningWhereAnotherDigitIsAboutAsLikely) {
  Model mnist = load("mnist");
  const NumberMarks both = prepare_number(written("27"));
  ASSERT_EQ(both.marks.size(), 2u);
  std::vector<NumberMarks> numbers;
  for (int of_two = 0; of_two <= 255; ++of_two) {
    NumberMarks number = both;
    for (size_t i = 0; i < 28 * 28; ++i)
      number.marks[1].digit.pixels[i] = static_cast<uint8_t>(
          (of_two * both.marks[0].digit.pixels[i] + (255 - of_two) * both.marks[1].digit.pixels[i]) / 255);
    numbers.push_back(number);
    number.marks.erase(number.marks.begin());
    numbers.push_back(number);
  }
  int uncertain[2] = {}, certain[2] = {};  // of one digit, of several
  for (const Reading& reading : read_numbers(mnist, numbers)) {
    std::vector<std::string> expected, found;
    for (size_t i = 0; i < reading.digits.size() && !reading.number.empty(); ++i) {
      const std::vector<ReadDigit::Guess>& top = reading.digits[i].top;
      if (top[0].probability >= 0.6) continue;
      char text_of_one[100];
      std::snprintf(text_of_one, sizeof text_of_one, " is uncertain: %d %.2f %%, %d %.2f %%", top[0].digit,
                    top[0].probability * 100, top[1].digit, top[1].probability * 100);
      expected.push_back((reading.number.size() == 1 ? "the digit" : "digit " + std::to_string(i + 1)) +
                         text_of_one);
    }
    for (const std::string& warning : reading.warnings.texts) {
      if (warning.find("uncertain") != std::string::npos) found.push_back(warning);
    }
    EXPECT_EQ(found, expected) << told(reading);
    EXPECT_EQ(reading.warnings.has(PictureWarning::kUncertain), !expected.empty()) << told(reading);
    ++(expected.empty() ? certain : uncertain)[reading.number.size() > 1];
  }
  for (const int several : {0, 1}) {
    EXPECT_GT(uncertain[several], 0) << several;
    EXPECT_GT(certain[several], 0) << several;
  }
}

// A wide digit alone gives no warning: no cut gives better digits.
TEST(Numbers, OfAWideDigitComeWithoutAWarning) {
  const auto drawn = [](const char* digit, uint32_t seed, double width, double slant) {
    return read(
        DrawnPicture(300, 240, kWhite, seed).write(digit, 80, 50, 130, {kBlackInk, width, slant}).picture());
  };
  for (const Reading& reading : {drawn("2", 1, .05, .3), drawn("8", 2, .14, .45)}) {
    EXPECT_EQ(reading.number.size(), 1u) << told(reading);
    EXPECT_FALSE(reading.warnings.has(PictureWarning::kTouching)) << told(reading);
  }
}

TEST(Numbers, OfOneDigitAreWhatPrepareDigitGives) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "/samples/digit_" + std::to_string(i / 2) + (i % 2 ? "_b.png" : "_a.png");
    const Picture picture = read_picture(LENSLET_SOURCE_DIR + name);
    const NumberMarks number = prepare_number(picture);
    ASSERT_EQ(number.marks.size(), 1u) << name;
    const DigitImage digit = prepare_digit(picture);
    EXPECT_EQ(number.marks[0].digit.pixels, digit.pixels) << name;
    EXPECT_EQ(number.steps, digit.steps) << name;
    EXPECT_EQ(number.warnings.texts, digit.warnings.texts) << name;
  }
}

TEST(Numbers, ComeWithThePictureOfTheirInk) {
  Picture ink;
  const Picture picture = written("27");
  const NumberMarks number = prepare_number(picture, 100, ink);
  EXPECT_EQ(number.steps, prepare_number(picture).steps);
  ASSERT_EQ(number.marks.size(), 2u);
  EXPECT_EQ(number.marks[1].digit.pixels, prepare_number(picture).marks[1].digit.pixels);
  EXPECT_EQ(ink.width, 100);
  EXPECT_LT(ink.height, ink.width);
  const auto dark = std::count(ink.pixels.begin(), ink.pixels.end(), 0),
             full = std::count(ink.pixels.begin(), ink.pixels.end(), 255);
  EXPECT_GT(dark, 4 * full);
  EXPECT_GT(full, 100);
  prepare_number(make_picture(28, 28, 1, Bytes(28 * 28, 9)), 100, ink);
  EXPECT_TRUE(ink.pixels.empty());
}

TEST(Numbers, AreOneDigitIn28x28Pixels) {
  Bytes pixels(28 * 28, 0);  // two marks
  for (size_t y = 4; y < 24; ++y) pixels[28 * y + 8] = pixels[28 * y + 19] = 255;
  const NumberMarks number = prepare_number(make_picture(28, 28, 1, pixels));
  ASSERT_EQ(number.marks.size(), 1u);
  EXPECT_EQ(number_of(pixels.data()).marks.at(0).digit.pixels, number.marks[0].digit.pixels);
  EXPECT_EQ(number_of(Bytes(28 * 28, 9).data()).refusal, Refusal::kBlank);
  EXPECT_EQ(prepare_number(make_picture(28, 28, 1, Bytes(28 * 28, 9))).refusal, Refusal::kBlank);
}

TEST(Numbers, AreNotRefusedWithoutAThreshold) {
  Model mnist = load("mnist");
  ASSERT_TRUE(std::isnan(mnist.energy_threshold()));
  const Picture letter = DrawnPicture(300, 300, kWhite, 21).write("H", 80, 60, 170).picture();
  EXPECT_EQ(read(letter).refusal, Refusal::kNoDigit);
  EXPECT_EQ(read_number(mnist, letter).number.size(), 1u);
}

}  // namespace
}  // namespace lenslet::test
