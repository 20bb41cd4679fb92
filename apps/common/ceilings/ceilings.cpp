#include "apps/common/ceilings/ceilings.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "apps/common/ceilings/best_time.h"
#include "apps/common/ceilings/ceiling_kernels.h"
#include "apps/common/ceilings/memory_ceilings.h"
#include "apps/common/ceilings/peak_rates.h"
#include "apps/common/output/text.h"
#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/parallel.h"
#include "framework/device/stream.h"
#include "framework/gpu_side.h"
#include "framework/measuring/cpu_caches.h"
#include "framework/tensor/tensor.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

constexpr int kGpuGemmSide = 4096, kTensorGemmSide = 8192;  // the size at which cuBLAS is fastest
constexpr int kCpuGemmSide = 768;                           // takes milliseconds on two cores. Chosen by hand
constexpr size_t kRandomValues = size_t{1} << 22;  // repeated to fill an operand, whose size is a multiple
[[maybe_unused]] constexpr int kLaunches = 200;    // unused in a build without the GPU side
// A few tenths of a millisecond: long enough that starting the threads is negligible, short enough that some windows
// are undisturbed on a busy machine.
constexpr int64_t kFmaRounds = int64_t{1} << 17;

void note(Ceilings& ceilings, const std::string& text) { add_clause(ceilings.notes, text); }

// A level of the CPU's caches. Its capacity is that of all caches that the copying threads use; where Linux does not
// describe them, `fallback` for each thread.
CacheCeiling cpu_cache(int level, size_t fallback) {
  const CpuCaches caches = cpu_caches(level);
  const double bytes = static_cast<double>(caches.count > 0 ? caches.bytes : fallback);
  const int filled = caches.count > 0 ? std::min(caches.count, num_threads()) : level < 3 ? num_threads() : 1;
  return {concat("L", level), bytes * filled};
}

// Caches by name and capacity, nearest first.
std::vector<CacheCeiling> caches_of(Device device) {
  if (device.is_cuda()) {
    const CudaDeviceInfo& gpu = cuda_status().devices.at(static_cast<size_t>(device.ordinal));
    return {{"L2", static_cast<double>(gpu.l2_bytes)}};
  }
  return {cpu_cache(1, 32 * 1024), cpu_cache(2, 512 * 1024), cpu_cache(3, 8 * kMiB)};
}

// On all threads: many busy cores clock lower than a single one.
void measure_cpu_peaks(Ceilings& ceilings, Stream& stream) {
  const int64_t threads = num_threads();
  for (const FmaLoop& loop : fma_loops()) {
    std::atomic<float> sink{0};
    const double ns = best_ns(stream, 5, 3e7, [&] {
      parallel_for(threads, 1, [&](int64_t first, int64_t last) {
        for (int64_t thread = first; thread < last; ++thread) sink = loop.run(kFmaRounds, 0.999f, 0.001f);
      });
    });
    const double flops = loop.flops_per_round * static_cast<double>(kFmaRounds * threads);
    ceilings.peaks.push_back({MathMode::kFp32, loop.instruction, flops / ns * 1e9});
  }
}

// Random operands from -1 to 1, in fp16 without magnitudes below a quarter. Constant operands draw less power, and the
// GPU then clocks higher than with real data.
std::vector<char> random_operand(size_t count, bool half) {
  std::vector<char> bytes(count * (half ? sizeof(uint16_t) : sizeof(float)));
  std::mt19937 random(1);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    if (half) {
      const auto value = static_cast<uint16_t>(0x3400u + (bits & 0x87ffu));
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    } else {
      const float value = static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    }
  }
  return bytes;
}

