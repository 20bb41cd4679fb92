#include "apps/lenslet/serve/http/guard.h"

#include <arpa/inet.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::serve {
namespace {

bool is_address(const std::string& name) {
  in6_addr address;
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

bool is_port(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string host_name(std::string_view host) {
  const bool bracketed = !host.empty() && host[0] == '[';
  const size_t end = bracketed ? host.find(']') : host.find(':');
  if (bracketed && end == std::string_view::npos) return {};
  const std::string_view name = bracketed ? host.substr(1, end - 1) : host.substr(0, end);
  std::string_view rest = end == std::string_view::npos ? std::string_view() : host.substr(end + bracketed);
  if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return {};
  return lower_case(name);
}

void check_host_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
             c == '.' || c == '_';
    });
    if (!plain || name.empty())
      throw UsageError(
          concat("--allow-host expects names without a port, such as digits.example.org, found '",
                 printable_excerpt(name, 80), "'"));
  }
}

std::string foreign(const HttpHead& head, const std::vector<std::string>& names) {
  if (!head.host) return "the field Host is missing";
  const std::string name = host_name(*head.host);
  const bool known = name == "localhost" || is_address(name) ||
                     std::any_of(names.begin(), names.end(),
                                 [&](const std::string& allowed) { return lower_case(allowed) == name; });
  if (name.empty() || !known)
    return concat("Host '", printable_excerpt(*head.host, 80),
                  "' is unknown here; --allow-host adds a name, addresses and localhost are always served");
  if (!head.origin) return {};
  const std::string origin = lower_case(*head.origin), authority = lower_case(*head.host);
  if (origin == "http://" + authority || origin == "https://" + authority) return {};
  return concat("requests of pages from '", printable_excerpt(*head.origin, 80), "' are refused");
}

}  // namespace lenslet::serve
