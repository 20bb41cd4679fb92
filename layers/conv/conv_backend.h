// ConvBackend: one algorithm for one convolution problem on one kind of device.
//
// A new backend is one new file and one row in layers/conv/CMakeLists.txt. The registry, the tests and the
// benchmark iterate the rows, so nothing else needs to know of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/launch_resources.h"
#include "framework/layer.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// What a backend is prepared with. Pointers are to host memory and may go away once prepare() returns.
struct ConvPrepare {
  const Conv2dProblem& problem;       // validated
  MathMode math = MathMode::kFp32;    // one that supports() said yes to
  const float* weights = nullptr;     // [K, C/G, R, S]
  const float* bias = nullptr;        // [K] or null
  bool relu = false;                  // fuse max(x, 0); only asked of a backend whose fuses_relu() is true
  size_t workspace_limit = SIZE_MAX;  // none: the backend takes what it finds reasonable
  PrepareServices& services;          // device memory and copies
  Stream& stream;                     // for what preparing enqueues
  std::string choice = {};            // of ConvKernel::choice(), to replay; empty: the backend chooses
  // Store the maxima over these windows alone; only asked of a backend whose fuses_max_pool() is yes.
  std::optional<Pool2dWindow> max_pool = {};
};

/// Pointers of one run, on the backend's device. x and y do not overlap and are aligned to Buffer::kAlignment on a GPU; on
/// the CPU they may be a caller's own memory, aligned for a float and readable to the last element only.
struct ConvArgs {
  const float* x = nullptr;  // [N, C, H, W], or [N, H, W, C] where the problem's layout says so
  // [N, K, P, Q], or [N, P, Q, K]; with max_pool P and Q count its windows. Every element is written.
  float* y = nullptr;
};

/// A backend prepared for one problem.
class ConvKernel {
 public:
  virtual ~ConvKernel() = default;
  /// Scratch memory that run() finds in RunContext::workspace.
  virtual size_t workspace_bytes() const { return 0; }
  /// What was chosen inside ("FFT_TILING, 3.1 MiB workspace"), for tables; empty where
  /// there is nothing to tell.
  virtual std::string detail() const { return {}; }
  /// What was chosen by timing, in words that ConvPrepare::choice takes back; empty where there was no choice.
  virtual std::string choice() const { return {}; }
  /// One row for each kernel of our own that run() launches, in order; asks the CUDA runtime, so it is not for run().
  virtual std::vector<LaunchResources> launches() const { return {}; }
  /// Products that the direct algorithm multiplies over those that this one does: above 1 for Winograd and FFT, so that
  /// a rate beyond the machine's is told apart from a mistake.
  virtual double products_saved() const { return 1; }
  /// How far a right result may lie from the exact one, where what was chosen allows less than ConvBackend::accuracy()
  /// does for every choice.
  virtual std::optional<ConvAccuracy> accuracy() const { return std::nullopt; }
  /// Enqueues on context.stream; no allocation, no synchronisation.
  virtual void run(const ConvArgs& args, RunContext& context) = 0;
};

class ConvBackend {
 public:
  virtual ~ConvBackend() = default;
  /// Yes, or why not. Looks at the problem, and may ask the current card what it can do at all where there is one, so that
  /// `auto` hears of a card that is too old; prepare() asks the card that it is given. Cheap, opens nothing, works without
  /// a device.
  virtual Support supports(const Conv2dProblem& problem, MathMode math) const = 0;
  /// Upper bound of ConvKernel::workspace_bytes() before preparing, where no limit is given.
  virtual size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const = 0;
  /// The least it can work with: less where it can do the problem in smaller parts.
  virtual size_t least_workspace_bytes(const Conv2dProblem& problem, MathMode math) const {
    return workspace_bytes(problem, math);
  }
  /// Whether it can take maxima over these windows of each plane of its output, after bias and ReLU, and store them
  /// alone: yes, or why not. For a problem and a math mode that it supports; as cheap as supports().
  virtual Support fuses_max_pool(const Conv2dProblem& /*problem*/, MathMode /*math*/,
                                 const Pool2dWindow& /*window*/) const {
    return Support::no("it does not fuse max pooling");
  }
  /// Whether a plan that is not told otherwise should do so: where that is likely to be faster than pooling afterwards.
  virtual bool suits_max_pool(const Conv2dProblem& /*problem*/, const Pool2dWindow& /*window*/) const {
    return true;
  }
  /// Whether it can apply max(x, 0) before it stores.
  virtual bool fuses_relu() const { return true; }
  /// Of whatever prepare() may choose.
  virtual ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const = 0;
  /// Which bits it repeats, whatever prepare() may choose. Less than the default is for what a library decides.
  virtual Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const {
    return Determinism::kPosition;
  }
  /// Transforms, packs and uploads weights, chooses algorithms: once. Throws UnavailableError with the reason
  /// where the library or device cannot serve, MemoryError where the workspace limit rules everything out.
  virtual std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const = 0;
};

/// Of a prepared kernel: its own, or that of its backend.
inline ConvAccuracy accuracy_of(const ConvBackend& backend, const ConvKernel& kernel,
                                const Conv2dProblem& problem, MathMode math) {
  const std::optional<ConvAccuracy> chosen = kernel.accuracy();
  return chosen ? *chosen : backend.accuracy(problem, math);
}

}  // namespace lenslet
