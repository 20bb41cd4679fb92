// A request and its response, whatever the server that carries them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/lenslet/serve/executor.h"

namespace lenslet::serve {

/// What is known before the body is read.
struct HttpHead {
  std::string method, target;       // "GET", "/v2/health/live"
  std::optional<std::string> host;  // of the field Host; none: it was not sent
  std::optional<std::string> origin, content_encoding, json_bytes;  // json_bytes: kJsonLengthField
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields = {};  // besides the usual ones
};

/// Answers the requests of a server. Thread-safe.
class HttpService {
 public:
  using Respond = std::function<void(HttpResponse)>;

  virtual ~HttpService() = default;
  /// A response to a request whose body shall not even be read; nullopt for any other.
  virtual std::optional<HttpResponse> refuse(const HttpHead& head) = 0;
  /// The response to bytes that are no request, or one beyond a limit.
  virtual HttpResponse failure(int status, const std::string& reason) = 0;
  /// Calls `respond` once, before it returns or later from another thread. Throws nothing. `respond` may throw where
  /// memory is short; the response is then lost, and the connection ends. `thread`, where there is one, is that of the
  /// connection, which must outlive the service: it builds the responses that wait for a batch.
  virtual void handle(const HttpHead& head, std::string body, Respond respond, Executor* thread) = 0;
};

}  // namespace lenslet::serve
