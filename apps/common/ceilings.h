// Ceilings: the best this machine does right now, measured in the same run as the results they judge.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "apps/common/json_writer.h"
#include "framework/device.h"
#include "framework/layer.h"
#include "framework/math_mode.h"

namespace lenslet {

/// The same copy with buffers that stay in a cache.
struct CacheCeiling {
  std::string name;           // "L1", "L2", "L3"
  double capacity_bytes = 0;  // of all the cores or multiprocessors that copy
  double copy_bytes_per_s = NAN;
};

/// NaN where it could not be measured; the reason is in `notes`.
struct Ceilings {
  Device device;
  double copy_bytes_per_s = NAN;     // large copy within the device's memory, read + written bytes
  std::vector<CacheCeiling> caches;  // nearest first
  double fp32_flops_per_s = NAN;     // square GEMM of the vendor's library
  double tf32_flops_per_s = NAN;
  double fp16_flops_per_s = NAN;
  double launch_ns = NAN;           // one empty kernel after another, enqueued one by one
  double replayed_launch_ns = NAN;  // one empty kernel after another inside a replayed CUDA graph
  std::string gemm_library;
  std::string notes;  // what could not be measured, and why
};

/// Takes about a second on a GPU, a third of one on a CPU. Throws DeviceError where the device fails.
Ceilings measure_ceilings(Device device);

/// The ceiling that binds some work: the time it would take at best, and which ceiling says so.
struct Bound {
  double best_ns = NAN;
  std::string by;  // "memory", "L2", "fp32 gemm", "launch"; empty where nothing was measured
};
Bound binding_ceiling(const Ceilings& ceilings, const Work& work, MathMode math, bool hot);

/// Member `ceilings` of a result file.
void write_ceilings(JsonWriter& json, const Ceilings& ceilings);
/// One line for people.
std::string describe(const Ceilings& ceilings);

}  // namespace lenslet
