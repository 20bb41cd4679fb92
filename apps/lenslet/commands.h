// The subcommands. Each returns the exit code of the process and throws lenslet::Error on failure.
#pragma once

#include "apps/lenslet/session/options.h"
#include "framework/base/error.h"

namespace lenslet {

ExitCode run_classify(const ClassifyOptions& options);
ExitCode run_eval(const EvalOptions& options);
ExitCode run_profile(const ProfileCommandOptions& options);
ExitCode run_tune(const TuneOptions& options);
ExitCode run_bench(const ModelBenchOptions& options);
ExitCode run_backends(const BackendsOptions& options);
ExitCode run_doctor(const DoctorOptions& options);
ExitCode run_inspect(const InspectOptions& options);
ExitCode run_diff(const DiffOptions& options);
ExitCode run_show(const ShowOptions& options);
ExitCode run_serve(const ServeOptions& options);

}  // namespace lenslet
