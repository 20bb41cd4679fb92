// Ceilings: the limits of this machine, measured in the same run as the results they judge: multiply-adds in registers,
// reads and copies in each cache and in memory, and the cost of a launch. The rate of a library's matrix product is
// listed too; it shows what good code reaches and is not a limit.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "apps/common/fields/fields.h"
#include "framework/device/device.h"
#include "framework/graph/layer.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Rates of copying and reading with buffers that stay in a cache.
struct CacheCeiling {
  std::string name;           // "L1", "L2", "L3"
  double capacity_bytes = 0;  // of all the cores or multiprocessors that copy
  double copy_bytes_per_s = NAN;
  double read_bytes_per_s = NAN;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("name", self.name);
    v("capacity_bytes", self.capacity_bytes);
    v("copy_bytes_per_s", self.copy_bytes_per_s);
    v.later("read_bytes_per_s", self.read_bytes_per_s);
  }
};

/// The rate of one multiply-add instruction. Operands are in registers, for wgmma in shared memory.
struct PeakRate {
  MathMode math = MathMode::kFp32;
  std::string instruction;  // "AVX-512", "FFMA", "mma.sync", "wgmma"
  double flops_per_s = NAN;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("math", self.math)("instruction", self.instruction)("flops_per_s", self.flops_per_s);
  }
};

/// NaN means that it could not be measured; `notes` has the reason.
struct Ceilings {
  Device device;
  double copy_bytes_per_s = NAN;     // large copy within the device's memory, read + written bytes
  double read_bytes_per_s = NAN;     // reads of the same size
  std::vector<CacheCeiling> caches;  // nearest first
  std::vector<PeakRate> peaks;       // all threads or multiprocessors in parallel
  double fp32_flops_per_s = NAN;     // square GEMM of the vendor's library
  double tf32_flops_per_s = NAN;
  double fp16_flops_per_s = NAN;
  double launch_ns = NAN;           // one empty kernel after another, enqueued one by one
  double replayed_launch_ns = NAN;  // one empty kernel after another inside a replayed CUDA graph
  std::string gemm_library;
  std::string notes;  // what could not be measured, and why

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("device", self.device);
    v("copy_bytes_per_s", self.copy_bytes_per_s);
    v.later("read_bytes_per_s", self.read_bytes_per_s);
    v("caches", self.caches);
    v.later("peaks", self.peaks);
    v("fp32_flops_per_s", self.fp32_flops_per_s);
    v("tf32_flops_per_s", self.tf32_flops_per_s);
    v("fp16_flops_per_s", self.fp16_flops_per_s);
    v("launch_ns", self.launch_ns);
    v("replayed_launch_ns", self.replayed_launch_ns);
    v("gemm_library", self.gemm_library);
    v("notes", self.notes);
  }
};

/// Takes about a second on a GPU, half a second on a CPU. Throws DeviceError if the device fails, InterruptedError if
/// stopped() meanwhile: a part of the ceilings is of no use.
Ceilings measure_ceilings(Device device);

/// The shortest possible time of some work, and the ceiling that sets it.
struct NearestCeiling {
  double best_ns = NAN;
  std::string by;  // "memory", "L2", "fp32 peak", "launch"; empty if no ceiling was measured
};
/// The rate of the fastest measured instruction of a math mode ("fp32 peak"), or the library's rate ("fp32 gemm") if
/// that is higher. NaN and empty if neither was measured.
struct ArithmeticLimit {
  double flops_per_s = NAN;
  std::string by;
};
ArithmeticLimit arithmetic_limit(const Ceilings& ceilings, MathMode math);
NearestCeiling binding_ceiling(const Ceilings& ceilings, const Work& work, MathMode math, bool hot);

/// A few lines for the terminal.
std::string describe(const Ceilings& ceilings);

}  // namespace lenslet
