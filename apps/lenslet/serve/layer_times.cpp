#include "apps/lenslet/serve/layer_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/lenslet/candidates/layer_timing.h"
#include "apps/lenslet/pages/of_request.h"
#include "framework/base/error.h"
#include "framework/execution/slices.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"

namespace lenslet::serve {

using Json = nlohmann::ordered_json;

namespace {

// Length of a measurement. A person waits on the page for all of them, one after the other: longer ones would spread
// less and make the wait longer in proportion. Chosen by hand.
constexpr double kCandidateMs = 20;
constexpr uint64_t kSeed = 1;  // of the judged samples

MeasureOptions measure_options() {
  MeasureOptions options;
  options.warmup_ms = kCandidateMs / 4;
  options.min_time_ms = kCandidateMs;
  options.cold = false;
  return options;
}

Json json_of(const TimeStats& time) {
  return {{"median_ns", time.median}, {"p10_ns", time.p10}, {"p90_ns", time.p90}};
}

// A plan's or a backend's time, or why it has none.
template <class Row>
Json timed(const Row& row) {
  return row.status == row_status::kPassed ? json_of(row.time) : Json{{"reason", row.reason}};
}

struct PlanTime {
  std::string status, reason;
  TimeStats time;
  bool passed() const { return status == row_status::kPassed; }
};

}  // namespace

const Ceilings& LayerTimes::ceilings() {
  if (!ceilings_) ceilings_ = measure_ceilings(picture_page_.session().device());
  return *ceilings_;
}

const BatchSamples& LayerTimes::samples() {
  if (!samples_) samples_.emplace(picture_page_.session().graph(), kSeed);
  return *samples_;
}

Json LayerTimes::profile(const std::string& backends, int64_t batch) {
  of_request([&] { check_shown_batch(batch); });  // before the ceilings are measured
  return pass_profile(picture_page_, backends, batch, ceilings());
}

Json LayerTimes::compare(const std::string& layer, int64_t batch) {
  const Graph& graph = picture_page_.session().graph();
  const DeviceGuard guard(picture_page_.session().device());
  return of_request([&] {
    check_shown_batch(batch);
    const auto node = static_cast<size_t>(&graph.node(layer) - graph.nodes().data());
    if (!graph.nodes()[node].layer)
      throw DataError(concat("'", layer, "' is the input; nothing computes it"));
    BuildOptions build = picture_page_.build("", batch, true);
    build.backends = BackendSpec();
    std::vector<TuneCandidate> candidates = tune_candidates(graph, build);
    const auto is_other = [&](const TuneCandidate& candidate) {
      return candidate.nodes != std::vector<size_t>{node};
    };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_other), candidates.end());
    Stream stream(build.device);
    LayerStage stage(graph, build, samples(), stream);
    const std::vector<LayerFinding> findings = measure_layers(measure_options(), stage, candidates);
    Json rows = Json::array();
    for (size_t i = 0; i < candidates.size(); ++i) {
      Json row = timed(candidates[i]);
      row["backend"] = candidates[i].backend;
      if (findings[i].error) {
        row["error"] = findings[i].error->max_abs;
        row["bound"] = findings[i].error->bound;
      }
      rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
      return a.value("median_ns", HUGE_VAL) < b.value("median_ns", HUGE_VAL);
    });
    return Json{{"layer", layer}, {"batch", batch}, {"rows", std::move(rows)}};
  });
}

Json LayerTimes::tune(int64_t batch) {
  const DeviceGuard guard(picture_page_.session().device());
  const Graph& graph = picture_page_.session().graph();
  return of_request([&] {
    check_shown_batch(batch);
    BuildOptions layered = picture_page_.build("", batch, true);
    layered.backends = BackendSpec();
    layered.batch = slice_samples(graph, layered);
    Stream stream(layered.device);
    std::vector<TuneCandidate> candidates = tune_candidates(graph, layered);
    LayerStage stage(graph, layered, samples(), stream);
    measure_layers(measure_options(), stage, candidates);
    choose_candidates(graph, candidates);
    layered.batch = batch;
    const Plan tuned = tuned_plan(graph, layered, candidates);
    layered.plan = &tuned;
    BuildOptions own = picture_page_.session().build_options(batch);
    own.input = own.output = ElementType::kFp32;
    PlanTiming timing(graph, samples(), stream);
    constexpr std::array<const char*, 2> kNames = {"own", "layered"};
    const std::array<PlanCandidate*, 2> passes = {timing.add(kNames[0], own).candidate.get(),
                                                  timing.add(kNames[1], layered).candidate.get()};
    const std::vector<Measurement> measured = timing.measure(measure_options());
    std::array<PlanTime, 2> plans;
    Json json = {{"batch", batch}};
    for (size_t i = 0; i < plans.size(); ++i) {
      plans[i] = {measured[i].status, measured[i].reason, measured[i].hot};
      json[kNames[i]] = timed(plans[i]);
      json[kNames[i]]["name"] = passes[i] ? describe_backends(passes[i]->executable().plan()) : kNames[i];
    }
    const auto& [first, second] = plans;
    if (!first.passed() && !second.passed())
      throw DataError(concat("no plan passed: ", first.reason, "; ", second.reason));
    // The session's own plan, unless another is faster by more than the spread.
    const bool both = first.passed() && second.passed();
    const size_t fastest = both ? choose_tied({first.time, second.time}) : first.passed() ? 0 : 1;
    json["fastest"] = kNames[fastest];
    json["plan"] = passes[fastest]->executable().plan().to_json();
    return json;
  });
}

}  // namespace lenslet::serve
