#include "apps/common/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "apps/common/text.h"

namespace lenslet {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;

// \uXXXX, twice beyond 16 bits.
void append_escape(std::string& out, uint32_t code) {
  char escaped[16];
  if (code < 0x10000) {
    std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
  } else {
    std::snprintf(escaped, sizeof escaped, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
  }
  out += escaped;
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t pos = 0; pos < text.size();) {
    const auto byte = static_cast<unsigned char>(text[pos]);
    const size_t length = utf8_sequence_length(text, pos);
    char escaped[8];
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += static_cast<char>(byte);
    } else if (byte == '\n') {
      out += "\\n";
    } else if (length == 0) {
      std::snprintf(escaped, sizeof escaped, "\\\\x%02x", byte);
      out += escaped;
    } else if (!is_visible(text, pos, length)) {
      append_escape(out, decode_utf8(text, pos, length));
      pos += length - 1;
    } else {
      out.append(text, pos, length);
      pos += length - 1;
    }
    ++pos;
  }
  out += '"';
}

}  // namespace

JsonWriter& JsonWriter::begin(char bracket, Style style) {
  separate();
  // What lies inside a one-line value stays on that line.
  if (!levels_.empty() && levels_.back().style == Style::kInline) style = Style::kInline;
  pending_ += bracket;
  levels_.push_back({style, true});
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  if (levels_.empty()) throw std::logic_error("JsonWriter: end without begin");
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.style == Style::kLines && !level.empty) new_line();
  pending_ += bracket;
  if (pending_.size() > kFlushBytes) {
    sink_(pending_);
    pending_.clear();
  }
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(pending_, name);
  pending_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_string(pending_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char text[40];
  const auto [stop, error] = std::to_chars(text, text + sizeof text, number);
  return raw(error == std::errc() ? std::string_view(text, static_cast<size_t>(stop - text)) : "null");
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  pending_ += text;
  return *this;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) pending_ += level.style == Style::kLines ? "," : ", ";
  level.empty = false;
  if (level.style == Style::kLines) new_line();
}

void JsonWriter::new_line() {
  pending_ += '\n';
  pending_.append(2 * levels_.size(), ' ');
}

void JsonWriter::finish() {
  if (!levels_.empty()) throw std::logic_error("JsonWriter: finish inside an object or array");
  pending_ += '\n';
  sink_(pending_);
  pending_.clear();
}

}  // namespace lenslet
