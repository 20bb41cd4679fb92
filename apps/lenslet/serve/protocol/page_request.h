// A request of the page at `/`: the parts of its path, and its body.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet::serve {

struct PageRequest {
  std::string part;                          // "network", "look", "profile", "compare", "tune"
  std::map<std::string, std::string> query;  // decoded
  std::vector<uint8_t> body;                 // of "look": a picture

  /// Whether the answer is measured, which takes up to minutes.
  bool measures() const { return part == "profile" || part == "compare" || part == "tune"; }
  /// A member of the query; empty if it is missing.
  std::string text(const std::string& key) const;
  /// A whole number from 0 to 999,999,999. Throws DataError for anything else; `fallback` if it is missing.
  int64_t whole_number(const std::string& key, int64_t fallback) const;
};

/// What follows the question mark: names and values, percent-decoded. Of equal names the last counts. Throws DataError
/// for a percent sign without two digits.
std::map<std::string, std::string> query_of(std::string_view target);

}  // namespace lenslet::serve
