// Tuner: which backend computes each layer, and what it computes along with it, by times measured here.
//
// tune_candidates() lists every operator that could compute a node, alone or with the layers behind it; whoever has them
// measured and judged fills in status and times; choose_candidates() takes the fastest set that computes each node once.
//
// Times spread, and a plan must come out the same again. So the way with the least median is tied with every way whose
// band overlaps its own, and of those the first in rank order is taken: backends as the layer lists them, of one backend
// first what fuses most. A band reaches from p10 to p90, but no further than a tenth from the median: on a busy machine
// everything would be tied with everything.
#pragma once

#include <string>
#include <vector>

#include "framework/backend_spec.h"
#include "framework/graph.h"
#include "framework/plan.h"
#include "framework/statistics.h"

namespace lenslet {

/// What to find candidates for.
struct TuneRequest {
  Device device;                    // where they would run
  int64_t batch = 1;                // images of a pass
  MathMode math = MathMode::kFp32;  // of every layer that multiplies
  BackendSpec backends;  // a layer that it gives a backend has no other candidates, and is not fused away
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
};

/// One operator: a layer, alone or with layers behind it, prepared with one backend.
struct TuneCandidate {
  std::vector<size_t> nodes;  // of the graph, in order: the layer itself, then what is fused into it
  std::string backend;        // its name
  OperatorRequest request;    // what prepare() takes
  // Known once it is measured:
  std::string status = "SKIPPED";  // PASSED, FAILED (wrong), UNSUPPORTED, ERROR; only what PASSED is chosen
  std::string reason = "not measured";  // why it has no time; empty where it has one
  TimeStats time;                       // ns
  std::string choice;                   // Operator::choice
  std::string detail;                   // Operator::detail
  size_t workspace_bytes = 0;           // that it wants
  // Known once it is chosen among:
  bool chosen = false;
  double behind_ns = 0;  // how much longer the fastest pass with it takes than the fastest of all, by medians
  std::string why;       // "fastest", "tied, first in rank", "tied, later in rank", "slower"
};

/// All candidates, those that cannot serve included (UNSUPPORTED, with the reason), by node and in rank order.
std::vector<TuneCandidate> tune_candidates(const Graph& graph, const TuneRequest& request);

/// Candidates of nodes that could share an operator, as runs [first, last) of the list: each is measured and chosen by
/// itself.
std::vector<std::pair<size_t, size_t>> tune_regions(const std::vector<TuneCandidate>& candidates);

/// Of rivals in rank order, the one to take: the first whose band overlaps that of the least median. `times` must not be
/// empty.
size_t choose_tied(const std::vector<TimeStats>& times);

/// Marks what is chosen, and says why. Throws UnavailableError where no PASSED candidates compute some layer, naming
/// what became of each.
void choose_candidates(const Graph& graph, std::vector<TuneCandidate>& candidates);

/// The layered plan of the chosen candidates; an Executable built from it fills in the rest.
Plan tuned_plan(const Graph& graph, const TuneRequest& request, const std::vector<TuneCandidate>& candidates);

}  // namespace lenslet
