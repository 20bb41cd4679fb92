// The C interface over read_number().
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "api/c_calls.h"
#include "api/number_reader.h"
#include "framework/base/text.h"
#include "framework/io/picture.h"

namespace {

using lenslet::PictureWarning;
using lenslet::Refusal;
using lenslet::c::check_not_null;
using lenslet::c::cut_copy;
using lenslet::c::guarded;

static_assert(LENSLET_MAX_DIGITS == lenslet::kMaxDigits, "lenslet.h states another number of digits");
constexpr bool same(int code, Refusal refusal) { return code == static_cast<int>(refusal); }
constexpr bool same(unsigned code, PictureWarning warning) { return code == static_cast<unsigned>(warning); }
static_assert(same(LENSLET_READ, Refusal::kNone) && same(LENSLET_REFUSED_BLANK, Refusal::kBlank) &&
                  same(LENSLET_REFUSED_NO_DIGIT, Refusal::kNoDigit) &&
                  same(LENSLET_REFUSED_TOO_SMALL, Refusal::kTooSmall) &&
                  same(LENSLET_REFUSED_TOUCHING, Refusal::kTouching) &&
                  same(LENSLET_REFUSED_TEXTURE, Refusal::kTexture) &&
                  same(LENSLET_REFUSED_ROWS, Refusal::kRows) &&
                  same(LENSLET_REFUSED_NO_NUMBER, Refusal::kNoNumber) &&
                  same(LENSLET_REFUSED_NOT_FINITE, Refusal::kNotFinite),
              "lenslet.h has the refusals of number_marks.h");
static_assert(same(LENSLET_WARNING_EDGE_LEFT_OUT, PictureWarning::kEdgeLeftOut) &&
                  same(LENSLET_WARNING_LITTLE_CONTRAST, PictureWarning::kLittleContrast) &&
                  same(LENSLET_WARNING_TOUCHES_EDGE, PictureWarning::kTouchesEdge) &&
                  same(LENSLET_WARNING_SMALL, PictureWarning::kSmall) &&
                  same(LENSLET_WARNING_OFF_CENTRE, PictureWarning::kOffCentre) &&
                  same(LENSLET_WARNING_SEVERAL_MARKS, PictureWarning::kSeveralMarks) &&
                  same(LENSLET_WARNING_MARK_LEFT_OUT, PictureWarning::kMarkLeftOut) &&
                  same(LENSLET_WARNING_BLANK, PictureWarning::kBlank) &&
                  same(LENSLET_WARNING_TOUCHING, PictureWarning::kTouching) &&
                  same(LENSLET_WARNING_WIDE_GAP, PictureWarning::kWideGap) &&
                  same(LENSLET_WARNING_UNEVEN, PictureWarning::kUnevenHeights) &&
                  same(LENSLET_WARNING_FAINT_MARK, PictureWarning::kFaintMark) &&
                  same(LENSLET_WARNING_SLANTED, PictureWarning::kSlanted) &&
                  same(LENSLET_WARNING_UNCERTAIN, PictureWarning::kUncertain),
              "lenslet.h has the warnings of picture_warning.h");

// A later version that adds fields at the end adds this size beside its own.
void check_reading_size(const char* what, size_t size, const char* remedy) {
  lenslet::c::check_struct_size(what, "lenslet_reading", size, {sizeof(lenslet_reading)}, remedy);
}

lenslet_reading empty_reading(size_t size) {
  lenslet_reading reading = {};
  reading.size = size;
  reading.probability = NAN;
  return reading;
}

lenslet_digit digit_from(const lenslet::ReadDigit& read) {
  lenslet_digit digit = {};
  const bool refused = read.refusal != Refusal::kNone;
  digit.label = refused ? -1 : read.top[0].digit;
  digit.refusal = static_cast<int32_t>(read.refusal);
  digit.x = read.box.x0;
  digit.y = read.box.y0;
  digit.width = read.box.width();
  digit.height = read.box.height();
  digit.probability = refused ? NAN : static_cast<float>(read.top[0].probability);
  digit.energy = static_cast<float>(read.energy);
  return digit;
}

void give(const lenslet::Reading& read, lenslet_reading* to) {
  lenslet_reading reading = empty_reading(to->size);
  reading.refusal = static_cast<int32_t>(read.refusal);
  reading.warnings = read.warnings.codes;
  reading.probability = read.probability;
  cut_copy(reading.number, sizeof reading.number, read.number.data(), read.number.size());
  std::string message = read.reason;
  for (const std::string& warning : read.warnings.texts) {
    if (warning != read.reason) lenslet::add_clause(message, warning);
  }
  message = lenslet::printable_line(message);
  cut_copy(reading.message, sizeof reading.message, message.data(), message.size());
  const size_t count = std::min<size_t>(read.digits.size(), LENSLET_MAX_DIGITS);
  for (size_t i = 0; i < count; ++i) reading.digits[i] = digit_from(read.digits[i]);
  reading.digit_count = static_cast<int64_t>(count);
  std::memcpy(to, &reading, to->size);
}

template <typename Decode>
lenslet_status read_into(lenslet_model* model, lenslet_reading* reading, Decode&& decode) {
  return guarded([&] {
    check_not_null(model, "model");
    check_reading_size("reading->size", check_not_null(reading, "reading").size,
                       "call lenslet_reading_init(reading, sizeof *reading)");
    // Emptied first, so that a failure does not leave the number of an earlier picture.
    const lenslet_reading empty = empty_reading(reading->size);
    std::memcpy(reading, &empty, empty.size);
    give(lenslet::read_number(model->model, decode()), reading);
  });
}

}  // namespace

lenslet_status lenslet_reading_init(lenslet_reading* reading, size_t size) {
  return guarded([&] {
    check_not_null(reading, "reading");
    check_reading_size("the size of lenslet_reading", size, "pass sizeof(lenslet_reading)");
    const lenslet_reading empty = empty_reading(size);
    std::memcpy(reading, &empty, size);
  });
}

lenslet_status lenslet_read(lenslet_model* model, const char* path, lenslet_reading* reading) {
  return read_into(model, reading, [&] { return lenslet::read_picture(&check_not_null(path, "path")); });
}

lenslet_status lenslet_read_memory(lenslet_model* model, const void* file, size_t size,
                                   lenslet_reading* reading) {
  return read_into(model, reading, [&] {
    const auto* const bytes = static_cast<const uint8_t*>(file);
    if (size > 0) check_not_null(bytes, "file");
    const lenslet::PictureLimits limits;
    if (size > limits.max_file_bytes)
      throw lenslet::DataError(lenslet::concat(lenslet::kPictureInMemory, ": it has ", size,
                                               " bytes, expected at most ", limits.max_file_bytes));
    return lenslet::decode_picture({bytes, bytes + size}, lenslet::kPictureInMemory, limits);
  });
}
