#include "apps/common/output/text.h"

#include <cmath>
#include <cstdio>

namespace lenslet {
namespace {

// snprintf writes a decimal point as long as the program never calls setlocale(), and neither program does.
std::string print(const char* format, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, decimals, value);
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

std::string format_us(double ns) { return format_short(ns / 1e3); }

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
  constexpr double kMaxPerS = 9e18;  // the cast is defined below 2^63
  return std::isfinite(per_s) && std::fabs(per_s) < kMaxPerS ? format_count(std::llround(per_s)) : "-";
}

std::string format_percent(double fraction, int decimals) {
  return std::isfinite(fraction) ? print("%.*f", decimals, fraction * 100) + " %" : "-";
}

std::string format_share(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  constexpr double kMaxPercent = 1e4;  // beyond it not every digit is written
  const double percent = fraction * 100;
  return (percent < kMaxPercent ? format_fixed(percent, fraction < 0.1 ? 1 : 0) : format_short(percent)) +
         " %";
}

std::string csv_field(std::string_view text) {
  std::string safe = printable(text);
  if (!safe.empty() && std::string_view("=+-@'").find(safe[0]) != std::string_view::npos)
    safe.insert(0, 1, '\'');
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace lenslet
