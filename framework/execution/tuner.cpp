#include "framework/execution/tuner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/graph/within_math.h"
#include "framework/measuring/row_status.h"

namespace lenslet {

namespace {

// A share of the median, to either side. Samples further out come from other load on the machine.
constexpr double kMaxBand = 0.1;

// The candidates of a backend: the layer alone and with each run of layers that it can fuse, the longest first.
void add_with_fusions(const Graph& graph, const std::vector<const BackendEntry*>& requested,
                      TuneCandidate candidate, std::vector<TuneCandidate>& candidates) {
  std::vector<TuneCandidate> grown = {candidate};
  for (;;) {
    const std::vector<int> readers = graph.consumers(static_cast<int>(candidate.nodes.back()));
    if (readers.size() != 1) break;
    const auto reader = static_cast<size_t>(readers[0]);
    if (requested[reader]) break;
    const Layer& head = *graph.nodes()[candidate.nodes[0]].layer;
    if (!fuse(head, *candidate.entry, *graph.nodes()[reader].layer, candidate.request)) break;
    candidate.nodes.push_back(reader);
    grown.push_back(candidate);
  }
  candidates.insert(candidates.end(), grown.rbegin(), grown.rend());
}

// Lists every way to compute the remaining nodes `nodes`, in rank order.
void find_ways(const std::vector<TuneCandidate>& candidates, std::pair<size_t, size_t> region,
               const std::set<size_t>& nodes, TuneWay& so_far, std::vector<TuneWay>& ways) {
  if (nodes.empty()) {
    ways.push_back(so_far);
    return;
  }
  for (size_t i = region.first; i < region.second; ++i) {
    const TuneCandidate& candidate = candidates[i];
    if (candidate.status != row_status::kPassed || candidate.nodes[0] != *nodes.begin()) continue;
    std::set<size_t> left = nodes;
    for (const size_t node : candidate.nodes) left.erase(node);
    const TuneWay before = so_far;
    so_far.candidates.push_back(i);
    so_far.time.p10 += candidate.time.p10;
    so_far.time.median += candidate.time.median;
    so_far.time.p90 += candidate.time.p90;
    find_ways(candidates, region, left, so_far, ways);
    so_far = before;
  }
}

bool overlap(const TimeStats& a, const TimeStats& b) {
  const auto low = [](const TimeStats& time) { return std::max(time.p10, (1 - kMaxBand) * time.median); };
  const auto high = [](const TimeStats& time) { return std::min(time.p90, (1 + kMaxBand) * time.median); };
  return low(a) <= high(b) && low(b) <= high(a);
}

UnavailableError no_way(const Graph& graph, const std::vector<TuneCandidate>& candidates,
                        std::pair<size_t, size_t> region) {
  std::string reasons;
  for (size_t i = region.first; i < region.second; ++i) {
    const TuneCandidate& candidate = candidates[i];
    if (candidate.status == row_status::kPassed) continue;
    add_clause(reasons, concat(graph.nodes()[candidate.nodes[0]].name, " ", candidate.backend, ": ",
                               candidate.reason));
  }
  return UnavailableError(concat("no backend can be chosen for layer ",
                                 graph.nodes()[candidates[region.first].nodes[0]].name, ": ", reasons));
}

void choose_in_region(const Graph& graph, std::vector<TuneCandidate>& candidates,
                      std::pair<size_t, size_t> region) {
  const std::vector<TuneWay> ways = tune_ways(candidates, region);
  if (ways.empty()) throw no_way(graph, candidates, region);
  std::vector<TimeStats> times;
  times.reserve(ways.size());
  for (const TuneWay& way : ways) times.push_back(way.time);
  const TuneWay& chosen = ways[choose_tied(times)];
  const auto less = [](const TuneWay& a, const TuneWay& b) { return a.time.median < b.time.median; };
  const TuneWay& fastest = *std::min_element(ways.begin(), ways.end(), less);
  for (size_t i = region.first; i < region.second; ++i) {
    TuneCandidate& candidate = candidates[i];
    if (candidate.status != row_status::kPassed) continue;
    const auto takes = [i](const TuneWay& way) {
      return std::find(way.candidates.begin(), way.candidates.end(), i) != way.candidates.end();
    };
    const TuneWay* best = nullptr;  // of the ways that contain this candidate
    for (const TuneWay& way : ways) {
      if (takes(way) && (!best || less(way, *best))) best = &way;
    }
    if (!best) {
      candidate.verdict = TuneVerdict::kIncomplete;
      candidate.behind_ns = NAN;
      continue;
    }
    candidate.behind_ns = best->time.median - fastest.time.median;
    if (takes(chosen)) {
      candidate.verdict = &chosen == &fastest ? TuneVerdict::kFastest : TuneVerdict::kTiedFirst;
    } else {
      const bool tied = overlap(best->time, fastest.time);
      candidate.verdict = tied ? TuneVerdict::kTiedLater : TuneVerdict::kSlower;
    }
  }
}

}  // namespace

const char* to_string(TuneVerdict verdict) noexcept {
  switch (verdict) {
    case TuneVerdict::kNone:
      return "";
    case TuneVerdict::kFastest:
      return "fastest";
    case TuneVerdict::kTiedFirst:
      return "tied, first in rank";
    case TuneVerdict::kTiedLater:
      return "tied, later in rank";
    case TuneVerdict::kSlower:
      return "slower";
    case TuneVerdict::kIncomplete:
      return "the rest of the region is unavailable with it";
  }
  return "";
}

std::vector<TuneCandidate> tune_candidates(const Graph& graph, const BuildOptions& build) {
  const std::vector<Shape> shapes = graph.infer_shapes(build.batch);
  const std::vector<const BackendEntry*> requested = build.backends.resolve(graph, build.device.kind);
  std::vector<TuneCandidate> candidates;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    if (!node.layer) continue;
    TuneCandidate candidate;
    candidate.nodes = {i};
    const OperatorRequest request = node_request(graph, i, shapes, build);
    for (const BackendEntry* entry : node.layer->backend_entries(build.device.kind)) {
      if (requested[i] && requested[i] != entry) continue;
      candidate.entry = entry;
      candidate.backend = entry->name();
      candidate.request = request;
      const Support support = requested[i] ? node.layer->supports(*entry, request)
                                           : supports_within_math(*node.layer, *entry, candidate.request);
      if (!support) {
        TuneCandidate refused = candidate;
        refused.status = row_status::kUnsupported;
        refused.reason = support.reason();
        candidates.push_back(std::move(refused));
        continue;
      }
      add_with_fusions(graph, requested, candidate, candidates);
    }
  }
  return candidates;
}

