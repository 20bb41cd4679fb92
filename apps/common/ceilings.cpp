#include "apps/common/ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "apps/common/launch_cost.h"
#include "apps/common/text.h"
#include "framework/parallel.h"
#include "framework/statistics.h"
#include "framework/stream.h"
#include "framework/tensor.h"
#include "layers/gemm/gemm.h"

namespace lenslet {
namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr int kGpuGemmSide = 4096, kTensorGemmSide = 8192;  // the side at which cuBLAS is fastest
constexpr int kCpuGemmSide = 768;
constexpr size_t kRandomValues = size_t{1} << 22;  // of an operand, then again; divides both sides' squares
constexpr int kLaunches = 200;

// Best of repeated runs, for at least `repeats` runs and about `budget_ns`: a ceiling is what the machine can
// do, so the least disturbed run counts.
double best_ns(Stream& stream, int repeats, double budget_ns, const std::function<void()>& enqueue) {
  enqueue();
  stream.synchronize();
  Event begin(stream.device()), end(stream.device());
  double best = INFINITY;
  double spent = 0;
  for (int i = 0; i < repeats || (spent < budget_ns && i < 50); ++i) {
    begin.record(stream);
    enqueue();
    end.record(stream);
    stream.synchronize();
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

// Caches by name and capacity, nearest first. A core's own caches count once for every thread that copies.
std::vector<CacheCeiling> caches_of(Device device) {
  if (device.is_cuda()) {
    const CudaDeviceInfo& gpu = cuda_status().devices.at(static_cast<size_t>(device.ordinal));
    return {{"L2", static_cast<double>(gpu.l2_bytes), NAN}};
  }
  const double threads = num_threads();
  return {{"L1", threads * static_cast<double>(sysconf_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 * 1024)), NAN},
          {"L2", threads * static_cast<double>(sysconf_bytes(_SC_LEVEL2_CACHE_SIZE, 512 * 1024)), NAN},
          {"L3", static_cast<double>(sysconf_bytes(_SC_LEVEL3_CACHE_SIZE, 8 * kMiB)), NAN}};
}

// Every thread copies a slice of its own again and again: no dispatch between the copies.
void copy_on_cpu(char* dst, const char* src, size_t bytes, int copies) {
  const int64_t threads = num_threads();
  const size_t slice = bytes / static_cast<size_t>(threads);
  parallel_for(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread) {
      const size_t offset = static_cast<size_t>(thread) * slice;
      for (int i = 0; i < copies; ++i) {
        std::memcpy(dst + offset, src + offset, slice);
        asm volatile("" : : "r"(dst) : "memory");  // each copy counts: the compiler must not merge them
      }
    }
  });
}

// Bytes read plus bytes written a second, for a copy of `bytes`; short copies are repeated within one window.
double copy_rate(size_t bytes, Stream& stream) {
  Buffer from(stream.device(), bytes), to(stream.device(), bytes);
  fill_bytes(from.data(), from.device(), 1, bytes, stream);
  fill_bytes(to.data(), to.device(), 0, bytes, stream);
  const bool on_gpu = stream.device().is_cuda();
  const int copies = static_cast<int>(std::clamp<size_t>(64 * kMiB / bytes, 1, on_gpu ? 20 : 4096));
  const double ns = best_ns(stream, 5, 3e7, [&] {
    if (!on_gpu) {
      copy_on_cpu(to.as<char>(), from.as<char>(), bytes, copies);
      return;
    }
    for (int i = 0; i < copies; ++i) {
      copy_bytes(to.data(), to.device(), from.data(), from.device(), bytes, stream);
    }
  });
  return 2.0 * copies * static_cast<double>(bytes) / ns * 1e9;
}

