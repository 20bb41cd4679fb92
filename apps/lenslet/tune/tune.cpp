// lenslet tune: finds the fastest plan for a batch by timing.
//
// First it times every operator of every layer, alone and with what it can fuse, on its inputs within a pass; layers
// that differ in their weights only are timed once. Then it times the layered plan of the fastest operators against the
// whole-network backends. Candidates take turns on one stream, and the fp64 reference judges each before and after it
// is timed; a wrong candidate gets no time and is never chosen.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/output/progress.h"
#include "apps/common/output/text.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/candidates/layer_timing.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/session/session.h"
#include "apps/lenslet/tune/tune_report.h"
#include "apps/measuring/measure.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/execution/slices.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

MeasureOptions measure_options(const TuneOptions& options, ProgressBar& bar) {
  MeasureOptions measure;
  measure.pulse = [&bar] { bar.pulse(); };
  measure.warmup_ms = options.warmup_ms;
  measure.min_time_ms = options.min_time_ms;
  measure.max_noise = kMaxNoise;
  measure.cold = false;
  return measure;
}

/// The rows of a report, with their candidates.
class PlanRows {
 public:
  PlanRows(const Session& session, const Ceilings& ceilings, const BatchSamples& samples, Stream& stream,
           std::vector<PlanRow>& rows)
      : ceilings_(ceilings), timing_(session.graph(), samples, stream), rows_(rows) {}

  void add(const std::string& name, const BuildOptions& build) {
    PlanRow& row = rows_.emplace_back();
    row.name = name;
    PlanCandidate* const candidate = timing_.add(name, build).candidate.get();
    if (candidate) {
      row.backends = describe_backends(candidate->executable().plan());
      row.effort = effort_of(candidate->executable(), ceilings_);
    }
    candidates_.push_back(candidate);
  }

  void refuse(const std::string& name, const std::string& reason) {
    timing_.refuse(reason);
    rows_.emplace_back().name = name;
    candidates_.push_back(nullptr);
  }

  void measure_all(const TuneOptions& options) {
    ProgressBar bar("plans", 1);
    const std::vector<Measurement> measured = timing_.measure(measure_options(options, bar));
    for (size_t i = 0; i < rows_.size(); ++i) take_over(measured[i], rows_[i]);
  }

  /// The executable of the chosen plan; null if none passed.
  const Executable* choose() {
    std::vector<TimeStats> times;
    std::vector<size_t> passed;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].status != row_status::kPassed) continue;
      times.push_back(rows_[i].time);
      passed.push_back(i);
    }
    if (passed.empty()) return nullptr;
    const size_t chosen = choose_tied(times);
    double min_time = times[chosen].median;
    for (const TimeStats& time : times) min_time = std::min(min_time, time.median);
    for (size_t i = 0; i < passed.size(); ++i) {
      PlanRow& row = rows_[passed[i]];
      row.chosen = i == chosen;
      const bool fastest = times[i].median == min_time;
      row.why = fastest      ? to_string(TuneVerdict::kFastest)
                : row.chosen ? to_string(TuneVerdict::kTiedFirst)
                             : times_the_fastest(times[i].median / min_time);
    }
    return &candidates_[passed[chosen]]->executable();
  }

 private:
  const Ceilings& ceilings_;
  PlanTiming timing_;
  std::vector<PlanRow>& rows_;
  std::vector<PlanCandidate*> candidates_;  // by row; null if it cannot be prepared
};

// Times the layers and builds a plan of the fastest; nullopt after a signal.
std::optional<Plan> tune_layers(const TuneOptions& options, const Session& session, const Ceilings& ceilings,
                                const BatchSamples& samples, Stream& stream, Console& console,
                                TuneReport& report) {
  BuildOptions build = session.build_options(report.batch);
  build.execution = Plan::kLayered;
  build.batch = report.layer_batch = slice_samples(session.graph(), build);
  report.layers = tune_candidates(session.graph(), build);
  report.efforts.resize(report.layers.size());
  LayerStage stage(session.graph(), build, samples, stream);
  ProgressBar bar("layers", static_cast<int64_t>(report.layers.size()));
  const std::vector<LayerFinding> findings = measure_layers(
      measure_options(options, bar), stage, report.layers, [&](int64_t done) { bar.update(done); });
  bar.clear();
  for (size_t i = 0; i < findings.size(); ++i) {
    const TuneCandidate& candidate = report.layers[i];
    const Layer& head = *session.graph().nodes()[candidate.nodes[0]].layer;
    if (findings[i].products_saved > 0)
      report.efforts[i].add(head.work_of(candidate.request), findings[i].products_saved,
                            candidate.request.math, ceilings);
  }
  if (interrupted()) return std::nullopt;
  try {
    choose_candidates(session.graph(), report.layers);
  } catch (const UnavailableError&) {
    print_tuned_layers(console, session.graph(), report);
    throw;
  }
  print_tuned_layers(console, session.graph(), report);
  build.batch = report.batch;
  return tuned_plan(session.graph(), build, report.layers);
}

bool wants_layered(const TuneOptions& options) { return options.plan != Plan::kFused && options.fp32_ends(); }

bool wants_fused(const TuneOptions& options, const Session& session) {
  return options.plan != Plan::kLayered && session.graph().network() &&
         (options.plan == Plan::kFused || options.backend.empty());
}

