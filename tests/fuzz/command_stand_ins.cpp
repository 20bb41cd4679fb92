// Stand-ins for the subcommands of both programs, so that the option tables link without them.
#include "apps/common/program/report_command.h"
#include "apps/convbench/commands/commands.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/suggestions.h"

namespace lenslet {

ExitCode run_classify(const ClassifyOptions&) { return ExitCode::kOk; }
ExitCode run_eval(const EvalOptions&) { return ExitCode::kOk; }
ExitCode run_profile(const ProfileCommandOptions&) { return ExitCode::kOk; }
ExitCode run_tune(const TuneOptions&) { return ExitCode::kOk; }
ExitCode run_bench(const ModelBenchOptions&) { return ExitCode::kOk; }
ExitCode run_backends(const BackendsOptions&) { return ExitCode::kOk; }
ExitCode run_doctor(const DoctorOptions&) { return ExitCode::kOk; }
ExitCode run_inspect(const InspectOptions&) { return ExitCode::kOk; }
ExitCode run_diff(const DiffOptions&) { return ExitCode::kOk; }
ExitCode run_serve(const ServeOptions&) { return ExitCode::kOk; }
ExitCode run_show(const ShowOptions&) { return ExitCode::kOk; }
Suggestions backend_suggestions() { return {}; }
Suggestions network_backend_suggestions() { return {}; }

ExitCode run_report(const ReportRequest&) { return ExitCode::kOk; }

ExitCode run_run(const RunOptions&) { return ExitCode::kOk; }
ExitCode run_sweep(const SweepOptions&) { return ExitCode::kOk; }
ExitCode run_ladder(const LadderOptions&) { return ExitCode::kOk; }
ExitCode run_filter(const FilterOptions&) { return ExitCode::kOk; }
ExitCode run_streams(const StreamsOptions&) { return ExitCode::kOk; }
ExitCode run_separable(const SeparableOptions&) { return ExitCode::kOk; }
ExitCode run_gemm_study(const GemmStudyOptions&) { return ExitCode::kOk; }
ExitCode run_stencil(const StencilOptions&) { return ExitCode::kOk; }
ExitCode run_reproduce(const ReproduceOptions&) { return ExitCode::kOk; }

}  // namespace lenslet
