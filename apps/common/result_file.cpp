#include "apps/common/result_file.h"

#include "apps/common/environment.h"
#include "apps/common/text.h"

namespace lenslet {
namespace {

// Width of the noise band above a ceiling: it and the row are two measurements, each with a spread of its own.
constexpr double kCeilingNoise = 0.1;

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

void write_accuracy(JsonWriter& json, const std::optional<ResultAccuracy>& accuracy) {
  if (!accuracy) {
    json.null_field("accuracy");
    return;
  }
  json.key("accuracy").begin_object(JsonWriter::Style::kInline).field("correct", accuracy->correct);
  json.field("count", accuracy->count).field("fp32_correct", accuracy->fp32_correct);
  json.field("differing", accuracy->differing).end_object();
}

void write_launches(JsonWriter& json, const std::vector<LaunchResources>& launches) {
  json.key("launches").begin_array();
  for (const LaunchResources& launch : launches) {
    json.begin_object(JsonWriter::Style::kInline).field("kernel", launch.kernel);
    json.field("threads_per_block", launch.threads_per_block);
    json.field("registers_per_thread", launch.registers_per_thread);
    json.field("shared_bytes", static_cast<uint64_t>(launch.shared_bytes));
    json.field("local_bytes", static_cast<uint64_t>(launch.local_bytes));
    json.field("blocks_per_multiprocessor", launch.blocks_per_multiprocessor);
    json.field("occupancy", launch.occupancy).end_object();
  }
  json.end_array();
}

void write_published(JsonWriter& json, const std::optional<PublishedFigure>& published) {
  if (!published) {
    json.null_field("published");
    return;
  }
  json.key("published").begin_object(JsonWriter::Style::kInline).field("time_ns", published->time_ns);
  json.field("gflops", published->gflops).field("source", published->source).end_object();
}

void write_row(JsonWriter& json, const ResultRow& row) {
  json.begin_object();
  write_text(json, "study", row.study);
  json.key("labels").begin_object(JsonWriter::Style::kInline);
  for (const auto& [name, text] : row.labels) json.field(name, text);
  json.end_object();
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
  json.field("p99_ns", row.p99_ns).field("replayed", row.replayed);
  write_time_stats(json, "end_to_end_ns", row.end_to_end);
  json.key("stages_ns").begin_object(JsonWriter::Style::kInline);
  for (const auto& [name, ns] : row.stages_ns) json.field(name, ns);
  json.end_object();
  json.field("setup_ns", row.setup_ns).field("first_call_ns", row.first_call_ns);
  if (row.workspace_bytes) {
    json.field("workspace_bytes", *row.workspace_bytes);
  } else {
    json.null_field("workspace_bytes");
  }
  json.field("flops", row.flops).field("bytes_ideal", row.bytes_ideal);
  json.field("products_saved", row.products_saved);
  json.field("gflops", row.gflops()).field("gbytes_per_s", row.gbytes_per_s());
  json.field("ceiling_fraction", row.ceiling_fraction);
  write_text(json, "bound_by", row.bound_by);
  json.field("images_per_s", row.images_per_s());
  write_error(json, row.error);
  write_accuracy(json, row.accuracy);
  json.field("ratio_to_cudnn", row.ratio_to_cudnn);
  write_published(json, row.published);
  write_launches(json, row.launches);
  write_text(json, "repro", row.repro);
  write_text(json, "repro_benchdnn", row.repro_benchdnn);
  json.end_object();
}

std::string csv_number(double value) {
  if (!std::isfinite(value)) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

void apply_ceiling(ResultRow& row, const Ceilings& ceilings, const Work& work, MathMode math) {
  const Bound bound =
      binding_ceiling(ceilings, {work.flops / row.products_saved, work.bytes}, math, row.cache == "hot");
  row.bound_by = bound.by;
  if (row.time.median > 0) row.ceiling_fraction = bound.best_ns / row.time.median;
  if (row.status == "PASSED" && row.ceiling_fraction > 1 + kCeilingNoise) {
    row.status = "SUSPECT";
    row.reason = concat(format_percent(row.ceiling_fraction, 0), " of the measured ceiling (", bound.by, ")");
  }
}

std::string format_gflops(const ResultRow& row, double unit, double ns) {
  const std::string rate = format_short((std::isnan(ns) ? row.gflops() : row.flops / ns) / unit);
  return row.products_saved > 1 && rate != "-" ? rate + " effective" : rate;
}

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
  if (before) {
    json.key("conditions").begin_object();
    write_conditions(json, "before", *before);
    write_conditions(json, "after", read_conditions(before->device));
    json.end_object();
  }
  if (!settings.empty()) {
    json.key("settings").begin_object(JsonWriter::Style::kInline);
    for (const auto& [name, value] : settings) json.field(name, value);
    json.end_object();
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
      "study,labels,name,problem,backend,detail,math,layout,cache,status,reason,samples,min_ns,p10_ns,median_"
      "ns,"
      "p90_ns,max_ns,end_to_end_median_ns,setup_ns,workspace_bytes,flops,bytes_ideal,gflops,gbytes_per_s,"
      "ceiling_fraction,bound_by,max_abs_error,error_bound,ratio_to_cudnn,published_ns,published_gflops,"
      "repro,p99_ns,images_per_s,correct,counted,products_saved\n";
  for (const ResultRow& row : rows) {
    const bool timed = row.time.samples > 0;
    std::string labels;
    for (const auto& [label, word] : row.labels)
      labels += concat(labels.empty() ? "" : " ", label, "=", word);
    const PublishedFigure published = row.published.value_or(PublishedFigure{});
    const std::string cells[] = {csv_field(row.study),
                                 csv_field(labels),
                                 csv_field(row.name),
                                 csv_field(row.problem),
                                 csv_field(row.backend),
                                 csv_field(row.detail),
                                 csv_field(row.math),
                                 csv_field(row.layout),
                                 csv_field(row.cache),
                                 csv_field(row.status),
                                 csv_field(row.reason),
                                 std::to_string(row.time.samples),
                                 csv_number(timed ? row.time.min : NAN),
                                 csv_number(timed ? row.time.p10 : NAN),
                                 csv_number(timed ? row.time.median : NAN),
                                 csv_number(timed ? row.time.p90 : NAN),
                                 csv_number(timed ? row.time.max : NAN),
                                 csv_number(row.end_to_end.samples > 0 ? row.end_to_end.median : NAN),
                                 csv_number(row.setup_ns),
                                 row.workspace_bytes ? std::to_string(*row.workspace_bytes) : std::string(),
                                 csv_number(row.flops),
                                 csv_number(row.bytes_ideal),
                                 csv_number(row.gflops()),
                                 csv_number(row.gbytes_per_s()),
                                 csv_number(row.ceiling_fraction),
                                 csv_field(row.bound_by),
                                 csv_number(row.error ? row.error->max_abs : NAN),
                                 csv_number(row.error ? row.error->bound : NAN),
                                 csv_number(row.ratio_to_cudnn),
                                 csv_number(published.time_ns),
                                 csv_number(published.gflops),
                                 csv_field(row.repro),
                                 csv_number(row.p99_ns),
                                 csv_number(row.images_per_s()),
                                 row.accuracy ? std::to_string(row.accuracy->correct) : std::string(),
                                 row.accuracy ? std::to_string(row.accuracy->count) : std::string(),
                                 csv_number(row.products_saved)};
    std::string line;
    for (const std::string& cell : cells) line += (line.empty() && &cell == cells ? "" : ",") + cell;
    text += line + "\n";
  }
  return text;
}

}  // namespace lenslet
