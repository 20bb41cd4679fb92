// Convolution by cuDNN 9 through its legacy API, as a module: the library that this project's kernels are compared
// with.
//
// y[n, k] = f(b[k] + sum over c of w[k, c] (*) x[n, c]), x [N, C, H, W], w [K, C/G, R, S], y [N, K, P, Q], all fp32,
// fp16 or bf16, sums in fp32; x and y NCHW or NHWC. NHWC is tried with filters in the order [K, R, S, C/G], as cuDNN
// recommends, and in the original order. Candidates are the algorithms of cuDNN's old interface and the plans that its
// graph interface recommends, as PyTorch's benchmark mode tries them (cudnn/candidates.h), since each interface has
// kernels that the other lacks. A candidate must be deterministic, compute in the requested math mode and fit the
// workspace limit. It is run on random data, checked to be finite and timed; those of the old interface also with bias
// and activation inside (cudnnConvolutionBiasActivationForward). The fastest is used, and detail() returns its name.
// FFT and Winograd variants are candidates only in fp32: their transforms would multiply the rounding of tf32. With
// tensors of 16 bits the bias has their type, too, since cuDNN takes no other; a bias that it would round is refused.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/device/native_stream.h"
#include "framework/device/shared_per_stream.h"
#include "framework/graph/module.h"
#include "framework/tensor/stored_floats.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/cudnn/candidates.h"
#include "layers/conv/gpu/cudnn/libraries.h"
#include "layers/conv/gpu/cudnn/objects.h"
#include "layers/conv/gpu/library_inputs.h"

LENSLET_DEFINE_MODULE()

