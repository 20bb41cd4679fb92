#include "framework/measuring/nvtx.h"

#include "framework/gpu_side.h"

#ifdef LENSLET_HAS_CUDA
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "framework/device/cuda_check.h"
#include "framework/device/device.h"

namespace lenslet {

namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("lenslet");
  return handle;
}

// One registration per name for the life of the process; a look-up allocates nothing.
nvtxStringHandle_t registered(const char* name) {
  static std::mutex mutex;
  static std::map<std::string, nvtxStringHandle_t, std::less<>> handles;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = handles.find(std::string_view(name));
  if (found != handles.end()) return found->second;
  return handles.emplace(name, nvtxDomainRegisterStringA(domain(), name)).first->second;
}

}  // namespace

void nvtx_push(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(name);
  nvtxDomainRangePushEx(domain(), &attributes);
}

void nvtx_pop() noexcept { nvtxDomainRangePop(domain()); }

void profiler_start() {
  if (cuda_status().usable) LENSLET_CUDA_CHECK(cudaProfilerStart());
}

void profiler_stop() {
  if (cuda_status().usable) LENSLET_CUDA_CHECK(cudaProfilerStop());
}

}  // namespace lenslet

#else

namespace lenslet {
void nvtx_push(const char*) {}
void nvtx_pop() noexcept {}
void profiler_start() {}
void profiler_stop() {}
}  // namespace lenslet

#endif

namespace lenslet {
NvtxRange::NvtxRange(const char* name) { nvtx_push(name); }
NvtxRange::~NvtxRange() { nvtx_pop(); }
}  // namespace lenslet
