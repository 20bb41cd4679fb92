// A request and its response, independent of the server that receives and sends them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/lenslet/serve/executor.h"

namespace lenslet::serve {

/// The parts of a request that are known before its body is read.
struct HttpHead {
  std::string method, target;                                       // "GET", "/v2/health/live"
  std::optional<std::string> host;                                  // the field Host, if it was sent
  std::optional<std::string> origin, content_encoding, json_bytes;  // json_bytes: kJsonLengthField
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields = {};  // in addition to those that the server sends
};

/// Answers the requests of a server. Thread-safe.
class HttpService {
 public:
  using Respond = std::function<void(HttpResponse)>;

  virtual ~HttpService() = default;
  /// The response to a request that is refused before its body is read; nullopt for any other.
  virtual std::optional<HttpResponse> refuse(const HttpHead& head) = 0;
  /// The response to bytes that are no request, and to a request beyond a limit.
  virtual HttpResponse failure(int status, const std::string& reason) = 0;
  /// Calls `respond` once, before it returns or later from another thread. Throws nothing. `respond` may throw without
  /// memory; the response is then lost, and the connection ends. `thread` is the thread of the connection, or null; it
  /// must outlive the service, and builds the responses that wait for a batch.
  virtual void handle(const HttpHead& head, std::string body, Respond respond, Executor* thread) = 0;
};

}  // namespace lenslet::serve
