// Distrust: the checks of a contender besides its time. measure.cpp calls them, and so does all other code that times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/measuring/contender.h"

namespace lenslet {

/// Judges one contender again and again; remembers what it returned before.
class Distrust {
 public:
  /// `scratch` holds outputs on the host; rivals share it, because fresh memory costs more than the copy itself.
  Distrust(Contender& contender, Stream& stream, std::vector<float>& scratch)
      : contender_(contender), stream_(stream), scratch_(scratch) {}

  /// Loads input `round`, poisons the output, runs once and judges. Returns what is wrong, by name; empty when nothing
  /// is. `calls`: runs so far, for the message. `usual_ns`: what a run takes; on a GPU the stream is held back for some
  /// of them, and the output must not change before it is let go; NaN: it is not held back, where one run uses several
  /// streams. On the CPU the output must not change while nothing runs. Throws what run() throws, and DeviceError for a
  /// launch that failed unreported.
  std::string check(int round, int64_t calls, double usual_ns);
  /// After a check with input `standing`: loads input `round`, puts the answer to the other one back into the output,
  /// runs once and judges. A kernel that returns at once where an output stands is wrong then.
  std::string check_over(int standing, int round);
  /// Poisons the output on the stream.
  void poison();
  /// Whether any of the places looked at, both ends and the middle, is still poisoned. Waits.
  bool still_poisoned();
  /// Judges what lies in the output now, after runs with input `round`.
  std::string judge_output(int round);

  /// Poisons both outputs, goes the whole way from host to host once, and judges what arrived. Returns what is wrong.
  std::string check_end_to_end(int round);

  /// The largest errors of all checks so far.
  const ResultError& error() const noexcept { return error_; }

 private:
  const std::vector<float>& download(int round);
  std::string judge(int round, const std::vector<float>& output);
  /// Outputs at both ends and in the middle; `stream`: the one to look by.
  std::vector<float> peek(Stream& stream);
  /// Whether any of those is no longer poisoned.
  bool output_changed(Stream& stream);
  bool changes_while_held_back(double usual_ns);

  Contender& contender_;
  Stream& stream_;
  std::vector<float>& scratch_;
  ResultError error_;
  uint64_t last_digest_ = 0;
  int last_round_ = -1;
};

}  // namespace lenslet
