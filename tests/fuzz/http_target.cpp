// The bytes of a request up to its body, as a connection reads them.
#include <boost/asio/buffer.hpp>

#include "apps/lenslet/serve/http/guard.h"
#include "apps/lenslet/serve/http/http_connection.h"
#include "apps/lenslet/serve/protocol/page_request.h"
#include "apps/lenslet/serve/protocol/routes.h"
#include "framework/base/error.h"
#include "tests/fuzz/fuzz_target.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(http) {
  constexpr size_t kLimit = 4096;
  namespace beast_http = boost::beast::http;
  beast_http::request_parser<beast_http::string_body> parser;
  parser.header_limit(kLimit);
  parser.body_limit(kLimit);
  boost::system::error_code error;
  size_t done = 0;
  while (done < size && !error && !parser.is_header_done())
    done += parser.put(boost::asio::buffer(data + done, size - done), error);
  if (error || !parser.is_header_done()) return;

  const serve::HttpHead head = serve::head_of(parser.get());
  const std::vector<std::string> names = {"digits.example"};
  const std::string reason = serve::foreign(head, names);
  if (!reason.empty()) return check_message(reason, "");
  check(head.host.has_value(), "a served request names its host");
  const std::string name = serve::host_name(*head.host);
  check(name == "localhost" || name == names[0] ||
            name.find_first_not_of("0123456789abcdef.:") == std::string::npos,
        "a served host is an address or known, found " + name);
  if (head.origin)
    check(head.origin->size() <= head.host->size() + 8 && head.origin->size() >= head.host->size() + 7,
          "a served origin is a scheme and the host");
  const std::optional<serve::Route> route = serve::route_of(head.target);
  if (!route) return;
  check(head.target[0] == '/', "a served path begins with a slash");
  try {
    serve::query_of(head.target);
  } catch (const DataError&) {  // refused
  }
  check(route->model.find('/') == std::string::npos && route->version.find('/') == std::string::npos,
        "a name is one part of the path");
}

LENSLET_FUZZ_SEEDS(http) {
  const auto seed = [](const std::string& text) { return Bytes(text.begin(), text.end()); };
  std::vector<Bytes> seeds;
  for (const char* path : {"/", "/v2", "/v2/health/live", "/v2/models/m/versions/1/infer", "/classify?x=1",
                           "/page/look?digit=1&backends=a%3db+c", "/metrics"})
    seeds.push_back(seed(std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"));
  for (const char* field :
       {"Host: [::1]:80", "Host: 127.0.0.1", "Host: digits.example", "Host: evil.example",
        "Host: localhost\r\nOrigin: http://localhost", "Host: localhost\r\nOrigin: null",
        "Host: localhost\r\nContent-Length: 5", "Host: localhost\r\nTransfer-Encoding: chunked",
        "Host: a\r\nHost: localhost", "Host: localhost\r\nInference-Header-Content-Length: 5"})
    seeds.push_back(seed(std::string("POST /classify HTTP/1.1\r\n") + field + "\r\n\r\nhello"));
  return seeds;
}
