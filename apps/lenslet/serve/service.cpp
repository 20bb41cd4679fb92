#include "apps/lenslet/serve/service.h"

#include <exception>
#include <new>
#include <utility>

#include "apps/common/output/error_line.h"
#include "apps/lenslet/serve/http/guard.h"
#include "apps/lenslet/serve/protocol/json_length_field.h"
#include "framework/base/error.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"

namespace lenslet::serve {
namespace {

constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
// JSON of more bytes is read by a thread of its own: on that of the connection it would hold up the others for
// milliseconds.
constexpr size_t kLongJson = 64 << 10;

HttpResponse error(int status, const std::string& reason) {
  return {status, error_json(printable_line(reason))};
}

HttpResponse busy(const char* what) {
  HttpResponse response = error(503, concat("too many ", what, " wait; try again later"));
  response.fields.emplace_back("Retry-After", "1");
  return response;
}

/// What `body` returns; an exception becomes the response to it.
template <typename Body>
auto guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const DataError& failure) {
    return error(400, failure.what());
  } catch (const std::bad_alloc&) {
    return error(503, "out of memory");
  } catch (const std::exception& failure) {
    return error(500, failure.what());
  }
}

}  // namespace

/// Where the response to one request goes.
class Service::Reply {
 public:
  Reply(Service& service, Endpoint endpoint, Respond respond, Executor* thread)
      : service_(&service), endpoint_(endpoint), respond_(std::move(respond)), thread_(thread) {}

  /// The thread of the connection; may be null.
  Executor* thread() const noexcept { return thread_; }

