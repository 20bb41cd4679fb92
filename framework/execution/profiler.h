// Profiler: the time of an executable layer by layer. The times add up to that of an uninstrumented pass.
//
// An instrumented pass records an event before the first step and one after each step of each slice, and synchronises
// once. On the GPU the stream is held back until the whole pass is enqueued, so that intervals measure the GPU and not
// the host's launch rate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/execution/executable.h"
#include "framework/measuring/statistics.h"

namespace lenslet {

/// What to measure, and for how long.
struct ProfileOptions {
  double warmup_ms = 50;       // not counted
  double min_time_ms = 200;    // of each measurement
  int min_passes = 20;         // even if they take longer
  int max_passes = 5000;       // even if they take less
  bool cold = true;            // also time each layer with the caches flushed
  bool copies = true;          // also time input and output copies from and to pinned host memory
  bool capture = false;        // call cudaProfilerStart/Stop around the measured part
  std::function<bool()> stop;  // called before each pass; true: every measurement ends after its first pass
};

/// A stage within a layer: "im2col".
struct StageProfile {
  std::string name;  // "im2col"
  TimeStats hot;     // inside whole passes of its own kind
};

/// The times of one layer.
struct LayerProfile {
  size_t step = 0;  // index into Executable::steps()
  TimeStats hot;    // inside a whole pass, after the layers before it; sum of all slices
  TimeStats cold;   // alone, caches flushed: of one slice, times slices(); no samples if not requested
  std::vector<StageProfile> stages;  // empty if the backend has none
};

/// One interval for a trace, nanoseconds from the start of its pass.
struct TraceSpan {
  std::string name;                      // "conv1", or a stage's
  std::string category;                  // "pass", "layer", "stage"
  double begin_ns = 0, duration_ns = 0;  // of the interval
};

/// What profiling measures of one pass, layer by layer.
struct Profile {
  std::vector<LayerProfile> layers;  // in order
  /// False if a pass has more launches than a stream can hold back: times then include the host's launch rate.
  bool held_back = true;
  TimeStats uninstrumented;  // one pass without events inside, GPU time
  TimeStats instrumented;    // one pass with N+1 events, first to last
  TimeStats wall;            // one pass, host clock, enqueue and synchronise
  double event_ns = 0;       // cost of one event inside a pass, measured on a pass of events alone
  double layers_ns = 0;      // sum of the layers' hot medians
  size_t steps = 0;          // that a pass runs: of all slices
  /// Cost of the events between the steps: (steps - 1) * event_ns. A pass without them also ends with an event, so one
  /// of those that end a step is in both totals. Idle time between two layers counts to the later one.
  double events_ns = 0;
  double residual_ns = 0;               // uninstrumented median - (layers_ns - events_ns)
  TimeStats h2d, d2h;                   // no samples if not requested
  size_t h2d_bytes = 0, d2h_bytes = 0;  // of the input and of the output
  std::vector<TraceSpan> spans;         // of the median pass
};

/// Runs and measures. The executable's input must be valid. A captured graph is not used, because ranges and events are
/// lost in it.
Profile profile(Executable& executable, const ProfileOptions& options);

}  // namespace lenslet
