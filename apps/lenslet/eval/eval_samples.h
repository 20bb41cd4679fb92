// Evaluates any classifier on samples with labels (sample_set.h).
#pragma once

#include "apps/common/program/run.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

/// Counts the correct answers, prints and writes them. Throws DataError, UsageError, DeviceError, and CheckError below
/// --min-accuracy.
ExitCode run_eval_samples(const EvalOptions& options, const Session& session, Run& run);

}  // namespace lenslet