bool every_layer_has_candidates(const Graph& graph, const BuildOptions& build) {
  std::set<size_t> computed;
  for (const TuneCandidate& candidate : tune_candidates(graph, build)) {
    if (candidate.status != row_status::kUnsupported)
      computed.insert(candidate.nodes.begin(), candidate.nodes.end());
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].layer && computed.count(i) == 0) return false;
  }
  return true;
}

std::vector<std::pair<size_t, size_t>> tune_regions(const std::vector<TuneCandidate>& candidates) {
  std::vector<std::pair<size_t, size_t>> regions;
  size_t last_node = 0;  // of the region that is being collected
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (regions.empty() || candidates[i].nodes[0] > last_node) regions.emplace_back(i, i);
    regions.back().second = i + 1;
    last_node = std::max(last_node, candidates[i].nodes.back());
  }
  return regions;
}

std::vector<TuneWay> tune_ways(const std::vector<TuneCandidate>& candidates,
                               std::pair<size_t, size_t> region) {
  std::set<size_t> nodes;
  for (size_t i = region.first; i < region.second; ++i) {
    nodes.insert(candidates[i].nodes.begin(), candidates[i].nodes.end());
  }
  std::vector<TuneWay> ways;
  TuneWay start;
  find_ways(candidates, region, nodes, start, ways);
  return ways;
}

size_t choose_tied(const std::vector<TimeStats>& times) {
  const auto less = [](const TimeStats& a, const TimeStats& b) { return a.median < b.median; };
  const TimeStats& fastest = *std::min_element(times.begin(), times.end(), less);
  const auto tied = [&](const TimeStats& time) { return overlap(time, fastest); };
  return static_cast<size_t>(std::find_if(times.begin(), times.end(), tied) - times.begin());
}

void choose_candidates(const Graph& graph, std::vector<TuneCandidate>& candidates) {
  for (TuneCandidate& candidate : candidates) candidate.verdict = TuneVerdict::kNone;
  for (const auto& region : tune_regions(candidates)) choose_in_region(graph, candidates, region);
}

Plan tuned_plan(const Graph& graph, const BuildOptions& build, const std::vector<TuneCandidate>& candidates) {
  Plan plan;
  plan.model = graph.name();
  plan.device = build.device.to_string();
  plan.batch = build.batch;
  plan.origin = "the tuned plan";
  for (const TuneCandidate& candidate : candidates) {
    if (!candidate.chosen()) continue;
    const Graph::Node& head = graph.nodes()[candidate.nodes[0]];
    plan.layers.push_back({head.name, std::string(head.layer->type()), candidate.backend,
                           candidate.request.math, candidate.choice, ""});
    for (size_t i = 1; i < candidate.nodes.size(); ++i) {
      const Graph::Node& node = graph.nodes()[candidate.nodes[i]];
      plan.layers.push_back(
          {node.name, std::string(node.layer->type()), "fused", MathMode::kFp32, "", head.name});
    }
  }
  return plan;
}

}  // namespace lenslet
