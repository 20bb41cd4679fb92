#include "framework/execution/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lenslet {

using nlohmann::ordered_json;

namespace {

constexpr int kProcess = 1;
constexpr double kTicksNs = 64;  // two ticks of a GPU's event clock

ordered_json name_event(const char* what, const std::string& name, int thread) {
  ordered_json event = {{"name", what}, {"ph", "M"}, {"pid", kProcess}};
  if (thread > 0) event["tid"] = thread;
  event["args"] = {{"name", name}};
  return event;
}

// Parents come first, and a child ends with its parent at the latest, although the coarse event clock may overlap them
// by a tick. For the same reason a span that begins up to kTicksNs before another one ends follows it and is not its
// child.
void append_spans(ordered_json& events, int thread, std::vector<TraceSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan& a, const TraceSpan& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
  });
  std::vector<double> open_ends;
  for (const TraceSpan& span : spans) {
    const double crossing = std::min(kTicksNs, span.duration_ns / 2);
    double begin = span.begin_ns, end = span.begin_ns + span.duration_ns;
    while (!open_ends.empty() && (open_ends.back() <= begin || open_ends.back() - span.begin_ns < crossing)) {
      begin = std::max(begin, open_ends.back());
      open_ends.pop_back();
    }
    if (!open_ends.empty()) end = std::min(end, open_ends.back());
    open_ends.push_back(end);
    events.push_back({{"name", span.name},
                      {"cat", span.category},
                      {"ph", "X"},
                      {"pid", kProcess},
                      {"tid", thread},
                      {"ts", begin / 1000},
                      {"dur", std::max(0.0, end - begin) / 1000}});
  }
}

}  // namespace

std::string chrome_trace(const std::string& process_name, const std::vector<TraceStream>& streams) {
  ordered_json events = ordered_json::array();
  events.push_back(name_event("process_name", process_name, 0));
  for (size_t i = 0; i < streams.size(); ++i) {
    events.push_back(name_event("thread_name", streams[i].name, static_cast<int>(i) + 1));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    append_spans(events, static_cast<int>(i) + 1, streams[i].spans);
  }
  const ordered_json root = {{"displayTimeUnit", "ns"}, {"traceEvents", events}};
  return root.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string chrome_trace(const std::string& process_name, const std::string& stream_name,
                         const std::vector<TraceSpan>& spans) {
  return chrome_trace(process_name, {{stream_name, spans}});
}

}  // namespace lenslet