namespace lenslet {
namespace {

// The default workspace limit: a plain GEMM would otherwise take gigabytes. A limit of the caller overrides it, also a
// larger one.
constexpr size_t kDefaultWorkspaceLimit = size_t{512} << 20;
// Checked values of a candidate's output; they are poisoned with NaN before, so that gaps show too.
constexpr size_t kCheckedValues = size_t{1} << 20;

// Candidates within this factor of the fastest are timed again.
constexpr double kPlayOff = 1.05;
constexpr int kPlayOffTurns = 2;

// Suffix of a choice with bias and activation inside the library's call.
constexpr const char* kFusedMark = "+fused";

/// Followed by zeros, because kernels of cuDNN 9.14 for compute capability 9.0 read past the end of a small filter,
/// which compute-sanitizer reports.
std::shared_ptr<float> upload_filter(PrepareServices& services, ElementType type, std::vector<float> filter) {
  constexpr size_t kWhole = 64;
  filter.resize(align_up(filter.size(), kWhole));
  const std::vector<float> stored = stored_floats(type, filter.data(), static_cast<int64_t>(filter.size()));
  return services.upload(stored.data(), stored.size());
}

/// The promise for tensors of 16 bits: bias and activation may follow the convolution, whose output is then rounded
/// before and after.
ConvAccuracy accuracy_of_16_bits(ConvAccuracy accuracy) {
  accuracy.storings = 2;
  accuracy.exact_on_integers = false;
  return accuracy;
}

class CudnnKernel : public ConvKernel {
 public:
  explicit CudnnKernel(const ConvPrepare& request)
      : handle_(shared_per_stream<Handle>(request.stream)),
        descriptors_(request.problem),
        layout_(request.problem.layout),
        type_(request.problem.type),
        relu_(request.rectifier.relu()),
        taps_(double{1} * request.problem.r * request.problem.s),
        sums_(accuracy_of_sums(request.problem, request.math)) {
    const Conv2dProblem& problem = request.problem;
    // If transforms are candidates, only cuDNN states whether the choice is one, so exact integers are not promised.
    if (may_transform(problem, request.math)) sums_.exact_on_integers = false;
    if (type_ != ElementType::kFp32) sums_ = accuracy_of_16_bits(sums_);
    use_stream(request.stream);
    const auto count = static_cast<size_t>(problem.weight_shape().num_elements());
    kcrs_ = upload_filter(request.services, type_, {request.weights, request.weights + count});
    if (layout_ == TensorLayout::kNhwc) {
      krsc_ = upload_filter(request.services, type_, channels_last(problem, request.weights));
    }
    const std::vector<float> zeros(request.bias ? 0 : static_cast<size_t>(problem.k), 0.0f);
    const std::vector<float> bias =
        stored_floats(type_, request.bias ? request.bias : zeros.data(), problem.k);
    bias_ = request.services.upload(bias.data(), bias.size());
    has_bias_ = request.bias != nullptr;
    LENSLET_CUDNN_CHECK(cudnnSetConvolutionMathType(
        descriptors_.convolution,
        rate_of(type_, request.math) == MathMode::kFp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    const size_t limit =
        request.workspace_limit == SIZE_MAX ? kDefaultWorkspaceLimit : request.workspace_limit;
    request.choice.empty() ? choose(cudnn_candidates(*handle_, descriptors_, request, limit), request)
                           : replay(request, limit);
  }

  size_t workspace_bytes() const override { return choice_.workspace_bytes; }

  std::string detail() const override {
    return concat(candidate_name(choice_, layout_), fused_ ? " with bias and activation inside" : "", ", ",
                  uses_tensor_cores() ? "tensor cores" : "FMA", ", ", choice_.workspace_bytes,
                  " B workspace, ", how_chosen_, ", cuDNN ", CudnnLibraries::get().rows()[0].version);
  }

  /// Upper bound of the saving, R x S products per output: cuDNN reports the tile of neither Winograd nor FFT.
  double products_saved() const override { return transforms() ? taps_ : 1; }

  /// Algorithms that only sum products have a smaller bound than those that transform tiles.
  std::optional<ConvAccuracy> accuracy() const override {
    return transforms() ? std::nullopt : std::optional<ConvAccuracy>(sums_);
  }

  /// "FFT_TILING", "GEMM+fused": the candidate, with "+fused" if bias and activation are inside.
  std::string choice() const override {
    return concat(candidate_name(choice_, layout_), fused_ ? kFusedMark : "");
  }

  void convolve(const ConvArgs& args, RunContext& context) override {
    use_stream(context.stream);
    if (fused_) {
      ScopedStage stage(context.tracer, "conv");
      LENSLET_CUDNN_CHECK(convolve_fused(args.x, args.y, context.workspace));
      return;
    }
    {
      ScopedStage stage(context.tracer, "conv");
      LENSLET_CUDNN_CHECK(convolve(args.x, args.y, context.workspace));
    }
    if (has_bias_ || relu_) {
      ScopedStage stage(context.tracer, "bias_rectifier");
      LENSLET_CUDNN_CHECK(finish(args.y));
    }
  }

 private:
  void use_stream(const Stream& stream) { LENSLET_CUDNN_CHECK(cudnnSetStream(*handle_, native(stream))); }

  bool transforms() const {
    return choice_.plan ? choice_.plan->transforms_tiles() : transforms_tiles(choice_.algorithm);
  }

  bool uses_tensor_cores() const {
    return choice_.plan ? choice_.plan->tensor_cores() : choice_.math != CUDNN_FMA_MATH;
  }

  const float* weights() const { return choice_.filter == TensorLayout::kNhwc ? krsc_.get() : kcrs_.get(); }

  cudnnStatus_t convolve(const float* x, float* y, void* workspace) {
    if (choice_.plan) return choice_.plan->execute(*handle_, x, weights(), y, workspace);
    const float one = 1.0f, zero = 0.0f;
    return cudnnConvolutionForward(*handle_, &one, descriptors_.x, x, descriptors_.filter(choice_.filter),
                                   weights(), descriptors_.convolution, choice_.algorithm, workspace,
                                   choice_.workspace_bytes, &zero, descriptors_.y, y);
  }

  cudnnStatus_t convolve_fused(const float* x, float* y, void* workspace) {
    const float one = 1.0f, zero = 0.0f;
    return cudnnConvolutionBiasActivationForward(
        *handle_, &one, descriptors_.x, x, descriptors_.filter(choice_.filter), weights(),
        descriptors_.convolution, choice_.algorithm, workspace, choice_.workspace_bytes, &zero,
        descriptors_.y, y, descriptors_.bias, bias_.get(), relu_ ? descriptors_.relu : descriptors_.identity,
        descriptors_.y, y);
  }

  cudnnStatus_t finish(float* y) {
    const float one = 1.0f, zero = 0.0f;
    if (has_bias_) {
      const cudnnStatus_t status =
          cudnnAddTensor(*handle_, &one, descriptors_.bias, bias_.get(), &one, descriptors_.y, y);
      if (status != CUDNN_STATUS_SUCCESS) return status;
    }
    if (!relu_) return CUDNN_STATUS_SUCCESS;
    return cudnnActivationForward(*handle_, descriptors_.relu, &one, descriptors_.y, y, &zero, descriptors_.y,
                                  y);
  }

  cudnnStatus_t pass(bool fused, const float* x, float* y, void* workspace) {
    if (fused) return convolve_fused(x, y, workspace);
    const cudnnStatus_t status = convolve(x, y, workspace);
    return status == CUDNN_STATUS_SUCCESS ? finish(y) : status;
  }

  void take(const CudnnCandidate& candidate, bool fused) {
    choice_ = candidate;
    fused_ = fused;
    if (!candidate.plan)
      LENSLET_CUDNN_CHECK(cudnnSetConvolutionMathType(descriptors_.convolution, candidate.math));
  }

  // Uses the candidate of an earlier choice() without timing it.
  void replay(const ConvPrepare& request, size_t limit) {
    const std::string& choice = request.choice;
    const size_t mark = choice.rfind(kFusedMark);
    const bool fused = mark != std::string::npos && mark + std::strlen(kFusedMark) == choice.size();
    const auto found =
        cudnn_candidate(*handle_, descriptors_, request, limit, fused ? choice.substr(0, mark) : choice);
    if (found && !(fused && found->plan)) {
      take(*found, fused);
      how_chosen_ = "as planned";
      return;
    }
    std::string legal;
    for (const CudnnCandidate& candidate : cudnn_candidates(*handle_, descriptors_, request, limit))
      legal += (legal.empty() ? "" : ", ") + candidate_name(candidate, layout_);
    throw UnavailableError(
        concat("cudnn does not offer the planned algorithm '", choice, "' here; it offers: ", legal));
  }

  /// One way to run one candidate.
  struct Entry {
    const CudnnCandidate* candidate;
    bool fused;
    double ns;
  };

  // Runs, checks and times every candidate in both ways, and keeps the fastest.
  void choose(const std::vector<CudnnCandidate>& offered, const ConvPrepare& request) {
    const auto x_count = static_cast<size_t>(request.problem.input_shape().num_elements());
    const auto y_count = static_cast<size_t>(request.problem.output_shape().num_elements());
    size_t workspace_bytes = 0;
    for (const CudnnCandidate& candidate : offered)
      workspace_bytes = std::max(workspace_bytes, candidate.workspace_bytes);
    std::shared_ptr<float> x;
    std::shared_ptr<void> y_memory, workspace;
    try {
      const std::vector<float> values =
          stored_floats(type_, timing_values(x_count).data(), static_cast<int64_t>(x_count));
      x = request.services.upload(values.data(), values.size());
      y_memory = request.services.allocate(y_count * sizeof(float));  // enough for any type
      if (workspace_bytes > 0) workspace = request.services.allocate(workspace_bytes);
    } catch (const MemoryError&) {
      take(offered.front(), false);
      how_chosen_ = "the heuristic's first (no memory to time the others)";
      return;
    }
    float* y = static_cast<float*>(y_memory.get());
    const bool has_rest = has_bias_ || relu_;
    const auto time = [&](const Entry& entry) {
      take(*entry.candidate, entry.fused);
      return request.services.time_ns(
          [&] { LENSLET_CUDNN_CHECK(pass(entry.fused, x.get(), y, workspace.get())); });
    };
    std::vector<Entry> entries;
    for (const CudnnCandidate& candidate : offered) {
      for (const bool fused : {false, true}) {
        if (fused && (!has_rest || candidate.plan)) continue;
        take(candidate, fused);
        if (!computes(fused, x.get(), y, y_count, workspace.get(), request.services)) continue;
        entries.push_back({&candidate, fused, 0});
        entries.back().ns = time(entries.back());
      }
    }
    if (entries.empty()) {
      throw UnavailableError(concat("none of cudnn's ", offered.size(), " candidates computes ",
                                    request.problem.to_string(), " on this device"));
    }
    const auto faster = [](const Entry& a, const Entry& b) { return a.ns < b.ns; };
    const double best_ns = std::min_element(entries.begin(), entries.end(), faster)->ns;
    how_chosen_ = concat("fastest of ", entries.size(), " timed");
    // The fastest candidates are timed in turns and compared by their slowest turn: one lucky time does not decide.
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return entry.ns > best_ns * kPlayOff; }),
                  entries.end());
    if (entries.size() > 1) {
      for (int turn = 0; turn < kPlayOffTurns; ++turn) {
        for (Entry& entry : entries) entry.ns = std::max(entry.ns, time(entry));
      }
    }
    const Entry& best = *std::min_element(entries.begin(), entries.end(), faster);
    take(*best.candidate, best.fused);
  }

