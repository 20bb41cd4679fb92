#include "apps/common/progress.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "apps/common/output.h"
#include "apps/common/text.h"
#include "framework/statistics.h"

namespace lenslet {
namespace {

constexpr int kWidth = 30;
constexpr double kRedrawNs = 1e8;

bool on_terminal() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

ProgressBar::ProgressBar(std::string label, int64_t total)
    : label_(std::move(label)), total_(total), active_(total > 0 && on_terminal()), start_ns_(host_now_ns()) {
  last_ns_ = start_ns_;
}

ProgressBar::~ProgressBar() {
  if (drawn_) write_standard_error("\r\x1b[K");
}

void ProgressBar::update(int64_t done) {
  const double now = active_ ? host_now_ns() : 0;
  if (!active_ || now - last_ns_ < kRedrawNs) return;
  last_ns_ = now;
  drawn_ = true;
  const auto filled = static_cast<size_t>(kWidth * done / total_);
  write_standard_error("\r\x1b[K" + label_ + " [" + std::string(filled, '=') +
                       std::string(kWidth - filled, ' ') + "] " + format_count(done) + "/" +
                       format_count(total_) + ", " +
                       format_short(static_cast<double>(done) / (now - start_ns_) * 1e6) + " k/s");
}

}  // namespace lenslet
