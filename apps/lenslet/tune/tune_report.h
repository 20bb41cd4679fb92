// The output of tune: tables, JSON, CSV.
#pragma once

#include <string>
#include <vector>

#include "apps/common/program/run.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"
#include "apps/lenslet/tune/tune_why.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"

namespace lenslet {

// Relative spread above which a candidate is measured longer, because a wide spread ties it with every other.
constexpr double kMaxNoise = 0.1;

/// A whole plan among the candidates.
struct PlanRow {
  std::string name;      // "fused NAME", "layered, tuned", "layered, auto"
  std::string backends;  // text of describe_backends()
  std::string status = row_status::kSkipped, reason = "not measured";
  std::string noise;  // that of TuneCandidate
  TimeStats time;     // ns per pass
  Effort effort;
  bool chosen = false;
  std::string why;
};

struct TuneReport {
  int64_t batch = 1;
  int64_t layer_batch = 1;            // samples for which a layer is timed: slice_samples()
  std::vector<TuneCandidate> layers;  // empty if only whole-network plans were requested
  std::vector<Effort> efforts;        // of the layers, one each; empty ones of what could not be prepared
  std::vector<PlanRow> plans;         // in rank order
};

/// "1.25 x the fastest".
std::string times_the_fastest(double times);

/// Tables, and below each why the chosen one is faster than what comes next.
void print_tuned_layers(Console& console, const Graph& graph, const TuneReport& report);
void print_tuned_plans(Console& console, const TuneReport& report);
/// Writes the files of --json and --csv.
void write_tune_files(const Run& run, const TuneOptions& options, const Session& session,
                      const TuneReport& report);

}  // namespace lenslet
