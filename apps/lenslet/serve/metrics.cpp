#include "apps/lenslet/serve/metrics.h"

#include "framework/base/error.h"

namespace lenslet::serve {
namespace {

void add(std::string& text, const char* name, const char* kind, const char* help) {
  text += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n");
}

void add_one(std::string& text, const char* name, const char* kind, const char* help, int64_t value) {
  add(text, name, kind, help);
  text += concat(name, " ", value, "\n");
}

}  // namespace

void Metrics::answered(const char* endpoint, int status, std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const std::lock_guard<std::mutex> lock(mutex_);
  ++answers_[{endpoint, status}];
  Times& times = times_[endpoint];
  for (size_t i = 0; i < kBounds.size(); ++i) times.at_most[i] += seconds <= kBounds[i] ? 1 : 0;
  ++times.count;
  times.seconds += seconds;
}

std::string Metrics::text(const Batcher::Counts& batches, const ConnectionCounts& connections) const {
  std::string text;
  const std::lock_guard<std::mutex> lock(mutex_);
  add(text, "lenslet_requests_total", "counter", "Requests answered, by endpoint and status.");
  for (const auto& [key, count] : answers_)
    text += concat("lenslet_requests_total{endpoint=\"", key.first, "\",code=\"", key.second, "\"} ", count,
                   "\n");
  add(text, "lenslet_request_seconds", "histogram", "Time from a request's last byte to its answer.");
  for (const auto& [endpoint, times] : times_) {
    const std::string label = concat("{endpoint=\"", endpoint, "\"");
    for (size_t i = 0; i < kBounds.size(); ++i)
      text += concat("lenslet_request_seconds_bucket", label, ",le=\"", kBounds[i], "\"} ", times.at_most[i],
                     "\n");
    text += concat("lenslet_request_seconds_bucket", label, ",le=\"+Inf\"} ", times.count, "\n");
    text += concat("lenslet_request_seconds_sum", label, "} ", times.seconds, "\n");
    text += concat("lenslet_request_seconds_count", label, "} ", times.count, "\n");
  }
  add_one(text, "lenslet_samples_total", "counter", "Samples computed for infer.", batches.samples);
  add_one(text, "lenslet_passes_total", "counter", "Batches computed for infer.", batches.passes);
  add_one(text, "lenslet_queue_samples", "gauge", "Samples that wait.", batches.waiting);
  add_one(text, "lenslet_queue_refused_total", "counter", "Requests refused by a full queue.",
          batches.refused);
  add_one(text, "lenslet_connections", "gauge", "Open connections.", connections.open);
  add_one(text, "lenslet_connections_total", "counter", "Connections accepted.", connections.accepted);
  add_one(text, "lenslet_connections_refused_total", "counter", "Connections beyond the limit.",
          connections.refused);
  add_one(text, "lenslet_connections_timed_out_total", "counter", "Connections closed by the time limit.",
          connections.timed_out);
  add_one(text, "lenslet_body_bytes", "gauge", "Bytes reserved for the bodies of requests.",
          connections.body_bytes);
  return text;
}

}  // namespace lenslet::serve
