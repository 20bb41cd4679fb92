#include "apps/lenslet/tune/tune_report.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "apps/measuring/row_table.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.tune/1";

// "conv1+relu1".
std::string nodes_of(const Graph& graph, const TuneCandidate& candidate) {
  std::string text;
  for (const size_t node : candidate.nodes) text += concat(text.empty() ? "" : "+", graph.nodes()[node].name);
  return text;
}

// What became of a candidate: its status, or why it was chosen or not.
template <class Row>
std::string verdict(const Row& row) {
  if (row.status != "PASSED") return row.status;
  return concat(row.chosen ? "CHOSEN, " : "", row.why);
}

double images_per_s(const TuneReport& report, const PlanRow& plan) {
  return plan.time.samples > 0 ? static_cast<double>(report.batch) / plan.time.median * 1e9 : NAN;
}

struct CandidateRow {
  const Graph& graph;
  const TuneCandidate& candidate;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const TuneCandidate& candidate = self.candidate;
    std::vector<std::string> layers;
    for (const size_t node : candidate.nodes) layers.push_back(self.graph.nodes()[node].name);
    v("layers", layers)("backend", candidate.backend)("math", candidate.request.math);
    v("status", candidate.status)("reason", candidate.reason);
    v.time("time_ns", "samples", candidate.time);
    v("detail", candidate.detail)("choice", candidate.choice)("workspace_bytes", candidate.workspace_bytes);
    v("chosen", candidate.chosen)("why", candidate.why)("behind_ns", candidate.behind_ns);
  }
};
struct PlanCandidateRow {
  const TuneReport& report;
  const PlanRow& plan;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const PlanRow& plan = self.plan;
    v("name", plan.name)("backends", plan.backends)("status", plan.status)("reason", plan.reason);
    v.time("time_ns", "samples", plan.time);
    v("images_per_s", images_per_s(self.report, plan))("chosen", plan.chosen)("why", plan.why);
  }
};

/// A candidate or a plan in CSV.
struct TuneLine {
  std::string what, backend, status, reason;
  TimeStats time;
  bool chosen = false;
  std::string why;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const auto timed = [&](auto value) {
      return self.time.samples > 0 ? std::optional(value) : std::nullopt;
    };
    v("what", self.what)("backend", self.backend)("status", self.status)("reason", self.reason);
    v("median_ns", timed(self.time.median))("p10_ns", timed(self.time.p10))("p90_ns", timed(self.time.p90));
    v("samples", timed(self.time.samples))("chosen", self.chosen ? "yes" : "no")("why", self.why);
  }
};

std::string to_csv(const Graph& graph, const TuneReport& report) {
  std::vector<TuneLine> lines;
  for (const TuneCandidate& one : report.layers) {
    lines.push_back(
        {nodes_of(graph, one), one.backend, one.status, one.reason, one.time, one.chosen, one.why});
  }
  for (const PlanRow& one : report.plans) {
    lines.push_back({one.name, one.backends, one.status, one.reason, one.time, one.chosen, one.why});
  }
  return csv_of(lines);
}

}  // namespace

void print_tuned_layers(Console& console, const Graph& graph, const TuneReport& report) {
  const auto regions = tune_regions(report.layers);
  const auto region = [&](const TuneCandidate& candidate) {
    const auto at = static_cast<size_t>(&candidate - report.layers.data());
    return std::to_string(
        std::count_if(regions.begin(), regions.end(), [at](const auto& one) { return one.first <= at; }));
  };
  TableOf<TuneCandidate> table;
  table.words("layers", [&](const TuneCandidate& candidate) { return nodes_of(graph, candidate); });
  table.words("backend", &TuneCandidate::backend).median();
  table.number(
      "us slower",
      [](const TuneCandidate& candidate) { return candidate.why.empty() ? NAN : candidate.behind_ns; },
      format_us);
  table.words("verdict", verdict<TuneCandidate>).spread();
  table.note("reason", [](const TuneCandidate& candidate) { return candidate.reason; });
  table.note("implementation", [](const TuneCandidate& candidate) { return candidate.detail; });
  console.line();
  console.print(table.of(report.layers, region));
}

void print_tuned_plans(Console& console, const TuneReport& report) {
  TableOf<PlanRow> table;
  table.words("plan", &PlanRow::name).median();
  table.number(
      "images/s", [&](const PlanRow& plan) { return images_per_s(report, plan); }, format_rate);
  table.words("verdict", verdict<PlanRow>).spread();
  table.note("reason", [](const PlanRow& plan) { return plan.reason; });
  console.line();
  console.print(table.of(report.plans));
}

void write_tune_files(const Run& run, const TuneOptions& options, const Session& session,
                      const TuneReport& report) {
  const auto body = [&](Document& document) {
    JsonObject& json = document.members();
    json("device", session.device())("device_name", session.device_name());
    json("math", session.math())("weights", session.weights_origin());
    json("input", options.ends().input)("output", options.ends().output)("batch", report.batch);
    document.begin_list("candidates");
    for (const TuneCandidate& candidate : report.layers)
      document.entry(CandidateRow{session.graph(), candidate});
    document.end_list();
    document.begin_list("plans");
    for (const PlanRow& plan : report.plans) document.entry(PlanCandidateRow{report, plan});
    document.end_list();
  };
  run.write(kSchema, body, to_csv(session.graph(), report));
}

}  // namespace lenslet
