#include "apps/common/ceilings/ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "apps/common/ceilings/ceiling_kernels.h"
#include "apps/common/ceilings/peak_rates.h"
#include "apps/common/output/text.h"
#include "framework/base/parallel.h"
#include "framework/device/stream.h"
#include "framework/measuring/statistics.h"
#include "framework/tensor/tensor.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr int kGpuGemmSide = 4096, kTensorGemmSide = 8192;  // the size at which cuBLAS is fastest
constexpr int kCpuGemmSide = 768;
constexpr size_t kRandomValues = size_t{1} << 22;  // of an operand, then again; divides both sides' squares
constexpr int kLaunches = 200;
// A few tenths of a millisecond: long enough that starting the threads is negligible, short enough that some windows
// are undisturbed on a busy machine.
constexpr int64_t kFmaRounds = int64_t{1} << 17;
// Least bytes moved in one window: on the CPU per thread, so that starting the threads is negligible, with kMostMoved
// as the limit of the total; on a GPU in total.
constexpr size_t kMovedByThread = 64 * kMiB, kMostMoved = 1024 * kMiB, kMovedByGpu = 1024 * kMiB;

// The best of repeated runs, at least `repeats` of them and about `budget_ns`. A ceiling is what the machine can reach,
// so the least disturbed run is the result.
double best_ns(Stream& stream, int repeats, double budget_ns, const std::function<void()>& enqueue) {
  enqueue();
  stream.synchronise();
  Event begin(stream.device()), end(stream.device());
  double best = INFINITY;
  double spent = 0;
  for (int i = 0; i < repeats || (spent < budget_ns && i < 50); ++i) {
    begin.record(stream);
    enqueue();
    end.record(stream);
    stream.synchronise();
    const double ns = end.ns_since(begin);
    best = std::min(best, ns);
    spent += ns;
  }
  return best;
}

void note(Ceilings& ceilings, const std::string& text) {
  ceilings.notes += (ceilings.notes.empty() ? "" : "; ") + text;
}

size_t sysconf_bytes(int name, size_t fallback) {
  const long bytes = ::sysconf(name);
  return bytes > 0 ? static_cast<size_t>(bytes) : fallback;
}

// Caches by name and capacity, nearest first. A cache private to a core counts once per copying thread.
std::vector<CacheCeiling> caches_of(Device device) {
  if (device.is_cuda()) {
    const CudaDeviceInfo& gpu = cuda_status().devices.at(static_cast<size_t>(device.ordinal));
    return {{"L2", static_cast<double>(gpu.l2_bytes)}};
  }
  const double threads = num_threads();
  return {{"L1", threads * static_cast<double>(sysconf_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 * 1024))},
          {"L2", threads * static_cast<double>(sysconf_bytes(_SC_LEVEL2_CACHE_SIZE, 512 * 1024))},
          {"L3", static_cast<double>(sysconf_bytes(_SC_LEVEL3_CACHE_SIZE, 8 * kMiB))}};
}

// Each thread's share of `bytes`, rounded down to whole steps of the reading loop.
size_t slice_of(size_t bytes) {
  constexpr size_t kStepBytes = 512;
  return bytes / static_cast<size_t>(num_threads()) / kStepBytes * kStepBytes;
}

// Each thread calls `body` on its own slice `times` times, without dispatching in between.
template <typename Body>
void on_slices(size_t slice, int times, const Body& body) {
  const int64_t threads = num_threads();
  parallel_for(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread) {
      for (int i = 0; i < times; ++i) {
        body(static_cast<size_t>(thread) * slice);
        asm volatile("" : : : "memory");  // keeps the compiler from merging the repetitions
      }
    }
  });
}

/// Bytes per second. A copy counts bytes read and written, a read counts bytes read.
struct MemoryRates {
  double copy = NAN, read = NAN;
};

