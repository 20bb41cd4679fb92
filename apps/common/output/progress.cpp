#include "apps/common/output/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "framework/base/clock.h"

namespace lenslet {
namespace {

constexpr int kWidth = 30;
constexpr double kRedrawNs = 1e8;
constexpr double kFastNs = 1e6;  // a rate is shown for items shorter than this

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

void ProgressBar::update(int64_t done) {
  const double now = active_ ? host_now_ns() : 0;
  if (!active_ || now - last_ns_ < (on_terminal_ ? kRedrawNs : line_ns_)) return;
  last_ns_ = now;
  drawn_ = on_terminal_;
  const auto filled = static_cast<size_t>(kWidth * done / total_);
  const double ns_each = (now - start_ns_) / static_cast<double>(done);
  const std::string bar =
      concat("\r\x1b[K", label_, " [", std::string(filled, '='), std::string(kWidth - filled, ' '), "]");
  std::string text =
      concat(on_terminal_ ? bar : label_ + ":", " ", format_count(done), "/", format_count(total_));
  if (done > 0) text += ", " + clock(ns_each * static_cast<double>(total_ - done)) + " left";
  if (done > 0 && ns_each < kFastNs) text += ", " + format_short(1e6 / ns_each) + " k/s";
  write_standard_error(on_terminal_ ? text : text + "\n");
}

}  // namespace lenslet