  // Whether the candidate runs and writes finite values at all checked positions.
  bool computes(bool fused, const float* x, float* y, size_t y_count, void* workspace,
                PrepareServices& services) {
    const float number = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> nan = stored_floats(type_, &number, 1);
    LENSLET_CUDNN_CHECK(cudnnSetTensor(*handle_, descriptors_.y, y, nan.data()));
    if (pass(fused, x, y, workspace) != CUDNN_STATUS_SUCCESS) return false;
    std::vector<float> values(std::min(y_count, kCheckedValues));
    const auto count = static_cast<int64_t>(values.size());
    std::vector<float> stored = stored_floats(type_, values.data(), count);  // as many bytes
    services.download(stored.data(), y, stored.size());
    load_floats(type_, stored.data(), count, values.data());
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  }

  std::shared_ptr<Handle> handle_;
  Descriptors descriptors_;
  TensorLayout layout_;
  ElementType type_;
  bool relu_, has_bias_ = false, fused_ = false;
  std::shared_ptr<float> kcrs_, krsc_, bias_;  // krsc_ only for NHWC
  CudnnCandidate choice_{};
  std::string how_chosen_;
  double taps_;  // R * S
  ConvAccuracy sums_;
};

class CudnnBackend : public ConvBackend {
 public:
  bool takes(ElementType type) const override { return is_float(type); }

  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return kDefaultWorkspaceLimit;
  }

