#include "apps/lenslet/serve/protocol/routes.h"

#include <algorithm>
#include <array>

namespace lenslet::serve {
namespace {

constexpr std::array<std::string_view, 5> kPageParts = {"network", "look", "profile", "compare", "tune"};

/// What is between the slashes of a path; of a longer one than any here the first parts.
class Parts {
 public:
  explicit Parts(std::string_view path) {
    while (!path.empty() && count_ < parts_.size()) {
      path.remove_prefix(1);  // the slash
      const size_t end = path.find('/');
      parts_[count_++] = path.substr(0, end);
      path = end == std::string_view::npos ? std::string_view() : path.substr(end);
    }
  }
  size_t size() const { return count_; }
  std::string_view operator[](size_t index) const { return parts_[index]; }

 private:
  std::array<std::string_view, 7> parts_;  // v2/models/MODEL/versions/1/infer has six
  size_t count_ = 0;
};

}  // namespace

const char* to_string(Endpoint endpoint) noexcept {
  switch (endpoint) {
    case Endpoint::kRoot:
      return "root";
    case Endpoint::kServer:
      return "server";
    case Endpoint::kLive:
      return "live";
    case Endpoint::kReady:
      return "ready";
    case Endpoint::kModel:
      return "model";
    case Endpoint::kModelReady:
      return "model_ready";
    case Endpoint::kInfer:
      return "infer";
    case Endpoint::kClassify:
      return "classify";
    case Endpoint::kMetrics:
      return "metrics";
    case Endpoint::kPage:
      return "page";
    case Endpoint::kNone:
      return "none";
  }
  return "?";
}

const char* method_of(const Route& route) noexcept {
  if (route.endpoint == Endpoint::kPage) return route.part == "network" ? "GET" : "POST";
  return route.endpoint == Endpoint::kInfer || route.endpoint == Endpoint::kClassify ? "POST" : "GET";
}

std::optional<Route> route_of(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path.empty() || path[0] != '/') return std::nullopt;
  if (path == "/") return Route{Endpoint::kRoot, {}, {}, {}};
  if (path == "/classify") return Route{Endpoint::kClassify, {}, {}, {}};
  if (path == "/metrics") return Route{Endpoint::kMetrics, {}, {}, {}};
  if (path == "/v2" || path == "/v2/") return Route{Endpoint::kServer, {}, {}, {}};
  if (path == "/v2/health/live") return Route{Endpoint::kLive, {}, {}, {}};
  if (path == "/v2/health/ready") return Route{Endpoint::kReady, {}, {}, {}};

  const Parts parts(path);
  if (parts.size() == 2 && parts[0] == "page") {
    if (std::find(kPageParts.begin(), kPageParts.end(), parts[1]) == kPageParts.end()) return std::nullopt;
    return Route{Endpoint::kPage, {}, {}, std::string(parts[1])};
  }
  if (parts.size() < 3 || parts[0] != "v2" || parts[1] != "models" || parts[2].empty()) return std::nullopt;
  Route route{Endpoint::kModel, std::string(parts[2]), {}, {}};
  size_t next = 3;
  if (parts.size() > next + 1 && parts[next] == "versions" && !parts[next + 1].empty()) {
    route.version = parts[next + 1];
    next += 2;
  }
  if (parts.size() == next) return route;
  if (parts.size() > next + 1) return std::nullopt;
  if (parts[next] == "ready") {
    route.endpoint = Endpoint::kModelReady;
  } else if (parts[next] == "infer") {
    route.endpoint = Endpoint::kInfer;
  } else {
    return std::nullopt;
  }
  return route;
}

}  // namespace lenslet::serve
