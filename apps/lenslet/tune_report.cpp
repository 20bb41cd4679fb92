#include "apps/lenslet/tune_report.h"

#include <cmath>

#include "apps/common/environment.h"
#include "apps/common/json_writer.h"
#include "apps/common/result_file.h"
#include "apps/common/signals.h"
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

// Median, p10 and p90, or dashes.
std::vector<std::string> times_us(const TimeStats& time) {
  if (time.samples == 0) return {"-", "-", "-"};
  return {time_us(time.median), time_us(time.p10), time_us(time.p90)};
}

std::string verdict(bool chosen, const std::string& why, const std::string& status,
                    const std::string& reason) {
  if (status != "PASSED") return concat(status, ": ", printable(reason));
  return concat(chosen ? "CHOSEN: " : "", why, reason.empty() ? "" : concat("; ", printable(reason)));
}

void write_time(JsonWriter& json, const TimeStats& time) {
  write_time_stats(json, "time_ns", time);
  json.field("samples", static_cast<uint64_t>(time.samples));
}

void write_json(const TuneOptions& options, const Session& session, const TuneReport& report) {
  OutputFile sink(options.json);
  JsonWriter json([&](const std::string& part) { sink.write(part); });
  const Graph& graph = session.graph();
  json.begin_object().field("schema", kSchema);
  write_run_status(json, interrupted(), report.fault);
  write_environment(json, session.device().is_cuda());
  json.field("device", session.device().to_string()).field("device_name", session.device_name());
  json.field("math", to_string(session.math())).field("weights", session.weights_origin());
  json.field("input", to_string(options.input.value_or(ElementType::kFp32)));
  json.field("output", to_string(options.output.value_or(ElementType::kFp32))).field("batch", report.batch);
  json.key("candidates").begin_array();
  for (const TuneCandidate& candidate : report.layers) {
    json.begin_object().key("layers").begin_array(JsonWriter::Style::kInline);
    for (const size_t node : candidate.nodes) json.value(graph.nodes()[node].name);
    json.end_array().field("backend", candidate.backend).field("math", to_string(candidate.request.math));
    json.field("status", candidate.status).field("reason", candidate.reason);
    write_time(json, candidate.time);
    json.field("detail", candidate.detail).field("choice", candidate.choice);
    json.field("workspace_bytes", static_cast<uint64_t>(candidate.workspace_bytes));
    json.field("chosen", candidate.chosen)
        .field("why", candidate.why)
        .field("behind_ns", candidate.behind_ns);
    json.end_object();
  }
  json.end_array().key("plans").begin_array();
  for (const PlanRow& plan : report.plans) {
    json.begin_object().field("name", plan.name).field("backends", plan.backends);
    json.field("status", plan.status).field("reason", plan.reason);
    write_time(json, plan.time);
    json.field("images_per_s",
               plan.time.samples > 0 ? static_cast<double>(report.batch) / plan.time.median * 1e9 : NAN);
    json.field("chosen", plan.chosen).field("why", plan.why).end_object();
  }
  json.end_array().end_object().finish();
  sink.commit();
}

std::string csv_times(const TimeStats& time) {
  if (time.samples == 0) return ",,,";
  return concat(format_fixed(time.median, 0), ",", format_fixed(time.p10, 0), ",", format_fixed(time.p90, 0),
                ",", time.samples);
}

std::string to_csv(const Graph& graph, const TuneReport& report) {
  std::string text = "what,backend,status,reason,median_ns,p10_ns,p90_ns,samples,chosen,why\n";
  const auto line = [&](const std::string& what, const std::string& backend, const auto& row) {
    text += concat(csv_field(what), ",", csv_field(backend), ",", row.status, ",", csv_field(row.reason), ",",
                   csv_times(row.time), ",", row.chosen ? "yes" : "no", ",", csv_field(row.why), "\n");
  };
  for (const TuneCandidate& candidate : report.layers)
    line(nodes_of(graph, candidate), candidate.backend, candidate);
  for (const PlanRow& plan : report.plans) line(plan.name, plan.backends, plan);
  return text;
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
    cells.push_back(plan.time.samples > 0
                        ? format_rate(static_cast<double>(report.batch) / plan.time.median * 1e9)
                        : "-");
    cells.push_back(verdict(plan.chosen, plan.why, plan.status, plan.reason));
    table.row(std::move(cells));
  }
  console.line();
  console.print(table.to_string());
}

void write_tune_files(const TuneOptions& options, const Session& session, const TuneReport& report) {
  if (!options.json.empty()) write_json(options, session, report);
  if (!options.csv.empty()) write_result(options.csv, to_csv(session.graph(), report));
}

}  // namespace lenslet