/// The requested whole-network backends, each with the options of its plan.
std::vector<std::pair<std::string, BuildOptions>> fused_builds(const TuneOptions& options,
                                                               const Session& session, int64_t batch) {
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kFused;
  const Graph& graph = session.graph();
  const std::string& named = options.backend;
  std::vector<std::pair<std::string, BuildOptions>> builds;
  for (const std::string& backend : graph.network()->backends(session.device().kind)) {
    if (options.plan == Plan::kFused && !named.empty() && named != ModelSetup::kAuto && named != backend)
      continue;
    build.backends = {};
    build.backends.set(graph.name(), backend);
    builds.emplace_back(backend, build);
  }
  return builds;
}

/// Whether backends support at least one requested plan.
bool anything_may_run(const TuneOptions& options, const Session& session, int64_t batch) {
  if (wants_layered(options)) {
    BuildOptions build = session.build_options(batch);
    build.execution = Plan::kLayered;
    if (may_run(session.graph(), build)) return true;
  }
  if (!wants_fused(options, session)) return false;
  const auto builds = fused_builds(options, session, batch);
  return std::any_of(builds.begin(), builds.end(),
                     [&](const auto& build) { return may_run(session.graph(), build.second); });
}

// The reason of the first row with that status; null if there is none.
const std::string* first_reason(const TuneReport& report, const char* status) {
  for (const TuneCandidate& row : report.layers) {
    if (row.status == status) return &row.reason;
  }
  for (const PlanRow& row : report.plans) {
    if (row.status == status) return &row.reason;
  }
  return nullptr;
}

/// Whether a backend failed its check in the first layers for which none can be chosen.
bool failed_where_none_is_chosen(const TuneReport& report) {
  const std::vector<TuneCandidate>& rows = report.layers;
  for (const auto& [first, last] : tune_regions(rows)) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(last);
    if (std::any_of(begin, end, [](const TuneCandidate& row) { return row.chosen(); })) continue;
    return std::any_of(begin, end,
                       [](const TuneCandidate& row) { return row.status == row_status::kFailed; });
  }
  return false;
}

void tune(const TuneOptions& options, const Session& session, const Ceilings& ceilings, Console& console,
          TuneReport& report) {
  const Device device = session.device();
  DeviceGuard guard(device);
  Stream stream(device);
  const BatchSamples samples(session.graph(), options.seed);
  PlanRows plans(session, ceilings, samples, stream, report.plans);
  std::optional<Plan> tuned;
  std::string not_layered = options.fp32_ends() ? "" : "it reads and writes only fp32";
  if (wants_layered(options)) {
    try {
      tuned = tune_layers(options, session, ceilings, samples, stream, console, report);
    } catch (const Error& error) {  // a whole-network backend may still be usable
      const ExitCode code = error.exit_code();
      const bool cannot = code == ExitCode::kUnavailable || code == ExitCode::kMemory;
      if (!cannot || options.plan == Plan::kLayered) throw;
      not_layered = error.what();
    }
    if (interrupted()) return;
  }
  if (wants_fused(options, session)) {
    for (const auto& [backend, build] : fused_builds(options, session, report.batch))
      plans.add("fused " + backend, build);
  }
  if (tuned) {
    BuildOptions build = session.build_options(report.batch);
    build.execution = Plan::kLayered;
    BuildOptions replay = build;
    replay.plan = &*tuned;
    plans.add("layered, tuned", replay);
    plans.add("layered, auto", build);
  } else if (options.plan != Plan::kFused) {
    plans.refuse("layered", not_layered);
  }
  plans.measure_all(options);
  const Executable* const chosen = interrupted() ? nullptr : plans.choose();
  print_tuned_plans(console, report);
  if (interrupted()) return;
  if (!chosen) throw UnavailableError("no plan could be chosen; the table has the reasons");
  write_result(options.save_plan, options.save_plan.empty() ? std::string() : chosen->plan().to_json());
  console.line();
  console.line(concat("chosen: ", describe_backends(chosen->plan())));
  if (!options.save_plan.empty()) {
    console.line(concat("written to ", printable(options.save_plan), ", which --plan replays"));
  }
}

}  // namespace

ExitCode run_tune(const TuneOptions& options) {
  Run run("lenslet tune", options, {{"--save-plan", options.save_plan}}, files_read(options));
  const Session session(options, run.console());
  if (options.plan == Plan::kFused) check_whole_network(session.graph());
  TuneReport report;
  report.batch = session.batch_or(1);
  run.console().line(concat(session.network().title(), ", ", printable(session.weights_origin()), ", batch ",
                            format_count(report.batch), ", ", to_string(session.math()), ", ",
                            to_string(options.ends().input), " in, on ", session.describe_device()));
  run.on(session.device());
  try {
    run.guard([&] {  // after a signal, too, the finished rows are written
      if (!anything_may_run(options, session, report.batch)) run.leave_out_ceilings();
      run.take_ceilings();  // first: measuring them warms the clocks up, and every candidate is compared with them
      if (interrupted()) return;
      tune(options, session, run.ceilings(), run.console(), report);
      // The other backends keep their times, but the run ends with an error.
      if (const std::string* const error = first_reason(report, row_status::kError))
        throw DeviceError(*error);
    });
  } catch (const UnavailableError& error) {
    write_tune_files(run, options, session, report);
    // A backend that computes wrong results is a failed check, not a missing backend.
    if (failed_where_none_is_chosen(report)) throw CheckError(error.what());
    throw;
  }
  write_tune_files(run, options, session, report);
  return run.end(first_reason(report, row_status::kFailed) ? ExitCode::kCheckFailed : ExitCode::kOk);
}

}  // namespace lenslet
