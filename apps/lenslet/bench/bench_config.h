// What `lenslet bench` measures: the configurations of one batch size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/results/result_file.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

struct BenchConfig {
  int64_t batch = 1;
  std::string plan;      // Plan::kLayered or Plan::kFused
  std::string backend;   // whole-network backend; empty: none supports it, and building it gives the reason
  bool by_name = false;  // named in --backend
  MathMode math = MathMode::kFp32;
  ElementType input = ElementType::kFp32, output = ElementType::kFp32;
  std::string place = ModelBenchOptions::kDevice;

  /// Equal for every batch size: "fused mma fp16 uint8 prediction device".
  std::string key() const;
  BuildOptions build_options(const Session& session, Stream& stream) const;
};

/// "logits" or "prediction".
const char* output_name(ElementType output) noexcept;

/// The requested batch sizes, or defaults for the device and the network.
std::vector<int64_t> bench_batches(const ModelBenchOptions& options, const Session& session);

/// The options with the saved plan that they name in `plan`. Throws UsageError for an unknown plan.
ModelBenchOptions with_saved_plan(ModelBenchOptions options);

/// What to time at this batch size: the saved plan, or else every combination of the requested plans, backends, math
/// modes, inputs and outputs; the layered plan takes part only with fp32 input and logits. A combination from pixels to
/// predictions is timed at each requested place, any other one with the place kDevice. Throws UsageError for an unknown
/// backend, or if no combination is left; UnavailableError if only the whole-network plan is requested and the network
/// has none.
std::vector<BenchConfig> bench_configs(const ModelBenchOptions& options, const Session& session,
                                       int64_t batch);

/// A row with the values of the configuration and the command that repeats the measurement.
ResultRow bench_row(const BenchConfig& config, const ModelBenchOptions& options, const Session& session);

}  // namespace lenslet