// Random operands: constant ones draw less power and let the GPU clock higher than real data do. From -1 to 1; in fp16
// without the numbers below a quarter.
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
  const GemmProvider& provider = gemm_provider(stream.device().kind);
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
    // Two buffers that fill half of it: others use it as well.
    const auto bytes = static_cast<size_t>(cache.capacity_bytes / 4);
    cache.copy_bytes_per_s = copy_rate(std::min(bytes, affordable), stream);
  }
  const auto largest_cache = static_cast<size_t>(ceilings.caches.back().capacity_bytes);
  const size_t large =
      device.is_cuda() ? 512 * kMiB : std::clamp<size_t>(2 * largest_cache, 64 * kMiB, 256 * kMiB);
  ceilings.copy_bytes_per_s = copy_rate(std::min(large, affordable), stream);
  measure_gemm(ceilings, MathMode::kFp32, ceilings.fp32_flops_per_s, stream);
  if (device.is_cuda()) {
    measure_gemm(ceilings, MathMode::kTf32, ceilings.tf32_flops_per_s, stream);
    measure_gemm(ceilings, MathMode::kFp16, ceilings.fp16_flops_per_s, stream);
#ifdef LENSLET_HAS_CUDA
    measure_launches(ceilings, stream);
#endif
  } else {
    note(ceilings, "tf32, fp16 and launch cost: not on the CPU");
  }
  return ceilings;
}

Bound binding_ceiling(const Ceilings& ceilings, const Work& work, MathMode math, bool hot) {
  Bound bound;
  const auto consider = [&](double ns, const std::string& by) {
    if (std::isfinite(ns) && !(ns <= bound.best_ns)) bound = {ns, by};
  };
  // Up to twice a cache's size, part of the working set may still be found in it; the ceiling must not be too low.
  const auto cache = std::find_if(ceilings.caches.begin(), ceilings.caches.end(), [&](const CacheCeiling& c) {
    return hot && work.bytes <= 2 * c.capacity_bytes;
  });
  const bool cached = cache != ceilings.caches.end();
  consider(work.bytes / (cached ? cache->copy_bytes_per_s : ceilings.copy_bytes_per_s) * 1e9,
           cached ? cache->name : "memory");
  consider(work.flops / gemm_flops_per_s(ceilings, math) * 1e9, concat(to_string(math), " gemm"));
  consider(ceilings.replayed_launch_ns, "launch");
  return bound;
}

void write_ceilings(JsonWriter& json, const Ceilings& ceilings) {
  json.key("ceilings").begin_object();
  json.field("device", ceilings.device.to_string());
  json.field("copy_bytes_per_s", ceilings.copy_bytes_per_s);
  json.key("caches").begin_array();
  for (const CacheCeiling& cache : ceilings.caches) {
    json.begin_object(JsonWriter::Style::kInline).field("name", cache.name);
    json.field("capacity_bytes", cache.capacity_bytes)
        .field("copy_bytes_per_s", cache.copy_bytes_per_s)
        .end_object();
  }
  json.end_array();
  json.field("fp32_flops_per_s", ceilings.fp32_flops_per_s);
  json.field("tf32_flops_per_s", ceilings.tf32_flops_per_s);
  json.field("fp16_flops_per_s", ceilings.fp16_flops_per_s);
  json.field("launch_ns", ceilings.launch_ns);
  json.field("replayed_launch_ns", ceilings.replayed_launch_ns);
  json.field("gemm_library", ceilings.gemm_library);
  json.field("notes", ceilings.notes);
  json.end_object();
}

std::string describe(const Ceilings& ceilings) {
  const auto rate = [](double per_s, double unit, const char* name) {
    return std::isfinite(per_s) ? format_short(per_s / unit) + " " + name : std::string("not measured");
  };
  std::string text = concat("ceilings measured now: copy ", rate(ceilings.copy_bytes_per_s, 1e9, "GB/s"));
  for (const CacheCeiling& cache : ceilings.caches) {
    text += concat(", in ", cache.name, " ", rate(cache.copy_bytes_per_s, 1e9, "GB/s"));
  }
  text += concat(", fp32 gemm ", rate(ceilings.fp32_flops_per_s, 1e9, "GFLOP/s"));
  if (ceilings.device.is_cuda()) {
    text +=
        concat(", tf32 ", rate(ceilings.tf32_flops_per_s, 1e9, "GFLOP/s"), ", fp16 ",
               rate(ceilings.fp16_flops_per_s, 1e9, "GFLOP/s"), ", launch ", format_time(ceilings.launch_ns),
               " (replayed ", format_time(ceilings.replayed_launch_ns), ")");
  }
  return text;
}

}  // namespace lenslet
