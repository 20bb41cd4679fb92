#include "framework/text.h"

#include <cstdio>

namespace lenslet {
namespace {

std::string hex_escape(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

}  // namespace

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

std::string printable_excerpt(std::string_view text, size_t most) {
  if (text.size() <= most) return printable(text);
  const auto inside_character = [&](size_t at) {
    return at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t head = most / 2, tail = text.size() - most / 2;
  // A character has four bytes at most; more of this kind in a row are no characters.
  for (int step = 0; step < 3 && inside_character(head); ++step) --head;
  for (int step = 0; step < 3 && inside_character(tail); ++step) ++tail;
  return printable(text.substr(0, head)) + "…" + printable(text.substr(tail));
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace lenslet
