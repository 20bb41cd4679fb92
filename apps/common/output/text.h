// Numbers and names for people. Independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/base/text.h"  // ends_with(), printable()

namespace lenslet {

/// `value` with that many decimals; "-" if it is not finite.
std::string format_fixed(double value, int decimals);
/// Three significant digits: "12.3", "0.0123", "1230"; "-" if it is not finite.
std::string format_short(double value);
/// "1.23 us", "4.56 ms"; "-" if it is not finite.
std::string format_time(double ns);
/// Microseconds without the unit, for a column: "12.3"; "-" if it is not finite.
std::string format_us(double ns);
/// "784 B", "1.5 MiB".
std::string format_bytes(double bytes);
/// "1,234,567".
std::string format_count(int64_t count);
/// A rate rounded to an integer: "1,234,567"; "-" if it is not finite.
std::string format_rate(double per_s);
/// "99.13 %".
std::string format_percent(double fraction, int decimals = 2);
/// "87 %", "4.2 %" below a tenth; "-" if it is not finite.
std::string format_share(double fraction);

/// Text as a CSV field (RFC 4180), quoted if needed. Text that begins with =, +, -, @ or ' gets a leading ', which the
/// reader removes, so that a spreadsheet does not evaluate it. Not for numbers.
std::string csv_field(std::string_view text);

}  // namespace lenslet
