// HttpServer: HTTP/1.1 on a socket, by Boost.Beast. Without Boost the constructor throws UnavailableError.
//
// Limits apply to the number of connections, to the bytes of a header, of a body and of all bodies together, and to the
// time in which a client sends a header, sends a body, or takes a response. A body is read only after its length is
// known and reserved.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "apps/lenslet/serve/http/http.h"
#include "apps/lenslet/serve/metrics.h"

namespace lenslet::serve {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 8080;  // 0: a free one
  int threads = 1;
  int64_t max_connections = 10000;
  size_t max_header = 16 << 10, max_body = 16 << 20, max_bodies = 256 << 20;  // bytes
  std::chrono::milliseconds timeout{30000};
};

class HttpServer {
 public:
  /// Throws UnavailableError in a build without Boost.
  static void check_available();

  /// Listens. Throws UsageError for an address that cannot be used. `service` must live until stop() and
  /// `counts` as long as the server.
  HttpServer(const HttpServerOptions& options, HttpService& service, ConnectionCounts& counts);
  /// Stops, and closes every connection.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  /// "http://127.0.0.1:8080".
  std::string url() const;
  /// The limit of connections at a time: that of the options, or less if the system permits fewer open files.
  int64_t max_connections() const noexcept;
  /// Accepts no more connections, closes those without a request, and waits, at most the timeout, until the others have
  /// their responses. Returns whether all have.
  bool drain();
  /// Ends the threads. Later responses are dropped, so that the service may be destroyed.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace lenslet::serve
