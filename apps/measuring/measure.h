// measure(): times candidates turn by turn and verifies every one.
//
// Each rival is verified before it is timed and again afterwards, on outputs poisoned in between and with another
// input each time, and what its last timed runs wrote is judged as well. So a kernel that skips its work, returns an
// output it kept, goes wrong after some calls, never launches, or works on another stream than the one that is
// timed, has no time but a row that says what it did.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/measuring/contender.h"
#include "framework/statistics.h"

namespace lenslet {

enum class Verify { kOff, kBefore, kBoth };
/// As --verify takes it.
const char* to_string(Verify verify) noexcept;

struct MeasureOptions {
  double warmup_ms = 20;     // of each rival
  double min_time_ms = 100;  // of each rival and cache state
  double max_noise = NAN;    // (p90 - p10) / median; above it a rival is measured longer, up to four times
  int min_samples = 1;       // of each rival and cache state, however long they take
  bool hot = true;           // repeated runs
  bool cold = true;          // caches flushed before each run
  bool end_to_end = false;   // also with copies, where the contender has them; host clock
  Verify verify = Verify::kBoth;
  bool capture = false;  // bracket the timed part with cudaProfilerStart/Stop
};

struct Measurement {
  std::string status = "PASSED";  // or FAILED, ERROR, SKIPPED
  std::string reason;
  TimeStats hot, cold;               // ns a run; no samples where not asked for or not to be trusted
  TimeStats end_to_end;              // ns
  double first_call_ns = NAN;        // host clock, with whatever the first call sets up
  bool replayed = false;             // hot runs were replays of a CUDA graph, not launches one by one
  std::optional<ResultError> error;  // the largest of all checks; none with Verify::kOff
  std::string note;                  // "noise 12 % after 4 times the time asked for"
};

/// One for each rival, in order. Throws DeviceError only if the device itself is lost, and never InterruptedError:
/// after a signal what was not measured is SKIPPED.
std::vector<Measurement> measure(const std::vector<Contender*>& rivals, Stream& stream,
                                 const MeasureOptions& options);

}  // namespace lenslet