  // The bound must hold for every candidate. GEMM kinds sum products; transforms are candidates only in fp32 (see
  // may_transform), so product_error, which is tf32's, needs no factor for them.
  // FFT over tiles of L values, 32 x 32 or up to the whole image: the error of transform, product and inverse is
  // below 2 log2(L) eps ||tile|| ||w|| in the Euclidean norm (Higham, Accuracy and Stability, 24.1), and
  // ||tile|| ||w|| <= sqrt(L) max|x| sum|w|. cuDNN's Winograd tiles err less (6.4e-6 of the largest output measured
  // for F(4x4, 3x3)). A transform spreads an error evenly over its L outputs: the deviation of one is 1 / sqrt(L) of
  // the norm.
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    ConvAccuracy accuracy = accuracy_of_sums(problem, math);
    if (may_transform(problem, math)) {
      double side = 32;
      while (side < std::max(problem.h + 2 * problem.pad_h, problem.w + 2 * problem.pad_w) && side < 256)
        side *= 2;
      const double in_norm = 2 * std::log2(side * side), terms = static_cast<double>(conv_terms(problem));
      accuracy.deviation = accuracy.constant * std::sqrt(terms) + in_norm;
      accuracy.constant += in_norm * side / terms;
      accuracy.exact_on_integers = false;
      accuracy.by_image_maximum = true;
    }
    if (problem.type != ElementType::kFp32) return accuracy_of_16_bits(accuracy);
    return accuracy;
  }
  // The choice is made by timing.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBounded;
  }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (math == MathMode::kFp16)
      return Support::no(
          "cudnn convolves fp32 data in fp32 or tf32, not fp16: choose one of these, or dt fp16");
    if (const Support symmetric = symmetric_padding("cudnn", problem); !symmetric) return symmetric;
    for (const Shape& shape : {problem.input_shape(), problem.weight_shape(), problem.output_shape()}) {
      if (shape.num_elements() > INT_MAX) {
        return Support::no(concat("cudnn supports tensors of up to ", INT_MAX, " elements, found ",
                                  shape.to_string(), ": use direct or a smaller batch"));
      }
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const std::string& problem = CudnnLibraries::get().problem();
    if (!problem.empty()) throw UnavailableError(problem);
    const ElementType type = request.problem.type;
    for (int k = 0; request.bias && k < request.problem.k; ++k) {
      if (rounded_to(type, request.bias[k]) == request.bias[k]) continue;
      throw UnavailableError(concat("cudnn takes a bias of ", type.name(), " with ", type.name(),
                                    " tensors, found ", request.bias[k], ", which is none: use tensor_core"));
    }
    return std::make_unique<CudnnKernel>(request);
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_MODULE_EXPORT const lenslet::ConvBackend* lenslet_conv_backend() {
  static const lenslet::CudnnBackend backend;
  return &backend;
}

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  const std::vector<lenslet::CudnnLibrary>& rows = lenslet::CudnnLibraries::get().rows();
  for (int i = 0; i < capacity && i < static_cast<int>(rows.size()); ++i) {
    const lenslet::CudnnLibrary& row = rows[static_cast<size_t>(i)];
    libraries[i] = {row.name.c_str(), row.version.c_str(), row.path.c_str()};
  }
  return static_cast<int>(rows.size());
}
