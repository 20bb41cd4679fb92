#include "apps/lenslet/tune/tune_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.tune/1";

// "conv1+relu1".
std::string nodes_of(const Graph& graph, const TuneCandidate& candidate) {
  std::string text;
  for (const size_t node : candidate.nodes) text += concat(text.empty() ? "" : "+", graph.nodes()[node].name);
  return text;
}

// What became of a row: its status, or why it was chosen or not.
template <class Row>
std::string verdict(const Row& row) {
  if (row.status != row_status::kPassed) return row.status;
  return concat(row.chosen ? "CHOSEN, " : "", row.why);
}

template <class Row>
double noise_of(const Row& row) {
  return row.time.samples > 0 ? (row.time.p90 - row.time.p10) / row.time.median : NAN;
}

// The reason in files. The tables have a column for noise.
template <class Row>
std::string reason_with_noise(const Row& row) {
  std::string text = row.noise;
  add_clause(text, row.reason);
  return text;
}

// The verdict in the table of layers, of a way that takes `times` as long as the fastest.
std::string short_verdict(TuneVerdict verdict, double times) {
  if (verdict == TuneVerdict::kSlower) return times_the_fastest(times);
  const bool tied = verdict == TuneVerdict::kTiedFirst || verdict == TuneVerdict::kTiedLater;
  return tied ? "tied" : to_string(verdict);
}

// The columns that the tables share.
template <class Row>
void add_verdict(TableOf<Row>& table) {
  table.words("verdict", verdict<Row>);
  table.number(
      "of ceiling", [](const Row& row) { return row.effort.share(row.time); }, format_share);
  table.words("nearest ceiling", [](const Row& row) { return row.effort.bound_by; }).if_it_fits();
  table.number("noise", noise_of<Row>, format_share).spread();
}

// One line for all rows that stayed noisy.
template <class Row>
void print_noise(Console& console, const std::vector<Row>& rows) {
  const auto noisy =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return noise_of(row) > kMaxNoise; });
  if (noisy == 0) return;
  console.line(concat("noise above ", format_percent(kMaxNoise, 0), " in ", noisy, " of ", rows.size(),
                      " rows, although they were measured longer: the machine is busy"),
               2);
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
    v("status", candidate.status)("reason", reason_with_noise(candidate));
    v.time("time_ns", "samples", candidate.time);
    v("detail", candidate.detail)("choice", candidate.choice)("workspace_bytes", candidate.workspace_bytes);
    v("chosen", candidate.chosen())("why", std::string(to_string(candidate.verdict)));
    v("behind_ns", candidate.behind_ns);
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
    v("name", plan.name)("backends", plan.backends)("status", plan.status);
    v("reason", reason_with_noise(plan));
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

// Operators that together compute some layers, without those of `beside`: "conv1, relu1 by direct".
std::string name_of(const Graph& graph, const TuneReport& report, const TuneWay& way,
                    const TuneWay& beside = {}) {
  std::string text;
  const TuneCandidate* last = nullptr;
  for (const size_t i : way.candidates) {
    if (std::count(beside.candidates.begin(), beside.candidates.end(), i) > 0) continue;
    const TuneCandidate& candidate = report.layers[i];
    if (last && last->backend != candidate.backend) text += concat(" by ", last->backend);
    text += concat(last ? ", " : "", nodes_of(graph, candidate));
    last = &candidate;
  }
  return last ? concat(text, " by ", last->backend) : text;
}

Timed timed_way(const TuneReport& report, const TuneWay& way, std::string name) {
  Timed timed{std::move(name), way.time, {}};
  for (const size_t i : way.candidates) timed.effort.add(report.efforts[i]);
  return timed;
}

bool is_chosen(const TuneReport& report, const TuneWay& way) {
  return std::all_of(way.candidates.begin(), way.candidates.end(),
                     [&](size_t i) { return report.layers[i].chosen(); });
}

using Region = std::pair<size_t, size_t>;  // a range of the candidates

