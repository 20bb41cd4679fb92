// Pictures whose signs, points and edges must not turn a number into another one.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/io/crafted_files.h"
#include "tests/models/number_reading.h"

namespace lenslet::test {
namespace {

// A small point must not be dropped as a speck: 7.08 is not 708.
TEST(NumberSigns, PointOfAThinPenIsNoSpeck) {
  for (const int pen : {4, 5, 6, 7, 8, 10, 12}) {
    const Pen width{kBlackInk, pen / 100.0};
    for (const int top : {60, 61}) {
      DrawnPicture one(420, 220), two(560, 220), last(400, 220);
      one.write("0", 60, top, 100, width).stroke({{165, top + 97.}, {165.1, top + 97.}}, pen, kBlackInk);
      one.write("8", 195, top, 100, width);
      two.write("7", 60, top, 100, width).stroke({{160, top + 97.}, {160.1, top + 97.}}, pen, kBlackInk);
      two.write("08", 190, top, 100, width);
      last.write("78", 60, top, 100, width).stroke({{225, top + 97.}, {225.1, top + 97.}}, pen, kBlackInk);
      for (const DrawnPicture& picture : {one, two, last}) {
        const Reading reading = read(picture);
        EXPECT_EQ(reading.number, "") << pen << ": " << told(reading);
        EXPECT_NE(reading.refusal, Refusal::kNone) << pen;
      }
    }
  }
}

// Dust is no point: above the line on which the digits stand it is told, and the number is read.
TEST(NumberSigns, DustBetweenDigitsIsReported) {
  const Reading reading = read(DrawnPicture(420, 220)
                                   .write("27", 60, 60, 100, {}, .4)
                                   .stroke({{160, 100}, {160.1, 100}}, 5, kBlackInk));
  EXPECT_EQ(reading.number, "27") << told(reading);
  EXPECT_TRUE(reading.warnings.has(PictureWarning::kMarkLeftOut)) << told(reading);
}

// Boxes of slanted digits share columns: two 1s must not become one.
TEST(NumberSigns, SlantedOnesStayTwo) {
  for (const double gap : {14., 18., 24.}) {
    const Reading reading = read(DrawnPicture(320, 220)
                                     .stroke({{100, 160}, {140, 60}}, 7, kBlackInk)
                                     .stroke({{100 + gap, 160}, {140 + gap, 60}}, 7, kBlackInk));
    EXPECT_TRUE(reading.number.empty() || reading.number == "11") << gap << ": " << told(reading);
    EXPECT_EQ(reading.digits.size(), 2u) << gap << ": " << told(reading);
  }
}

TEST(NumberSigns, StrokesOfOneDigitStayOne) {
  const Reading four = read(DrawnPicture(300, 220)
                                .stroke({{110, 60}, {95, 120}, {165, 120}}, 8, kBlackInk)
                                .stroke({{145, 80}, {145, 113}}, 8, kBlackInk)
                                .stroke({{145, 120}, {145, 160}}, 8, kBlackInk));
  EXPECT_EQ(four.number, "4") << told(four);
  const Reading zero =
      read(DrawnPicture(300, 220)
               .stroke({{150, 60}, {120, 80}, {115, 110}, {120, 140}, {150, 160}}, 8, kBlackInk)
               .stroke({{163, 64}, {185, 85}, {188, 110}, {183, 140}, {163, 157}}, 8, kBlackInk));
  EXPECT_TRUE(zero.number == "0" || zero.number.empty() || zero.warnings.codes != 0) << told(zero);
}

// A degree sign is no stroke of the digit: 78 degrees must not be read as 78 without a warning.
TEST(NumberSigns, SmallSignsAtTheUpperRightAreReported) {
  for (const double radius : {9., 12., 15.}) {
    for (const double gap : {3., 6., 9.}) {
      DrawnPicture picture(420, 220);
      picture.write("78", 60, 60, 100, {kBlackInk, .07, 0, 0});
      const Reading plain = read(picture);
      ASSERT_EQ(plain.number, "78") << told(plain);
      ASSERT_EQ(plain.digits.size(), 2u);
      const double x = plain.digits[1].box.x1 + gap + radius + 2, y = 64 + radius;
      std::vector<std::pair<double, double>> ring;
      for (int i = 0; i <= 24; ++i)
        ring.emplace_back(x + radius * std::cos(i * .2618), y + radius * std::sin(i * .2618));
      const Reading reading = read(picture.stroke(ring, 4, kBlackInk));
      EXPECT_TRUE(reading.number.empty() || reading.warnings.has(PictureWarning::kSeveralMarks))
          << radius << " " << gap << ": " << told(reading);
    }
  }
}

// Digits that fill the picture are no lines at its edge: 1087 is not 0.
TEST(NumberSigns, DigitsThatFillThePictureAreNoEdges) {
  for (const double less : {0., 3., 5.}) {
    DrawnPicture picture(340, 106);
    const Pen pen{kBlackInk, .08, 0, 0};
    picture.write("1", 10, 4, 98, pen).write("0", 75, 4 + less, 98 - 2 * less, pen);
    picture.write("8", 160, 4 + less, 98 - 2 * less, pen).write("7", 250, 4, 98, pen);
    const Reading reading = read(picture);
    EXPECT_EQ(reading.number, "1087") << less << ": " << told(reading);
    // Cut to the ink.
    DrawnPicture cut(310, 98);
    cut.write("1", -2, 0, 98, pen).write("0", 63, less, 98 - 2 * less, pen);
    cut.write("8", 148, less, 98 - 2 * less, pen).write("7", 238, 0, 98, pen);
    const Reading tight = read(cut);

    EXPECT_TRUE(tight.number.empty() || tight.number == "1087") << less << ": " << told(tight);
  }
}

// A long dash must not be left out like an underline: 18 - 70 is not 1870.
TEST(NumberSigns, LongDashesAreNoUnderlines) {
  for (const double length : {100., 150., 190., 230.}) {
    DrawnPicture dash(720, 220), minus(560, 220);
    dash.write("18", 60, 60, 100).stroke({{235, 110}, {235 + length, 112}}, 8, kBlackInk);
    dash.write("70", 260 + length, 60, 100);
    minus.stroke({{60, 110}, {60 + length, 108}}, 8, kBlackInk).write("80", 85 + length, 60, 100);
    for (const DrawnPicture& picture : {dash, minus}) {
      const Reading reading = read(picture);
      EXPECT_EQ(reading.number, "") << length << ": " << told(reading);
    }
  }
}

// A thin line at the upper left of another one: their common box has no ink.
TEST(NumberSigns, MarksWithoutCommonInkAreRefused) {
  constexpr size_t kSide = 320;
  Bytes pixels(kSide * kSide, 255);
  for (size_t y = 25; y < 300; ++y) {
    for (size_t x = 40; x < 46; ++x) pixels[kSide * y + x] = 0;
    if (y >= 30) pixels[kSide * y + 210] = 0;
  }
  for (size_t x = 150; x < 200; ++x) pixels[kSide * 20 + x] = 0;
  const NumberMarks number = prepare_number(make_picture(kSide, kSide, 1, pixels));
  EXPECT_EQ(number.refusal, Refusal::kNoNumber);
  EXPECT_TRUE(number.marks.empty());
}

}  // namespace
}  // namespace lenslet::test
