// Numbers and names as people read them. Independent of the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/text.h"  // ends_with(), printable()

namespace lenslet {

/// `value` with that many decimals; "-" where it is not finite.
std::string format_fixed(double value, int decimals);
/// Three significant digits: "12.3", "0.0123", "1230"; "-" where it is not finite.
std::string format_short(double value);
/// "1.23 us", "4.56 ms"; "-" where it is not finite.
std::string format_time(double ns);
/// Microseconds without their unit, for a column: "12.3"; "-" where it is not finite.
std::string format_us(double ns);
/// "784 B", "1.5 MiB".
std::string format_bytes(double bytes);
/// "1,234,567".
std::string format_count(int64_t count);
/// A rate to the nearest whole: "1,234,567"; "-" where it is not finite.
std::string format_rate(double per_s);
/// "99.13 %".
std::string format_percent(double fraction, int decimals = 2);
/// "87 %", "4.2 %" below a tenth; "-" where it is not finite.
std::string format_share(double fraction);

/// Text as a CSV field (RFC 4180), quoted where it has to be. A spreadsheet would compute what begins with =, +, - or
/// @: such a text, and one that begins with ', gets a ' before it, which a reader takes off again. Not for numbers.
std::string csv_field(std::string_view text);

}  // namespace lenslet
