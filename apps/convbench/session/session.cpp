#include "apps/convbench/session/session.h"

#include <algorithm>
#include <cmath>

#include "apps/common/output/text.h"
#include "apps/common/system/environment.h"
#include "apps/common/system/signals.h"
#include "apps/convbench/session/reference_cost.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"

namespace lenslet {
namespace {

constexpr double kLongRunSeconds = 5;  // a shorter run needs no announcement

Device chosen_device(const BenchOptions& options, std::string& reason) {
  if (options.threads) set_num_threads(*options.threads);
  const DeviceChoice choice = choose_device(options.device);
  if (options.device == "auto") reason = choice.reason;
  return choice.device;
}

void check_gpu(Device device, const std::string& subcommand) {
  if (device.is_cuda()) return;
  const std::string why = cuda_status().usable ? "it was given --device cpu" : cuda_status().reason;
  throw UnavailableError(concat("convbench ", subcommand, " measures CUDA kernels and needs a GPU, but ", why,
                                "; run, sweep, filter and separable work on the CPU"));
}

/// Options that change the numbers of a row, in addition to those that select rows.
std::vector<std::pair<std::string, std::string>> settings_of(const BenchOptions& options) {
  const MeasureOptions& measure = options.measure;
  const bool limited = options.workspace_limit != SIZE_MAX;
  return {{"seed", std::to_string(options.seed)},
          {"dist", dist_name(options.fill)},
          {"verify", to_string(measure.verify)},
          {"workspace_limit", limited ? concat(options.workspace_limit, " bytes") : "default"},
          {"warmup_ms", concat(measure.warmup_ms)},
          {"min_time_ms", concat(measure.min_time_ms)},
          {"max_noise", std::isfinite(measure.max_noise) ? concat(measure.max_noise) : "any"}};
}

}  // namespace

BenchSession::BenchSession(const BenchOptions& options, const std::string& subcommand, Needs needs,
                           std::vector<NamedFile> outputs, const std::vector<NamedFile>& inputs)
    : Run("convbench " + subcommand, options, std::move(outputs), inputs),
      options_(options),
      stream_(chosen_device(options, device_reason_)) {
  if (needs == Needs::kGpu) check_gpu(device(), subcommand);
  console().line(describe_device(device(), device_reason_));
  if (options.max_seconds) stop_after(*options.max_seconds);
  on(device(), settings_of(options));
}

void BenchSession::announce(const std::vector<ExpectedGroup>& groups, MathMode math) {
  if (std::all_of(groups.begin(), groups.end(),
                  [](const ExpectedGroup& group) { return group.runs.empty(); })) {
    leave_out_ceilings();
    return;
  }
  const double products_per_s = reference_products_per_s();
  take_ceilings();
  expected_s_.clear();
  double seconds = 0;
  size_t candidates = 0;
  for (const ExpectedGroup& group : groups) {
    expected_s_.push_back(expected_seconds(group, math, options_.measure, ceilings(), products_per_s));
    seconds += expected_s_.back();
    candidates += group.runs.size();
  }
  if (!(seconds >= kLongRunSeconds)) return;
  const double limit = options_.max_seconds.value_or(INFINITY);
  console().line(concat(format_count(static_cast<int64_t>(candidates)), " candidates: about ",
                        format_short(seconds), " s", limit < seconds ? ", cut by --max-seconds" : ""));
}

ExitCode with_session(const BenchOptions& options, const std::string& subcommand, BenchSession::Needs needs,
                      const std::function<void(BenchSession&)>& body, std::vector<NamedFile> outputs,
                      const std::vector<NamedFile>& inputs) {
  BenchSession session(options, subcommand, needs, std::move(outputs), inputs);
  return session.complete([&] { body(session); });
}

}  // namespace lenslet
