#include "apps/lenslet/serve/service.h"

#include <charconv>
#include <exception>
#include <new>
#include <utility>

#include "apps/lenslet/serve/guard.h"
#include "apps/lenslet/serve/infer_answer.h"
#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::serve {
namespace {

constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kNoRequest = "none";  // endpoint of bytes that name no path

HttpResponse error(int status, const std::string& reason) {
  return {status, error_json(printable_line(reason))};
}

HttpResponse busy(const char* what) {
  HttpResponse response = error(503, concat("too many ", what, " wait; try again later"));
  response.fields.emplace_back("Retry-After", "1");
  return response;
}

/// A whole non-negative number; nullopt for any other text.
std::optional<size_t> number_in(const std::string& text) {
  size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || rest != end) return std::nullopt;
  return value;
}

/// Calls `body`; an exception becomes the response to it.
template <typename Body>
HttpResponse guarded(const Body& body) {
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

Service::Service(ServiceOptions options, Computation computation, const ConnectionCounts& connections)
    : options_(std::move(options)),
      computation_(std::move(computation)),
      connections_(connections),
      batcher_(options_.batching, computation_.infer, computation_.infer_at_once),
      pictures_(options_.picture_queue),
      pages_(options_.page_queue) {}

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
  if (response) metrics_.answered(kNoRequest, response->status, {});
  return response;
}

HttpResponse Service::failure(int status, const std::string& reason) {
  metrics_.answered(kNoRequest, status, {});
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

void Service::handle(const HttpHead& head, std::string body, Respond respond) {
  const Route route = route_of(head.target).value_or(Route{});
  const auto began = std::chrono::steady_clock::now();
  const char* const endpoint = to_string(route.endpoint);
  const Respond counted = [this, endpoint, began, respond = std::move(respond)](HttpResponse response) {
    metrics_.answered(endpoint, response.status, std::chrono::steady_clock::now() - began);
    respond(std::move(response));
  };
  try {
    if (route.endpoint == Endpoint::kInfer) return infer(head, body, counted);
    if (route.endpoint == Endpoint::kClassify) return classify(std::move(body), counted);
    if (route.endpoint == Endpoint::kPage) return page(head, route, body, counted);
  } catch (const std::exception&) {  // before the computation took the request over
    return counted(guarded([]() -> HttpResponse { throw; }));
  }
  counted(answer(route));
}

HttpResponse Service::answer(const Route& route) const {
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

void Service::infer(const HttpHead& head, const std::string& body, const Respond& respond) {
  std::optional<size_t> json_bytes;
  if (head.json_bytes) {
    json_bytes = number_in(*head.json_bytes);
    if (!json_bytes)
      throw DataError(concat("Inference-Header-Content-Length expects a number of bytes, found '",
                             printable_excerpt(*head.json_bytes, 40), "'"));
  }
  auto request = std::make_shared<InferRequest>(read_infer_request(body, json_bytes, options_.signature));
  std::vector<float> values = std::move(request->values);
  const auto done = [this, request, respond](std::vector<float> outputs, const std::string& fault) {
    respond(guarded([&]() -> HttpResponse {
      if (!fault.empty()) return error(500, fault);
      InferAnswer answer = infer_answer(options_.signature, *request, outputs);
      HttpResponse response{200, std::move(answer.body)};
      if (!request->binary_output) return response;
      response.type = kBytes;
      response.fields.emplace_back("Inference-Header-Content-Length", std::to_string(answer.json_bytes));
      return response;
    }));
  };
  if (!batcher_.submit(std::move(values), request->count, done)) respond(busy("samples"));
}

void Service::classify(std::string body, const Respond& respond) {
  const bool taken =
      pictures_.submit([this, respond, picture = std::vector<uint8_t>(body.begin(), body.end())] {
        respond(guarded([&]() -> HttpResponse { return {200, computation_.classify(picture)}; }));
      });
  if (!taken) respond(busy("pictures"));
}

void Service::page(const HttpHead& head, const Route& route, const std::string& body,
                   const Respond& respond) {
  if (!computation_.page) return respond(error(404, "this server has no page"));
  const bool taken = pages_.submit(
      [this, respond, request = PageRequest{route.part, query_of(head.target), {body.begin(), body.end()}}] {
        respond(guarded([&]() -> HttpResponse { return {200, computation_.page(request)}; }));
      });
  if (!taken) respond(busy("requests of the page"));
}

}  // namespace lenslet::serve
