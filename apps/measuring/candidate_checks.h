// CandidateChecks: every check of a candidate except its timing. measure.cpp and all other timing code use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/measuring/candidate.h"

namespace lenslet {

/// Judges one candidate repeatedly and remembers its earlier outputs.
class CandidateChecks {
 public:
  /// `scratch` holds outputs on the host. Candidates share it, because allocating memory costs more than the copy.
  CandidateChecks(Candidate& candidate, Stream& stream, std::vector<float>& scratch)
      : candidate_(candidate),
        stream_(stream),
        scratch_(scratch),
        place_(candidate.is_call() ? Device::cpu() : stream.device()),
        type_(candidate.output_type()) {}

  /// Loads input `round`, poisons the output, runs once and judges. Returns the fault, empty if there is none. `calls`:
  /// runs so far, for the message. `usual_ns`: duration of a run. On a GPU the stream is held back for some of these
  /// durations, and the output must not change until it is released; NaN: the stream is not held back, because one run
  /// uses several streams. On the CPU, and of a call, the output must not change while nothing runs. Throws the errors
  /// of run(), and DeviceError for an unchecked failed launch.
  std::string judge_run(int round, int64_t calls, double usual_ns);
  /// After a check with input `standing`: loads input `round`, restores the output of `standing`, runs once and judges.
  /// Detects a kernel that returns at once if its output is already there.
  std::string judge_run_over(int standing, int round);
  /// Poisons the output on the stream.
  void poison();
  /// Writes its first element, for the time of a window that is almost empty.
  void touch();
  /// Whether a sampled output, at both ends or in the middle, is still poisoned. Synchronises.
  bool still_poisoned();
  /// Judges the current output, after runs with input `round`.
  std::string judge_output(int round);

  /// Poisons both outputs, runs once from host to host and judges the result. Returns the fault, empty without one.
  std::string judge_end_to_end(int round);

  /// The largest errors of all checks so far.
  const ResultError& error() const noexcept { return error_; }

 private:
  const std::vector<float>& download(int round);
  /// The size of `count` elements of the output.
  size_t bytes(size_t count) const { return bytes_of(type_, static_cast<int64_t>(count)); }
  /// Element `index` of the output, or of a buffer of its type.
  char* element(void* begin, size_t index) const { return static_cast<char*>(begin) + bytes(index); }
  /// `count` elements as fp32; one that is still poisoned stays so.
  void widen(const void* elements, size_t count, float* values) const;
  std::string judge(int round, const std::vector<float>& output);
  /// Samples of the output at both ends and in the middle, copied on `stream`.
  std::vector<float> peek(Stream& stream);
  /// Whether any of the samples is no longer poisoned.
  bool output_changed(Stream& stream);
  bool changes_while_held_back(double usual_ns);

  Candidate& candidate_;
  Stream& stream_;
  std::vector<float>& scratch_;
  Device place_;            // of the output
  ElementType type_;        // of its elements
  std::vector<char> bits_;  // elements of 16 bits, before they are widened
  ResultError error_;
  uint64_t last_digest_ = 0;
  int last_round_ = -1;
};

}  // namespace lenslet