// Whether two regions were timed once: their layers differ in weights and names alone.
bool timed_once(const TuneReport& report, const Region& a, const Region& b) {
  const auto begin = report.layers.begin();
  const auto at = [&](size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
  const auto same = [](const TuneCandidate& x, const TuneCandidate& y) {
    return x.backend == y.backend && x.nodes.size() == y.nodes.size() && x.status == y.status &&
           x.chosen() == y.chosen() &&
           (x.time.samples == 0 || (x.time.median == y.time.median && x.time.p10 == y.time.p10));
  };
  return std::any_of(at(a.first), at(a.second), [](const auto& one) { return one.time.samples > 0; }) &&
         std::equal(at(a.first), at(a.second), at(b.first), at(b.second), same);
}

// Why the chosen way of each region is faster than the next: the fastest with another backend of its first layer, or,
// where that layer has one backend alone, the fastest other way. Nothing for a region without a choice, and for one
// that was timed once with an earlier one.
std::vector<std::string> why_layers(const Graph& graph, const TuneReport& report,
                                    const std::vector<Region>& regions) {
  std::vector<std::string> lines;
  for (const Region& region : regions) {
    const std::vector<TuneWay> ways = tune_ways(report.layers, region);
    const auto head = [&](const TuneWay& way) { return report.layers[way.candidates[0]].backend; };
    const auto chosen =
        std::find_if(ways.begin(), ways.end(), [&](const TuneWay& way) { return is_chosen(report, way); });
    if (chosen == ways.end()) continue;
    const auto before = [&](const TuneWay& a, const TuneWay& b) {
      const bool same_a = head(a) == head(*chosen), same_b = head(b) == head(*chosen);
      return same_a != same_b ? same_b : a.time.median < b.time.median;
    };
    const TuneWay* next = nullptr;
    for (const TuneWay& way : ways) {
      if (&way != &*chosen && (!next || before(way, *next))) next = &way;
    }
    if (!next) continue;
    lines.push_back(
        why_chosen(timed_way(report, *chosen, name_of(graph, report, *chosen)),
                   timed_way(report, *next, concat("with ", name_of(graph, report, *next, *chosen)))));
  }
  return lines;
}

void print_why(Console& console, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  console.line();
  console.line("Why, next to the best other candidate:");
  for (const std::string& line : lines) console.line("  " + line, 4);
}

// A line of the layers' table: a way to compute the layers of a region, or a candidate that no way contains.
struct LayerRow {
  size_t region = 0;
  std::string layers;   // "conv1+relu1, pool1": what one kernel computes is joined by a +
  std::string backend;  // of the layers in order; the last is that of the others: "onednn, direct"
  std::string status, reason, detail, why;
  TimeStats time;
  bool chosen = false;
  Effort effort;
};

LayerRow row_of(const Graph& graph, const TuneReport& report, const std::vector<size_t>& candidates) {
  LayerRow row;
  std::vector<std::string> backends, details, layers, reasons;
  const TuneCandidate& first = report.layers[candidates[0]];
  for (const size_t i : candidates) {
    const TuneCandidate& candidate = report.layers[i];
    layers.push_back(nodes_of(graph, candidate));
    if (backends.empty() || backends.back() != candidate.backend) backends.push_back(candidate.backend);
    if (!candidate.detail.empty()) add_new(details, {candidate.detail});
    if (!candidate.reason.empty()) add_new(reasons, {candidate.reason});
    row.effort.add(report.efforts[i]);
  }
  row.layers = comma_list(layers);
  row.backend = comma_list(backends);
  row.status = first.status;
  row.detail = joined(details, ", ");
  row.reason = joined(reasons, "; ");
  return row;
}

// The chosen way, for every other candidate the fastest way with it, each once, and what has no time.
void add_rows(const Graph& graph, const TuneReport& report, const Region& region,
              std::vector<LayerRow>& rows) {
  const std::vector<TuneWay> ways = tune_ways(report.layers, region);
  double min_time = INFINITY;
  for (const TuneWay& way : ways) min_time = std::min(min_time, way.time.median);
  std::set<const TuneWay*> shown;
  const auto add = [&](const TuneWay& way, TuneVerdict verdict) {
    if (!shown.insert(&way).second) return;
    LayerRow& row = rows.emplace_back(row_of(graph, report, way.candidates));
    row.region = region.first;
    row.time = way.time;
    row.time.samples = report.layers[way.candidates[0]].time.samples;
    row.chosen = is_chosen(report, way);
    row.why = short_verdict(verdict, way.time.median / min_time);
  };
  for (size_t i = region.first; i < region.second; ++i) {
    const TuneCandidate& candidate = report.layers[i];
    const TuneWay* best = nullptr;
    for (const TuneWay& way : ways) {
      if (std::count(way.candidates.begin(), way.candidates.end(), i) == 0) continue;
      const bool takes =
          candidate.chosen() ? is_chosen(report, way) : !best || way.time.median < best->time.median;
      if (takes) best = &way;
    }
    if (best) {
      add(*best, candidate.verdict);
    } else if (candidate.status != row_status::kUnsupported) {
      LayerRow& row = rows.emplace_back(row_of(graph, report, {i}));
      row.region = region.first;
      row.why = to_string(candidate.verdict);
      row.time = candidate.time;
    }
  }
}

// "conv1, conv2: winograd on the CPU supports 3x3 filters, found 5x5: use direct", each reason once.
std::vector<std::string> unsupported(const Graph& graph, const TuneReport& report,
                                     const std::vector<Region>& regions) {
  std::vector<std::pair<std::string, std::vector<std::string>>> layers;  // by text
  for (const Region& region : regions) {
    for (size_t i = region.first; i < region.second; ++i) {
      const TuneCandidate& candidate = report.layers[i];
      if (candidate.status != row_status::kUnsupported) continue;
      const bool named = candidate.reason.find(candidate.backend) != std::string::npos;
      const std::string text = named ? candidate.reason : concat(candidate.backend, ": ", candidate.reason);
      auto known = layers.begin();
      while (known != layers.end() && known->first != text) ++known;
      if (known == layers.end()) known = layers.insert(known, {text, {}});
      add_new(known->second, {nodes_of(graph, candidate)});
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : layers)
    lines.push_back(concat("UNSUPPORTED for ", comma_list(names), ": ", reason));
  return lines;
}

std::string to_csv(const Graph& graph, const TuneReport& report) {
  std::vector<TuneLine> lines;
  for (const TuneCandidate& one : report.layers) {
    lines.push_back({nodes_of(graph, one), one.backend, one.status, reason_with_noise(one), one.time,
                     one.chosen(), to_string(one.verdict)});
  }
  for (const PlanRow& one : report.plans) {
    lines.push_back(
        {one.name, one.backends, one.status, reason_with_noise(one), one.time, one.chosen, one.why});
  }
  return csv_of(lines);
}

}  // namespace

std::string times_the_fastest(double times) { return concat(format_short(times), " x the fastest"); }

void print_tuned_layers(Console& console, const Graph& graph, const TuneReport& report) {
  std::vector<Region> regions;
  std::vector<std::string> copies;  // "conv3+relu3 as conv2+relu2"
  for (const Region& region : tune_regions(report.layers)) {
    const auto first = std::find_if(regions.begin(), regions.end(),
                                    [&](const Region& one) { return timed_once(report, one, region); });
    if (first == regions.end()) {
      regions.push_back(region);
    } else {
      copies.push_back(concat(graph.nodes()[report.layers[region.first].nodes[0]].name, " as ",
                              graph.nodes()[report.layers[first->first].nodes[0]].name));
    }
  }
  std::vector<LayerRow> rows;
  for (const Region& region : regions) add_rows(graph, report, region, rows);
  TableOf<LayerRow> table;
  table.words("layers", &LayerRow::layers).words("backend", &LayerRow::backend).key().median();
  add_verdict(table);
  table.note("reason", &LayerRow::reason);
  table.note("implementation", &LayerRow::detail);
  console.line();
  console.print(table.of(rows, [](const LayerRow& row) { return std::to_string(row.region); }));
  for (const std::string& line : unsupported(graph, report, regions)) console.line("  " + line, 4);
  print_noise(console, rows);
  if (!copies.empty())
    console.line(concat("timed once, because they differ in weights alone: ", comma_list(copies)), 2);
  if (report.layer_batch < report.batch) {
    console.line(concat("A layer's time is that of ", format_count(report.layer_batch), " of the ",
                        format_count(report.batch), " images: as many as a pass computes at a time."));
  }
  print_why(console, why_layers(graph, report, regions));
}

void print_tuned_plans(Console& console, const TuneReport& report) {
  TableOf<PlanRow> table;
  table.words("plan", &PlanRow::name).median();
  table.number(
      "images/s", [&](const PlanRow& plan) { return images_per_s(report, plan); }, format_rate);
  add_verdict(table);
  table.note("reason", &PlanRow::reason);
  console.line();
  console.print(table.of(report.plans));
  print_noise(console, report.plans);
  const PlanRow *chosen = nullptr, *next = nullptr;
  for (const PlanRow& plan : report.plans) {
    if (plan.chosen) {
      chosen = &plan;
    } else if (plan.status == row_status::kPassed && (!next || plan.time.median < next->time.median)) {
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
    json("layer_batch", report.layer_batch)("ceilings", run.measured_ceilings());
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
