// Convolution by cuDNN 9 through its legacy API, as a module: the rival that own kernels are measured against.
//
// y[n, k] = f(b[k] + sum over c of w[k, c] (*) x[n, c]), x [N, C, H, W], w [K, C/G, R, S], y [N, K, P, Q], fp32; x and y
// NCHW or NHWC. NHWC is tried with filters [K, R, S, C/G], as cuDNN recommends, and as they are.
// Candidates are all of cuDNN's algorithms; each that is deterministic, computes in the math mode asked for and fits the
// workspace limit is run on random data, checked to be finite and timed, both with bias and activation inside
// (cudnnConvolutionBiasActivationForward) and after it. The fastest is kept and named in detail().
// FFT and Winograd variants compete in fp32 only: their transforms would multiply the rounding of tf32.
#include <cudnn.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/module.h"
#include "framework/shared_per_stream.h"
#include "layers/conv/conv_backend.h"

LENSLET_DEFINE_MODULE()

namespace lenslet {
namespace {

// Where the caller sets no limit, cuDNN gets no more than this: a plain GEMM would otherwise take gigabytes.
constexpr size_t kDefaultWorkspaceLimit = size_t{512} << 20;
// Values of a candidate's output that are looked at; poisoned with NaN before, so that gaps show too.
constexpr size_t kCheckedValues = size_t{1} << 20;

// Ends the name of a choice with bias and activation inside the library's call.
constexpr const char* kFusedMark = "+fused";

void check(cudnnStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message = concat(expression, " failed: ", cudnnGetErrorString(status), " (",
                                     static_cast<int>(status), ") at ", file, ":", line);
  if (status == CUDNN_STATUS_NOT_INITIALIZED || status == CUDNN_STATUS_NOT_SUPPORTED)
    throw UnavailableError(message);
  throw DeviceError(message);
}

#define LENSLET_CUDNN_CHECK(expression) check((expression), #expression, __FILE__, __LINE__)

// --- The library and its parts ---------------------------------------------------------------------------------------

struct Library {
  std::string name, version, path;
};

std::string true_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  const std::string result = resolved ? resolved : path;
  std::free(resolved);
  return result;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string version_text(size_t version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

// libcudnn opens its parts by name at the first call that needs them, and ends the process where one is missing. So all
// that a convolution can need are opened here first: what cannot be opened is then a message. A part that the loader
// takes from another folder than libcudnn belongs to another cuDNN, which crashes later, so it is refused too.
class Libraries {
 public:
  static const Libraries& get() {
    static const Libraries libraries;
    return libraries;
  }
  const std::string& problem() const noexcept { return problem_; }
  const std::vector<Library>& rows() const noexcept { return rows_; }

 private:
  Libraries() {
    Dl_info info{};
    const bool known =
        dladdr(reinterpret_cast<const void*>(&cudnnCreate), &info) != 0 && info.dli_fname != nullptr;
    const std::string own_path = true_path(known ? info.dli_fname : "libcudnn");
    const std::string folder = folder_of(own_path);
    rows_.push_back({"cuDNN", "", own_path});
    std::string missing, elsewhere;
    for (const char* part :
         {"graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
      const std::string file = concat("libcudnn_", part, ".so.", CUDNN_MAJOR);
      void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle)
        handle = dlopen((folder_of(known ? info.dli_fname : "") + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle) {
        const char* reason = dlerror();
        missing += concat(missing.empty() ? "" : "; ", reason ? reason : file);
        continue;
      }
      link_map* map = nullptr;
      const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
      const std::string path = true_path(found ? map->l_name : file);
      rows_.push_back({concat("cuDNN ", part), "", path});
      if (folder_of(path) != folder) elsewhere += concat(elsewhere.empty() ? "" : ", ", path);
    }
    if (!missing.empty()) {
      problem_ = concat("cuDNN at ", own_path, " is incomplete: ", missing, "; install all of its libraries");
      return;  // any call into it now could end the process
    }
    if (!elsewhere.empty()) {
      problem_ = concat("parts of two cuDNNs would mix: libcudnn is ", own_path, ", but the loader takes ",
                        elsewhere, "; leave one of them on the library path");
      return;
    }
    const std::string version = version_text(cudnnGetVersion());
    for (Library& row : rows_) row.version = version;
    if (cudnnGraphVersionCheck() != CUDNN_STATUS_SUCCESS || cudnnOpsVersionCheck() != CUDNN_STATUS_SUCCESS ||
        cudnnCnnVersionCheck() != CUDNN_STATUS_SUCCESS) {
      problem_ = concat("the libraries of cuDNN in ", folder, " are of different versions (libcudnn says ",
                        version, "); install one version");
    }
  }

  std::string problem_;
  std::vector<Library> rows_;
};

// --- cuDNN's objects ---------------------------------------------------------------------------------------------------

template <typename T, cudnnStatus_t (*Create)(T*), cudnnStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() { LENSLET_CUDNN_CHECK(Create(&object_)); }
  ~Owned() { Destroy(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator T() const noexcept { return object_; }

 private:
  T object_ = nullptr;
};

using Handle = Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using TensorDescriptor =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;
using ActivationDescriptor =
    Owned<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor>;

cudnnTensorFormat_t format_of(TensorLayout layout) {
  return layout == TensorLayout::kNhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

void describe_tensor(cudnnTensorDescriptor_t descriptor, TensorLayout layout, int n, int c, int h, int w) {
  LENSLET_CUDNN_CHECK(
      cudnnSetTensor4dDescriptor(descriptor, format_of(layout), CUDNN_DATA_FLOAT, n, c, h, w));
}

/// Everything cuDNN has to know of one problem.
struct Descriptors {
  explicit Descriptors(const Conv2dProblem& problem) {
    describe_tensor(x, problem.layout, problem.n, problem.c, problem.h, problem.w);
    describe_tensor(y, problem.layout, problem.n, problem.k, problem.p(), problem.q());
    describe_tensor(bias, problem.layout, 1, problem.k, 1, 1);
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      LENSLET_CUDNN_CHECK(cudnnSetFilter4dDescriptor(filter(layout), CUDNN_DATA_FLOAT, format_of(layout),
                                                     problem.k, problem.c / problem.groups, problem.r,
                                                     problem.s));
    }
    LENSLET_CUDNN_CHECK(cudnnSetConvolution2dDescriptor(
        convolution, problem.pad_h, problem.pad_w, problem.stride_h, problem.stride_w, problem.dilation_h,
        problem.dilation_w, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    LENSLET_CUDNN_CHECK(cudnnSetConvolutionGroupCount(convolution, problem.groups));
    LENSLET_CUDNN_CHECK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0.0));
    LENSLET_CUDNN_CHECK(
        cudnnSetActivationDescriptor(identity, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0.0));
    int n = 0, k = 0, p = 0, q = 0;
    LENSLET_CUDNN_CHECK(
        cudnnGetConvolution2dForwardOutputDim(convolution, x, filter(problem.layout), &n, &k, &p, &q));
    if (n != problem.n || k != problem.k || p != problem.p() || q != problem.q()) {
      throw DeviceError(concat("cudnn expects an output of ", n, "x", k, "x", p, "x", q, " for ",
                               problem.to_string(), ", Lenslet ", problem.n, "x", problem.k, "x", problem.p(),
                               "x", problem.q()));
    }
  }

  cudnnFilterDescriptor_t filter(TensorLayout layout) const {
    return layout == TensorLayout::kNhwc ? krsc : kcrs;
  }

  TensorDescriptor x, y, bias;
  FilterDescriptor kcrs, krsc;
  ConvolutionDescriptor convolution;
  ActivationDescriptor relu, identity;
};

// --- Choosing -----------------------------------------------------------------------------------------------------------

const char* algorithm_name(cudnnConvolutionFwdAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return "IMPLICIT_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return "IMPLICIT_PRECOMP_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
      return "GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_DIRECT:
      return "DIRECT";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
      return "FFT";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
      return "FFT_TILING";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
      return "WINOGRAD";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      return "WINOGRAD_NONFUSED";
    default:
      return "unknown algorithm";
  }
}

bool transforms_tiles(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
}

/// cuDNN has FFT and Winograd for windows moved by one and without holes.
bool may_transform(const Conv2dProblem& problem, MathMode math) {
  return math == MathMode::kFp32 && problem.stride_h == 1 && problem.stride_w == 1 &&
         problem.dilation_h == 1 && problem.dilation_w == 1 && problem.r * problem.s > 1;
}

struct Candidate {
  cudnnConvolutionFwdAlgo_t algorithm;
  cudnnMathType_t math;
  TensorLayout filter;
  size_t workspace_bytes;
};

/// Names a candidate among those of one problem and math mode.
std::string candidate_name(const Candidate& candidate, TensorLayout layout) {
  return concat(algorithm_name(candidate.algorithm), candidate.math == CUDNN_DEFAULT_MATH ? "/default" : "",
                candidate.filter == layout ? "" : "/kcrs");
}

bool serves_math(cudnnMathType_t offered, MathMode asked) {
  // The default math type of fp32 data is TF32 on cards that have it.
  return asked == MathMode::kFp32 ? offered == CUDNN_FMA_MATH
                                  : offered == CUDNN_TENSOR_OP_MATH || offered == CUDNN_DEFAULT_MATH;
}

/// What cuDNN offers and we can take, the heuristic's best guess first. Throws UnavailableError or MemoryError for none.
std::vector<Candidate> candidates(cudnnHandle_t handle, const Descriptors& descriptors,
                                  const ConvPrepare& request, size_t limit) {
  const TensorLayout layout = request.problem.layout;
  std::vector<TensorLayout> filters = {layout};
  if (layout == TensorLayout::kNhwc) filters.push_back(TensorLayout::kNchw);
  std::vector<Candidate> taken;
  size_t least_needed = SIZE_MAX;
  for (const TensorLayout filter : filters) {
    int count = 0;
    LENSLET_CUDNN_CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &count));
    std::vector<cudnnConvolutionFwdAlgoPerf_t> offers(static_cast<size_t>(count));
    if (cudnnGetConvolutionForwardAlgorithm_v7(handle, descriptors.x, descriptors.filter(filter),
                                               descriptors.convolution, descriptors.y, count, &count,
                                               offers.data()) != CUDNN_STATUS_SUCCESS) {
      continue;
    }
    offers.resize(static_cast<size_t>(count));
    for (const cudnnConvolutionFwdAlgoPerf_t& offer : offers) {
      if (offer.status != CUDNN_STATUS_SUCCESS || offer.determinism != CUDNN_DETERMINISTIC ||
          !serves_math(offer.mathType, request.math) ||
          (transforms_tiles(offer.algo) && !may_transform(request.problem, request.math))) {
        continue;
      }
      least_needed = std::min(least_needed, offer.memory);
      if (offer.memory <= limit) taken.push_back({offer.algo, offer.mathType, filter, offer.memory});
    }
  }
  if (!taken.empty()) return taken;
  if (least_needed != SIZE_MAX) {
    throw MemoryError(concat("backend cudnn needs at least ", least_needed, " bytes of workspace for ",
                             request.problem.to_string(), ", the limit is ", limit));
  }
  throw UnavailableError(concat("cudnn offers no deterministic ", to_string(request.math), " algorithm for ",
                                request.problem.to_string(), " in ", to_string(layout), " on this device"));
}

/// [K, C/G, R, S] to [K, R, S, C/G].
std::vector<float> channels_last(const Conv2dProblem& problem, const float* weights) {
  const int64_t channels = problem.c / problem.groups, taps = int64_t{problem.r} * problem.s;
  std::vector<float> packed(static_cast<size_t>(problem.k * channels * taps));
  for (int64_t k = 0; k < problem.k; ++k) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        packed[static_cast<size_t>((k * taps + tap) * channels + c)] =
            weights[(k * channels + c) * taps + tap];
      }
    }
  }
  return packed;
}

