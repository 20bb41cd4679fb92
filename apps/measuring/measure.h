// measure(): times candidates in turns and verifies every one.
//
// Each candidate is verified before and after it is timed, on a poisoned output and with another input each time; the
// output of its last timed runs is judged too. A kernel that skips its work, returns a stored output, becomes wrong
// after some calls, never launches, or works on another stream than the timed one gets no time, but a row with the
// fault.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/measuring/candidate.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/statistics.h"

namespace lenslet {

/// Turns that a candidate takes. A slow one takes fewer and longer turns.
inline constexpr int kMaxTurns = 5;
/// The turns of a cache state take at most this times the requested time, or one turn. That includes the runs and the
/// flushes between those that are timed.
inline constexpr double kPatience = 10;
/// For longer runs, filling the caches takes less than a hundredth.
inline constexpr double kLongNs = 100e6;

enum class Verify { kOff, kBefore, kBoth };
/// The word of --verify.
const char* to_string(Verify verify) noexcept;

struct MeasureOptions {
  double warmup_ms = 20;     // per candidate
  double min_time_ms = 100;  // per candidate and cache state
  double max_noise = NAN;   // (p90 - p10) / median; above it a candidate is measured longer, up to four times
  int min_samples = 1;      // per candidate and cache state, however long they take
  bool hot = true;          // repeated runs
  bool cold = true;         // caches flushed before each run
  bool end_to_end = false;  // also with copies, if the candidate has them; host clock
  Verify verify = Verify::kBoth;
  bool capture = false;         // bracket the timed part with cudaProfilerStart/Stop
  std::function<void()> pulse;  // called between what is timed, to show the progress; may be empty
};

struct Measurement {
  std::string status = row_status::kPassed;  // or kFailed, kError, kSkipped
  std::string reason;
  TimeStats hot, cold;               // ns per run; no samples if not requested or invalid
  TimeStats end_to_end;              // ns
  double first_call_ns = NAN;        // host clock, including one-time set-up
  bool replayed = false;             // all hot runs were replays of a CUDA graph
  std::optional<ResultError> error;  // the largest of all checks; nullopt with Verify::kOff
  std::string noise;  // "noise 12 % after 4 times the requested time"; empty if it is as requested
  std::string note;   // what else limits the meaning of the times
};

/// One measurement per candidate, in order. Throws DeviceError only if the device is lost, and never InterruptedError:
/// after a signal, candidates without a measurement are SKIPPED.
std::vector<Measurement> measure(const std::vector<Candidate*>& candidates, Stream& stream,
                                 const MeasureOptions& options);

}  // namespace lenslet
