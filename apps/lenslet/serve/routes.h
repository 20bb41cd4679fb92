// The paths of the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lenslet::serve {

enum class Endpoint { kRoot, kServer, kLive, kReady, kModel, kModelReady, kInfer, kClassify, kMetrics };

/// The name in the metrics.
const char* to_string(Endpoint endpoint) noexcept;
/// "GET" or "POST".
const char* method_of(Endpoint endpoint) noexcept;

struct Route {
  Endpoint endpoint = Endpoint::kRoot;
  std::string model, version;  // of a path that names them
};

/// nullopt for an unknown path. A query is ignored. Nothing here names a file.
std::optional<Route> route_of(std::string_view target);

}  // namespace lenslet::serve
