// Tuner: selects the backend of each layer, and the layers it fuses, by measured times.
//
// tune_candidates() lists every operator that can compute a node, alone or with the layers after it. The caller
// measures and verifies them, and sets status and times. choose_candidates() takes the fastest set that computes each
// node once.
//
// Times vary, but a plan should be the same in the next run. So the candidate with the smallest median is tied with
// every candidate whose band overlaps its own, and the first in rank of these is taken. Backends rank as the layer
// lists them; for one backend, more fusion ranks first. A band reaches from p10 to p90, but at most a tenth from the
// median, because on a busy machine all candidates would be tied.
#pragma once

#include <string>
#include <vector>

#include "framework/execution/executable.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/statistics.h"

namespace lenslet {

/// The verdict on a candidate: how the fastest TuneWay that contains it compares with the fastest of all.
enum class TuneVerdict {
  kNone,        // it is not PASSED
  kFastest,     // chosen
  kTiedFirst,   // chosen: tied with the fastest way and first in rank of those that are
  kTiedLater,   // tied with the fastest way, or part of it, but later in rank than the chosen way
  kSlower,      // slower than the fastest way by more than the bands
  kIncomplete,  // no way contains it: nothing PASSED computes the rest of the region
};

/// "fastest", "tied, first in rank", "tied, later in rank", "slower", …; empty for kNone.
const char* to_string(TuneVerdict verdict) noexcept;

/// One operator: a layer, alone or with layers after it, prepared with one backend.
struct TuneCandidate {
  std::vector<size_t> nodes;  // of the graph, in order: the layer itself, then what is fused into it
  const BackendEntry* entry = nullptr;  // the backend's row in its layer's table
  std::string backend;                  // its name
  OperatorRequest request;              // what prepare() takes
  // Set by measuring:
  std::string status = row_status::kSkipped;  // all but kSuspect occur; only kPassed may be chosen
  std::string reason = "not measured";        // why it has no time, or what limits the meaning of its time
  std::string noise;                          // "noise 12 % after …" if its time varied more than requested
  TimeStats time;                             // ns
  std::string choice;                         // Operator::choice
  std::string detail;                         // Operator::detail
  size_t workspace_bytes = 0;                 // required
  // Set by choose_candidates():
  TuneVerdict verdict = TuneVerdict::kNone;
  double behind_ns = 0;  // median of the fastest way that contains it, minus that of the fastest way

  /// Whether the plan takes it.
  bool chosen() const noexcept {
    return verdict == TuneVerdict::kFastest || verdict == TuneVerdict::kTiedFirst;
  }
};

/// All candidates by node and in rank order, including unsupported ones (UNSUPPORTED, with the reason). Device, batch,
/// math, backends and workspace limit of `build` count; a layer with a requested backend has no other candidates and is
/// not fused. A backend that lacks the math mode is a candidate in a more exact one (supports_within_math()).
std::vector<TuneCandidate> tune_candidates(const Graph& graph, const BuildOptions& build);

/// Whether each node with a layer is in a candidate that is not UNSUPPORTED; else no plan of `build` computes the
/// graph.
bool every_layer_has_candidates(const Graph& graph, const BuildOptions& build);

/// Ranges [first, last) of the list whose nodes can share an operator. Each range is measured and chosen independently.
std::vector<std::pair<size_t, size_t>> tune_regions(const std::vector<TuneCandidate>& candidates);

/// Candidates that together compute each node of a region once.
struct TuneWay {
  std::vector<size_t> candidates;  // indices into the list
  TimeStats time;                  // sum of their times
};

/// Every way to compute a region with PASSED candidates, in rank order.
std::vector<TuneWay> tune_ways(const std::vector<TuneCandidate>& candidates,
                               std::pair<size_t, size_t> region);

/// The index of the candidate to take: the first in rank order whose band overlaps that of the smallest median. `times`
/// must not be empty.
size_t choose_tied(const std::vector<TimeStats>& times);

/// Sets `verdict` and `behind_ns`. Throws UnavailableError with the reason of each candidate if no PASSED one computes
/// a layer.
void choose_candidates(const Graph& graph, std::vector<TuneCandidate>& candidates);

/// The layered plan of the chosen candidates; an Executable built from it fills in the rest.
Plan tuned_plan(const Graph& graph, const BuildOptions& build, const std::vector<TuneCandidate>& candidates);

}  // namespace lenslet
