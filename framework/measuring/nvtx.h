// NVTX ranges in the domain "lenslet": registered, dotted names ("run", "measure", "layer.conv1").
// In a build without CUDA they do nothing.
#pragma once

namespace lenslet {

/// A range of the domain `lenslet`, from construction to destruction.
class NvtxRange {
 public:
  /// `name` is dotted: "layer.conv1".
  explicit NvtxRange(const char* name);
  ~NvtxRange();
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

/// Begins a range without a scope.
void nvtx_push(const char* name);
/// Ends the last range that nvtx_push() began.
void nvtx_pop() noexcept;

/// Calls cudaProfilerStart, for `nsys --capture-range=cudaProfilerApi`.
void profiler_start();
/// Calls cudaProfilerStop.
void profiler_stop();

}  // namespace lenslet
