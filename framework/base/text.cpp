#include "framework/base/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

namespace lenslet {
namespace {

std::string hex_escape(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

std::string shown(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t length = utf8_sequence_length(text, pos);
    if (is_visible(text, pos, length) || (lines && text[pos] == '\n')) {
      out.append(text, pos, length);
    } else if (text[pos] == '\n') {
      out += "\\n";
    } else if (text[pos] == '\t') {
      out += "\\t";
    } else {
      for (size_t i = 0; i < std::max<size_t>(length, 1); ++i)
        out += hex_escape(static_cast<unsigned char>(text[pos + i]));
    }
    pos += std::max<size_t>(length, 1);
  }
  return out;
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

uint32_t decode_utf8(std::string_view text, size_t pos, size_t length) noexcept {
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(text[pos + i])}; };
  if (length == 1) return byte(0);
  uint32_t code = byte(0) & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return code;
}

bool is_visible(std::string_view text, size_t pos, size_t length) noexcept {
  if (length == 0) return false;
  const uint32_t code = decode_utf8(text, pos, length);
  // Unicode's categories Cc (C0, DEL, C1), Cf, Zl and Zp.
  constexpr std::pair<uint32_t, uint32_t> kUnseen[] = {
      {0, 0x1f},          {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
      {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
      {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
      {0xe0000, 0xe0fff}};
  return std::none_of(std::begin(kUnseen), std::end(kUnseen),
                      [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string printable(std::string_view text) { return shown(text, false); }
std::string printable_lines(std::string_view text) { return shown(text, true); }

std::string printable_excerpt(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return printable(text);
  const auto inside_character = [&](size_t at) {
    return at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t head = max_bytes / 2, tail = text.size() - max_bytes / 2;
  // A character has at most four bytes; more continuation bytes are invalid.
  for (int step = 0; step < 3 && inside_character(head); ++step) --head;
  for (int step = 0; step < 3 && inside_character(tail); ++step) ++tail;
  return printable(text.substr(0, head)) + "…" + printable(text.substr(tail));
}

std::string printable_line(std::string_view text) {
  // Twice: an escape is four bytes for one.
  return printable_excerpt(printable_excerpt(text, kMaxLineBytes), kMaxLineBytes);
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

void add_clause(std::string& text, const std::string& clause) {
  if (clause.empty()) return;
  if (!text.empty()) text += "; ";
  text += clause;
}

void add_new(std::vector<std::string>& words, const std::vector<std::string>& more) {
  for (const std::string& word : more) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
}

std::string comma_list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names, ", ");
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower;
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string real_path(const std::string& path, const std::string& otherwise) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : otherwise;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace lenslet
