// Runs a computation twice on guarded memory: operands between canaries, and every output poisoned before.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/graph/layer.h"

namespace lenslet::reference {

/// Values in host memory.
struct HostBytes {
  const void* data = nullptr;  // owned by the caller
  size_t bytes = 0;            // of all values
};

/// Inputs and outputs of a computation.
struct GuardedOperands {
  std::vector<HostBytes> inputs;                 // uploaded before each run
  size_t output_bytes = 0, workspace_bytes = 0;  // of device memory
  const void* output_before = nullptr;           // what the output holds before each run; null: poison
  ElementType output_type =
      ElementType::kFp32;  // of fp16 and bf16 a difference between the runs names numbers
  int64_t shift = 0;       // offset of inputs and output from an aligned address, in values of four bytes
};

/// The operands in device memory.
struct GuardedPlaces {
  std::vector<const float*> inputs;  // as many as there were
  float* output = nullptr;           // shifted as requested
  void* workspace = nullptr;         // aligned
};

/// The result of the two runs.
struct GuardedRun {
  std::vector<float> output;  // the bytes of the second run's output, four a value, zeros after the last
  std::string
      fault;  // "wrote past the end of block 1, …", "changed its input", "two runs differ …"; empty for none
};

/// Calls `enqueue` twice, on memory filled with a NaN and with another pattern. A fault is a write outside the output
/// and the workspace, or a bit in which the two outputs differ. Blocks are the inputs, the output, the workspace, in
/// this order.
GuardedRun run_guarded(Stream& stream, const GuardedOperands& operands,
                       const std::function<void(const GuardedPlaces&)>& enqueue);

/// Like run_guarded() above, for an operator. `x` are its inputs' host values; the pointers of the views are ignored.
GuardedRun run_guarded(Stream& stream, Operator& op, std::vector<ConstTensorView> inputs,
                       const std::vector<const void*>& x, TensorView output, int64_t shift = 0);
/// Like run_guarded() above, for an operator with one input.
GuardedRun run_guarded(Stream& stream, Operator& op, ConstTensorView input, const void* x, TensorView output,
                       int64_t shift = 0);

}  // namespace lenslet::reference