std::vector<float> random_values(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 2463534242u;  // xorshift (Marsaglia 2003)
  for (float& value : values) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  return values;
}

class CudnnKernel : public ConvKernel {
 public:
  explicit CudnnKernel(const ConvPrepare& request)
      : handle_(shared_per_stream<Handle>(request.stream)),
        descriptors_(request.problem),
        layout_(request.problem.layout),
        relu_(request.relu),
        taps_(double{1} * request.problem.r * request.problem.s) {
    const Conv2dProblem& problem = request.problem;
    use_stream(request.stream);
    const auto count = static_cast<size_t>(problem.weight_shape().num_elements());
    kcrs_ = request.services.upload(request.weights, count);
    if (layout_ == TensorLayout::kNhwc) {
      krsc_ = request.services.upload(channels_last(problem, request.weights).data(), count);
    }
    const std::vector<float> zeros(request.bias ? 0 : static_cast<size_t>(problem.k), 0.0f);
    bias_ =
        request.services.upload(request.bias ? request.bias : zeros.data(), static_cast<size_t>(problem.k));
    has_bias_ = request.bias != nullptr;
    LENSLET_CUDNN_CHECK(cudnnSetConvolutionMathType(
        descriptors_.convolution, request.math == MathMode::kFp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    const size_t limit =
        request.workspace_limit == SIZE_MAX ? kDefaultWorkspaceLimit : request.workspace_limit;
    const std::vector<Candidate> offered = candidates(*handle_, descriptors_, request, limit);
    request.choice.empty() ? choose(offered, request) : replay(offered, request.choice);
  }

  size_t workspace_bytes() const override { return choice_.workspace_bytes; }

  std::string detail() const override {
    return concat(candidate_name(choice_, layout_), fused_ ? " with bias and activation inside" : "", ", ",
                  choice_.math == CUDNN_FMA_MATH ? "FMA" : "tensor cores", ", ", choice_.workspace_bytes,
                  " B workspace, ", how_chosen_, ", cuDNN ", Libraries::get().rows()[0].version);
  }

  /// What the algorithm can save at most, a window of R x S products each: cuDNN tells neither Winograd's tile nor FFT's.
  double products_saved() const override { return transforms_tiles(choice_.algorithm) ? taps_ : 1; }

  /// "FFT_TILING", "GEMM+fused": the candidate, and whether bias and activation are inside.
  std::string choice() const override {
    return concat(candidate_name(choice_, layout_), fused_ ? kFusedMark : "");
  }

  void run(const ConvArgs& args, RunContext& context) override {
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
      ScopedStage stage(context.tracer, "bias_relu");
      LENSLET_CUDNN_CHECK(finish(args.y));
    }
  }

 private:
  void use_stream(const Stream& stream) {
    LENSLET_CUDNN_CHECK(cudnnSetStream(*handle_, static_cast<cudaStream_t>(stream.native_handle())));
  }

  const float* weights() const { return choice_.filter == TensorLayout::kNhwc ? krsc_.get() : kcrs_.get(); }

  cudnnStatus_t convolve(const float* x, float* y, void* workspace) {
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

  void take(const Candidate& candidate, bool fused) {
    choice_ = candidate;
    fused_ = fused;
    LENSLET_CUDNN_CHECK(cudnnSetConvolutionMathType(descriptors_.convolution, candidate.math));
  }

  // Takes the candidate that an earlier choice() names, untimed.
  void replay(const std::vector<Candidate>& offered, const std::string& choice) {
    std::string legal;
    for (const Candidate& candidate : offered) {
      const std::string name = candidate_name(candidate, layout_);
      if (choice == name || choice == name + kFusedMark) {
        take(candidate, choice != name);
        how_chosen_ = "as planned";
        return;
      }
      legal += (legal.empty() ? "" : ", ") + name;
    }
    throw UnavailableError(
        concat("cudnn does not offer the planned algorithm '", choice, "' here; it offers: ", legal));
  }

  // Runs, checks and times every candidate both ways, and keeps the fastest.
  void choose(const std::vector<Candidate>& offered, const ConvPrepare& request) {
    const auto x_count = static_cast<size_t>(request.problem.input_shape().num_elements());
    const auto y_count = static_cast<size_t>(request.problem.output_shape().num_elements());
    size_t workspace_bytes = 0;
    for (const Candidate& candidate : offered)
      workspace_bytes = std::max(workspace_bytes, candidate.workspace_bytes);
    std::shared_ptr<float> x;
    std::shared_ptr<void> y_memory, workspace;
    try {
      x = request.services.upload(random_values(x_count).data(), x_count);
      y_memory = request.services.allocate(y_count * sizeof(float));
      if (workspace_bytes > 0) workspace = request.services.allocate(workspace_bytes);
    } catch (const MemoryError&) {
      take(offered.front(), false);
      how_chosen_ = "the heuristic's first (no memory to time the others)";
      return;
    }
    float* y = static_cast<float*>(y_memory.get());
    const bool has_rest = has_bias_ || relu_;
    double best_ns = std::numeric_limits<double>::infinity();
    Candidate best = offered.front();
    bool best_fused = false;
    int timed = 0;
    for (const Candidate& candidate : offered) {
      for (const bool fused : {false, true}) {
        if (fused && !has_rest) continue;
        take(candidate, fused);
        if (!computes(fused, x.get(), y, y_count, workspace.get(), request.services)) continue;
        const double ns =
            request.services.time_ns([&] { LENSLET_CUDNN_CHECK(pass(fused, x.get(), y, workspace.get())); });
        ++timed;
        if (ns < best_ns) {
          best_ns = ns;
          best = candidate;
          best_fused = fused;
        }
      }
    }
    if (timed == 0) {
      throw UnavailableError(concat("none of cudnn's ", offered.size(), " candidates computes ",
                                    request.problem.to_string(), " on this device"));
    }
    take(best, best_fused);
    how_chosen_ = concat("fastest of ", timed, " timed");
  }

  // Whether the candidate runs and writes finite values everywhere that is looked at.
  bool computes(bool fused, const float* x, float* y, size_t y_count, void* workspace,
                PrepareServices& services) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    LENSLET_CUDNN_CHECK(cudnnSetTensor(*handle_, descriptors_.y, y, &nan));
    if (pass(fused, x, y, workspace) != CUDNN_STATUS_SUCCESS) return false;
    std::vector<float> values(std::min(y_count, kCheckedValues));
    services.download(values.data(), y, values.size());
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  }

  std::shared_ptr<Handle> handle_;
  Descriptors descriptors_;
  TensorLayout layout_;
  bool relu_, has_bias_ = false, fused_ = false;
  std::shared_ptr<float> kcrs_, krsc_, bias_;  // krsc_ for NHWC alone
  Candidate choice_{};
  std::string how_chosen_;
  double taps_;  // R * S
};

class CudnnBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (math == MathMode::kFp16)
      return Support::no("cudnn convolves fp32 data here, in fp32 or tf32, not fp16");
    for (const Shape& shape : {problem.input_shape(), problem.weight_shape(), problem.output_shape()}) {
      if (shape.num_elements() > INT_MAX) {
        return Support::no(
            concat("cudnn serves tensors of up to ", INT_MAX, " elements, found ", shape.to_string()));
      }
    }
    return Support::yes();
  }

  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return kDefaultWorkspaceLimit;
  }

  // The GEMM kinds add products up. Transforms come on top, in fp32 alone (see may_transform), so that
  // product_error, which is tf32's, needs no factor for them.
  // FFT over tiles of L values, 32 x 32 or up to the whole image: the error of transform, product and inverse is
  // below 2 log2(L) eps ||tile|| ||w|| in the Euclidean norm (Higham, Accuracy and Stability, 24.1), and
  // ||tile|| ||w|| <= sqrt(L) max|x| sum|w|. cuDNN's Winograd tiles err less (6.4e-6 of the largest output measured
  // for F(4x4, 3x3)).
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    ConvAccuracy accuracy = accuracy_of_sums(problem, math);
    if (may_transform(problem, math)) {
      double side = 32;
      while (side < std::max(problem.h + 2 * problem.pad_h, problem.w + 2 * problem.pad_w) && side < 256)
        side *= 2;
      accuracy.constant += 2 * std::log2(side * side) * side / static_cast<double>(conv_terms(problem));
      accuracy.exact_on_integers = false;
      accuracy.by_image_maximum = true;
    }
    return accuracy;
  }

  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const override {
    const Support support = supports(request.problem, request.math);
    if (!support) throw UnavailableError(support.reason());
    const std::string& problem = Libraries::get().problem();
    if (!problem.empty()) throw UnavailableError(problem);
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
  const std::vector<lenslet::Library>& rows = lenslet::Libraries::get().rows();
  for (int i = 0; i < capacity && i < static_cast<int>(rows.size()); ++i) {
    const lenslet::Library& row = rows[static_cast<size_t>(i)];
    libraries[i] = {row.name.c_str(), row.version.c_str(), row.path.c_str()};
  }
  return static_cast<int>(rows.size());
}