double gemm_rate(MathMode math, Stream& stream, std::string& library) {
  const GemmBackend& backend = gemm_backend(stream.device().kind);
  const bool half = math == MathMode::kFp16;
  const std::unique_ptr<Gemm> gemm = half ? backend.prepare_half(stream) : backend.prepare(math, stream);
  library = gemm->describe();
  const bool on_gpu = stream.device().is_cuda();
  const int side = !on_gpu ? kCpuGemmSide : half ? kTensorGemmSide : kGpuGemmSide;
  const auto count = static_cast<size_t>(side) * static_cast<size_t>(side);
  const size_t operand_bytes = count * (half ? sizeof(uint16_t) : sizeof(float));
  const std::vector<char> values = random_operand(std::min(count, kRandomValues), half);
  Buffer a(stream.device(), operand_bytes), b(stream.device(), operand_bytes);
  Buffer c(stream.device(), count * sizeof(float)), workspace(stream.device(), gemm->workspace_bytes());
  for (Buffer* operand : {&a, &b}) {
    for (size_t at = 0; at < operand_bytes; at += values.size()) {
      copy_bytes(operand->as<char>() + at, operand->device(), values.data(), Device::cpu(), values.size(),
                 stream);
    }
  }
  GemmProblem problem;
  problem.m = problem.n = problem.k = side;
  problem.lda = problem.ldb = problem.ldc = side;
  RunContext context{stream, workspace.data(), nullptr};
  const double ns = best_ns(stream, 3, on_gpu ? 1.5e8 : 5e7, [&] {
    gemm->run(problem, {a.as<float>(), b.as<float>(), c.as<float>()}, workspace.data(), context);
  });
  return 2.0 * side * static_cast<double>(count) / ns * 1e9;
}

void measure_gemm(Ceilings& ceilings, MathMode math, double& rate, Stream& stream) {
  try {
    rate = gemm_rate(math, stream, ceilings.gemm_library);
  } catch (const UnavailableError& error) {
    note(ceilings, concat(to_string(math), " gemm: ", error.what()));
  } catch (const MemoryError& error) {
    note(ceilings, concat(to_string(math), " gemm: ", error.what()));
  }
}

#ifdef LENSLET_HAS_CUDA
void measure_gpu_peaks(Ceilings& ceilings, Stream& stream) {
  Buffer sink(stream.device(), sizeof(float));
  for (const PeakKernel& kernel : peak_kernels(stream.device())) {
    double flops = 0;
    const double ns = best_ns(stream, 5, 3e7, [&] { flops = kernel.launch(stream, sink.as<float>()); });
    ceilings.peaks.push_back({kernel.math, kernel.instruction, flops / ns * 1e9});
  }
}

void measure_launches(Ceilings& ceilings, Stream& stream) {
  const auto launches = [&] {
    for (int i = 0; i < kLaunches; ++i) launch_empty(stream);
  };
  ceilings.launch_ns = best_ns(stream, 5, 0, launches) / kLaunches;
  const CapturedGraph graph = CapturedGraph::capture(stream, launches);
  ceilings.replayed_launch_ns = best_ns(stream, 5, 0, [&] { graph.launch(stream); }) / kLaunches;
}
#endif

double gemm_flops_per_s(const Ceilings& ceilings, MathMode math) {
  switch (math) {
    case MathMode::kFp32:
      return ceilings.fp32_flops_per_s;
    case MathMode::kTf32:
      return ceilings.tf32_flops_per_s;
    case MathMode::kFp16:
      return ceilings.fp16_flops_per_s;
    case MathMode::kInt8:  // not measured
      break;
  }
  return NAN;
}

}  // namespace

Ceilings measure_ceilings(Device device) {
  throw_if_stopped("measuring ceilings");  // before memory is taken and filled
  Ceilings ceilings;
  ceilings.device = device;
  DeviceGuard guard(device);
  Stream stream(device);
  const size_t affordable = free_memory_bytes(device) / 8;
  ceilings.caches = caches_of(device);
  const auto largest_cache = static_cast<size_t>(ceilings.caches.back().capacity_bytes);
  const size_t large =
      device.is_cuda() ? 512 * kMiB : std::clamp<size_t>(2 * largest_cache, 64 * kMiB, 256 * kMiB);
  {
    MemoryCeilings memory(std::min(large, affordable), stream);
    for (CacheCeiling& cache : ceilings.caches) {
      // Two buffers that fill half of the cache: other data share it.
      const MemoryRates rates = memory.rates(static_cast<size_t>(cache.capacity_bytes / 4));
      cache.copy_bytes_per_s = rates.copy;
      cache.read_bytes_per_s = rates.read;
    }
    const MemoryRates rates = memory.rates(large);
    ceilings.copy_bytes_per_s = rates.copy;
    ceilings.read_bytes_per_s = rates.read;
  }
  if (device.is_cuda()) {
#ifdef LENSLET_HAS_CUDA
    // Before the matrix products, because a GPU may lower its clock after drawing much power.
    measure_gpu_peaks(ceilings, stream);
    measure_launches(ceilings, stream);
#endif
    measure_gemm(ceilings, MathMode::kFp32, ceilings.fp32_flops_per_s, stream);
    measure_gemm(ceilings, MathMode::kTf32, ceilings.tf32_flops_per_s, stream);
    measure_gemm(ceilings, MathMode::kFp16, ceilings.fp16_flops_per_s, stream);
  } else {
    measure_gemm(ceilings, MathMode::kFp32, ceilings.fp32_flops_per_s, stream);
    measure_cpu_peaks(ceilings, stream);
    note(ceilings, "tf32, fp16 and launch cost: not on the CPU");
  }
  return ceilings;
}

