// Convolution as a matrix product (Chellapilla, Puri and Simard, "High Performance Convolutional Neural
// Networks for Document Processing", 2006): the input windows become the columns of a matrix, stored, and a
// GEMM does the arithmetic.
//
//   col [C/G*R*S, P*Q]: col[(c, r, s), (p, q)] = x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw] or 0 outside
//   y[n] [K/G, P*Q] = w [K/G, C/G*R*S] * col, for each image n and group
//
// The matrix repeats every input value up to R*S times: what it costs shows as the stage "im2col", beside
// "gemm". It is built for as many images, or else output rows, as fit the workspace below; bias and ReLU are
// a pass over the output.
#include <algorithm>

#include "framework/parallel.h"
#include "layers/conv/conv_backend.h"
#include "layers/gemm/gemm.h"

namespace lenslet {
namespace {

// The columns of one round stay in the L2 caches, or in L3 at worst.
constexpr int64_t kColumnBytes = 4 * 1024 * 1024;
// Elements moved below which a second thread costs more than it brings (waking one takes some 10 us).
constexpr int64_t kElementsPerThread = 1 << 15;

/// How much is unrolled at a time: several whole images, or some output rows of one.
struct Rounds {
  explicit Rounds(const Conv2dProblem& problem)
      : taps(int64_t{problem.c} / problem.groups * problem.r * problem.s), p(problem.p()), q(problem.q()) {
    const int64_t fit =
        std::max<int64_t>(kColumnBytes / static_cast<int64_t>(sizeof(float)) / taps / q, 1);  // rows
    rows = std::min(fit, p);
    images = rows < p ? 1 : std::min<int64_t>(fit / p, problem.n);
  }
  int64_t column_floats() const { return images * taps * rows * q; }
  size_t column_bytes() const {
    const size_t bytes = static_cast<size_t>(column_floats()) * sizeof(float);
    return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
  }
  int64_t taps, p, q;
  int64_t rows = 0;    // output rows of one round
  int64_t images = 0;  // images of one round; more than one only with all their rows
};

class Im2colGemmKernel : public ConvKernel {
 public:
  Im2colGemmKernel(const ConvPrepare& request, std::unique_ptr<Gemm> gemm)
      : problem_(request.problem),
        rounds_(request.problem),
        relu_(request.relu),
        weights_(request.weights, request.weights + problem_.weight_shape().num_elements()),
        gemm_(std::move(gemm)) {
    if (request.bias) bias_.assign(request.bias, request.bias + problem_.k);
  }

  size_t workspace_bytes() const override { return rounds_.column_bytes() + gemm_->workspace_bytes(); }
  std::string detail() const override { return gemm_->describe(); }

  void run(const ConvArgs& args, RunContext& context) override {
    auto* columns = static_cast<float*>(context.workspace);
    void* gemm_workspace = static_cast<unsigned char*>(context.workspace) + rounds_.column_bytes();
    const int64_t outputs = problem_.k / problem_.groups, plane = rounds_.p * rounds_.q;
    for (int64_t n = 0; n < problem_.n; n += rounds_.images) {
      const int64_t images = std::min(rounds_.images, problem_.n - n);
      for (int64_t group = 0; group < problem_.groups; ++group) {
        for (int64_t first = 0; first < rounds_.p; first += rounds_.rows) {
          const int64_t rows = std::min(rounds_.rows, rounds_.p - first);
          {
            const ScopedStage stage(context.tracer, "im2col");
            unroll(args.x, n, images, group, first, rows, columns);
          }
          const ScopedStage stage(context.tracer, "gemm");
          GemmProblem gemm;
          gemm.m = static_cast<int>(outputs);
          gemm.n = static_cast<int>(rows * rounds_.q);
          gemm.k = static_cast<int>(rounds_.taps);
          gemm.lda = rounds_.taps;
          gemm.ldb = rows * rounds_.q;
          gemm.ldc = plane;
          gemm.batch = static_cast<int>(images);
          gemm.stride_b = rounds_.taps * rows * rounds_.q;
          gemm.stride_c = problem_.k * plane;
          const int64_t k = group * outputs;
          gemm_->run(gemm,
                     {weights_.data() + k * rounds_.taps, columns,
                      args.y + (n * problem_.k + k) * plane + first * rounds_.q},
                     gemm_workspace, context);
        }
      }
    }
    if (bias_.empty() && !relu_) return;
    const ScopedStage stage(context.tracer, "bias_relu");
    add_bias(args.y);
  }

