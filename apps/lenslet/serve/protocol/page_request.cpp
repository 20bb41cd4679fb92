#include "apps/lenslet/serve/protocol/page_request.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"

namespace lenslet::serve {
namespace {

// Nine digits: what a page sends (a batch, a digit) is far below, and a caller may keep the number in an int.
constexpr int64_t kMaxNumber = 999'999'999;

std::string decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [rest, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || fault != std::errc() || rest != digits.data() + 2)
      throw DataError("the query has a percent sign without two hexadecimal digits");
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

}  // namespace

std::string PageRequest::text(const std::string& key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string() : found->second;
}

int64_t PageRequest::whole_number(const std::string& key, int64_t fallback) const {
  const std::string given = text(key);
  if (given.empty()) return fallback;
  if (const std::optional<int64_t> value = parse_number<int64_t>(given, 0, kMaxNumber)) return *value;
  throw DataError(concat(key, " expects a number from 0, found '", printable_excerpt(given, 40), "'"));
}

std::map<std::string, std::string> query_of(std::string_view target) {
  std::map<std::string, std::string> query;
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return query;
  for (const std::string_view part : split(target.substr(mark + 1), "&")) {
    const size_t equals = std::min(part.find('='), part.size());
    if (equals > 0)
      query[decoded(part.substr(0, equals))] = decoded(part.substr(std::min(equals + 1, part.size())));
  }
  return query;
}

}  // namespace lenslet::serve
