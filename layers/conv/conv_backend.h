// ConvBackend: one algorithm for one convolution problem on one kind of device.
//
// A new backend is one new file and one row in layers/conv/CMakeLists.txt. The layer, the tests and the benchmark
// iterate the rows, so no other file has to change (docs/add_a_backend.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/device/launch_resources.h"
#include "framework/graph/layer.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/conv/conv_problem.h"
#include "layers/pool/pool_window.h"
#include "layers/rectifier.h"

namespace lenslet {

/// The request for prepare(). Pointers are host memory, valid until prepare() returns.
struct ConvPrepare {
  const Conv2dProblem& problem;       // validated
  MathMode math = MathMode::kFp32;    // supported, as supports() returned
  const float* weights = nullptr;     // [K, C/G, R, S], fp32; each exact in the problem's type
  const float* bias = nullptr;        // [K] or null
  Rectifier rectifier = {};           // apply it to each sum; one that fuses_rectifier() accepts, or none
  size_t workspace_limit = SIZE_MAX;  // bytes; default: the backend's own limit
  PrepareServices& services;          // device memory and copies
  Stream& stream;                     // for work enqueued while preparing
  std::string choice = {};            // a ConvKernel::choice() to replay; empty: the backend chooses
  // Store only the maxima over these windows; only if fuses_max_pool() returns yes.
  std::optional<Pool2dWindow> max_pool = {};
  ConvEnds ends = {};  // of a problem of fp32; others than fp32 only if takes_ends() returns yes
};

/// Pointers of one run, on the backend's device. x and y do not overlap. On a GPU they are aligned to
/// Buffer::kAlignment. On the CPU they may be a caller's memory, aligned for a float and readable only to the last
/// element.
struct ConvArgs {
  // [N, C, H, W] or [N, H, W, C], by the layout; elements of the problem's type, or of ConvPrepare::ends.
  const float* x = nullptr;
  // [N, K, P, Q], or [N, P, Q, K]; with max_pool P and Q count its windows. Every element is written. Type as of x.
  float* y = nullptr;
};

/// Channels of a group: `direct` suits fewer, and kernels that work tile by tile suit more.
inline constexpr int kTileChannels = 8;

/// Whether the products fill a tile of the tensor cores. If those of few channels by few filters do not, fp32 is faster
/// than a kernel that works tile by tile.
inline bool fills_tensor_cores(const Conv2dProblem& problem) {
  constexpr int kFewFilters = 16;  // of a group: the rows of a tile
  return problem.c / problem.groups >= kTileChannels || problem.k / problem.groups > kFewFilters;
}

/// A backend prepared for one problem.
class ConvKernel : public Operator {
 public:
  /// One row per kernel of this project that convolve() launches, in order. Calls the CUDA runtime; do not call it in
  /// convolve().
  virtual std::vector<LaunchResources> launches() const { return {}; }
  /// The bound of the chosen algorithm, if it is smaller than ConvBackend::accuracy(), which holds for every choice.
  virtual std::optional<ConvAccuracy> accuracy() const { return std::nullopt; }
  /// Enqueues on context.stream, with workspace_bytes() of context.workspace; no allocation, no synchronisation.
  virtual void convolve(const ConvArgs& args, RunContext& context) = 0;
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) final {
    convolve({inputs[0].data, output.data}, context);
  }
};