 private:
  /// Fills [images][C/G, R, S][rows, Q].
  void unroll(const float* x, int64_t n, int64_t images, int64_t group, int64_t first, int64_t rows,
              float* columns) const {
    const int64_t channels = problem_.c / problem_.groups;
    const int64_t lines = images * channels * problem_.r * problem_.s, length = rows * rounds_.q;
    parallel_for(lines, std::max<int64_t>(kElementsPerThread / length, 1), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t s = line % problem_.s, r = line / problem_.s % problem_.r;
        const int64_t c = line / problem_.s / problem_.r % channels,
                      image = line / problem_.s / problem_.r / channels;
        const float* plane = x + ((n + image) * problem_.c + group * channels + c) * problem_.h * problem_.w;
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t h = (first + row) * problem_.stride_h - problem_.pad_h + r * problem_.dilation_h;
          const bool inside = h >= 0 && h < problem_.h;
          unroll_row(inside ? plane + h * problem_.w : nullptr, s, columns + line * length + row * rounds_.q);
        }
      }
    });
  }

  /// Tap s of one output row; zeros for an input row outside the image (null).
  void unroll_row(const float* row, int64_t s, float* out) const {
    const int64_t stride = problem_.stride_w, start = s * problem_.dilation_w - problem_.pad_w, q = rounds_.q;
    // Outputs whose input lies before column 0, and from which on it lies at or after column W.
    int64_t inside = q, past = q;
    if (row) {
      inside = std::min(start < 0 ? (-start + stride - 1) / stride : 0, q);
      past = start < problem_.w ? std::clamp((problem_.w - start + stride - 1) / stride, inside, q) : inside;
    }
    std::fill(out, out + inside, 0.0f);
    if (past > inside && stride == 1) {
      std::copy(row + (start + inside), row + (start + past), out + inside);
    } else {
      for (int64_t i = inside; i < past; ++i) out[i] = row[start + i * stride];
    }
    std::fill(out + past, out + q, 0.0f);
  }

  void add_bias(float* y) const {
    const int64_t plane = rounds_.p * rounds_.q, planes = int64_t{problem_.n} * problem_.k;
    parallel_for(planes, std::max<int64_t>(kElementsPerThread / plane, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float bias = bias_.empty() ? 0.0f : bias_[static_cast<size_t>(i % problem_.k)];
        float* out = y + i * plane;
        for (int64_t j = 0; j < plane; ++j) {
          const float value = out[j] + bias;
          out[j] = relu_ && value < 0.0f ? 0.0f : value;
        }
      }
    });
  }

  Conv2dProblem problem_;
  Rounds rounds_;
  bool relu_;
  std::vector<float> weights_;  // [K, C/G*R*S]
  std::vector<float> bias_;     // [K] or empty
  std::unique_ptr<Gemm> gemm_;
};

class Im2colGemmBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (math != MathMode::kFp32) {
      return Support::no(concat("the CPU computes in fp32 only, ", to_string(math), " was asked for"));
    }
    const Rounds rounds(problem);
    if (rounds.taps > INT32_MAX || rounds.rows * rounds.q > INT32_MAX) {
      return Support::no("one output row unrolled has 2^31 columns or more");
    }
    return Support::yes();
  }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    // What the blocked product wants is known only once a provider is chosen: its panels, as it states them
    // itself.
    return Rounds(problem).column_bytes() + gemm_workspace_bytes();
  }
  // Any order of T = C/G*R*S products: no term is touched by more than T roundings, then the bias: gamma(T +
  // 1) as for `direct`, whatever blocking the library takes.
  ConvAccuracy accuracy(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return {1.01, true};
  }
  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const override {
    const Support support = supports(request.problem, request.math);
    if (!support) throw UnavailableError(support.reason());
    auto gemm = gemm_provider(DeviceKind::kCpu).prepare(request.math, request.stream);
    auto kernel = std::make_unique<Im2colGemmKernel>(request, std::move(gemm));
    if (kernel->workspace_bytes() > request.workspace_limit) {
      throw MemoryError(concat("conv im2col_gemm needs ", kernel->workspace_bytes(),
                               " bytes of workspace, the limit is ", request.workspace_limit));
    }
    return kernel;
  }

 private:
  static size_t gemm_workspace_bytes() {
    Stream stream{Device::cpu()};
    return gemm_provider(DeviceKind::kCpu).prepare(MathMode::kFp32, stream)->workspace_bytes();
  }
};

}  // namespace

namespace conv_backends {
const ConvBackend& cpu_im2col_gemm();
const ConvBackend& cpu_im2col_gemm() {
  static const Im2colGemmBackend backend;
  return backend;
}
}  // namespace conv_backends

}  // namespace lenslet