ArithmeticLimit arithmetic_limit(const Ceilings& ceilings, MathMode math) {
  ArithmeticLimit limit;
  const auto consider = [&](double flops_per_s, const char* what) {
    if (std::isfinite(flops_per_s) && !(flops_per_s <= limit.flops_per_s))
      limit = {flops_per_s, concat(to_string(math), what)};
  };
  for (const PeakRate& peak : ceilings.peaks) {
    if (peak.math == math) consider(peak.flops_per_s, " peak");
  }
  consider(gemm_flops_per_s(ceilings, math), " gemm");
  return limit;
}

NearestCeiling binding_ceiling(const Ceilings& ceilings, const Work& work, MathMode math, bool hot) {
  NearestCeiling nearest;
  const auto consider = [&](double ns, const std::string& by) {
    if (std::isfinite(ns) && !(ns <= nearest.best_ns)) nearest = {ns, by};
  };
  const double working_set = work.working_set > 0 ? work.working_set : work.bytes;
  // A working set of up to twice a cache's size may still hit it in part; the ceiling must not be too low.
  const auto cache = std::find_if(ceilings.caches.begin(), ceilings.caches.end(), [&](const CacheCeiling& c) {
    return hot && working_set <= 2 * c.capacity_bytes;
  });
  const bool cached = cache != ceilings.caches.end();
  const double bytes_per_s = cached ? std::fmax(cache->copy_bytes_per_s, cache->read_bytes_per_s)
                                    : std::fmax(ceilings.copy_bytes_per_s, ceilings.read_bytes_per_s);
  consider(work.bytes / bytes_per_s * 1e9, cached ? cache->name : "memory");
  const ArithmeticLimit arithmetic = arithmetic_limit(ceilings, math);
  consider(work.flops / arithmetic.flops_per_s * 1e9, arithmetic.by);
  consider(ceilings.replayed_launch_ns, "launch");
  return nearest;
}

std::string describe(const Ceilings& ceilings) {
  const auto rate = [](double per_s, double unit, const char* name) {
    return std::isfinite(per_s) ? format_short(per_s / unit) + " " + name : std::string("not measured");
  };
  const auto both = [&](double copy, double read) {
    return concat("copy ", rate(copy, 1e9, "GB/s"), ", read ", rate(read, 1e9, "GB/s"));
  };
  std::string text =
      concat("ceilings measured now: memory ", both(ceilings.copy_bytes_per_s, ceilings.read_bytes_per_s));
  for (const CacheCeiling& cache : ceilings.caches)
    text += concat("\n  ", cache.name, " ", both(cache.copy_bytes_per_s, cache.read_bytes_per_s));
  for (const MathMode math : kFloatMathModes) {
    if (math != MathMode::kFp32 && !ceilings.device.is_cuda()) continue;
    text += concat("\n  ", to_string(math), " ",
                   rate(arithmetic_limit(ceilings, math).flops_per_s, 1e9, "GFLOP/s"));
    std::string peaks;
    for (const PeakRate& peak : ceilings.peaks) {
      if (peak.math == math)
        peaks += concat(peak.instruction, " ", rate(peak.flops_per_s, 1e9, "GFLOP/s"), ", ");
    }
    text += concat(" (", peaks, "library GEMM ", rate(gemm_flops_per_s(ceilings, math), 1e9, "GFLOP/s"), ")");
  }
  if (ceilings.device.is_cuda()) {
    text += concat("\n  launch ", format_time(ceilings.launch_ns), ", replayed ",
                   format_time(ceilings.replayed_launch_ns));
  }
  return text;
}

}  // namespace lenslet
