// One connection of an HttpServer: requests in, responses out, one after another. Internal.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "apps/lenslet/serve/http_server.h"

namespace lenslet::serve {

class Connection;

/// The fields that a service looks at. One that must be single but is there twice is empty, which is refused.
HttpHead head_of(const boost::beast::http::request_header<>& header);

/// What the connections of a server share.
struct ConnectionShare {
  ConnectionShare(const HttpServerOptions& its_options, HttpService& its_service,
                  ConnectionCounts& its_counts)
      : options(its_options), service(its_service), counts(its_counts) {}

  const HttpServerOptions options;
  HttpService& service;
  ConnectionCounts& counts;
  std::atomic<bool> draining{false};
  std::mutex mutex;
  std::set<Connection*> open;  // guarded by the mutex
};

/// Every member function runs on the stream's strand.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionShare& share);
  ~Connection();

  /// Begins to read.
  void start();
  /// From any thread: closes the connection unless it has the header of a request.
  void close_if_waiting();

 private:
  using Error = boost::beast::error_code;
  using Request = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  void read_header();
  void on_header(Error error);
  void refuse_header(Error error);
  void prepare_body();
  void read_body();
  void answer();
  void send(HttpResponse response, bool keep_alive);
  void on_sent(Error error, bool keep_alive);
  void linger();
  void discard();
  void set_deadline();
  bool note(Error error);
  void release_body() noexcept;

  ConnectionShare& share_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Request> request_;
  std::optional<Response> response_;
  int64_t reserved_ = 0;  // of ConnectionCounts::body_bytes
  size_t discarded_ = 0;  // bytes read after the last response
  bool waiting_ = true;   // for the header of a request
};

}  // namespace lenslet::serve
