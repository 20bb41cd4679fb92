// The paths of the server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lenslet::serve {

enum class Endpoint {
  kRoot,
  kServer,
  kLive,
  kReady,
  kModel,
  kModelReady,
  kInfer,
  kClassify,
  kMetrics,
  kPage,
  kNone  // no path of the server
};
inline constexpr size_t kEndpoints = static_cast<size_t>(Endpoint::kNone) + 1;

/// The name in the metrics.
const char* to_string(Endpoint endpoint) noexcept;
struct Route {
  Endpoint endpoint = Endpoint::kRoot;
  std::string model, version;  // of a path that names them
  std::string part;            // of kPage: "look" of /page/look
};

/// nullopt for an unknown path. A query is ignored. Nothing here names a file.
std::optional<Route> route_of(std::string_view target);

/// "GET" or "POST".
const char* method_of(const Route& route) noexcept;

}  // namespace lenslet::serve
