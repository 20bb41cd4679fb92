// convbench ladder: every rung of a ladder on the shapes of its study, compared with cuDNN and the ceiling.
#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/bench/ladder_shapes.h"
#include "apps/convbench/bench/published.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "framework/measuring/row_status.h"
#include "layers/conv/gpu/ladder/conv_ladder.h"

namespace lenslet {
namespace {

std::vector<ListedProblem> problems_of(const LadderOptions& options, const std::string& algorithm) {
  std::vector<ListedProblem> problems = problems_from(options.problems, options.problem_files);
  if (!problems.empty()) return problems;
  for (const char* text : ladder_shapes_of(algorithm).problems) problems.push_back(listed_problem(text));
  return problems;
}

std::string rung_of(const std::string& backend) {
  const size_t dot = backend.find('.');
  return dot == std::string::npos ? backend : backend.substr(dot + 1);
}

std::optional<PublishedFigure> printed_for(const ResultRow& row, const Conv2dProblem& problem) {
  if (problem.n != 8 || problem.r != 3 || problem.s != 3 || problem.pad_h != 0 || problem.h != problem.w) {
    return std::nullopt;
  }
  return published_figure("implicit_gemm", rung_of(row.backend), problem.h,
                          concat("C", problem.c, " K", problem.k));
}

std::vector<ConvSpec> rungs_of(const std::string& algorithm) {
  std::vector<ConvSpec> specs;
  for (const ConvRung& rung : conv_ladder(algorithm)) {
    specs.push_back({rung.name,
                     rung.getter,
                     rung.math,
                     rung.layout,
                     false,
                     {{"rung", rung.is_product ? "product" : rung_of(rung.name)}, {"change", rung.change}}});
  }
  return specs;
}

// What the rungs are compared with.
struct BackendBeside {
  const char* backend;
  std::vector<TensorLayout> layouts;
};
const std::vector<TensorLayout> kBothLayouts = {TensorLayout::kNchw, TensorLayout::kNhwc};
const std::vector<BackendBeside> kBesideFp32 = {{"cudnn", kBothLayouts}, {"winograd", {TensorLayout::kNchw}}};
const std::vector<BackendBeside> kBesideTf32 = {{"cudnn", kBothLayouts}};  // of a ladder of tensor cores
const std::vector<BackendBeside> kBesideTensorCores = {{"tensor_core", kBothLayouts},
                                                       {"cudnn", kBothLayouts}};

std::vector<ConvSpec> specs_beside(const std::vector<BackendBeside>& backends, MathMode math) {
  std::vector<ConvSpec> specs;
  for (const BackendBeside& beside : backends) {
    for (ConvSpec& spec : registry_specs(DeviceKind::kCuda, {beside.backend}, math, beside.layouts)) {
      spec.labels = {{"rung", "beside"}};
      spec.by_name = false;  // an unavailable candidate gives a row with a reason, no error
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace

void print_climb(Console& console, const std::vector<ResultRow>& all) {
  // The CPU's row is always hot; with --cache cold the other rows are cold.
  const bool any_hot = std::any_of(all.begin(), all.end(), [](const ResultRow& row) {
    return row.cache == "hot" && !row.launches.empty();
  });
  std::vector<ResultRow> rows;
  for (const ResultRow& row : all) {
    if (row.cache == "hot" || !any_hot) rows.push_back(row);
  }
  const auto cold_ns = [&](const ResultRow& row) {
    for (const ResultRow& other : all) {
      if (other.cache == "cold" && other.time.samples > 0 && other.backend == row.backend &&
          other.layout == row.layout && other.math == row.math)
        return other.time.median;
    }
    return static_cast<double>(NAN);
  };
  RowTable table;
  table.words("rung", &ResultRow::backend).words("layout", &ResultRow::layout).key();
  table.words("math", &ResultRow::math).key().words("status", &ResultRow::status).median("us");
  table.number("TFLOP/s", [](const ResultRow& row) { return format_gflops(row, 1e3); });
  table.number("of cuDNN", &ResultRow::ratio_to_cudnn, format_share).share().launch();
  table.number("cold us", cold_ns, format_us).with_copies();
  table.number(
      "printed us", [](const ResultRow& row) { return row.published ? row.published->time_ns : NAN; },
      format_us);
  table.reason().note("the one change", [](const ResultRow& row) {
    return row.status == row_status::kPassed ? row.label("change") : std::string();
  });
  console.line(concat("\n", all.front().problem));
  console.print(table.of(rows));
}

void ladder_into(const LadderOptions& options, BenchSession& session) {
  const std::vector<std::string> algorithms =
      options.algorithms.empty() ? conv_ladder_algorithms() : options.algorithms;
  int64_t groups = 0;
  for (const std::string& algorithm : algorithms) {
    groups += static_cast<int64_t>(problems_of(options, algorithm).size()) *
              (ladder_shapes_of(algorithm).with_tensor_cores ? 3 : 2);
  }
  session.begin(groups, "ladder");
  for (const std::string& algorithm : algorithms) {
    const LadderShapes& shapes = ladder_shapes_of(algorithm);
    std::vector<ConvSpec> climb = rungs_of(algorithm);
    const MathMode math = climb.front().math;
    for (ConvSpec& spec : specs_beside(math == MathMode::kTf32 ? kBesideTf32 : kBesideFp32, math))
      climb.push_back(std::move(spec));
    std::vector<ConvSpec> on_tensor_cores;
    if (shapes.with_tensor_cores) {
      for (const MathMode rounded : {MathMode::kTf32, MathMode::kFp16}) {
        for (ConvSpec& spec : specs_beside(kBesideTensorCores, rounded))
          on_tensor_cores.push_back(std::move(spec));
      }
    }
    for (const ListedProblem& listed : problems_of(options, algorithm)) {
      if (session.stopped()) return;
      const size_t before = session.rows().size();
      ConvBenchRequest request;
      set_problem(request, listed);
      request.study = shapes.study;
      request.labels = {{"table", "ladder"}, {"algorithm", algorithm}};
      request.published = [&listed](const ResultRow& row) { return printed_for(row, listed.problem); };
      // The CPU's row comes first.
      request.on_cpu = true;
      request.specs =
          registry_specs(DeviceKind::kCpu, {shapes.cpu_backend}, MathMode::kFp32, {TensorLayout::kNchw});
      request.specs.front().name = concat("cpu.", shapes.cpu_backend);
      request.specs.front().labels = {{"rung", "cpu"}, {"change", "the processor's version"}};
      bench_conv_into(request, session);
      request.on_cpu = false;
      request.end_to_end = true;
      for (const std::vector<ConvSpec>& specs : {climb, on_tensor_cores}) {
        if (specs.empty()) continue;
        request.specs = specs;
        bench_conv_into(request, session);
      }
      print_climb(session.console(), session.rows_from(before));
    }
  }
}

ExitCode run_ladder(const LadderOptions& options) {
  for (const std::string& algorithm : options.algorithms) {
    ladder_shapes_of(algorithm);  // first: throws for an unknown name also in a build without ladders
    conv_ladder(algorithm);
  }
  std::vector<std::string> lists;
  (void)problems_from(options.problems, options.problem_files, &lists);
  return with_session(
      options, "ladder", BenchSession::Needs::kGpu,
      [&](BenchSession& session) { ladder_into(options, session); }, {}, files_named("--problems", lists));
}

}  // namespace lenslet
