// What `lenslet bench` measures: the configurations of one batch size.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "apps/lenslet/options.h"
#include "apps/lenslet/session.h"

namespace lenslet {

struct BenchConfig {
  int64_t batch = 1;
  std::string plan;      // Plan::kLayered or Plan::kFused
  std::string variant;   // of the fused plan; empty: none serves, and building says why
  bool by_name = false;  // --backend asked for it
  MathMode math = MathMode::kFp32;
  ElementType input = ElementType::kFp32, output = ElementType::kFp32;

  /// The same for every batch size: "fused tensor_core fp16 uint8 prediction".
  std::string key() const;
  BuildOptions build_options(const Session& session, Stream& stream) const;
};

/// "logits" or "prediction".
const char* output_name(ElementType output) noexcept;

/// The batch sizes asked for, else what suits the device.
std::vector<int64_t> bench_batches(const ModelBenchOptions& options, Device device);

/// Every combination of the plans, variants, math modes, inputs and outputs asked for; the layered plan takes part in
/// fp32 in, logits out alone. Throws UsageError for a variant that is none, or where nothing is left to measure.
std::vector<BenchConfig> bench_configs(const ModelBenchOptions& options, const Session& session,
                                       int64_t batch);

/// The row as far as the configuration says it, with the command that measures it again.
ResultRow bench_row(const BenchConfig& config, const ModelBenchOptions& options, const Session& session);

}  // namespace lenslet
