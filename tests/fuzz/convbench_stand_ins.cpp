// Stand-ins for the subcommands of `convbench` that check the options they are given.
#include <cmath>

#include "apps/convbench/commands.h"
#include "framework/device.h"
#include "tests/fuzz/fuzz_target.h"

namespace lenslet {
namespace {

using fuzz::require;

void check_measuring(const BenchOptions& options) {
  require(!options.threads || (*options.threads >= 1 && *options.threads <= 1024),
          "--threads from 1 to 1024");
  require(options.workspace_limit >= 1, "--workspace-limit is no 0");
  require(options.seed >= 0 && options.seed <= INT32_MAX, "--seed");
  for (const double ms : {options.measure.warmup_ms, options.measure.min_time_ms})
    require(std::isfinite(ms) && ms >= 0 && ms <= 3.6e6, "times up to an hour");
  require(options.measure.hot || options.measure.cold, "one state of the caches at least");
  fuzz::accepts("", [&] { choose_device(options.device); });
}

void check_list(const std::vector<int>& values, int least, int most) {
  require(!values.empty() && values.size() <= 1000, "lists of 1 to 1000 values");
  for (const int value : values) require(value >= least && value <= most, "values in their range");
}

}  // namespace

ExitCode run_run(const RunOptions& options) {
  check_measuring(options);
  require(!options.layouts.empty(), "--layout");
  return ExitCode::kOk;
}
ExitCode run_sweep(const SweepOptions& options) {
  check_measuring(options);
  check_list(options.sizes, 1, 1 << 16);
  check_list(options.strides, 1, 16);
  check_list(options.out_channels, 1, 1024);
  return ExitCode::kOk;
}
ExitCode run_ladder(const LadderOptions& options) {
  check_measuring(options);
  return ExitCode::kOk;
}
ExitCode run_filter(const FilterOptions& options) {
  check_measuring(options);
  require(options.stride >= 1 && options.stride <= 1024, "--stride");
  require(options.image_limits.max_pixels >= 1 && options.image_limits.max_pixels <= ImageLimits::kMostPixels,
          "--max-image-pixels");
  return ExitCode::kOk;
}
ExitCode run_streams(const StreamsOptions& options) {
  check_measuring(options);
  check_list(options.streams, 1, 64);
  require(options.chunks >= 1 && options.chunks <= 4096, "--chunks");
  return ExitCode::kOk;
}
ExitCode run_separable(const SeparableOptions& options) {
  check_measuring(options);
  check_list(options.channels, 1, 4096);
  check_list(options.sizes, 1, 1 << 16);
  return ExitCode::kOk;
}
ExitCode run_gemm_study(const GemmStudyOptions& options) {
  check_measuring(options);
  check_list(options.sizes, 1, 1 << 16);
  check_list(options.tiles, 1, 1024);
  check_list(options.blocks, 1, 1024);
  return ExitCode::kOk;
}
ExitCode run_stencil(const StencilOptions& options) {
  check_measuring(options);
  check_list(options.dimensions, 1, 2);
  require(options.length >= 1 && options.taps >= 1 && options.radius >= 0 && options.radius <= 31, "sizes");
  return ExitCode::kOk;
}
ExitCode run_reproduce(const ReproduceOptions& options) {
  check_measuring(options);
  return ExitCode::kOk;
}

}  // namespace lenslet