  /// Counts the response and hands it on, once.
  void operator()(HttpResponse response) const noexcept {
    service_->metrics_.answered(endpoint_, response.status, Clock::now() - began_);
    try {
      respond_(std::move(response));
    } catch (const std::exception& failure) {
      report_lost(failure);
    }
  }
  /// Does the same with what `body` returns, if anything.
  template <typename Body>
  void with(const Body& body) const noexcept {
    std::optional<HttpResponse> response;
    try {
      response = guarded(body);
    } catch (const std::exception& failure) {  // no memory even for an error
      return report_lost(failure);
    }
    if (response) (*this)(std::move(*response));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static void report_lost(const std::exception& failure) noexcept {
    write_error_line("lenslet", {"a response was lost: ", failure.what()});
  }

  Service* service_;
  Endpoint endpoint_;
  Clock::time_point began_ = Clock::now();
  Respond respond_;
  Executor* thread_;
};

Service::Service(ServiceOptions options, Computation computation, const ConnectionCounts& connections)
    : options_(std::move(options)),
      computation_(std::move(computation)),
      connections_(connections),
      answers_(options_.signature),
      batcher_(options_.batching, computation_.infer, computation_.infer_at_once),
      pictures_(options_.picture_queue),
      pages_(options_.page_queue),
      measurements_(options_.page_queue),
      json_(options_.json_queue, options_.json_threads) {}

std::optional<HttpResponse> Service::refuse(const HttpHead& head) {
  const auto response = [&]() -> std::optional<HttpResponse> {
    if (const std::string reason = foreign(head, options_.host_names); !reason.empty())
      return error(head.host ? 403 : 400, reason);
    const std::optional<Route> route = route_of(head.target);
    if (!route) return error(404, concat("there is nothing at ", printable_excerpt(head.target, 100)));
    const std::string method = method_of(*route);
    if (head.method != method && !(method == "GET" && head.method == "HEAD")) {
      HttpResponse wrong = error(405, concat("this path takes ", method));
      wrong.fields.emplace_back("Allow", method == "GET" ? "GET, HEAD" : method);
      return wrong;
    }
    if (head.content_encoding && lower_case(*head.content_encoding) != "identity")
      return error(415, "compressed bodies are unsupported; send it without Content-Encoding");
    return unknown_model(*route);
  }();
  if (response) metrics_.answered(Endpoint::kNone, response->status, {});
  return response;
}

HttpResponse Service::failure(int status, const std::string& reason) {
  metrics_.answered(Endpoint::kNone, status, {});
  return error(status, reason);
}

std::optional<HttpResponse> Service::unknown_model(const Route& route) const {
  const Signature& own = options_.signature;
  if (!route.model.empty() && route.model != own.model)
    return error(
        404, concat("unknown model '", printable_excerpt(route.model, 60), "'; here is '", own.model, "'"));
  if (!route.version.empty() && route.version != own.version)
    return error(404, concat("the model '", own.model, "' has only version ", own.version));
  return std::nullopt;
}

void Service::handle(const HttpHead& head, std::string body, Respond respond, Executor* thread) {
  const Route route = route_of(head.target).value_or(Route{});
  const Reply reply(*this, route.endpoint, std::move(respond), thread);
  reply.with([&] { return answer(head, route, body, reply); });
}

std::optional<HttpResponse> Service::answer(const HttpHead& head, const Route& route, std::string& body,
                                            const Reply& reply) {
  switch (route.endpoint) {
    case Endpoint::kInfer:
      return infer(head, body, reply);
    case Endpoint::kClassify:
      return classify(body, reply);
    case Endpoint::kPage:
      return page(head, route, body, reply);
    default:
      return describe(route);
  }
}

HttpResponse Service::describe(const Route& route) const {
  const auto state = [&](const char* name, bool good) {
    return HttpResponse{good ? 200 : 503, concat("{\"", name, "\":", good ? "true" : "false", "}")};
  };
  switch (route.endpoint) {
    case Endpoint::kServer:
      return {200, server_json()};
    case Endpoint::kLive:
      return state("live", true);
    case Endpoint::kReady:
      return state("ready", ready_);
    case Endpoint::kModel:
      return {200, model_json(options_.signature)};
    case Endpoint::kModelReady: {
      HttpResponse response = state("ready", ready_);
      response.body.insert(1, concat("\"name\":\"", options_.signature.model, "\","));
      return response;
    }
    case Endpoint::kMetrics:
      return {200, metrics_.text(batcher_.counts(), connections_), kPrometheus};
    default:
      return {200,
              options_.home,
              "text/html; charset=utf-8",
              {{"Content-Security-Policy", options_.home_policy + "; frame-ancestors 'none'"}}};
  }
}

std::optional<HttpResponse> Service::infer(const HttpHead& head, std::string& body, const Reply& reply) {
  std::optional<size_t> json_bytes;
  if (head.json_bytes) {
    json_bytes = parse_number<size_t>(*head.json_bytes);
    if (!json_bytes)
      throw DataError(concat(kJsonLengthField, " expects a number of bytes, found '",
                             printable_excerpt(*head.json_bytes, 40), "'"));
  }
  if (json_bytes.value_or(body.size()) <= kLongJson) return compute(body, json_bytes, reply);
  const bool taken = json_.submit([this, json_bytes, reply, body = std::move(body)] {
    reply.with([&] { return compute(body, json_bytes, reply); });
  });
  if (!taken) return busy("large requests");
  return std::nullopt;
}

std::optional<HttpResponse> Service::compute(const std::string& body, std::optional<size_t> json_bytes,
                                             const Reply& reply) {
  InferRequest request = read_infer_request(body, json_bytes, options_.signature);
  Samples samples = std::move(request.samples);
  const int64_t count = request.count;
  const bool taken = batcher_.submit(
      std::move(samples), count,
      [this, reply, request = std::move(request)](const Batcher::Outputs& outputs, const std::string& fault) {
        reply.with([&]() -> std::optional<HttpResponse> {
          if (!fault.empty()) return error(500, fault);
          InferAnswer answer = answers_.answer(request, outputs.data, outputs.size);
          HttpResponse response{200, std::move(answer.body)};
          if (!request.binary_output) return response;
          response.type = kBytes;
          response.fields.emplace_back(kJsonLengthField, std::to_string(answer.json_bytes));
          return response;
        });
      },
      reply.thread());
  if (!taken) return busy("samples");
  return std::nullopt;
}

std::optional<HttpResponse> Service::classify(const std::string& body, const Reply& reply) {
  const bool taken =
      pictures_.submit([this, reply, picture = std::vector<uint8_t>(body.begin(), body.end())] {
        reply.with([&]() -> std::optional<HttpResponse> {
          return HttpResponse{200, computation_.classify(picture)};
        });
      });
  if (!taken) return busy("pictures");
  return std::nullopt;
}

std::optional<HttpResponse> Service::page(const HttpHead& head, const Route& route, const std::string& body,
                                          const Reply& reply) {
  if (!computation_.page) return error(404, "this server has no page");
  PageRequest request{route.part, query_of(head.target), {body.begin(), body.end()}};
  TaskQueue& queue = request.measures() ? measurements_ : pages_;
  const bool taken = queue.submit([this, reply, request = std::move(request)] {
    reply.with([&]() -> std::optional<HttpResponse> {
      return HttpResponse{200, computation_.page(request)};
    });
  });
  if (!taken) return busy("requests of the page");
  return std::nullopt;
}

}  // namespace lenslet::serve
