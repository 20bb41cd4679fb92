// convbench filter: a picture through a filter, on every backend: the same bytes from each, and what they cost.
#include <algorithm>
#include <cmath>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/convbench/bench/row_table.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/filter/filter_bench.h"
#include "framework/io/png_writer.h"

namespace lenslet {
namespace {

void check(const FilterOptions& options) {
  std::vector<NamedFile> outputs = files_written(options);
  outputs.emplace_back("--output", options.output);
  demand_different_files(outputs, {{"--input", options.input}, {"--filter", options.filter}});
}

// As a shell takes it back.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string describe(const FilterTask& task) {
  const Filter& filter = task.filter();
  const Conv2dProblem problem = task.problem(TensorLayout::kNchw);
  std::string text =
      concat(task.picture().width, "x", task.picture().height, " RGB, ", filter.r, "x", filter.s, " ",
             printable(filter.name), ", stride ", task.stride(), ", to ", problem.q(), "x", problem.p(), ": ",
             format_short(problem.flops() / 1e6), " MFLOP\n");
  if (filter.exact_on_bytes()) {
    return text + concat("whole numbers, sums up to ", filter.magnitude() * 255,
                         ", below 2^24: exact in fp32, so every backend must give the same bytes");
  }
  return text +
         "taps with fractions, or sums of 2^24 and more: bytes may differ by one where a value lies between "
         "two of them";
}

std::string table_of(const std::vector<ResultRow>& rows) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("backend", left).column("layout", left).column("cache", left).column("status", left);
  table.column("median us").column("p10").column("p90").column("GFLOP/s");
  table.column("with copies us")
      .column("GFLOP/s")
      .column("x cuDNN")
      .column("max error")
      .column("chosen inside", left);
  std::vector<std::string> notes;
  for (const ResultRow& row : rows) {
    const auto time = [](const TimeStats& stats, double ns) {
      return format_us(stats.samples > 0 ? ns : NAN);
    };
    const auto rate = [&](const TimeStats& stats) {
      return stats.samples > 0 ? format_gflops(row, 1, stats.median) : std::string("-");
    };
    table.row({row.backend, row.layout, row.cache, row.status, time(row.time, row.time.median),
               time(row.time, row.time.p10), time(row.time, row.time.p90), rate(row.time),
               time(row.end_to_end, row.end_to_end.median), rate(row.end_to_end),
               format_ratio(row.ratio_to_cudnn), row.error ? format_short(row.error->max_abs) : "-",
               printable(row.detail)});
    const std::string note =
        concat("  ", row.backend, " ", row.layout, ": ", row.status, ", ", printable(row.reason));
    if (!row.reason.empty() && std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(note);
  }
  std::string text = table.to_string();
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace

ExitCode run_filter(const FilterOptions& options) {
  check(options);
  Filter filter = find_filter(options.filter);
  FilterTask task(picture_of(read_image(options.input, options.image_limits)), std::move(filter),
                  static_cast<int>(options.stride));
  demand_writable({{"--output", options.output}});
  return with_session(options, "filter", BenchSession::Needs::kAnyDevice, [&](BenchSession& session) {
    session.console().line(describe(task));
    std::optional<Image> picture;
    ConvBenchRequest request = filter_request(task, picture);
    request.candidates =
        registry_candidates(session.device().kind, options.backends, MathMode::kFp32, options.layouts);
    request.labels = {{"table", "filter"}, {"filter", task.filter().name}};
    request.repro =
        concat("convbench filter --input ", quoted(options.input), " --filter ", quoted(options.filter),
               " --stride ", options.stride, " --device ", session.device().to_string());
    session.begin(1, "filter");
    session.add(bench_conv(request, session));
    session.console().print(table_of(session.rows()));
    if (!session.device().is_cuda()) session.console().line("on the CPU there is nothing to copy");
    if (picture && !options.output.empty()) {
      write_result(options.output, encode_png(*picture));
      session.console().line(
          concat("written: ", printable(options.output), ", the same from each backend that passed"));
    }
  });
}

}  // namespace lenslet
