// convbench run: any convolutions on any backends, one row each.
#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/commands/commands.h"

namespace lenslet {

ExitCode run_run(const RunOptions& options) {
  std::vector<std::string> lists;
  const std::vector<ListedProblem> problems = problems_from(options.problems, options.problem_files, &lists);
  const auto measure_problems = [&](BenchSession& session) {
    ConvBenchRequest request;
    request.specs = registry_specs(session.device().kind, options.backends, options.math, options.layouts);
    request.end_to_end = true;
    std::vector<std::vector<Work>> groups;
    for (const ListedProblem& listed : problems) {
      const size_t candidates = listed.unsupported.empty() ? request.specs.size() : 0;
      groups.emplace_back(candidates, Work{listed.problem.flops(), listed.problem.bytes()});
    }
    session.announce(groups, options.math);
    session.each("problems", problems, [&](const ListedProblem& listed) {
      set_problem(request, listed);
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
