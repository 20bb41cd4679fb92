#include "apps/lenslet/tune/tune_report.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"

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
  const Effort& effort;

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
    Effort::fields(self.effort, v);
    v("ceiling_fraction", self.effort.share(candidate.time));
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
    Effort::fields(plan.effort, v);
    v("ceiling_fraction", plan.effort.share(plan.time));
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

// Operators that together compute some layers: "conv1+relu1 direct, pool1 direct".
Timed timed_way(const Graph& graph, const TuneReport& report, const TuneWay& way) {
  Timed timed;
  timed.time = way.time;
  for (const size_t i : way.candidates) {
    const TuneCandidate& candidate = report.layers[i];
    timed.name += concat(timed.name.empty() ? "" : ", ", nodes_of(graph, candidate), " ", candidate.backend);
    timed.effort.add(report.efforts[i]);
  }
  return timed;
}

// Why the chosen way of each region is faster than the next: the fastest with another backend of its first layer, or,
// where that layer has one backend alone, the fastest other way. Nothing for a region without a choice.
std::vector<std::string> why_layers(const Graph& graph, const TuneReport& report) {
  std::vector<std::string> lines;
  for (const auto& region : tune_regions(report.layers)) {
    const std::vector<TuneWay> ways = tune_ways(report.layers, region);
    const auto head = [&](const TuneWay& way) { return report.layers[way.candidates[0]].backend; };
    const auto is_chosen = [&](const TuneWay& way) {
      return std::all_of(way.candidates.begin(), way.candidates.end(),
                         [&](size_t i) { return report.layers[i].chosen; });
    };
    const auto chosen = std::find_if(ways.begin(), ways.end(), is_chosen);
    if (chosen == ways.end()) continue;
    const auto before = [&](const TuneWay& a, const TuneWay& b) {
      const bool same_a = head(a) == head(*chosen), same_b = head(b) == head(*chosen);
      return same_a != same_b ? same_b : a.time.median < b.time.median;
    };
    const TuneWay* next = nullptr;
    for (const TuneWay& way : ways) {
      if (&way != &*chosen && (!next || before(way, *next))) next = &way;
    }
    if (next) lines.push_back(why_chosen(timed_way(graph, report, *chosen), timed_way(graph, report, *next)));
  }
  return lines;
}

void print_why(Console& console, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  console.line();
  console.line("Why, next to the best other candidate:");
  for (const std::string& line : lines) console.line("  " + line, 4);
}

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
  const auto index = [&](const TuneCandidate& candidate) {
    return static_cast<size_t>(&candidate - report.layers.data());
  };
  const auto region = [&](const TuneCandidate& candidate) {
    const size_t at = index(candidate);
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
  table.words("verdict", verdict<TuneCandidate>);
  table.number(
      "of ceiling",
      [&](const TuneCandidate& candidate) { return report.efforts[index(candidate)].share(candidate.time); },
      format_share);
  table
      .words("nearest ceiling",
             [&](const TuneCandidate& candidate) { return report.efforts[index(candidate)].bound_by; })
      .if_it_fits()
      .spread();
  table.note("reason", [](const TuneCandidate& candidate) { return candidate.reason; });
  table.note("implementation", [](const TuneCandidate& candidate) { return candidate.detail; });
  console.line();
  console.print(table.of(report.layers, region));
  if (report.layer_batch < report.batch) {
    console.line(concat("A layer's time is that of ", format_count(report.layer_batch), " of the ",
                        format_count(report.batch), " images: as many as a pass computes at a time."));
  }
  print_why(console, why_layers(graph, report));
}

void print_tuned_plans(Console& console, const TuneReport& report) {
  TableOf<PlanRow> table;
  table.words("plan", &PlanRow::name).median();
  table.number(
      "images/s", [&](const PlanRow& plan) { return images_per_s(report, plan); }, format_rate);
  table.words("verdict", verdict<PlanRow>);
  table.number(
      "of ceiling", [](const PlanRow& plan) { return plan.effort.share(plan.time); }, format_share);
  table.words("nearest ceiling", [](const PlanRow& plan) { return plan.effort.bound_by; })
      .if_it_fits()
      .spread();
  table.note("reason", [](const PlanRow& plan) { return plan.reason; });
  console.line();
  console.print(table.of(report.plans));
  const PlanRow *chosen = nullptr, *next = nullptr;
  for (const PlanRow& plan : report.plans) {
    if (plan.chosen) {
      chosen = &plan;
    } else if (plan.status == "PASSED" && (!next || plan.time.median < next->time.median)) {
      next = &plan;
    }
  }
  if (!chosen || !next) return;
  print_why(console, {why_chosen({chosen->name, chosen->time, chosen->effort},
                                 {next->name, next->time, next->effort})});
}

void write_tune_files(const Run& run, const TuneOptions& options, const Session& session,
                      const TuneReport& report) {
  const auto body = [&](Document& document) {
    JsonObject& json = document.members();
    json("device", session.device())("device_name", session.device_name());
    json("math", session.math())("weights", session.weights_origin());
    json("input", options.ends().input)("output", options.ends().output)("batch", report.batch);
    json("layer_batch", report.layer_batch)("ceilings", run.ceilings());
    document.begin_list("candidates");
    for (size_t i = 0; i < report.layers.size(); ++i)
      document.entry(CandidateRow{session.graph(), report.layers[i], report.efforts[i]});
    document.end_list();
    document.begin_list("plans");
    for (const PlanRow& plan : report.plans) document.entry(PlanCandidateRow{report, plan});
    document.end_list();
  };
  run.write(kSchema, body, to_csv(session.graph(), report));
}

}  // namespace lenslet
