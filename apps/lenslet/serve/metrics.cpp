#include "apps/lenslet/serve/metrics.h"

#include <algorithm>

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

// Whole nanoseconds as seconds. A double, printed with six digits, would stand still between large sums.
std::string seconds_text(int64_t nanoseconds) {
  constexpr int64_t kPerSecond = 1'000'000'000;
  const std::string digits = std::to_string(kPerSecond + nanoseconds % kPerSecond);  // "1" and nine digits
  return concat(nanoseconds / kPerSecond, ".", digits.substr(1));
}

}  // namespace

void Metrics::answered(Endpoint endpoint, int status, std::chrono::nanoseconds time) noexcept {
  const double seconds = std::chrono::duration<double>(time).count();
  Answers& answers = answers_[static_cast<size_t>(endpoint)];
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  answers.times[static_cast<size_t>(bound)].fetch_add(1, std::memory_order_relaxed);
  answers.nanoseconds.fetch_add(time.count(), std::memory_order_relaxed);
  answers.statuses[static_cast<size_t>(status) % answers.statuses.size()].fetch_add(
      1, std::memory_order_relaxed);
}

std::string Metrics::text(const Batcher::Counts& batches, const ConnectionCounts& connections) const {
  std::string text;
  add(text, "lenslet_requests_total", "counter", "Requests answered, by endpoint and status.");
  for (size_t endpoint = 0; endpoint < answers_.size(); ++endpoint)
    for (size_t status = 0; status < answers_[endpoint].statuses.size(); ++status)
      if (const int64_t count = answers_[endpoint].statuses[status])
        text += concat("lenslet_requests_total{endpoint=\"", to_string(static_cast<Endpoint>(endpoint)),
                       "\",code=\"", status, "\"} ", count, "\n");
  add(text, "lenslet_request_seconds", "histogram", "Time from a request's last byte to its answer.");
  for (size_t endpoint = 0; endpoint < answers_.size(); ++endpoint) {
    const Answers& answers = answers_[endpoint];
    const std::string label = concat("{endpoint=\"", to_string(static_cast<Endpoint>(endpoint)), "\"");
    std::string buckets;
    int64_t count = 0;  // of all bounds so far: of one reading, so that the buckets never decrease
    for (size_t i = 0; i < kBounds.size(); ++i) {
      count += answers.times[i];
      buckets += concat("lenslet_request_seconds_bucket", label, ",le=\"", kBounds[i], "\"} ", count, "\n");
    }
    count += answers.times.back();
    if (count == 0) continue;
    text += concat(buckets, "lenslet_request_seconds_bucket", label, ",le=\"+Inf\"} ", count, "\n");
    text += concat("lenslet_request_seconds_sum", label, "} ", seconds_text(answers.nanoseconds), "\n");
    text += concat("lenslet_request_seconds_count", label, "} ", count, "\n");
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
