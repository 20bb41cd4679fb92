#include "framework/module.h"
#include "layers/gemm/cpu/blocked.h"
#include "layers/gemm/gemm.h"

namespace lenslet {
namespace {

[[maybe_unused]] const GemmProvider& open_provider(const char* module_name) {
  const Module& module = Module::open(module_name);
  const auto getter = reinterpret_cast<const GemmProvider* (*)()>(module.symbol("lenslet_gemm_provider"));
  return *getter();
}

/// oneDNN, or else the blocked loop, which reports the reason in describe().
const GemmProvider& choose_cpu_provider() {
  try {
    return cpu_gemm_provider("onednn");
  } catch (const UnavailableError& error) {
    static const std::unique_ptr<const GemmProvider> substitute =
        make_blocked_gemm_provider(concat("oneDNN: ", error.what()));
    return *substitute;
  }
}

}  // namespace

const GemmProvider& cpu_gemm_provider(const std::string& name) {
  if (name == "blocked") {
    static const std::unique_ptr<const GemmProvider> blocked = make_blocked_gemm_provider("");
    return *blocked;
  }
  if (name == "onednn") {
#if LENSLET_HAS_GEMM_ONEDNN
    return open_provider("gemm_onednn");
#else
    throw UnavailableError(
        "gemm provider onednn is not in this build: oneDNN was not found when Lenslet was configured");
#endif
  }
  throw UsageError(concat("no gemm provider '", name, "' for the CPU; there are: onednn, blocked"));
}

const GemmProvider& gemm_provider(DeviceKind device) {
  if (device == DeviceKind::kCpu) {
    static const GemmProvider& chosen = choose_cpu_provider();
    return chosen;
  }
#if LENSLET_HAS_GEMM_CUBLAS
  return open_provider("gemm_cublas");
#else
  throw UnavailableError(
      "no matrix product for the GPU in this build: cuBLAS was not found when Lenslet was configured");
#endif
}

}  // namespace lenslet
