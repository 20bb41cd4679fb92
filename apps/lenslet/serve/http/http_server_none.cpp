// A build without Boost.
#include "apps/lenslet/serve/http/http_server.h"
#include "framework/base/error.h"

namespace lenslet::serve {

class HttpServer::Listener {};

void HttpServer::check_available() {
  throw UnavailableError(
      "this build has no HTTP server, because Boost's headers were not found: install libboost-dev 1.70 or "
      "newer, configure and build again");
}

HttpServer::HttpServer(const HttpServerOptions&, HttpService&, ConnectionCounts&) { check_available(); }
HttpServer::~HttpServer() = default;
std::string HttpServer::url() const { return {}; }
int64_t HttpServer::max_connections() const noexcept { return 0; }
bool HttpServer::drain() { return true; }
void HttpServer::stop() {}

}  // namespace lenslet::serve
