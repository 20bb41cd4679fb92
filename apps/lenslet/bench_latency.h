// lenslet bench --latency: the whole way from page-locked host memory to page-locked host memory, call by call.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/attempt.h"
#include "apps/common/result_file.h"
#include "apps/lenslet/plan_contender.h"
#include "framework/executable.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// One way for a batch to get through the model and its answers back.
class LatencyPath {
 public:
  virtual ~LatencyPath() = default;
  /// "copy", "graph", "mapped", …
  virtual std::string mode() const = 0;
  /// The variant and what it has to say: empty where they are the configuration's own.
  virtual std::string variant() const { return {}; }
  virtual std::string detail() const { return {}; }
  /// Where the caller's pictures lie, as the model reads them, and where its answers arrive.
  virtual TensorView input() = 0;
  virtual TensorView output() = 0;
  /// What is timed: returns with the answers there.
  virtual void call() = 0;
};

struct LatencyPaths {
  std::vector<std::unique_ptr<LatencyPath>> offered;
  std::vector<std::pair<std::string, Refusal>> refused;  // by mode
};

/// The ways that the executable's configuration offers on its device. `build` are the options it was built with,
/// `weights` what its graph was made of; the executable must outlive them and have run before.
LatencyPaths latency_paths(Executable& executable, const BuildOptions& build, const Safetensors& weights);

/// What a pass takes on the executable's device, the input there, in nanoseconds, as stages of a row. `back_to_back_ns`
/// is the median that was measured with passes one behind another. On a GPU:
///   "pipelined"       back_to_back_ns: a pass may begin while the one before ends (programmatic dependent launch)
///   "in_order"        median of one pass between two events on a stream that is idle before and held back while all
///   three
///                     are enqueued: nothing overlaps it
///   "between_events"  the same with no pass between the events, which "in_order" contains
/// On the CPU "cpu": back_to_back_ns.
std::vector<std::pair<std::string, double>> pass_times(Executable& executable, double back_to_back_ns);

/// A row each, from what `base` says: the paths take turns with `calls` calls each, fewer after a signal. Each call
/// gets other pictures and an output filled with NaN, and every answer is judged before the next call. Times of a
/// path that was wrong once are dropped.
std::vector<ResultRow> measure_latency(const LatencyPaths& paths, const BatchPictures& pictures, double bound,
                                       const ResultRow& base, int64_t calls);

}  // namespace lenslet
