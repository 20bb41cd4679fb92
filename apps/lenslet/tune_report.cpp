#include "apps/lenslet/tune_report.h"

#include <cmath>

#include "apps/common/table.h"
#include "apps/common/text.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.tune/1";

std::string time_us(double ns) { return format_short(ns / 1e3); }

// "conv1+relu1".
std::string nodes_of(const Graph& graph, const TuneCandidate& candidate) {
  std::string text;
  for (const size_t node : candidate.nodes) text += concat(text.empty() ? "" : "+", graph.nodes()[node].name);
  return text;
}

// Median, p10 and p90; "-" without a time.
std::vector<std::string> times_us(const TimeStats& time) {
  if (time.samples == 0) return {"-", "-", "-"};
  return {time_us(time.median), time_us(time.p10), time_us(time.p90)};
}

std::string verdict(bool chosen, const std::string& why, const std::string& status,
                    const std::string& reason) {
  if (status != "PASSED") return concat(status, ": ", printable(reason));
  return concat(chosen ? "CHOSEN: " : "", why, reason.empty() ? "" : concat("; ", printable(reason)));
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
  const auto left = Table::Align::kLeft;
  Table table;
  table.column("layers", left).column("backend", left).column("median us").column("p10").column("p90");
  table.column("behind us").column("", left);
  size_t region = 0;
  const auto regions = tune_regions(report.layers);
  for (size_t i = 0; i < report.layers.size(); ++i) {
    if (region + 1 < regions.size() && i == regions[region + 1].first) {
      table.rule();
      ++region;
    }
    const TuneCandidate& candidate = report.layers[i];
    std::vector<std::string> cells = {nodes_of(graph, candidate), candidate.backend};
    for (std::string& cell : times_us(candidate.time)) cells.push_back(std::move(cell));
    cells.push_back(candidate.why.empty() ? "-" : time_us(candidate.behind_ns));
    std::string words = verdict(candidate.chosen, candidate.why, candidate.status, candidate.reason);
    if (!candidate.detail.empty()) words += concat("; ", printable(candidate.detail));
    cells.push_back(std::move(words));
    table.row(std::move(cells));
  }
  console.line();
  console.print(table.to_string());
}

void print_tuned_plans(Console& console, const TuneReport& report) {
  const auto left = Table::Align::kLeft;
  Table table;
  table.column("plan", left)
      .column("median us")
      .column("p10")
      .column("p90")
      .column("images/s")
      .column("", left);
  for (const PlanRow& plan : report.plans) {
    std::vector<std::string> cells = {plan.name};
    for (std::string& cell : times_us(plan.time)) cells.push_back(std::move(cell));
    cells.push_back(format_rate(images_per_s(report, plan)));
    cells.push_back(verdict(plan.chosen, plan.why, plan.status, plan.reason));
    table.row(std::move(cells));
  }
  console.line();
  console.print(table.to_string());
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
