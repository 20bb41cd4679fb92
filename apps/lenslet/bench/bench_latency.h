// lenslet bench --latency: times single calls from page-locked host memory to page-locked host memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/common/results/result_file.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "framework/execution/executable.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// Times of one pass with the input on the device, in nanoseconds, as stages of a row. `back_to_back_ns` is the
/// measured median of consecutive passes. On a GPU:
///   "pipelined"       back_to_back_ns: a pass may begin while the one before ends (programmatic dependent launch)
///   "in_order"        median of one pass between two events on a stream that is idle before and held back while all
///                     three are enqueued: nothing overlaps it
///   "between_events"  the same without a pass; part of "in_order"
/// On the CPU "cpu": back_to_back_ns.
std::vector<std::pair<std::string, double>> pass_times(Executable& executable, double back_to_back_ns);

/// Measures every way to call the configuration on its device, one row each, based on `base`. The ways take turns of
/// `calls` calls, fewer after a signal. Each call gets new samples and an output filled with NaN, and every answer is
/// judged before the next call. A way that gives one wrong answer gets no time. `executable` was built with `build`
/// from `weights` and has run before.
std::vector<ResultRow> measure_latency(Executable& executable, const BuildOptions& build,
                                       const Safetensors& weights, const BatchSamples& samples,
                                       const ResultRow& base, int64_t calls);

}  // namespace lenslet
