// convbench run: any convolutions on any backends, one row each.
#include "apps/common/text.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/commands.h"
#include "apps/measuring/row_table.h"

namespace lenslet {

ExitCode run_run(const RunOptions& options) {
  demand_problems_kept(options, options.problem_files);
  const std::vector<Conv2dProblem> problems = problems_from(options.problems, options.problem_files);
  return with_session(options, "run", BenchSession::Needs::kAnyDevice, [&](BenchSession& session) {
    const std::vector<ConvCandidate> candidates =
        registry_candidates(session.device().kind, options.backends, options.math, options.layouts);
    session.begin(static_cast<int64_t>(problems.size()), "problems");
    for (const Conv2dProblem& problem : problems) {
      ConvBenchRequest request;
      request.problem = problem;
      request.candidates = candidates;
      request.end_to_end = true;
      const size_t before = session.rows().size();
      bench_conv_into(request, session);
      session.console().line(concat("\n", problem.to_string(), ": ", format_short(problem.flops() / 1e6),
                                    " MFLOP, ", format_bytes(problem.bytes())));
      session.console().print(row_table(session.rows_from(before)));
      if (session.stopped()) break;
    }
  });
}

}  // namespace lenslet
