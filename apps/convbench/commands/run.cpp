// convbench run: any convolutions on any backends, one row each.
#include <algorithm>

#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/commands/commands.h"
#include "framework/base/error.h"
#include "framework/graph/preferred_backend.h"

namespace lenslet {
namespace {

/// The backend that `auto` takes within the math mode; empty if none supports the problem. A layer may take a more
/// exact mode.
std::string auto_backend(DeviceKind kind, const Conv2dProblem& problem, MathMode math) {
  const auto row = [](const BackendEntry& entry) -> const ConvBackendEntry& {
    return static_cast<const ConvBackendEntry&>(entry);
  };
  const BackendEntry* entry = preferred_of(
      conv_table().entry_pointers(kind),
      [&](const BackendEntry& e) { return static_cast<bool>(row(e).supports(problem, math)); },
      [&](const BackendEntry& e) { return row(e).open().suits(problem, math); });
  return entry ? entry->name() : std::string();
}

/// The named backends, each once, with the one that `auto` takes in place of that word. Where none supports the
/// problem, a candidate of that name has the reason.
std::vector<ConvSpec> specs_for(const ListedProblem& listed, const RunOptions& options, DeviceKind kind) {
  const auto is_auto = [](const std::string& name) { return name == RunOptions::kAuto; };
  if (std::none_of(options.backends.begin(), options.backends.end(), is_auto))
    return registry_specs(kind, options.backends, options.math, options.layouts);
  std::vector<ConvSpec> specs;
  for (const TensorLayout layout : options.layouts) {
    Conv2dProblem problem = listed.problem;
    problem.layout = layout;
    const std::string taken =
        listed.unsupported.empty() ? auto_backend(kind, problem, options.math) : std::string();
    std::vector<std::string> names;
    for (const std::string& named : options.backends) {
      const std::string& name = is_auto(named) ? taken : named;
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      if (!name.empty()) {
        specs.push_back(registry_specs(kind, {name}, options.math, {layout}).front());
        continue;
      }
      const auto open = []() -> const ConvBackend& {
        throw UnavailableError("no backend supports this convolution in this arithmetic and layout");
      };
      specs.push_back({RunOptions::kAuto, open, options.math, layout, false, {}});
    }
  }
  return specs;
}

}  // namespace

ExitCode run_run(const RunOptions& options) {
  std::vector<std::string> lists;
  std::vector<ListedProblem> problems = problems_from(options.problems, options.problem_files, &lists);
  for (ListedProblem& listed : problems) {
    if (!listed.has_type) listed.problem.type = options.dt;
  }
  std::vector<std::string> names = options.backends;
  names.erase(std::remove(names.begin(), names.end(), RunOptions::kAuto), names.end());
  check_backends(names, options);
  const auto measure_problems = [&](BenchSession& session) {
    ConvBenchRequest request;
    request.end_to_end = true;
    DeviceGuard guard(session.device());  // backends ask the current GPU what it supports
    std::vector<std::vector<ConvSpec>> specs;
    std::vector<ExpectedGroup> groups;
    for (const ListedProblem& listed : problems) {
      specs.push_back(specs_for(listed, options, session.device().kind));
      groups.push_back(listed.unsupported.empty() ? expected_group(listed.problem, specs.back())
                                                  : ExpectedGroup{});
    }
    // One rate for all, that of the first: an estimate.
    session.announce(groups, rate_of(problems.front().problem.type, options.math));
    auto next = specs.begin();
    session.each("problems", problems, [&](const ListedProblem& listed) {
      set_problem(request, listed);
      request.specs = *next++;
      const std::vector<ResultRow> rows = bench_conv_into(request, session);
      const std::string work = listed.unsupported.empty()
                                   ? concat(format_short(listed.problem.flops() / 1e6), " MFLOP, ",
                                            format_bytes(listed.problem.bytes()))
                                   : listed.unsupported;
      session.console().line(concat("\n", listed.text, ": ", work));
      session.console().print(row_table(rows));
    });
  };
  return with_session(options, "run", BenchSession::Needs::kAnyDevice, measure_problems, {},
                      files_named("--problems", lists));
}

}  // namespace lenslet
