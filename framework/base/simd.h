// Instruction sets of the CPU side: the build targets baseline x86-64; kernels choose at run time.
//
// LENSLET_SIMD_CLONES marks a loop that the compiler vectorises by itself: it is compiled once per set, and the loader
// selects one. A kernel whose register tile depends on the vector width is a template over the width. It is
// instantiated under LENSLET_TARGET_AVX2 and LENSLET_TARGET_AVX512, and simd_level() selects one.
#pragma once

namespace lenslet {

/// Instruction sets that kernels are instantiated for.
enum class SimdLevel {
  kBaseline,  // what the build targets: SSE2 on x86-64
  kAvx2,      // AVX2 and FMA
  kAvx512     // AVX-512 F, VL, BW, DQ
};

/// Inlines a function also into those of other targets, so that it is compiled for the caller's instruction set.
#ifdef __GNUC__
#define LENSLET_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define LENSLET_ALWAYS_INLINE inline
#endif

#if defined(__x86_64__) && defined(__GNUC__)
/// Compiles a function for AVX2 and FMA.
#define LENSLET_TARGET_AVX2 __attribute__((target("avx2,fma")))
/// Compiles a function for AVX-512.
#define LENSLET_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))

/// The best level that this processor supports.
inline SimdLevel simd_level() noexcept {
  static const SimdLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      return SimdLevel::kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SimdLevel::kAvx2;
    return SimdLevel::kBaseline;
  }();
  return level;
}
#else
#define LENSLET_TARGET_AVX2
#define LENSLET_TARGET_AVX512
inline SimdLevel simd_level() noexcept { return SimdLevel::kBaseline; }
#endif

// The loader selects (ifunc) before a sanitizer's runtime is initialised, so sanitized builds keep the baseline.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LENSLET_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LENSLET_SIMD_CLONES
#endif

/// "AVX-512", "AVX2" or "baseline".
inline const char* to_string(SimdLevel level) noexcept {
  return level == SimdLevel::kAvx512 ? "AVX-512" : level == SimdLevel::kAvx2 ? "AVX2" : "baseline";
}

}  // namespace lenslet
