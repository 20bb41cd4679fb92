#include "apps/lenslet/serve/http/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <cstring>
#include <utility>

#include "apps/common/system/environment.h"
#include "apps/lenslet/serve/protocol/json_length_field.h"
#include "framework/base/error.h"

namespace lenslet::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;

namespace {

// A body is read in pieces of at most kBufferBytes. An idle connection keeps kKeptBufferBytes at most, 10,000 of them
// 80 MiB. After a refusal up to kMaxDiscarded of what the client still sends is read, four times the default of
// --max-body, so that it gets the answer and not a reset. Chosen by hand.
constexpr size_t kBufferBytes = 64 << 10, kKeptBufferBytes = 8 << 10, kMaxDiscarded = 64 << 20;
// Holds a request of one picture in one read. Each of 10,000 idle connections has this room.
constexpr size_t kMinRoom = 2 << 10;
// A header as long as programs repeat it; a browser sends longer ones, with few requests. Chosen by hand.
constexpr size_t kMaxKeptHeader = 512;
constexpr std::chrono::seconds kLinger(2);  // for the client to read the answer. Chosen by hand
constexpr const char* kPolicy = "Content-Security-Policy";
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

const std::string& server_name() {
  static const std::string name = "Lenslet/" + program_version();
  return name;
}

}  // namespace

HttpHead head_of(const http::request_header<>& header) {
  HttpHead head;
  head.method = std::string(header.method_string());
  head.target = std::string(header.target());
  const auto put = [](std::optional<std::string>& member, beast::string_view value) {
    member = member ? std::string() : std::string(value);
  };
  for (const auto& field : header) {  // one loop: a look-up of each field takes longer
    if (field.name() == http::field::host) put(head.host, field.value());
    if (field.name() == http::field::origin) put(head.origin, field.value());
    if (field.name() == http::field::content_encoding && !head.content_encoding)
      head.content_encoding = std::string(field.value());
    if (field.name() == http::field::unknown && beast::iequals(field.name_string(), kJsonLengthField))
      put(head.json_bytes, field.value());
  }
  return head;
}

Connection::Connection(Socket socket, Executor& thread, ConnectionContext& context)
    : context_(context),
      thread_(thread),
      socket_(std::move(socket)),
      buffer_(context.options.max_header + kBufferBytes) {
  ++context_.counts.open;
}

Connection::~Connection() {
  release_body();
  --context_.counts.open;
  const std::lock_guard<std::mutex> lock(context_.mutex);
  context_.open.erase(this);
}

void Connection::release_body() noexcept {
  context_.counts.body_bytes -= reserved_;
  reserved_ = 0;
}

// Not in the constructor: a draining thread would read the shared pointer while it is being set.
void Connection::start() {
  {
    const std::lock_guard<std::mutex> lock(context_.mutex);
    context_.open.insert(this);
  }
  net::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->next_request(); });
}

void Connection::close_if_waiting() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->waiting_) self->close();
  });
}

void Connection::close_if_late(Time now) {
  net::post(socket_.get_executor(), [self = shared_from_this(), now] {
    if (!self->is_late(now)) return;  // the client was faster than this handler
    if (!self->lingers_) ++self->context_.counts.timed_out;
    self->close();
  });
}

void Connection::close() {
  deadline_ = kNever;
  Error ignored;
  socket_.close(ignored);  // pending reads and writes end with an error
}

void Connection::set_deadline(std::chrono::milliseconds time) {
  deadline_ = (std::chrono::steady_clock::now() + time).time_since_epoch().count();
}

void Connection::next_request() {
  if (context_.draining) return close();
  request_.reset();
  waiting_ = true;
  set_deadline(context_.options.timeout);  // of the whole header: bytes that trickle in do not extend it
  if (buffer_.size() > 0)                  // posted: other connections come first, and the stack stays flat
    return net::post(socket_.get_executor(), [self = shared_from_this()] { self->take(); });
  if (buffer_.capacity() > kKeptBufferBytes) buffer_.shrink_to_fit();
  receive();
}

void Connection::receive() {
  socket_.async_read_some(buffer_.prepare(room()), [self = shared_from_this()](Error error, size_t bytes) {
    if (error) return;  // the connection ends
    self->buffer_.commit(bytes);
    self->take();
  });
}

/// Bytes to read at a time: more within a body, if it has more.
size_t Connection::room() const {
  const bool in_body = request_ && request_->is_header_done();
  const size_t rest = in_body ? request_->content_length_remaining().value_or(0) : 0;
  const size_t wanted = std::clamp(rest, kMinRoom, kBufferBytes);
  return std::min(std::max(wanted, buffer_.capacity() - buffer_.size()), buffer_.max_size() - buffer_.size());
}

/// Takes the bytes of the request from the buffer, and reads more until it is complete.
void Connection::take() {
  bool whole = !request_;  // whether the next bytes that the parser takes begin the header
  if (whole) {
    if (take_repeated()) return;
    request_.emplace();
    request_->header_limit(static_cast<std::uint32_t>(context_.options.max_header));
    request_->body_limit(context_.options.max_body);
  }
  while (!request_->is_done()) {
    if (buffer_.size() == 0) return receive();
    const bool has_header = request_->is_header_done();
    const auto data = buffer_.data();
    Error error;
    const size_t used = request_->put(data, error);
    if (!has_header) {  // the parser may take a header in pieces; such a header is not kept
      whole = whole && request_->is_header_done() && used <= kMaxKeptHeader;
      header_.assign(static_cast<const char*>(data.data()), whole ? used : 0);
    }
    buffer_.consume(used);
    if (error == http::error::need_more) return receive();
    if (error) return refuse(error);
    if (!has_header && !admit()) return;
  }
  keep_alive_ = request_->get().keep_alive();
  answer(std::move(request_->get().body()));
}

