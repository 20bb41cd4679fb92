// A progress bar with the time left, on standard error; prints nothing if that is not a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace lenslet {

class ProgressBar {
 public:
  ProgressBar(std::string label, int64_t total);
  /// Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Redraws at most ten times a second.
  void update(int64_t done);
  /// Clears the bar, so that text can be printed; the next update() draws it again.
  void clear();

 private:
  std::string label_;
  int64_t total_;
  bool active_;
  bool drawn_ = false;
  double start_ns_ = 0, last_ns_ = 0;
};

}  // namespace lenslet
