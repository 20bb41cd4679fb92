// Chrome's trace format (JSON, for Perfetto or chrome://tracing).
#pragma once

#include <string>
#include <vector>

#include "framework/profiler.h"

namespace lenslet {

/// Complete events ("ph":"X") in microseconds, one thread id a stream, metadata first, spans strictly nested.
std::string chrome_trace(const std::string& process_name, const std::string& stream_name,
                         const std::vector<TraceSpan>& spans);

/// What ran on one stream.
struct TraceStream {
  std::string name;              // of the stream's track
  std::vector<TraceSpan> spans;  // in order of their begin, nested or apart
};
/// The same for several streams with one clock, in that order.
std::string chrome_trace(const std::string& process_name, const std::vector<TraceStream>& streams);

}  // namespace lenslet
