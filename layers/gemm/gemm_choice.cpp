// The backend of matrix products for other layers: cuBLAS on a GPU; on the CPU oneDNN, or the blocked loop where it
// cannot be opened.
#include "layers/gemm/cpu/blocked.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

/// oneDNN, or else the blocked loop, which reports the reason in describe().
const GemmBackend& choose_for_cpu() {
  try {
    return gemm_table().find(DeviceKind::kCpu, "onednn").open();
  } catch (const UnavailableError& error) {
    static const std::unique_ptr<const GemmBackend> substitute =
        make_blocked_gemm(concat("oneDNN: ", error.what()));
    return *substitute;
  }
}

}  // namespace

const GemmBackend& gemm_backend(DeviceKind device) {
  if (device == DeviceKind::kCuda) return gemm_table().find(device, "cublas").open();
  static const GemmBackend& chosen = choose_for_cpu();
  return chosen;
}

}  // namespace lenslet
