#include "apps/lenslet/serve/http_connection.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
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
    : share_(share), stream_(std::move(socket)), buffer_(share.options.max_header + kBufferBytes) {
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
  net::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
}

void Connection::close_if_waiting() {
  net::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->waiting_) self->stream_.close();
  });
}

void Connection::set_deadline() { stream_.expires_after(share_.options.timeout); }

/// Whether the connection ends with this error.
bool Connection::note(Error error) {
  if (error == beast::error::timeout) ++share_.counts.timed_out;
  return static_cast<bool>(error);
}

void Connection::read_header() {
  if (share_.draining) return stream_.close();
  response_.reset();
  request_.emplace();
  request_->header_limit(static_cast<std::uint32_t>(share_.options.max_header));
  request_->body_limit(share_.options.max_body);
  if (buffer_.size() == 0 && buffer_.capacity() > kKeptBufferBytes) buffer_.shrink_to_fit();
  waiting_ = true;
  set_deadline();  // of the whole header: bytes that trickle in do not extend it
  http::async_read_header(stream_, buffer_, *request_,
                          [self = shared_from_this()](Error error, size_t) { self->on_header(error); });
}

void Connection::on_header(Error error) {
  waiting_ = false;
  if (error) return refuse_header(error);
  if (std::optional<HttpResponse> refused = share_.service.refuse(head_of(request_->get())))
    return send(std::move(*refused), false);
  prepare_body();
}

void Connection::refuse_header(Error error) {
  if (note(error) && (error == http::error::end_of_stream || error == http::error::partial_message))
    return linger();
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
  set_deadline();
  if (!beast::iequals(message[http::field::expect], "100-continue")) return read_body();
  response_.emplace(http::status::continue_, 11);
  http::async_write(stream_, *response_, [self = shared_from_this()](Error error, size_t) {
    if (!self->note(error)) self->read_body();
  });
}

void Connection::read_body() {
  http::async_read(stream_, buffer_, *request_, [self = shared_from_this()](Error error, size_t) {
    if (!self->note(error)) self->answer();
  });
}

void Connection::answer() {
  stream_.expires_never();  // the service takes its time
  const HttpHead known = head_of(request_->get());
  const bool keep_alive = request_->get().keep_alive();
  std::string body = std::move(request_->get().body());
  share_.service.handle(
      known, std::move(body), [self = shared_from_this(), keep_alive](HttpResponse response) {
        net::post(self->stream_.get_executor(), [self, keep_alive, response = std::move(response)]() mutable {
          self->send(std::move(response), keep_alive);
        });
      });
}

void Connection::send(HttpResponse response, bool keep_alive) {
  release_body();
  keep_alive = keep_alive && !share_.draining;
  response_.emplace(static_cast<http::status>(response.status), 11);
  Response& out = *response_;
  out.set(http::field::server, server_name());
  out.set(http::field::content_type, response.type);
  out.set(http::field::cache_control, "no-store");
  out.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  out.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.fields) out.set(name, value);
  out.keep_alive(keep_alive);
  out.content_length(response.body.size());
  if (request_->get().method() != http::verb::head) out.body() = std::move(response.body);
  set_deadline();
  http::async_write(stream_, out, [self = shared_from_this(), keep_alive](Error error, size_t) {
    self->on_sent(error, keep_alive);
  });
}

void Connection::on_sent(Error error, bool keep_alive) {
  if (note(error)) return;
  if (keep_alive) return read_header();
  linger();
}

// Closes our side and reads what the client still sends, so that it receives the response before the connection is
// reset.
void Connection::linger() {
  Error ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  stream_.expires_after(std::min<std::chrono::milliseconds>(kLinger, share_.options.timeout));
  discard();
}

void Connection::discard() {
  stream_.async_read_some(buffer_.prepare(kKeptBufferBytes),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            self->discarded_ += bytes;
                            if (!error && self->discarded_ < kMostDiscarded) self->discard();
                          });
}

}  // namespace lenslet::serve
