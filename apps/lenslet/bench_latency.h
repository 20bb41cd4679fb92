// lenslet bench --latency: the whole way from page-locked host memory to page-locked host memory, call by call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/common/result_file.h"
#include "apps/lenslet/plan_contender.h"
#include "framework/executable.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// What a pass takes on the executable's device, the input there, in nanoseconds, as stages of a row. `back_to_back_ns`
/// is the median that was measured with passes one behind another. On a GPU:
///   "pipelined"       back_to_back_ns: a pass may begin while the one before ends (programmatic dependent launch)
///   "in_order"        median of one pass between two events on a stream that is idle before and held back while all
///                     three are enqueued: nothing overlaps it
///   "between_events"  the same with no pass between the events, which "in_order" contains
/// On the CPU "cpu": back_to_back_ns.
std::vector<std::pair<std::string, double>> pass_times(Executable& executable, double back_to_back_ns);

/// Measures every way in which the configuration can be called on its device, one row each, from what `base` says. The
/// ways take turns with `calls` calls each, fewer after a signal. Each call gets other pictures and an output filled
/// with NaN, and every answer is judged before the next call. Times of a way that was wrong once are dropped.
/// `executable`, built with `build` from `weights`, has run before.
std::vector<ResultRow> measure_latency(Executable& executable, const BuildOptions& build,
                                       const Safetensors& weights, const BatchPictures& pictures,
                                       const ResultRow& base, int64_t calls);

}  // namespace lenslet
