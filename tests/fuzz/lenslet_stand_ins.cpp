// Stand-ins for the subcommands of `lenslet` that check the options they are given.
#include <cmath>

#include "apps/lenslet/commands.h"
#include "apps/lenslet/suggestions.h"
#include "framework/backend_spec.h"
#include "framework/device.h"
#include "tests/fuzz/fuzz_target.h"

namespace lenslet {
namespace {

using fuzz::require;

constexpr int64_t kMostBatch = 1 << 20;

void check_common(const CommonOptions& options) {
  require(!options.threads || (*options.threads >= 1 && *options.threads <= 1024),
          "--threads from 1 to 1024");
  require(!options.batch_size || (*options.batch_size >= 1 && *options.batch_size <= kMostBatch),
          "--batch-size");
  require(options.workspace_limit >= 1, "--workspace-limit is no 0");
  require(options.seed <= INT64_MAX, "--seed");
  fuzz::accepts("", [&] { choose_device(options.device); });
  if (!options.backend.empty()) fuzz::accepts("", [&] { BackendSpec::parse(options.backend); });
}

void check_time(double ms) { require(std::isfinite(ms) && ms >= 0 && ms <= 3.6e6, "times up to an hour"); }

}  // namespace

ExitCode run_classify(const ClassifyOptions& options) {
  check_common(options);
  require(options.limit.value_or(1) >= 1 && options.index.value_or(0) >= 0, "--limit, --index");
  require(options.image_limits.max_pixels >= 1 && options.image_limits.max_pixels <= ImageLimits::kMostPixels,
          "--max-image-pixels");
  return ExitCode::kOk;
}
ExitCode run_eval(const EvalOptions& options) {
  check_common(options);
  require(
      options.limit.value_or(1) >= 1 && options.streams.value_or(1) >= 1 && options.repeat.value_or(1) >= 1,
      "--limit, --streams, --repeat");
  const double least = options.min_accuracy.value_or(0);
  require(least >= 0 && least <= 1, "--min-accuracy");
  require(options.split == "t10k" || options.split == "train", "--split");
  return ExitCode::kOk;
}
ExitCode run_profile(const ProfileCommandOptions& options) {
  check_common(options);
  check_time(options.warmup_ms);
  check_time(options.min_time_ms);
  return ExitCode::kOk;
}
ExitCode run_tune(const TuneOptions& options) {
  check_common(options);
  check_time(options.warmup_ms);
  check_time(options.min_time_ms);
  return ExitCode::kOk;
}
ExitCode run_bench(const ModelBenchOptions& options) {
  check_common(options);
  check_time(options.measure.warmup_ms);
  check_time(options.measure.min_time_ms);
  for (const int64_t size : options.batch_sizes) require(size >= 1 && size <= kMostBatch, "--batch-sizes");
  require(options.batch_sizes.size() <= 1000, "at most a thousand sizes");
  require(options.calls >= 10 && options.calls <= 1000000, "--calls");
  require(!options.plans.empty() && !options.inputs.empty() && !options.outputs.empty(), "no list is empty");
  return ExitCode::kOk;
}
ExitCode run_backends(const BackendsOptions& options) {
  check_common(options);
  return ExitCode::kOk;
}
ExitCode run_doctor(const DoctorOptions& options) {
  check_common(options);
  return ExitCode::kOk;
}

// Completion asks these; the target does not complete.
Suggestions backend_suggestions() { return {}; }
Suggestions variant_suggestions() { return {}; }

}  // namespace lenslet