/// One way to compute convolutions: which problems it supports, its error bound, and its prepared kernels. One object
/// serves all threads.
class ConvBackend {
 public:
  virtual ~ConvBackend() = default;
  /// Yes, or no with the reason. Checks the problem and may query the features of the current GPU, if there is one, so
  /// that `auto` skips a backend on an older GPU. prepare() checks its own GPU. Cheap, opens nothing, works without a
  /// device.
  Support supports(const Conv2dProblem& problem, MathMode math) const {
    if (const Support stored = tensor_support(problem.type, math); !stored) return stored;
    return do_supports(problem, math);
  }
  /// Whether it reads and writes tensors of that type in memory. By default fp32 alone.
  virtual bool takes(ElementType type) const { return type == ElementType::kFp32; }
  /// Upper bound of ConvKernel::workspace_bytes() without a limit, before preparing.
  virtual size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const = 0;
  /// The smallest workspace that it needs: less than workspace_bytes() if it can compute the problem in smaller parts.
  virtual size_t min_workspace_bytes(const Conv2dProblem& problem, MathMode math) const {
    return workspace_bytes(problem, math);
  }
  /// Whether it can compute the maxima over these windows of each plane of its output, after bias and ReLU, and store
  /// only them: yes, or no with the reason. For a supported problem and math mode; as cheap as supports().
  virtual Support fuses_max_pool(const Conv2dProblem& /*problem*/, MathMode /*math*/,
                                 const Pool2dWindow& /*window*/) const {
    return Support::no(concat("fuses no max pooling", kLeaveUnfused));
  }
  /// Whether fusing the pooling is the better default: it is likely to be faster than pooling afterwards.
  virtual bool suits_max_pool(const Conv2dProblem& /*problem*/, const Pool2dWindow& /*window*/) const {
    return true;
  }
  /// Whether it reads and writes `ends`: yes, or no with the reason. For a supported problem, math mode and window; as
  /// cheap as supports().
  Support takes_ends(const Conv2dProblem& problem, MathMode math, const ConvEnds& ends,
                     const std::optional<Pool2dWindow>& max_pool) const {
    return ends.fp32() ? Support::yes() : do_takes_ends(problem, math, ends, max_pool);
  }
  /// Whether it can apply the rectifier, which is not none(), before it stores. By default ReLU alone.
  virtual bool fuses_rectifier(const Rectifier& rectifier) const { return rectifier.relu(); }
  /// Yes for none and for a rectifier that it fuses; else no with the reason.
  Support rectifier_support(const Rectifier& rectifier) const {
    if (rectifier.none() || fuses_rectifier(rectifier)) return Support::yes();
    return Support::no(concat("fuses ", fuses_rectifier(Rectifier(true)) ? "ReLU only" : "no rectifier",
                              ", found ", rectifier.to_string(), kLeaveUnfused));
  }
  /// The bound of every algorithm that prepare() may choose.
  virtual ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const = 0;
  /// The promise for every algorithm that prepare() may choose. A backend over a library that chooses overrides it.
  virtual Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const {
    return Determinism::kPosition;
  }
  /// Whether `auto` takes it for a supported problem: it is likely to be faster than the backends after it in rank and,
  /// in a reduced math mode, than fp32.
  virtual bool suits(const Conv2dProblem& problem, MathMode math) const {
    return math == MathMode::kFp32 || fills_tensor_cores(problem);
  }
  /// Transforms, packs and uploads weights, and chooses algorithms. Throws UnavailableError with the reason if the
  /// backend, its library or the device does not support the request, MemoryError if the workspace limit excludes every
  /// algorithm.
  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const {
    Support support = supports(request.problem, request.math);
    if (support) support = rectifier_support(request.rectifier);
    if (support && request.max_pool)
      support = fuses_max_pool(request.problem, request.math, *request.max_pool);
    if (support) support = takes_ends(request.problem, request.math, request.ends, request.max_pool);
    if (!support) throw UnavailableError(support.reason());
    std::unique_ptr<ConvKernel> kernel = make_kernel(request);
    const size_t needed = kernel->workspace_bytes(), limit = request.workspace_limit;
    if (const Support fits = workspace_fits("the convolution", needed, limit); !fits)
      throw MemoryError(fits.reason());
    return kernel;
  }

 private:
  /// Nothing converts tensors silently, and no mode rounds operands of 16 bits further: their products are exact in
  /// fp32, tf32 and, of fp16, in fp16.
  Support tensor_support(ElementType type, MathMode math) const {
    if (!takes(type)) {
      return Support::no(concat("takes fp32 tensors, not ", type.name(), ": choose fp32, or on a GPU use ",
                                "tensor_core or cudnn, which take fp16 and bf16"));
    }
    if (type == ElementType::kFp32 && math == MathMode::kInt8) return int8_refusal();
    if (type == ElementType::kFp32 || math == MathMode::kFp32) return Support::yes();
    return Support::no(concat("multiplies ", type.name(), " tensors as they are and sums in fp32, not in ",
                              lenslet::to_string(math), ": choose math fp32"));
  }
  /// supports(), for a type that it takes.
  virtual Support do_supports(const Conv2dProblem& problem, MathMode math) const = 0;
  /// prepare(), for a request that supports() and the fusions allow.
  virtual std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const = 0;
  /// takes_ends(), where one of the ends is not fp32. By default no.
  virtual Support do_takes_ends(const Conv2dProblem& /*problem*/, MathMode /*math*/, const ConvEnds& ends,
                                const std::optional<Pool2dWindow>& /*max_pool*/) const {
    return refuse_ends(ends.x, ends.y);
  }
};

namespace conv_backends {
using Interface = ConvBackend;  ///< The type that LENSLET_BACKEND registers.
}

/// The bound of a prepared kernel: its own, or that of its backend.
inline ConvAccuracy accuracy_of(const ConvBackend& backend, const ConvKernel& kernel,
                                const Conv2dProblem& problem, MathMode math) {
  const std::optional<ConvAccuracy> chosen = kernel.accuracy();
  return chosen ? *chosen : backend.accuracy(problem, math);
}

}  // namespace lenslet
