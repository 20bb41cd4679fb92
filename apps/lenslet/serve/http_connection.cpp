#include "apps/lenslet/serve/http_connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "apps/common/system/environment.h"
#include "framework/base/error.h"

namespace lenslet::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;

namespace {

constexpr size_t kBufferBytes = 64 << 10, kKeptBufferBytes = 8 << 10, kMostDiscarded = 64 << 20;
constexpr std::chrono::seconds kLinger(2);
constexpr const char* kPolicy = "Content-Security-Policy";
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::optional<std::string> field(const http::fields& fields, beast::string_view name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::nullopt;
  return std::string(found->value());
}

const std::string& server_name() {
  static const std::string name = "Lenslet/" + program_version();
  return name;
}

}  // namespace

HttpHead head_of(const http::request_header<>& header) {
  const auto single = [&](beast::string_view name) {
    return header.count(name) > 1 ? std::optional<std::string>("") : field(header, name);
  };
  HttpHead head;
  head.method = std::string(header.method_string());
  head.target = std::string(header.target());
  head.host = single("Host");
  head.origin = single("Origin");
  head.content_encoding = field(header, "Content-Encoding");
  head.json_bytes = single("Inference-Header-Content-Length");
  return head;
}

Connection::Connection(net::ip::tcp::socket socket, ConnectionShare& share)
    : share_(share), socket_(std::move(socket)), buffer_(share.options.max_header + kBufferBytes) {
  ++share_.counts.open;
  const std::lock_guard<std::mutex> lock(share_.mutex);
  share_.open.insert(this);
}

Connection::~Connection() {
  release_body();
  --share_.counts.open;
  const std::lock_guard<std::mutex> lock(share_.mutex);
  share_.open.erase(this);
}

void Connection::release_body() noexcept {
  share_.counts.body_bytes -= reserved_;
  reserved_ = 0;
}

void Connection::start() {
  net::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->read_header(); });
}

void Connection::close_if_waiting() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->waiting_) self->close();
  });
}

void Connection::close_if_late(Time now) {
  net::post(socket_.get_executor(), [self = shared_from_this(), now] {
    if (!self->is_late(now)) return;  // the client was faster than this handler
    if (!self->lingers_) ++self->share_.counts.timed_out;
    self->close();
  });
}

void Connection::close() {
  deadline_ = kNever;
  Error ignored;
  socket_.close(ignored);  // what is read or written ends with an error
}

void Connection::set_deadline(std::chrono::milliseconds time) {
  deadline_ = (std::chrono::steady_clock::now() + time).time_since_epoch().count();
}

void Connection::read_header() {
  if (share_.draining) return close();
  request_.emplace();
  request_->header_limit(static_cast<std::uint32_t>(share_.options.max_header));
  request_->body_limit(share_.options.max_body);
  if (buffer_.size() == 0 && buffer_.capacity() > kKeptBufferBytes) buffer_.shrink_to_fit();
  waiting_ = true;
  set_deadline(share_.options.timeout);  // of the whole header: bytes that trickle in do not extend it
  http::async_read_header(socket_, buffer_, *request_,
                          [self = shared_from_this()](Error error, size_t) { self->on_header(error); });
}

void Connection::on_header(Error error) {
  waiting_ = false;
  if (error) return refuse_header(error);
  head_ = head_of(request_->get());
  if (std::optional<HttpResponse> refused = share_.service.refuse(head_))
    return send(std::move(*refused), false);
  prepare_body();
}

void Connection::refuse_header(Error error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return linger();
  if (error == http::error::header_limit)
    return send(
        share_.service.failure(431, concat("a header has at most ", share_.options.max_header, " bytes")),
        false);
  if (error == http::error::body_limit)
    return send(share_.service.failure(413, concat("a body has at most ", share_.options.max_body,
                                                   " bytes here; --max-body raises the limit")),
                false);
  // Errors of the parser; those of the network have another category and end the connection.
  if (error.category() == make_error_code(http::error::bad_method).category())
    send(share_.service.failure(400, "no valid HTTP request: " + error.message()), false);
}

