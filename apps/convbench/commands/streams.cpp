// convbench streams: a batch in parts, each copied in, convolved and copied out, on one stream and on several.
//
// One stream does the three steps one after another. With two or more streams, copies in both directions overlap with
// the computation of other parts, so that the total approaches the longest of the three steps alone:
//   overlap = (sum of the three - total) / (sum of the three - longest of the three)
// The first copy in and the last copy out overlap with nothing: with n parts, (sum - longest) / n of them remains. The
// three steps are also measured alone in the same run, in turns with the totals.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "apps/convbench/streams/streams_bench.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "layers/conv/conv_registry.h"

namespace lenslet {
namespace {

Conv2dProblem chunk_of(const StreamsOptions& options) {
  Conv2dProblem problem = Conv2dProblem::parse(options.problem);
  if (problem.n % options.chunks != 0) {
    throw UsageError(concat("--chunks ", options.chunks, " does not divide the batch of ", problem.n, " in ",
                            problem.to_string(), ": use a divisor, or another mb in --problem"));
  }
  problem.n /= static_cast<int>(options.chunks);
  return problem;
}

ResultRow base_row(const StreamsOptions& options, const Conv2dProblem& chunk, int streams,
                   const BenchSession& session) {
  ResultRow row;
  Conv2dProblem whole = chunk;
  whole.n *= static_cast<int>(options.chunks);
  row.problem = whole.to_string();
  row.backend = options.backend;
  row.math = to_string(Pipeline::kMath);
  row.cache = "hot";
  row.study = "d";
  row.labels = {
      {"table", "streams"}, {"streams", std::to_string(streams)}, {"chunks", std::to_string(options.chunks)}};
  row.flops = whole.flops();
  row.bytes_ideal = static_cast<double>(whole.input_shape().bytes() + whole.output_shape().bytes());
  row.repro = concat("convbench streams --device ", session.device().to_string(), " --backend ",
                     options.backend, " --chunks ", options.chunks, " --streams ", streams, " --seed ",
                     options.seed, " --problem '", row.problem, "'");
  return row;
}

/// The share of the hideable time that was hidden; 1: the total is the longest of the three steps.
double overlap_of(const ResultRow& row) {
  double sum = 0, longest = 0;
  for (const auto& [stage, ns] : row.stages_ns) {
    sum += ns;
    longest = std::max(longest, ns);
  }
  return sum > longest ? (sum - median_ns(row)) / (sum - longest) : NAN;
}

Table table_of(const std::vector<ResultRow>& rows, int images) {
  const auto one = std::find_if(rows.begin(), rows.end(),
                                [](const ResultRow& row) { return row.label("streams") == "1"; });
  const double one_ns = one == rows.end() ? NAN : median_ns(*one);
  const auto streams = [](const ResultRow& row) { return row.label("streams"); };
  RowTable table;
  table.number("streams", streams).words("status", &ResultRow::status).median().spread();
  table.number(
      "images/s", [&](const ResultRow& row) { return images * 1e9 / median_ns(row); }, format_rate);
  table.number("GB/s", &ResultRow::gbytes_per_s, format_short);
  table.number("of ceiling", &ResultRow::ceiling_fraction, format_share);
  table.number("overlap", overlap_of, format_share);
  table.number(
      "x one stream", [&](const ResultRow& row) { return one_ns / median_ns(row); }, format_ratio);
  return table.reason().of(rows);
}

void write_trace(const std::string& path, Pipeline& pipeline, const std::vector<int>& streams,
                 BenchSession& session) {
  constexpr double kGapNs = 200e3;  // between the timelines of two counts. Chosen by hand
  std::vector<TraceStream> traces;
  double at = 0;
  for (int count : streams) {
    double end = 0;
    for (TraceStream& trace : pipeline.timeline(count, at, &end)) traces.push_back(std::move(trace));
    at = end + kGapNs;
  }
  write_result(path, chrome_trace("convbench streams", traces));
  session.console().line(concat("timeline: ", printable(path), ", for ui.perfetto.dev"));
}

std::vector<ResultRow> measure_streams(const StreamsOptions& options, const Conv2dProblem& chunk,
                                       BenchSession& session) {
  StreamsRequest request;
  request.backend = options.backend;
  request.open = [&]() -> const ConvBackend& {
    return find_conv_backend(session.device().kind, options.backend).open();
  };
  request.part = chunk;
  request.parts = static_cast<int>(options.chunks);
  request.streams = options.streams;
  request.base = [&](int streams) { return base_row(options, chunk, streams, session); };
  if (!options.trace.empty()) {
    request.after = [&](Pipeline& pipeline) {
      write_trace(options.trace, pipeline, options.streams, session);
    };
  }
  return bench_streams(request, session);
}

}  // namespace

void print_streams(Console& console, const std::vector<ResultRow>& rows) {
  const ResultRow& first = rows.front();
  const int images = Conv2dProblem::parse(first.problem).n, chunks = std::stoi(first.label("chunks"));
  std::string parts;
  for (const auto& [stage, ns] : first.stages_ns)
    parts += concat(parts.empty() ? "" : ", ", stage, " ", format_time(ns));
  console.line(concat("\n", first.problem, ", ", first.backend, ", in ", chunks, " parts of ",
                      images / chunks, "; alone: ", parts));
  console.print(table_of(rows, images));
}

void streams_into(const StreamsOptions& options, BenchSession& session) {
  const Conv2dProblem chunk = chunk_of(options);
  session.begin(1, "streams");
  std::vector<ResultRow> wanted;
  for (int streams : options.streams) wanted.push_back(base_row(options, chunk, streams, session));
  std::vector<ResultRow> rows = session.resumed(wanted);
  if (rows.empty()) rows = measure_streams(options, chunk, session);
  print_streams(session.console(), rows);
  session.add(std::move(rows));
}

ExitCode run_streams(const StreamsOptions& options) {
  chunk_of(options).check();
  return with_session(options, "streams", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { streams_into(options, session); },
                      {{"--trace", options.trace}});
}

}  // namespace lenslet
