// ResidentLenet5 in a build without CUDA: refused.
#include "framework/base/error.h"
#include "models/fused_lenet5/resident.h"

namespace lenslet {

class ResidentLenet5::Kernel {};

ResidentLenet5::ResidentLenet5(const Safetensors& /*weights*/, const ResidentOptions& /*options*/) {
  throw UnavailableError("a resident kernel needs a GPU: " + cuda_status().reason);
}
ResidentLenet5::~ResidentLenet5() = default;
void ResidentLenet5::submit(const uint8_t*, int64_t) {}
void ResidentLenet5::wait(int64_t, Prediction*, float*) {}
void ResidentLenet5::suspend() {}
int64_t ResidentLenet5::launches() const noexcept { return 0; }
int ResidentLenet5::clusters() const noexcept { return 0; }
int ResidentLenet5::blocks() const noexcept { return 0; }

}  // namespace lenslet
