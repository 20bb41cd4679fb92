// Values of options: strict parsing, so that 1e3, 0x10, +5 or 12x never pass for a number by accident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// A decimal integer. Throws UsageError naming the option, the text and the legal range.
int64_t parse_integer(const std::string& option, const std::string& text, int64_t min, int64_t max);
/// A decimal number such as 0.99 or 200. Throws UsageError naming the option, the text and the legal range.
double parse_number(const std::string& option, const std::string& text, double min, double max);
/// Integers between commas, a thousand at most, each as parse_integer reads it.
std::vector<int64_t> parse_integers(const std::string& option, const std::string& text, int64_t min,
                                    int64_t max);
/// Integers from 1 to `max` between commas, or FROM:TO:xFACTOR: 256:4096:x2 is 256, 512, … 4096.
std::vector<int64_t> parse_sizes(const std::string& option, const std::string& text, int64_t max);
/// Bytes: digits with K, M, G or T for powers of 1024. Throws UsageError for 0, a negative value, an
/// overflow.
size_t parse_bytes(const std::string& option, const std::string& text);

}  // namespace lenslet
