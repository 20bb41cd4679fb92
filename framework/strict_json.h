// Internal: JSON from people's files, parsed strictly and within bounds.
//
// nlohmann's parser alone keeps the last of repeated keys, takes a NUL for the end, takes quadratic time for an object of
// many keys (an ordered object is a list) and follows any depth, into which dump() then recurses until the stack ends; with
// a callback it takes quadratic time for an array of objects as well.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lenslet {

constexpr int kMaxJsonDepth = 16;      // files of ours have 5 levels
constexpr size_t kMaxJsonKeys = 1024;  // of one object; ours have some 30

/// Throws DataError naming `origin`: not JSON, cut short, a NUL byte, nested deeper than kMaxJsonDepth levels, an object of
/// more than kMaxJsonKeys keys or with a key twice. Takes time in proportion to the text; throws InterruptedError once
/// reading_stopped().
nlohmann::ordered_json parse_strict_json(const std::string& text, const std::string& origin);

/// Throws DataError naming `origin` and the byte where `text` holds a NUL: parsers take it for the end of the text.
void demand_no_nul(std::string_view text, const std::string& origin);

/// The beginning of a value as text, for messages.
std::string json_excerpt(const nlohmann::ordered_json& value);

}  // namespace lenslet
