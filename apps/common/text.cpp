#include "apps/common/text.h"

#include <cmath>
#include <cstdio>

namespace lenslet {
namespace {

// snprintf writes a point for every program that, like these, never calls setlocale().
std::string print(const char* format, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, decimals, value);
  return text;
}

std::string hex_escape(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

}  // namespace

std::string format_fixed(double value, int decimals) {
  return std::isfinite(value) ? print("%.*f", decimals, value) : "-";
}

std::string format_short(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude < 1e-4 || magnitude >= 1e7) return print("%.*e", 2, value);
  const int digits_before_point = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return print("%.*f", digits_before_point >= 3 ? 0 : 3 - digits_before_point, value);
}

std::string format_time(double ns) {
  if (!std::isfinite(ns)) return "-";
  if (ns < 1e3) return format_short(ns) + " ns";
  if (ns < 1e6) return format_short(ns / 1e3) + " us";
  if (ns < 1e9) return format_short(ns / 1e6) + " ms";
  return format_short(ns / 1e9) + " s";
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  if (bytes < 1024) return print("%.*f", 0, bytes) + " B";
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return format_short(bytes) + " " + units[unit];
}

std::string format_count(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t pos = digits.size(); pos > first + 3;) {
    pos -= 3;
    digits.insert(pos, ",");
  }
  return digits;
}

std::string format_rate(double per_s) {
  constexpr double kLargest = 9e18;  // the cast is defined below 2^63
  return std::isfinite(per_s) && std::fabs(per_s) < kLargest ? format_count(std::llround(per_s)) : "-";
}

std::string format_percent(double fraction, int decimals) {
  return std::isfinite(fraction) ? print("%.*f", decimals, fraction * 100) + " %" : "-";
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

size_t utf8_sequence_length(std::string_view text, size_t pos) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(pos);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || pos + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(pos + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(pos + 1);  // overlong forms, surrogates and beyond U+10FFFF
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t length = utf8_sequence_length(text, pos);
    const auto byte = static_cast<unsigned char>(text[pos]);
    // U+0080..U+009F are control characters too, some terminals obey them.
    const bool control = byte < 0x20 || byte == 0x7f ||
                         (byte == 0xc2 && length == 2 && static_cast<unsigned char>(text[pos + 1]) < 0xa0);
    if (byte == '\n') {
      out += "\\n";
      ++pos;
    } else if (byte == '\t') {
      out += "\\t";
      ++pos;
    } else if (length == 0 || control) {
      out += hex_escape(byte);
      ++pos;
    } else {
      out.append(text, pos, length);
      pos += length;
    }
  }
  return out;
}

std::string csv_field(std::string_view text) {
  const std::string safe = printable(text);
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace lenslet
