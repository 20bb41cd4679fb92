// Progress with the time left, on standard error: a bar on a terminal, else a line every ten seconds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lenslet {

class ProgressBar {
 public:
  static constexpr double kLineNs = 1e10;  // between lines off a terminal
  ProgressBar(std::string label, int64_t total, double line_ns = kLineNs);
  /// Clears the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Seconds that each item is expected to take, `total` of them: the time left is theirs, at the pace so far. Without
  /// a call, items are expected to take equally long.
  void expect(std::vector<double> seconds) { expected_s_ = std::move(seconds); }
  /// Redraws at most ten times a second; off a terminal prints at most one line in ten seconds.
  void update(int64_t done);
  /// update() with the same number, for items that take longer than that.
  void pulse() { update(done_); }
  /// Clears the bar, so that text can be printed; the next update() draws it again.
  void clear();

 private:
  /// Expected seconds, or the number, of the items from `begin` on.
  double weight(int64_t begin, int64_t end) const;
  /// NaN if unknown.
  double left_ns(double now) const;

  std::string label_;
  int64_t total_, done_ = 0;
  std::vector<double> expected_s_;
  bool active_, on_terminal_;
  bool drawn_ = false;
  double line_ns_;
  double start_ns_ = 0, last_ns_ = 0;
  double done_ns_ = 0;  // from the start to the last item that was done
};

}  // namespace lenslet