// The rates for two buffers of `bytes`; a short operation is repeated within one window.
MemoryRates memory_rates(size_t bytes, Stream& stream) {
  constexpr double kBudgetNs = 2e7;
  const bool on_gpu = stream.device().is_cuda();
  const size_t slice = slice_of(bytes);
  if (!on_gpu) bytes = slice * static_cast<size_t>(num_threads());
  Buffer from(stream.device(), bytes), to(stream.device(), bytes);
  fill_bytes(from.data(), from.device(), 1, bytes, stream);
  fill_bytes(to.data(), to.device(), 0, bytes, stream);
  const auto size = static_cast<double>(bytes);
  MemoryRates rates;
  if (on_gpu) {
    const int copies = static_cast<int>(std::clamp<size_t>(64 * kMiB / bytes, 1, 20));
    const double ns = best_ns(stream, 5, kBudgetNs, [&] {
      for (int i = 0; i < copies; ++i)
        copy_bytes(to.data(), to.device(), from.data(), from.device(), bytes, stream);
    });
    rates.copy = 2.0 * copies * size / ns * 1e9;
#ifdef LENSLET_HAS_CUDA
    const int passes = static_cast<int>(std::max<size_t>(kMovedByGpu / bytes, 1));
    double read_bytes = 0;
    const double read_ns = best_ns(stream, 5, kBudgetNs, [&] {
      read_bytes = launch_read(stream, from.data(), bytes, passes, to.as<float>());
    });
    if (read_bytes > 0) rates.read = read_bytes / read_ns * 1e9;
#endif
    return rates;
  }
  const size_t moved = std::min(kMovedByThread * static_cast<size_t>(num_threads()), kMostMoved);
  const int times = static_cast<int>(std::clamp<size_t>(moved / bytes, 1, 65536));
  const double copy_ns = best_ns(stream, 5, kBudgetNs, [&] {
    on_slices(slice, times,
              [&](size_t offset) { std::memcpy(to.as<char>() + offset, from.as<char>() + offset, slice); });
  });
  rates.copy = 2.0 * times * size / copy_ns * 1e9;
  std::atomic<uint32_t> sink{0};
  const double read_ns = best_ns(stream, 5, kBudgetNs, [&] {
    on_slices(slice, times, [&](size_t offset) {
      sink += read_words(from.as<uint32_t>() + offset / sizeof(uint32_t),
                         static_cast<int64_t>(slice / sizeof(uint32_t)));
    });
  });
  rates.read = times * size / read_ns * 1e9;
  return rates;
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
    const double flops = loop.flops_a_round * static_cast<double>(kFmaRounds * threads);
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
  const GemmBackend& provider = gemm_provider(stream.device().kind);
  const bool half = math == MathMode::kFp16;
  const std::unique_ptr<Gemm> gemm = half ? provider.prepare_half(stream) : provider.prepare(math, stream);
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
  const double ns = best_ns(stream, 3, 1.5e8, [&] {
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
  }
  return NAN;
}

}  // namespace

Ceilings measure_ceilings(Device device) {
  Ceilings ceilings;
  ceilings.device = device;
  DeviceGuard guard(device);
  Stream stream(device);
  const size_t affordable = free_memory_bytes(device) / 8;
  ceilings.caches = caches_of(device);
  for (CacheCeiling& cache : ceilings.caches) {
    // Two buffers that fill half of the cache: other data share it.
    const auto bytes = static_cast<size_t>(cache.capacity_bytes / 4);
    const MemoryRates rates = memory_rates(std::min(bytes, affordable), stream);
    cache.copy_bytes_per_s = rates.copy;
    cache.read_bytes_per_s = rates.read;
  }
  const auto largest_cache = static_cast<size_t>(ceilings.caches.back().capacity_bytes);
  const size_t large =
      device.is_cuda() ? 512 * kMiB : std::clamp<size_t>(2 * largest_cache, 64 * kMiB, 256 * kMiB);
  const MemoryRates rates = memory_rates(std::min(large, affordable), stream);
  ceilings.copy_bytes_per_s = rates.copy;
  ceilings.read_bytes_per_s = rates.read;
  measure_gemm(ceilings, MathMode::kFp32, ceilings.fp32_flops_per_s, stream);
  if (device.is_cuda()) {
    measure_gemm(ceilings, MathMode::kTf32, ceilings.tf32_flops_per_s, stream);
    measure_gemm(ceilings, MathMode::kFp16, ceilings.fp16_flops_per_s, stream);
#ifdef LENSLET_HAS_CUDA
    measure_gpu_peaks(ceilings, stream);
    measure_launches(ceilings, stream);
#endif
  } else {
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

Bound binding_ceiling(const Ceilings& ceilings, const Work& work, MathMode math, bool hot) {
  Bound bound;
  const auto consider = [&](double ns, const std::string& by) {
    if (std::isfinite(ns) && !(ns <= bound.best_ns)) bound = {ns, by};
  };
  // A working set of up to twice a cache's size may still hit it in part; the ceiling must not be too low.
  const auto cache = std::find_if(ceilings.caches.begin(), ceilings.caches.end(), [&](const CacheCeiling& c) {
    return hot && work.bytes <= 2 * c.capacity_bytes;
  });
  const bool cached = cache != ceilings.caches.end();
  const double bytes_per_s = cached ? std::fmax(cache->copy_bytes_per_s, cache->read_bytes_per_s)
                                    : std::fmax(ceilings.copy_bytes_per_s, ceilings.read_bytes_per_s);
  consider(work.bytes / bytes_per_s * 1e9, cached ? cache->name : "memory");
  const ArithmeticLimit arithmetic = arithmetic_limit(ceilings, math);
  consider(work.flops / arithmetic.flops_per_s * 1e9, arithmetic.by);
  consider(ceilings.replayed_launch_ns, "launch");
  return bound;
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
  for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
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
