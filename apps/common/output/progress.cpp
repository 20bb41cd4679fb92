#include "apps/common/output/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "framework/base/clock.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

constexpr int kWidth = 30;         // characters of the bar alone. Chosen by hand
constexpr double kRedrawNs = 1e8;  // ten times a second is enough: writing takes time from the work
constexpr double kFastNs = 1e6;    // a rate is shown for items shorter than this

// "1:05", "1:02:07".
std::string clock(double ns) {
  const auto seconds = static_cast<int64_t>(std::llround(ns / 1e9));
  const auto two = [](int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  const std::string tail = two(seconds % 60);
  if (seconds < 3600) return std::to_string(seconds / 60) + ":" + tail;
  return std::to_string(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + tail;
}

bool on_terminal() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

ProgressBar::ProgressBar(std::string label, int64_t total, double line_ns)
    : label_(std::move(label)),
      total_(total),
      active_(total > 0),
      on_terminal_(on_terminal()),
      line_ns_(line_ns),
      start_ns_(host_now_ns()) {
  last_ns_ = start_ns_;
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) write_standard_error("\r\x1b[K");
  drawn_ = false;
}

double ProgressBar::weight(int64_t begin, int64_t end) const {
  if (expected_s_.empty()) return static_cast<double>(end - begin);
  return std::accumulate(expected_s_.begin() + begin, expected_s_.begin() + end, 0.0);
}

double ProgressBar::left_ns(double now) const {
  if (done_ == total_) return 0;
  const double since = now - start_ns_ - done_ns_;  // of the current item
  if (done_ == 0) {
    // An item that takes longer than expected shows that the estimate is wrong.
    const bool known = !expected_s_.empty() && since < weight(0, 1) * 1e9;
    return known ? weight(0, total_) * 1e9 - since : NAN;
  }
  const double ns_each = done_ns_ / weight(0, done_);
  if (done_ + 1 == total_ && since > ns_each * weight(done_, total_)) return NAN;
  return ns_each * std::max(weight(done_, total_) - since / ns_each, weight(done_ + 1, total_));
}

void ProgressBar::update(int64_t done) {
  if (!active_) return;
  const double now = host_now_ns();
  if (done != done_) done_ns_ = now - start_ns_;
  done_ = done;
  if (now - last_ns_ < (on_terminal_ ? kRedrawNs : line_ns_)) return;
  last_ns_ = now;
  drawn_ = on_terminal_;
  const auto filled = static_cast<size_t>(kWidth * done / total_);
  const std::string bar =
      concat("\r\x1b[K", label_, " [", std::string(filled, '='), std::string(kWidth - filled, ' '), "]");
  std::string text = on_terminal_ ? bar : label_ + ":";
  // One item alone has no share that is done.
  text += total_ == 1 ? concat(" ", clock(now - start_ns_), " so far")
                      : concat(" ", format_count(done), "/", format_count(total_));
  const double left = left_ns(now), ns_each = done_ns_ / static_cast<double>(done);
  if (std::isfinite(left)) text += concat(", ", done == 0 ? "about " : "", clock(left), " left");
  if (done > 0 && ns_each < kFastNs) text += ", " + format_short(1e6 / ns_each) + " k/s";
  write_standard_error(on_terminal_ ? text : text + "\n");
}

}  // namespace lenslet