void Connection::prepare_body() {
  const auto& message = request_->get();
  if (request_->chunked())
    return send(share_.service.failure(411, "send the body with Content-Length, not in chunks"), false);
  const auto length = request_->content_length();
  if (!length && message.method() == http::verb::post)
    return send(share_.service.failure(411, "the field Content-Length is missing"), false);
  const auto bytes = static_cast<int64_t>(length.value_or(0));
  if (share_.counts.body_bytes.fetch_add(bytes) + bytes > static_cast<int64_t>(share_.options.max_bodies)) {
    share_.counts.body_bytes -= bytes;
    return send(share_.service.failure(503, "too many bytes are being received; try again later"), false);
  }
  reserved_ = bytes;
  set_deadline(share_.options.timeout);
  if (!beast::iequals(message[http::field::expect], "100-continue")) return read_body();
  fields_ = kContinue;
  net::async_write(socket_, net::buffer(fields_), [self = shared_from_this()](Error error, size_t) {
    if (!error) self->read_body();
  });
}

void Connection::read_body() {
  if (request_->is_done()) return answer();  // there is none, or it came with the header
  http::async_read(socket_, buffer_, *request_, [self = shared_from_this()](Error error, size_t) {
    if (!error) self->answer();
  });
}

void Connection::answer() {
  deadline_ = kNever;  // the service takes its time
  const bool keep_alive = request_->get().keep_alive();
  std::string body = std::move(request_->get().body());
  // An answer that comes before handle() returns is sent by this thread.
  share_.service.handle(head_, std::move(body),
                        [self = shared_from_this(), keep_alive](HttpResponse response) {
                          net::dispatch(self->socket_.get_executor(),
                                        [self, keep_alive, response = std::move(response)]() mutable {
                                          self->send(std::move(response), keep_alive);
                                        });
                        });
}

void Connection::send(HttpResponse response, bool keep_alive) {
  release_body();
  keep_alive = keep_alive && !share_.draining;
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  fields_ = "HTTP/1.1 " + std::to_string(response.status) + " ";
  fields_.append(reason.data(), reason.size());
  const auto add = [this](const char* name, const std::string& value) {
    fields_.append("\r\n").append(name).append(": ").append(value);
  };
  add("Server", server_name());
  add("Content-Type", response.type);
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  bool has_policy = false;
  for (const auto& [name, value] : response.fields) {
    has_policy = has_policy || name == kPolicy;
    add(name.c_str(), value);
  }
  if (!has_policy) add(kPolicy, "default-src 'none'; frame-ancestors 'none'");
  if (!keep_alive) add("Connection", "close");
  add("Content-Length", std::to_string(response.body.size()));
  fields_ += "\r\n\r\n";
  body_.clear();
  if (request_->get().method() != http::verb::head) body_ = std::move(response.body);
  set_deadline(share_.options.timeout);
  const std::array<net::const_buffer, 2> parts = {net::buffer(fields_), net::buffer(body_)};
  net::async_write(socket_, parts, [self = shared_from_this(), keep_alive](Error error, size_t) {
    self->on_sent(error, keep_alive);
  });
}

void Connection::on_sent(Error error, bool keep_alive) {
  if (error) return;
  if (keep_alive) return read_header();
  linger();
}

// Closes our side and reads what the client still sends, so that it receives the response before the connection is
// reset.
void Connection::linger() {
  Error ignored;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  lingers_ = true;
  set_deadline(std::min<std::chrono::milliseconds>(kLinger, share_.options.timeout));
  discard();
}

void Connection::discard() {
  socket_.async_read_some(buffer_.prepare(kKeptBufferBytes),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            self->discarded_ += bytes;
                            if (!error && self->discarded_ < kMostDiscarded) self->discard();
                          });
}

}  // namespace lenslet::serve
