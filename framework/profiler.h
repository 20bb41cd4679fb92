// Profiler: where an executable's time goes, layer by layer, in numbers that add up to the unprofiled total.
//
// A profiled pass puts N+1 events into the stream and synchronises once. On the GPU the stream is held back
// until the whole pass is enqueued, so that intervals are the GPU's time and not the host's launch rate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/executable.h"
#include "framework/statistics.h"

namespace lenslet {

/// How long and what to measure.
struct ProfileOptions {
  double warmup_ms = 50;       // before anything counts
  double min_time_ms = 200;    // of each measurement
  int min_passes = 20;         // however long they take
  int max_passes = 5000;       // however short they are
  bool cold = true;            // also time each layer with the caches flushed
  bool copies = true;          // also time input and output copies from and to pinned host memory
  bool capture = false;        // bracket the measured part with cudaProfilerStart/Stop
  std::function<bool()> stop;  // asked before each pass; true: every measurement ends after its first pass
};

/// A stage within a layer: "im2col".
struct StageProfile {
  std::string name;  // "im2col"
  TimeStats hot;     // inside whole passes of its own kind
};

/// What one layer takes.
struct LayerProfile {
  size_t step = 0;                   // index into Executable::steps()
  TimeStats hot;                     // inside a whole pass, after the layers before it
  TimeStats cold;                    // alone, caches flushed; no samples where not asked for
  std::vector<StageProfile> stages;  // empty where the backend has none
};

/// One interval for a trace, nanoseconds from the start of its pass.
struct TraceSpan {
  std::string name;                      // "conv1", or a stage's
  std::string category;                  // "pass", "layer", "stage"
  double begin_ns = 0, duration_ns = 0;  // of the interval
};

/// A measured pass.
struct Profile {
  std::vector<LayerProfile> layers;  // in order
  /// False where a pass has more launches than a stream can hold back: times then include the host's launch rate.
  bool held_back = true;
  TimeStats unprofiled;  // one pass without events inside, GPU time
  TimeStats profiled;    // one pass with N+1 events, first to last
  TimeStats wall;        // one pass, host clock, enqueue and synchronise
  double event_ns = 0;   // what one event inside a pass costs, measured on a pass of events alone
  double layers_ns = 0;  // sum of the layers' hot medians
  /// What the events between the layers cost: (N - 1) * event_ns. A pass without them ends with an event too, so one of
  /// the N that end a layer is in both totals. Idle time between two layers counts to the later one.
  double events_ns = 0;
  double residual_ns = 0;               // unprofiled median - (layers_ns - events_ns)
  TimeStats h2d, d2h;                   // no samples where not asked for
  size_t h2d_bytes = 0, d2h_bytes = 0;  // of the input and of the output
  std::vector<TraceSpan> spans;         // of the median pass
};

/// Runs and measures. The executable must hold a valid input; a captured graph is not used (ranges and events
/// do not survive capture).
Profile profile(Executable& executable, const ProfileOptions& options);

}  // namespace lenslet
