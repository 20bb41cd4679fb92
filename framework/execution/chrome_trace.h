// Chrome's trace format (JSON, for Perfetto or chrome://tracing).
#pragma once

#include <string>
#include <vector>

#include "framework/execution/profiler.h"

namespace lenslet {

/// Returns complete events ("ph":"X") in microseconds, one thread id per stream, metadata first. Spans nest strictly.
std::string chrome_trace(const std::string& process_name, const std::string& stream_name,
                         const std::vector<TraceSpan>& spans);

/// The spans of one stream.
struct TraceStream {
  std::string name;              // of the track
  std::vector<TraceSpan> spans;  // in order of their begin; nested or disjoint
};
/// Like chrome_trace() above, for several streams that share a clock, in the given order.
std::string chrome_trace(const std::string& process_name, const std::vector<TraceStream>& streams);

}  // namespace lenslet
