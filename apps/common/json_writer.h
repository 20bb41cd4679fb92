// JsonWriter: JSON written as it comes, so that a list of any length needs constant memory.
//
// Numbers are written so that they read back exactly; NaN and infinity become null. Strings are always valid
// UTF-8: other bytes appear as the text \xNN.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

class JsonWriter {
 public:
  using Sink = std::function<void(const std::string&)>;
  enum class Style { kLines, kInline };  // one member a line, or all on one line

  explicit JsonWriter(Sink sink) : sink_(std::move(sink)) {}

  JsonWriter& begin_object(Style style = Style::kLines) { return begin('{', style); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array(Style style = Style::kLines) { return begin('[', style); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(double number);
  JsonWriter& value(int64_t number) { return raw(std::to_string(number)); }
  JsonWriter& value(uint64_t number) { return raw(std::to_string(number)); }
  JsonWriter& value(int number) { return raw(std::to_string(number)); }
  JsonWriter& null() { return raw("null"); }

  template <typename T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }

  /// Ends the document with a newline and hands the rest to the sink; every object and array must be closed.
  void finish();

 private:
  struct Level {
    Style style;
    bool empty;
  };
  JsonWriter& begin(char bracket, Style style);
  JsonWriter& end(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();
  void new_line();

  Sink sink_;
  std::string pending_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace lenslet
