#include "models/digit/digit_image.h"

#include <algorithm>
#include <cmath>

#include "models/digit/digit_placing.h"
#include "models/digit/plane.h"

namespace lenslet {
namespace {

// A mark with more than this share of the largest mark's mass may be a second digit. Chosen by hand;
// DigitImage.WarnsOfWhatMayBeWrong in tests/models holds it.
constexpr double kSecondMark = 0.2;

// Whether two marks are side by side or one above the other, with a gap: possibly more than one digit.
bool stand_apart(const Box& a, const Box& b) {
  const double gap = kMarkGap * std::max(a.longer(), b.longer());
  return b.x0 - a.x1 > gap || a.x0 - b.x1 > gap || b.y0 - a.y1 > gap || a.y0 - b.y1 > gap;
}

bool several_marks(const std::vector<Component>& marks) {
  double largest = 0;
  for (const Component& mark : marks) largest = std::max(largest, mark.mass);
  for (size_t i = 0; i < marks.size(); ++i) {
    for (size_t k = i + 1; k < marks.size(); ++k) {
      if (std::min(marks[i].mass, marks[k].mass) > kSecondMark * largest &&
          stand_apart(marks[i].box, marks[k].box))
        return true;
    }
  }
  return false;
}

}  // namespace

DigitImage prepare_digit(const Picture& picture) {
  DigitImage digit;
  if (is_mnist_like(picture, digit.pixels)) {
    digit.untouched = true;
    digit.steps = {describe_picture(picture),
                   "28x28, light on black, 20 pixels large and centred: as MNIST, left untouched"};
    return digit;
  }
  const Ink ink = find_ink(picture);
  digit.pixels.fill(0);
  if (ink.level == 0) {
    digit.blank = true;
  } else {
    digit = place_digit(ink);
  }
  std::vector<std::string> steps = {describe_picture(picture)};
  steps.insert(steps.end(), ink.steps.begin(), ink.steps.end());
  digit.steps.insert(digit.steps.begin(), steps.begin(), steps.end());
  PictureWarnings warnings = ink.warnings;
  if (several_marks(ink.marks))
    warnings.add(PictureWarning::kSeveralMarks, "two or more separate marks, expected one digit");
  warnings.add(digit.warnings);
  if (ink.level == 0) warnings.add(PictureWarning::kBlank, kNoInk);
  digit.warnings = std::move(warnings);
  return digit;
}

std::string picture_as_text(const uint8_t* pixels, int width, int height, int max_columns) {
  // Ten densities, paper to ink.
  constexpr char kRamp[] = " .:-=+*#%@";
  constexpr int kLevels = 10, kColumnsPerPixel = 2;  // a character is about twice as high as wide
  Plane plane(width, height);
  std::copy(pixels, pixels + plane.values.size(), plane.values.begin());
  const double scale = std::min(std::max(1, max_columns / kColumnsPerPixel) / static_cast<double>(width),
                                max_columns / static_cast<double>(height));
  if (scale < 1) {
    const auto scaled = [scale](int side) {
      return std::max(1, static_cast<int>(std::lround(side * scale)));
    };
    plane = resize(plane, {0, 0, width, height}, scaled(width), scaled(height));
  }
  std::string text;
  for (int y = 0; y < plane.height; ++y) {
    std::string row;
    for (int x = 0; x < plane.width; ++x) {
      const int level = std::clamp(static_cast<int>(plane.at(x, y) * kLevels / 256), 0, kLevels - 1);
      row.append(kColumnsPerPixel, kRamp[level]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace lenslet
