// One connection of an HttpServer: requests in, responses out, one after another. Internal.
#pragma once

#include <atomic>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/optional.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "apps/lenslet/serve/http/http_server.h"

namespace lenslet::serve {

class Connection;

/// A socket bound to the executor of its loop: takes less time per request than tcp::socket, which takes any executor.
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

/// A body as text, for Beast's parser. Beast's string_body fills each piece with zeros before it copies the bytes
/// there, which is as much work as the copy.
struct TextBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>&, std::string& text) : text_(text) {}
    void init(const boost::optional<std::uint64_t>& length, boost::beast::error_code& error) {
      error = {};
      if (length) text_.reserve(static_cast<size_t>(*length));  // at most the parser's body_limit()
    }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      size_t bytes = 0;
      for (const boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers)) {
        text_.append(static_cast<const char*>(part.data()), part.size());
        bytes += part.size();
      }
      return bytes;
    }
    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    std::string& text_;
  };
};

/// The fields that a service reads. A field that occurs twice but may occur once is left empty; the service then
/// refuses the request.
HttpHead head_of(const boost::beast::http::request_header<>& header);

/// The objects that all connections of a server share.
struct ConnectionContext {
  ConnectionContext(const HttpServerOptions& its_options, HttpService& its_service,
                    ConnectionCounts& its_counts)
      : options(its_options), service(its_service), counts(its_counts) {}

  const HttpServerOptions options;
  HttpService& service;
  ConnectionCounts& counts;
  std::atomic<bool> draining{false};
  std::mutex mutex;
  std::set<Connection*> open;  // guarded by the mutex
};

/// Member functions run on the thread of the socket's loop, unless their comments name another. They read and write at
/// once as many bytes as the socket has or takes; the loop waits for the rest. Deadlines have no timers, which would be
/// set and cancelled for each read and write: the server checks all of them periodically. Most clients send the same
/// header again, so a header equal to the last one is not parsed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `socket` does not block. `thread` is that of its loop.
  Connection(Socket socket, Executor& thread, ConnectionContext& context);
  ~Connection();

  /// From any thread: makes the connection known to the server and begins to read.
  void start();
  /// From any thread: closes the connection unless it has the header of a request.
  void close_if_waiting();
  using Time = std::chrono::steady_clock::time_point;
  /// From any thread: whether the client has exceeded its time at `now`.
  bool is_late(Time now) const noexcept { return deadline_ <= now.time_since_epoch().count(); }
  /// From any thread: closes the connection if it is late.
  void close_if_late(Time now);

 private:
  using Error = boost::beast::error_code;
  using Request = boost::beast::http::request_parser<TextBody>;

  void next_request();
  void receive();
  size_t room() const;
  void take();
  bool take_repeated();
  std::optional<HttpResponse> refused_body();
  bool admit();
  bool reserve(size_t bytes);
  void refuse(Error error);
  void answer(std::string body);
  void send(HttpResponse response, bool keep_alive);
  void on_sent(bool keep_alive);
  void linger();
  void discard();
  void set_deadline(std::chrono::milliseconds time);
  void close();
  void release_body() noexcept;

  ConnectionContext& context_;
  Executor& thread_;
  Socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<Request> request_;  // the parser; none if take_repeated() takes the whole request
  HttpHead head_;                   // of the request
  std::string fields_, body_;       // of the response
  std::string
      header_;  // the bytes of the last admitted request's; empty if it was too long, or is not repeatable
  size_t body_bytes_ = 0;  // of the last admitted request
  static constexpr auto kNever = std::numeric_limits<Time::rep>::max();
  std::atomic<Time::rep> deadline_{kNever};  // of the client, since the clock's epoch
  int64_t reserved_ = 0;                     // of ConnectionCounts::body_bytes
  size_t discarded_ = 0;                     // bytes read after the last response
  bool waiting_ = true;                      // for the header of a request
  bool keep_alive_ = false;                  // after the response to the request
  bool is_head_ = false;                     // the response has no body
  bool lingers_ = false;  // the last response is sent: a deadline from now on is no fault of the client
};

}  // namespace lenslet::serve
