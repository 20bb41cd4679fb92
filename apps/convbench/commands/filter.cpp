// convbench filter: applies a filter to a picture on every backend, compares the bytes and times them.
#include <algorithm>
#include <cmath>

#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "apps/convbench/filter/filter_bench.h"
#include "framework/base/shell_word.h"
#include "framework/io/png_writer.h"

namespace lenslet {
namespace {

std::string describe(const FilterTask& task) {
  const Filter& filter = task.filter();
  const Conv2dProblem problem = task.problem(TensorLayout::kNchw);
  std::string text = concat(task.values().width, "x", task.values().height, " RGB, ", filter.r, "x", filter.s,
                            " ", printable(filter.name), ", stride ", task.stride(), ", to ", problem.q(),
                            "x", problem.p(), ": ", format_short(problem.flops() / 1e6), " MFLOP\n");
  if (filter.exact_on_bytes()) {
    return text + concat("whole numbers, sums up to ", filter.magnitude() * 255,
                         ", below 2^24: exact in fp32, so every backend must give the same bytes");
  }
  return text +
         "taps with fractions, or sums of 2^24 and more: bytes may differ by one where a value lies between "
         "two of them";
}

}  // namespace

void print_filter(Console& console, const std::vector<ResultRow>& rows) {
  const auto rate_with_copies = [](const ResultRow& row) {
    return row.end_to_end.samples > 0 ? format_gflops(row, 1, row.end_to_end.median) : std::string("-");
  };
  RowTable table;
  table.words("backend", &ResultRow::backend).words("layout", &ResultRow::layout).key();
  table.words("cache", &ResultRow::cache).key().words("status", &ResultRow::status).median();
  table.number("GFLOP/s", [](const ResultRow& row) { return format_gflops(row); });
  table.with_copies().number("GFLOP/s with copies", rate_with_copies).if_it_fits();
  table.number("x cuDNN", &ResultRow::ratio_to_cudnn, format_ratio);
  table.number(
      "max error", [](const ResultRow& row) { return row.error ? row.error->max_abs : NAN; }, format_short);
  table.spread().reason().note("implementation", [](const ResultRow& row) { return row.detail; });
  console.print(table.of(rows));
}

ExitCode run_filter(const FilterOptions& options) {
  check_backends(options.backends, options);
  Filter filter = find_filter(options.filter);
  FilterTask task(rgb_values_of(read_picture(options.input, options.picture_limits)), std::move(filter),
                  static_cast<int>(options.stride));
  const auto filter_picture = [&](BenchSession& session) {
    session.console().line(describe(task));
    std::optional<Picture> picture;
    ConvBenchRequest request = filter_request(task, picture);
    request.specs = registry_specs(session.device().kind, options.backends, MathMode::kFp32, options.layouts);
    request.labels = {{"table", "filter"}, {"filter", task.filter().name}};
    request.repro = concat("convbench filter --input ", shell_word(options.input), " --filter ",
                           shell_word(options.filter), " --stride ", options.stride, " --device ",
                           session.device().to_string());
    session.begin(1, "filter");
    session.add(bench_conv(request, session));
    print_filter(session.console(), session.rows());
    if (!session.device().is_cuda()) session.console().line("on the CPU there is nothing to copy");
    if (picture && !options.output.empty()) {
      write_result(options.output, encode_png(*picture));
      session.console().line(
          concat("written: ", printable(options.output), ", the same from each backend that passed"));
    }
  };
  return with_session(options, "filter", BenchSession::Needs::kAnyDevice, filter_picture,
                      {{"--output", options.output}},
                      {{"--input", options.input}, {"--filter", options.filter}});
}

}  // namespace lenslet
