// convbench sweep: one RGB image, 3x3, padding 1, over sizes and strides: the convolutions of study A.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/bench/published.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"

namespace lenslet {
namespace {

constexpr int kChannels = 3, kFilterEdge = 3, kPad = 1;

Conv2dProblem problem_of(int size, int stride, int out_channels) {
  Conv2dProblem problem;
  problem.c = kChannels;
  problem.h = problem.w = size;
  problem.k = out_channels;
  problem.r = problem.s = kFilterEdge;
  problem.stride_h = problem.stride_w = stride;
  problem.pad_h = problem.pad_w = kPad;
  problem.check();
  return problem;
}

// Pictures are stored in NHWC, so backends that support NHWC are measured in both layouts.
std::vector<ConvSpec> specs_of(const SweepOptions& options, const BenchSession& session) {
  const DeviceKind kind = session.device().kind;
  std::vector<ConvSpec> specs =
      registry_specs(kind, options.backends, MathMode::kFp32, {TensorLayout::kNchw});
  Conv2dProblem picture =
      problem_of(options.sizes.front(), options.strides.front(), options.out_channels.front());
  picture.layout = TensorLayout::kNhwc;
  for (ConvSpec& spec : registry_specs(kind, options.backends, MathMode::kFp32, {TensorLayout::kNhwc})) {
    if (find_conv_backend(kind, spec.name).supports(picture, MathMode::kFp32)) {
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

std::string column_of(const ResultRow& row) {
  return row.layout == "NCHW" ? row.backend : concat(row.backend, " ", row.layout);
}

// One line per size and stride, one column per backend; `value` of the first row that has one.
template <typename Value>
Table grid(const std::vector<ResultRow>& rows, bool best_is_lowest, Value&& value) {
  std::vector<std::string> columns;
  for (const ResultRow& row : rows) {
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const ResultRow& other) {
      return column_of(other) == column_of(row) && other.time.samples > 0;
    });
    if (any && std::find(columns.begin(), columns.end(), column_of(row)) == columns.end()) {
      columns.push_back(column_of(row));
    }
  }
  Table table;
  if (best_is_lowest) table.mark_lowest_of_rows();
  table.column("problem", Table::Align::kLeft);
  for (const std::string& column : columns) table.column(column);
  std::vector<std::string> problems;
  for (const ResultRow& row : rows) {
    if (problems.empty() || problems.back() != row.problem) problems.push_back(row.problem);
  }
  for (const std::string& problem : problems) {
    std::vector<std::string> cells = {problem};
    for (const std::string& column : columns) {
      std::string cell = "-";
      for (const ResultRow& row : rows) {
        if (row.problem == problem && column_of(row) == column && cell == "-") cell = value(row);
      }
      cells.push_back(cell);
    }
    table.row(std::move(cells));
  }
  return table;
}

/// What a headline needs: the time of a cell with hot caches, with cold caches, and from host to host.
struct Way {
  const char* name;
  double (*ns)(const ResultRow& row);  // NaN if the row lacks this time
};
constexpr Way kWays[] = {{"kernel time with hot caches",
                          [](const ResultRow& row) { return row.cache == "hot" ? median_ns(row) : NAN; }},
                         {"kernel time with cold caches",
                          [](const ResultRow& row) { return row.cache == "cold" ? median_ns(row) : NAN; }},
                         {"with the copies from and to page-locked host memory, host clock", end_to_end_ns}};

}  // namespace

void print_sweep(Console& console, const std::vector<ResultRow>& rows) {
  for (const Way& way : kWays) {
    std::map<std::string, double> cudnn_ns;  // by problem, in the faster layout
    bool any = false;
    for (const ResultRow& row : rows) {
      const double ns = way.ns(row);
      any = any || std::isfinite(ns);
      if (row.backend != "cudnn" || std::isnan(ns)) continue;
      const auto [best, first] = cudnn_ns.emplace(row.problem, ns);
      if (!first) best->second = std::min(best->second, ns);
    }
    if (!any) continue;
    console.line(concat("\n", way.name, ", us"));
    console.print(grid(rows, true, [&](const ResultRow& row) { return format_us(way.ns(row)); }));
    if (cudnn_ns.empty()) continue;
    console.line("times faster than cuDNN in its better layout, in the same way");
    console.print(grid(rows, false, [&](const ResultRow& row) {
      const auto theirs = cudnn_ns.find(row.problem);
      return format_ratio(theirs == cudnn_ns.end() ? NAN : theirs->second / way.ns(row));
    }));
  }
  console.line("\nshare of the nearest ceiling");
  console.print(grid(rows, false, [&](const ResultRow& row) {
    return row.time.samples > 0 ? format_share(row.ceiling_fraction) : std::string("-");
  }));
  std::map<std::string, std::string> reasons;
  for (const ResultRow& row : rows) {
    if (!row.reason.empty()) reasons.emplace(concat(column_of(row), " ", row.status), row.reason);
  }
  for (const auto& [what, reason] : reasons) console.line(concat("  ", what, ": ", reason), 4);
}

void sweep_into(const SweepOptions& options, BenchSession& session) {
  std::vector<Conv2dProblem> problems;
  for (int out_channels : options.out_channels) {
    for (int size : options.sizes) {
      for (int stride : options.strides) problems.push_back(problem_of(size, stride, out_channels));
    }
  }
  ConvBenchRequest request;
  request.specs = specs_of(options, session);
  request.study = "a";
  request.end_to_end = true;
  const auto measure_problem = [&](const Conv2dProblem& problem) {
    const std::string stride = std::to_string(problem.stride_h);
    request.problem = problem;
    request.labels = {{"table", "rgb"},
                      {"size", std::to_string(problem.h)},
                      {"stride", stride},
                      {"out_channels", std::to_string(problem.k)}};
    request.published = [&](const ResultRow& row) {
      return row.layout == "NCHW" ? published_figure("rgb", row.backend, problem.h, stride) : std::nullopt;
    };
    bench_conv_into(request, session);
  };
  DeviceGuard guard(session.device());  // backends ask the current GPU what they support
  std::vector<ExpectedGroup> groups;
  for (const Conv2dProblem& problem : problems) groups.push_back(expected_group(problem, request.specs));
  session.announce(groups, MathMode::kFp32);
  const std::vector<ResultRow> rows = session.each("sweep", problems, measure_problem);
  print_sweep(session.console(), rows);
}

ExitCode run_sweep(const SweepOptions& options) {
  check_backends(options.backends, options);
  for (int size : options.sizes) problem_of(size, options.strides.front(), options.out_channels.front());
  return with_session(options, "sweep", BenchSession::Needs::kAnyDevice,
                      [&](BenchSession& session) { sweep_into(options, session); });
}

}  // namespace lenslet
