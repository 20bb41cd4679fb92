// Pictures that are read at a second look: slanted numbers, uneven ink, digits on printed lines; and slashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/models/number_reading.h"

namespace lenslet::test {
namespace {

Picture slanted(const std::string& text, double slant, uint32_t seed, double pen = .07) {
  return DrawnPicture(240 + 130 * static_cast<int>(text.size()), 300, kWhite, seed)
      .write(text, 90, 70, 150, {kBlueInk, pen, slant})
      .picture();
}

// How far a digit leans to the right, in columns per row.
double lean(const DigitImage& digit) {
  double mass = 0, x = 0, y = 0, xy = 0, yy = 0;
  for (int i = 0; i < DigitImage::kSide * DigitImage::kSide; ++i) {
    const double ink = digit.pixels[i], column = i % DigitImage::kSide, row = i / DigitImage::kSide;
    mass += ink, x += ink * column, y += ink * row, xy += ink * column * row, yy += ink * row * row;
  }
  return -(xy - x * y / mass) / (yy - y * y / mass);
}

TEST(NumberRetakes, SlantedNumbersAreReadUpright) {
  for (const auto& [text, seed] : {std::pair("4127", 18), std::pair("1936", 3), std::pair("6319", 4)}) {
    const Reading reading = read(slanted(text, .38, seed));
    EXPECT_EQ(reading.number, text) << told(reading);
  }
  for (const double slant : {.35, .06}) {
    const NumberMarks number = prepare_number(slanted("4127", slant, 18));
    ASSERT_EQ(number.marks.size(), 4u);
    for (const DigitMark& mark : number.marks) {
      const auto found =
          std::find_if(mark.retakes.begin(), mark.retakes.end(),
                       [](const DigitRetake& retake) { return retake.code == PictureWarning::kSlanted; });
      ASSERT_EQ(found != mark.retakes.end(), slant > .2) << slant;
      if (found == mark.retakes.end()) continue;
      EXPECT_LT(lean(found->digit), lean(mark.digit) - .15) << lean(mark.digit);
    }
  }
  const Reading letter = read(slanted("2A6", .38, 5));
  EXPECT_EQ(letter.number, "") << told(letter);
}

TEST(NumberRetakes, FaintPartsOfAReflectionAreStrengthened) {
  const auto whiteboard = [](double strength) {
    return DrawnPicture(900, 600, {214, 218, 222}, 13)
        .write("2017", 170, 190, 200, {{20, 60, 50}, .10})
        .light([](double x, double) { return .55 + .45 * x; })
        .glare(.28, .2, .16, strength)
        .noise(3)
        .photo();
  };
  const Reading reading = read(whiteboard(.9));
  EXPECT_EQ(reading.number, "2017") << told(reading);
  EXPECT_TRUE(reading.warnings.has(PictureWarning::kLittleContrast)) << told(reading);
  EXPECT_EQ(read(whiteboard(.3)).warnings.codes, 0u);
}

Picture exercise_book(double pen, double line) {
  return DrawnPicture(700, 480, {240, 240, 236}, 29)
      .lines(52, {120, 140, 190}, true, line)
      .write("47", 220, 120, 220, {kBlueInk, pen})
      .noise(3)
      .photo();
}

TEST(NumberRetakes, PrintedLinesAreNoStrokes) {
  for (const double line : {2.2, 3.0}) {
    const Reading reading = read(exercise_book(.07, line));
    EXPECT_EQ(reading.number, "47") << line << ": " << told(reading);
    EXPECT_TRUE(reading.warnings.has(PictureWarning::kMarkLeftOut)) << told(reading);
  }
  // A pen as thin as the lines would be removed with them.
  const Reading thin = read(exercise_book(.015, 3.3));
  EXPECT_EQ(thin.number, "") << told(thin);
}

TEST(NumberRetakes, SlashesAreNoOnes) {
  int by_slant = 0;
  for (const char* text : {"5/8", "3/", "/6", "70/2"}) {
    for (const double pen : {.05, .07, .09}) {
      const Reading reading = read(slanted(text, .06, 7, pen));
      EXPECT_EQ(reading.number, "") << text << ": " << told(reading);
      by_slant += reading.reason.find("leans further than the digits beside it") != std::string::npos;
    }
  }
  EXPECT_GT(by_slant, 0);
  const Reading alone = read(slanted("/", .06, 7));
  EXPECT_TRUE(alone.number.empty() || alone.warnings.has(PictureWarning::kSlanted)) << told(alone);
  for (const char* text : {"1", "11", "41", "017", "2018"}) {
    const Reading reading = read(slanted(text, .06, 8));
    EXPECT_EQ(reading.number, text) << told(reading);
    EXPECT_FALSE(reading.warnings.has(PictureWarning::kSlanted)) << told(reading);
  }
  // Ones that lean with the other digits.
  const Reading leaning = read(slanted("2013", .3, 9));
  EXPECT_TRUE(leaning.number == "2013") << told(leaning);
}

}  // namespace
}  // namespace lenslet::test
