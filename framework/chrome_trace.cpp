#include "framework/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lenslet {

using nlohmann::ordered_json;

std::string chrome_trace(const std::string& process_name, const std::string& stream_name,
                         const std::vector<TraceSpan>& spans) {
  constexpr int kProcess = 1, kThread = 1;
  ordered_json events = ordered_json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", kProcess}, {"args", {{"name", process_name}}}});
  events.push_back({{"name", "thread_name"},
                    {"ph", "M"},
                    {"pid", kProcess},
                    {"tid", kThread},
                    {"args", {{"name", stream_name}}}});

  // Parents first, and no child beyond its parent's end: event clocks tick coarsely enough to cross by one
  // tick.
  std::vector<TraceSpan> sorted = spans;
  std::stable_sort(sorted.begin(), sorted.end(), [](const TraceSpan& a, const TraceSpan& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
  });
  std::vector<double> open_ends;
  for (TraceSpan& span : sorted) {
    while (!open_ends.empty() && open_ends.back() <= span.begin_ns) open_ends.pop_back();
    double end = span.begin_ns + span.duration_ns;
    if (!open_ends.empty()) end = std::min(end, open_ends.back());
    open_ends.push_back(end);
    events.push_back({{"name", span.name},
                      {"cat", span.category},
                      {"ph", "X"},
                      {"pid", kProcess},
                      {"tid", kThread},
                      {"ts", span.begin_ns / 1000},
                      {"dur", std::max(0.0, end - span.begin_ns) / 1000}});
  }
  const ordered_json root = {{"displayTimeUnit", "ns"}, {"traceEvents", events}};
  return root.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lenslet
