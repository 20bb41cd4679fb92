// From a picture to the model's 28x28 pixels, as one digit and as a number. Three bytes give columns, rows and
// channels; pixels follow, repeated if there are too few.
#include <algorithm>

#include "models/digit/number_marks.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

constexpr int kSmall = 64, kThin = 32;

// Most pictures are small, some long enough to be reduced first.
int side_of(uint8_t byte) { return byte < 250 ? 1 + byte % kSmall : 1 + 70 * (byte - 249); }

// Long ones are thin: the sanitizers make a picture of many marks 40 times slower.
Picture picture_of(Cursor input) {
  int width = side_of(input.byte());
  const int height = side_of(width > kSmall ? input.byte() % kThin : input.byte());
  if (height > kSmall) width = std::min(width, kThin);
  const int channels = 1 + input.byte() % 4;
  Bytes pixels(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels), 255);
  for (size_t i = 0; i < pixels.size() && input.size() > 0; ++i) pixels[i] = input.data()[i % input.size()];
  return test::make_picture(width, height, channels, pixels);
}

bool is_within(const Box& box, const Box& outer) {
  return box.x0 >= outer.x0 && box.y0 >= outer.y0 && box.x0 < box.x1 && box.y0 < box.y1 &&
         box.x1 <= outer.x1 && box.y1 <= outer.y1;
}

void check_number(const Picture& picture) {
  const NumberMarks number = prepare_number(picture);
  check((number.refusal == Refusal::kNone) == !number.marks.empty(), "a picture has marks or is refused");
  check(number.reason.empty() == (number.refusal == Refusal::kNone), "a refusal has a reason");
  const Box whole{0, 0, picture.width, picture.height};
  int middle = 0;
  for (const DigitMark& mark : number.marks) {
    check(is_within(mark.box, whole), "the box of a mark is in the picture");
    check(mark.box.x0 + mark.box.x1 >= middle, "marks run from left to right");
    middle = mark.box.x0 + mark.box.x1;
    for (const std::vector<DigitMark>& cut : mark.cuts) {
      check(cut.size() > 1, "a cut has parts");
      for (const DigitMark& part : cut) check(is_within(part.box, mark.box), "a part is in its mark's box");
    }
  }
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(digit) {
  const Picture picture = picture_of(Cursor(data, size));
  fuzz::check_number(picture);
  const DigitImage digit = prepare_digit(picture);
  const bool empty = std::all_of(digit.pixels.begin(), digit.pixels.end(), [](uint8_t v) { return v == 0; });
  check(digit.blank == empty, "a digit is blank where it has no ink");
  check(!digit.untouched || (picture.width == DigitImage::kSide && picture.height == DigitImage::kSide),
        "only pictures of the model's own size stay untouched");
  check(!digit.steps.empty(), "each decision is told");
  if (size % 8 == 0) {
    const DigitImage again = prepare_digit(picture);
    check(digit.pixels == again.pixels && digit.steps == again.steps &&
              digit.warnings.texts == again.warnings.texts,
          "the same picture gives the same digit");
    check(!picture_as_text(digit.pixels.data(), DigitImage::kSide, DigitImage::kSide).empty(),
          "a digit shows as text");
  }
}

LENSLET_FUZZ_SEEDS(digit) {
  using test::operator+;
  std::vector<Bytes> seeds;
  // A bar, light on dark or dark on light, thin or thick, in pictures of several sizes and kinds.
  for (const int side : {28, 20, 64, 5}) {
    for (const int channels : {1, 4}) {
      for (const int thickness : {1, 9}) {
        Bytes pixels;
        const bool light = (side + thickness) % 2 == 0;
        for (int y = 0; y < side; ++y) {
          for (int x = 0; x < side; ++x) {
            const bool ink = std::abs(2 * x - side) <= thickness && y >= side / 7 && y < side - side / 7;
            for (int c = 0; c < channels; ++c)
              pixels.push_back(c == 3 ? uint8_t{255} : static_cast<uint8_t>(ink == light ? 250 : 3 * c));
          }
        }
        const auto size_byte = static_cast<uint8_t>(side - 1);
        seeds.push_back(Bytes{size_byte, size_byte, static_cast<uint8_t>(channels - 1)} + pixels);
      }
    }
  }
  seeds.push_back({255, 20, 0, 255, 255, 255, 0, 0, 255, 255, 255});
  seeds.push_back({250, 255, 2, 1, 2, 3});
  seeds.push_back({27, 27, 0});
  seeds.push_back({0, 0, 1, 7, 0});
  return seeds;
}
