#include "apps/common/result_file.h"

#include "apps/common/environment.h"
#include "apps/common/text.h"

namespace lenslet {
namespace {

void write_text(JsonWriter& json, const char* name, const std::string& text) {
  if (text.empty()) {
    json.null_field(name);
  } else {
    json.field(name, text);
  }
}

void write_error(JsonWriter& json, const std::optional<ResultError>& error) {
  if (!error) {
    json.null_field("error");
    return;
  }
  json.key("error").begin_object(JsonWriter::Style::kInline);
  json.field("max_abs", error->max_abs).field("max_rel", error->max_rel).field("bound", error->bound);
  json.field("checked", error->checked).end_object();
}

void write_row(JsonWriter& json, const ResultRow& row) {
  json.begin_object();
  write_text(json, "name", row.name);
  write_text(json, "problem", row.problem);
  write_text(json, "backend", row.backend);
  write_text(json, "detail", row.detail);
  write_text(json, "math", row.math);
  write_text(json, "layout", row.layout);
  write_text(json, "cache", row.cache);
  write_text(json, "status", row.status);
  write_text(json, "reason", row.reason);
  json.field("samples", static_cast<uint64_t>(row.time.samples));
  write_time_stats(json, "time_ns", row.time);
  json.key("stages_ns").begin_object(JsonWriter::Style::kInline);
  for (const auto& [name, ns] : row.stages_ns) json.field(name, ns);
  json.end_object();
  json.field("setup_ns", row.setup_ns);
  if (row.workspace_bytes) {
    json.field("workspace_bytes", *row.workspace_bytes);
  } else {
    json.null_field("workspace_bytes");
  }
  json.field("flops", row.flops).field("bytes_ideal", row.bytes_ideal);
  json.field("gflops", row.gflops()).field("gbytes_per_s", row.gbytes_per_s());
  json.field("ceiling_fraction", row.ceiling_fraction);
  write_text(json, "bound_by", row.bound_by);
  write_error(json, row.error);
  write_text(json, "repro", row.repro);
  json.end_object();
}

std::string csv_number(double value) {
  if (!std::isfinite(value)) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

void write_run_status(JsonWriter& json, bool interrupted, const std::string& error) {
  json.field("status", !error.empty() ? "ERROR" : interrupted ? "INTERRUPTED" : "COMPLETE");
  write_text(json, "reason", error);
}

void write_time_stats(JsonWriter& json, const char* name, const TimeStats& stats) {
  if (stats.samples == 0) {
    json.null_field(name);
    return;
  }
  json.key(name).begin_object(JsonWriter::Style::kInline);
  json.field("min", stats.min).field("p10", stats.p10).field("median", stats.median);
  json.field("p90", stats.p90).field("max", stats.max).end_object();
}

std::string ResultFile::to_json(const std::function<void(JsonWriter&)>& extra) const {
  std::string text;
  JsonWriter json([&](const std::string& part) { text += part; });
  json.begin_object();
  json.field("schema", kSchema).field("tool", tool).field("interrupted", interrupted);
  write_run_status(json, interrupted, error);
  write_environment(json, with_gpus);
  if (ceilings != nullptr) {
    write_ceilings(json, *ceilings);
  } else {
    json.null_field("ceilings");
  }
  if (extra) extra(json);
  json.key("results").begin_array();
  for (const ResultRow& row : rows) write_row(json, row);
  json.end_array();
  json.end_object().finish();
  return text;
}

std::string ResultFile::to_csv() const {
  std::string text =
      "name,problem,backend,detail,math,layout,cache,status,reason,samples,min_ns,p10_ns,median_ns,p90_ns,"
      "max_ns,"
      "setup_ns,workspace_bytes,flops,bytes_ideal,gflops,gbytes_per_s,ceiling_fraction,bound_by\n";
  for (const ResultRow& row : rows) {
    const bool timed = row.time.samples > 0;
    const std::string cells[] = {csv_field(row.name),
                                 csv_field(row.problem),
                                 csv_field(row.backend),
                                 csv_field(row.detail),
                                 row.math,
                                 row.layout,
                                 row.cache,
                                 row.status,
                                 csv_field(row.reason),
                                 std::to_string(row.time.samples),
                                 csv_number(timed ? row.time.min : NAN),
                                 csv_number(timed ? row.time.p10 : NAN),
                                 csv_number(timed ? row.time.median : NAN),
                                 csv_number(timed ? row.time.p90 : NAN),
                                 csv_number(timed ? row.time.max : NAN),
                                 csv_number(row.setup_ns),
                                 row.workspace_bytes ? std::to_string(*row.workspace_bytes) : std::string(),
                                 csv_number(row.flops),
                                 csv_number(row.bytes_ideal),
                                 csv_number(row.gflops()),
                                 csv_number(row.gbytes_per_s()),
                                 csv_number(row.ceiling_fraction),
                                 row.bound_by};
    std::string line;
    for (const std::string& cell : cells) line += (line.empty() && &cell == cells ? "" : ",") + cell;
    text += line + "\n";
  }
  return text;
}

}  // namespace lenslet
