// Progress with the time left, on standard error: a bar on a terminal, else a line every ten seconds.
#pragma once

#include <cstdint>
#include <string>

namespace lenslet {

class ProgressBar {
 public:
  static constexpr double kLineNs = 1e10;  // between lines off a terminal
  ProgressBar(std::string label, int64_t total, double line_ns = kLineNs);
  /// Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Redraws at most ten times a second; off a terminal prints at most one line in ten seconds.
  void update(int64_t done);
  /// Clears the bar, so that text can be printed; the next update() draws it again.
  void clear();

 private:
  std::string label_;
  int64_t total_;
  bool active_, on_terminal_;
  bool drawn_ = false;
  double line_ns_;
  double start_ns_ = 0, last_ns_ = 0;
};

}  // namespace lenslet
