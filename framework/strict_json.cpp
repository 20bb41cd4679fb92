#include "framework/strict_json.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "framework/error.h"
#include "framework/text.h"

namespace lenslet {
namespace {

using nlohmann::ordered_json;

/// Sees every event of the parser, and ends it by throwing through it.
class Strictness {
 public:
  explicit Strictness(const std::string& origin) : origin_(origin) {}

  bool operator()(int depth, ordered_json::parse_event_t event, const ordered_json& parsed) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth)
        throw DataError(
            concat(origin_, ": nested deeper than ", kMaxJsonDepth, " levels, which no file of ours is"));
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        throw DataError(
            concat(origin_, ": key \"", printable_excerpt(key), "\" appears twice in one object"));
      if (keys_.back().size() > kMaxJsonKeys)
        throw DataError(concat(origin_, ": an object of more than ", kMaxJsonKeys, " keys"));
    }
    return true;
  }

 private:
  const std::string& origin_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

ordered_json parse_strict_json(const std::string& text, const std::string& origin) {
  Strictness strictness(origin);
  try {
    return ordered_json::parse(text, std::ref(strictness));
  } catch (const ordered_json::exception& error) {
    // Its message shows the last token, which is as long as the file likes.
    throw DataError(concat(origin, ": not JSON, or cut short: ", printable_excerpt(error.what())));
  }
}

std::string json_excerpt(const ordered_json& value) {
  constexpr size_t kMost = 80;
  if (value.is_string())
    return concat("\"", printable_excerpt(value.get_ref<const std::string&>(), kMost), "\"");
  return printable_excerpt(value.dump(-1, ' ', true, ordered_json::error_handler_t::replace), kMost);
}

}  // namespace lenslet
