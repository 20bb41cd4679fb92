#include "apps/lenslet/serve/protocol/page_request.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "framework/base/error.h"
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
  int64_t value = -1;
  const auto [rest, fault] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (fault != std::errc() || rest != given.data() + given.size() || value < 0 || value > kMaxNumber)
    throw DataError(concat(key, " expects a number from 0, found '", printable_excerpt(given, 40), "'"));
  return value;
}

std::map<std::string, std::string> query_of(std::string_view target) {
  std::map<std::string, std::string> query;
  const size_t mark = target.find('?');
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = std::min(part.find('='), part.size());
    if (equals > 0)
      query[decoded(part.substr(0, equals))] = decoded(part.substr(std::min(equals + 1, part.size())));
  }
  return query;
}

}  // namespace lenslet::serve
