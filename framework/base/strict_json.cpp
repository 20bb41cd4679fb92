#include "framework/base/strict_json.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

/// Builds the document from the parser's events; an exception ends the parse.
class StrictBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  explicit StrictBuilder(const std::string& origin) : origin_(origin) {}

  ordered_json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(size_t) override { return open(ordered_json::object()); }
  bool start_array(size_t) override { return open(ordered_json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second)
      fail(concat("key \"", printable_excerpt(name), "\" appears twice in one object"));
    if (level.keys.size() > kMaxJsonKeys)
      fail(concat("expected at most ", kMaxJsonKeys, " keys in an object, found more"));
    level.key = std::move(name);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // Without "[json.exception.parse_error.101] parse error at ". It contains the last token, which may be as long as
    // the file.
    const std::string_view text = error.what();
    const size_t place = text.find("line "), number = text.find("] ");
    const size_t begin = place != text.npos ? place : number != text.npos ? number + 2 : 0;
    fail(concat("not JSON, or truncated: ", printable_excerpt(text.substr(begin))));
  }

 private:
  struct Level {
    ordered_json* value;  // the object or array; its address is stable until the level ends
    std::unordered_set<std::string> keys = {};
    std::string key = {};
  };

  [[noreturn]] void fail(const std::string& what) const { throw DataError(concat(origin_, ": ", what)); }

  ordered_json& place(ordered_json&& value) {
    if (levels_.empty()) return root_ = std::move(value);
    ordered_json& parent = *levels_.back().value;
    if (parent.is_array()) return parent.emplace_back(std::move(value));
    // The key is new, so the object needs no search for it.
    auto& members = parent.get_ref<ordered_json::object_t&>();
    members.emplace_back(std::move(levels_.back().key), std::move(value));
    return members.back().second;
  }

  bool add(ordered_json&& value) {
    place(std::move(value));
    return true;
  }

  bool open(ordered_json&& value) {
    if (levels_.size() >= static_cast<size_t>(kMaxJsonDepth))
      fail(concat("nested deeper than ", kMaxJsonDepth, " levels, expected a file written by Lenslet"));
    throw_if_stopped("reading a file");
    levels_.push_back({&place(std::move(value))});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& origin_;
  ordered_json root_;
  std::vector<Level> levels_;
};

}  // namespace

void check_no_nul(std::string_view text, const std::string& origin) {
  const size_t at = text.find('\0');
  if (at != std::string_view::npos)
    throw DataError(concat(origin, ": a NUL at byte ", at, ", expected JSON text without NUL"));
}

ordered_json parse_strict_json(const std::string& text, const std::string& origin) {
  check_no_nul(text, origin);
  StrictBuilder builder(origin);
  ordered_json::sax_parse(text, &builder);
  return builder.take();
}

std::string json_excerpt(const ordered_json& value) {
  constexpr size_t kMaxExcerptBytes = 80;  // a line of a terminal
  if (value.is_string())
    return concat("\"", printable_excerpt(value.get_ref<const std::string&>(), kMaxExcerptBytes), "\"");
  return printable_excerpt(value.dump(-1, ' ', true, ordered_json::error_handler_t::replace),
                           kMaxExcerptBytes);
}

}  // namespace lenslet
