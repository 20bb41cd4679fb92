// Internal: strict and bounded parsing of JSON files.
//
// nlohmann's parser by itself has these faults: it keeps the last of repeated keys; it takes a NUL byte for the end; it
// accepts any depth, on which dump() overflows the stack; it takes quadratic time for an object with many keys (an
// ordered object is a list) and, with a callback, for an array of objects.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lenslet {

constexpr int kMaxJsonDepth = 16;      // Lenslet's files have 5 levels
constexpr size_t kMaxJsonKeys = 1024;  // per object; Lenslet's files have about 30

/// Throws DataError naming `origin` for: invalid or truncated JSON, a NUL byte, more than kMaxJsonDepth levels, an
/// object with a duplicate key or more than kMaxJsonKeys keys. Takes linear time. Throws InterruptedError if stopped().
nlohmann::ordered_json parse_strict_json(const std::string& text, const std::string& origin);

/// Throws DataError naming `origin` and the position if `text` contains a NUL, which parsers take for the end.
void check_no_nul(std::string_view text, const std::string& origin);

/// The first part of a value as text, for messages.
std::string json_excerpt(const nlohmann::ordered_json& value);

}  // namespace lenslet
