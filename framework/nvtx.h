// NVTX ranges in the domain "lenslet": registered, dotted names ("run", "measure", "layer.conv1").
// In a build without CUDA they do nothing.
#pragma once

namespace lenslet {

class NvtxRange {
 public:
  explicit NvtxRange(const char* name);
  ~NvtxRange();
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

/// The same without a scope, for ranges whose ends lie apart.
void nvtx_push(const char* name);
void nvtx_pop() noexcept;

/// cudaProfilerStart and cudaProfilerStop, for `nsys --capture-range=cudaProfilerApi`.
void profiler_start();
void profiler_stop();

}  // namespace lenslet