/// Takes a request that is complete in the buffer and whose header has the same bytes as the last admitted one: its
/// parsed fields and its admission still hold. Returns false, and takes nothing, for any other.
bool Connection::take_repeated() {
  const size_t header = header_.size();
  if (header == 0 || buffer_.size() < header + body_bytes_) return false;
  const char* const data = static_cast<const char*>(buffer_.data().data());
  if (std::memcmp(data, header_.data(), header) != 0 || !reserve(body_bytes_)) return false;
  waiting_ = false;
  std::string body(data + header, body_bytes_);
  buffer_.consume(header + body_bytes_);
  answer(std::move(body));
  return true;
}

/// Counts the bytes of a body, until the response is sent. Returns false, and counts none, if the sum would exceed the
/// limit.
bool Connection::reserve(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  if (context_.counts.body_bytes.fetch_add(wanted) + wanted >
      static_cast<int64_t>(context_.options.max_bodies)) {
    context_.counts.body_bytes -= wanted;
    return false;
  }
  reserved_ = wanted;
  return true;
}

/// The refusal of the announced body; none if its body_bytes_ were reserved.
std::optional<HttpResponse> Connection::refused_body() {
  if (request_->chunked())
    return context_.service.failure(411, "send the body with Content-Length, not in chunks");
  if (!request_->content_length() && request_->get().method() == http::verb::post)
    return context_.service.failure(
        411, "the field Content-Length is missing; without a body it is 0, which curl -d '' sends");
  if (!reserve(body_bytes_))
    return context_.service.failure(503, "too many bytes are being received; try again later");
  return std::nullopt;
}

/// Whether to take the body now; called once the header is complete. If not, the request was refused, or the client
/// waits for 100 Continue.
bool Connection::admit() {
  waiting_ = false;
  const auto& message = request_->get();
  head_ = head_of(message);
  is_head_ = message.method() == http::verb::head;
  const auto length = request_->content_length();
  body_bytes_ = static_cast<size_t>(length.value_or(0));
  std::optional<HttpResponse> refused = context_.service.refuse(head_);
  if (!refused) refused = refused_body();
  if (refused) {
    send(std::move(*refused), false);  // which closes the connection
    return false;
  }
  set_deadline(context_.options.timeout);
  if (!beast::iequals(message[http::field::expect], "100-continue")) return true;
  header_.clear();  // not repeatable: each such request gets its own 100 Continue
  fields_ = kContinue;
  net::async_write(socket_, net::buffer(fields_), [self = shared_from_this()](Error error, size_t) {
    if (!error) self->take();
  });
  return false;
}

/// Sends the response to bytes that are no request.
void Connection::refuse(Error error) {
  waiting_ = false;
  is_head_ = request_->get().method() == http::verb::head;
  if (error == http::error::header_limit)
    return send(
        context_.service.failure(431, concat("a header has at most ", context_.options.max_header, " bytes")),
        false);
  if (error == http::error::body_limit)
    return send(context_.service.failure(413, concat("a body has at most ", context_.options.max_body,
                                                     " bytes here; --max-body raises the limit")),
                false);
  send(context_.service.failure(400, "no valid HTTP request: " + error.message()), false);
}

void Connection::answer(std::string body) {
  deadline_ = kNever;  // the client waits for the service
  // A response that this thread computes, before handle() returns or later, is sent at once.
  auto respond = [self = shared_from_this()](HttpResponse response) {
    net::dispatch(self->socket_.get_executor(), [self, response = std::move(response)]() mutable {
      self->send(std::move(response), self->keep_alive_);
    });
  };
  context_.service.handle(head_, std::move(body), std::move(respond), &thread_);
}

void Connection::send(HttpResponse response, bool keep_alive) {
  release_body();
  keep_alive = keep_alive && !context_.draining;
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
  if (!is_head_) body_ = std::move(response.body);

  const std::array<net::const_buffer, 2> parts = {net::buffer(fields_), net::buffer(body_)};
  Error error;
  const size_t sent = socket_.write_some(parts, error);
  if (error && error != net::error::would_block) return;  // the client is gone
  if (sent == fields_.size() + body_.size()) return on_sent(keep_alive);
  set_deadline(context_.options.timeout);
  beast::buffers_suffix<std::array<net::const_buffer, 2>> rest(parts);
  rest.consume(sent);
  net::async_write(socket_, rest, [self = shared_from_this(), keep_alive](Error fault, size_t) {
    if (!fault) self->on_sent(keep_alive);
  });
}

void Connection::on_sent(bool keep_alive) {
  if (keep_alive) return next_request();
  linger();
}

// Closes our side and reads what the client still sends, so that it receives the response before the connection is
// reset.
void Connection::linger() {
  Error ignored;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  lingers_ = true;
  set_deadline(std::min<std::chrono::milliseconds>(kLinger, context_.options.timeout));
  discard();
}

void Connection::discard() {
  socket_.async_read_some(buffer_.prepare(kKeptBufferBytes),
                          [self = shared_from_this()](Error error, size_t bytes) {
                            self->discarded_ += bytes;
                            if (!error && self->discarded_ < kMaxDiscarded) self->discard();
                          });
}

}  // namespace lenslet::serve
