// Convolution as a matrix product (Chellapilla, Puri and Simard, "High Performance Convolutional Neural
// Networks for Document Processing", 2006): the input windows become the columns of a matrix, stored, and a
// GEMM does the arithmetic.
//
//   col [C/G*R*S, N*P*Q]: col[(c, r, s), (n, p, q)] = x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw] or 0 outside
//   y' [K/G, N*P*Q] = w [K/G, C/G*R*S] * col, for each group; y [N, K, P, Q] is y' with bias, images moved outwards
//
// The matrix repeats every input value up to R*S times; its cost is the stage "im2col", next to "gemm". It is built for
// as many images, or else output rows, as fit the workspace below: one product for many small images is much faster
// than one per image. The pass "bias_rectifier" adds the bias and moves the images to their places.
#include <algorithm>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/cpu/rows.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/pool/cpu/max_pool_part.h"

namespace lenslet {
namespace {

// The columns of one round, and their products, stay in the L2 cache of the core that reads them.
constexpr int64_t kColumnBytesPerThread = 1024 * 1024;
// Below this number of moved elements a second thread costs more than it saves, as below kFlopsPerWokenThread.
constexpr int64_t kElementsPerThread = 1 << 15;
// Limit for one output row, so that the bytes of columns and product do not overflow.
constexpr int64_t kMaxColumnFloats = int64_t{1} << 40;

size_t aligned_bytes(int64_t floats) {
  return align_up(static_cast<size_t>(floats) * sizeof(float), Buffer::kAlignment);
}

/// The part unrolled at a time: several whole images, or some output rows of one.
struct Rounds {
  explicit Rounds(const Conv2dProblem& problem)
      : taps(int64_t{problem.c} / problem.groups * problem.r * problem.s), p(problem.p()), q(problem.q()) {
    const int64_t fit = std::max<int64_t>(
        num_threads() * kColumnBytesPerThread / static_cast<int64_t>(sizeof(float)) / taps / q, 1);  // rows
    rows = std::min(fit, p);
    images = rows < p ? 1 : std::min<int64_t>(fit / p, problem.n);
  }
  int64_t positions() const { return images * rows * q; }
  size_t column_bytes() const { return aligned_bytes(taps * positions()); }
  /// y' of one group; none for a single image, which is computed in place.
  size_t product_bytes(const Conv2dProblem& problem) const {
    return images == 1 ? 0 : aligned_bytes(int64_t{problem.k} / problem.groups * positions());
  }
  size_t bytes(const Conv2dProblem& problem) const { return column_bytes() + product_bytes(problem); }
  int64_t taps, p, q;
  int64_t rows = 0;    // output rows of one round
  int64_t images = 0;  // images of one round; more than one only with all their rows
};

class Im2colGemmKernel : public ConvKernel {
 public:
  Im2colGemmKernel(const ConvPrepare& request, std::unique_ptr<Gemm> gemm)
      : problem_(request.problem),
        rounds_(request.problem),
        after_(request.rectifier),
        weights_(request.weights, request.weights + problem_.weight_shape().num_elements()),
        gemm_(std::move(gemm)) {
    if (request.bias) bias_.assign(request.bias, request.bias + problem_.k);
  }

  size_t workspace_bytes() const override { return rounds_.bytes(problem_) + gemm_->workspace_bytes(); }
  std::string detail() const override { return gemm_->describe(); }

  void convolve(const ConvArgs& args, RunContext& context) override {
    for (int64_t n = 0; n < problem_.n; n += rounds_.images) {
      const int64_t images = std::min(rounds_.images, problem_.n - n);
      for (int64_t group = 0; group < problem_.groups; ++group) {
        for (int64_t first = 0; first < rounds_.p; first += rounds_.rows) {
          const int64_t rows = std::min(rounds_.rows, rounds_.p - first);
          run_round(args, context, {n, images, group, first, rows, images * rows * rounds_.q});
        }
      }
    }
  }

 private:
  /// The extent of one product.
  struct Round {
    int64_t n, images, group, first, rows;
    int64_t positions;  // images * rows * Q, the columns of the matrix
  };

  void run_round(const ConvArgs& args, RunContext& context, const Round& round) {
    auto* memory = static_cast<unsigned char*>(context.workspace);
    auto* columns = reinterpret_cast<float*>(memory);
    void* gemm_workspace = memory + rounds_.bytes(problem_);
    {
      const ScopedStage stage(context.tracer, "im2col");
      unroll(args.x, round, columns);
    }
    const int64_t outputs = problem_.k / problem_.groups, plane = rounds_.p * rounds_.q;
    float* y = args.y + (round.n * problem_.k + round.group * outputs) * plane + round.first * rounds_.q;
    const bool in_place = rounds_.images == 1;
    float* product = in_place ? y : reinterpret_cast<float*>(memory + rounds_.column_bytes());
    GemmProblem gemm;
    gemm.m = static_cast<int>(outputs);
    gemm.n = static_cast<int>(round.positions);
    gemm.k = static_cast<int>(rounds_.taps);
    gemm.lda = rounds_.taps;
    gemm.ldb = round.positions;
    gemm.ldc = in_place ? plane : round.positions;
    {
      const ScopedStage stage(context.tracer, "gemm");
      gemm_->run(gemm, {weights_.data() + round.group * outputs * rounds_.taps, columns, product},
                 gemm_workspace, context);
    }
    if (in_place && bias_.empty() && after_.none()) return;
    const ScopedStage stage(context.tracer, "bias_rectifier");
    finish(round, product, gemm.ldc, y);
  }

  /// Fills [C/G, R, S][images, rows, Q].
  void unroll(const float* x, const Round& round, float* columns) const {
    parallel_for(rounds_.taps, std::max<int64_t>(kElementsPerThread / round.positions, 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t tap = begin; tap < end; ++tap)
                     unroll_tap(x, round, tap, columns + tap * round.positions);
                 });
  }

  /// Fills [images, rows, Q] of tap (c, r, s): x where the window lies in the image, zeros where it lies on padding.
  void unroll_tap(const float* x, const Round& round, int64_t tap, float* out) const {
    const int64_t channels = problem_.c / problem_.groups, q = rounds_.q;
    const int64_t s = tap % problem_.s, r = tap / problem_.s % problem_.r, c = tap / problem_.s / problem_.r;
    const int64_t column = s * problem_.dilation_w - problem_.pad_w;  // of output 0
    const int64_t line = round.first * problem_.stride_h + r * problem_.dilation_h - problem_.pad_h;
    const PositionRange columns = windows_inside(problem_.w, column, problem_.stride_w, {0, q});
    PositionRange rows = windows_inside(problem_.h, line, problem_.stride_h, {0, round.rows});
    if (columns.first == columns.end) rows.end = rows.first;
    const int64_t plane = int64_t{problem_.h} * problem_.w,
                  row_step = int64_t{problem_.stride_h} * problem_.w;
    for (int64_t image = round.n; image < round.n + round.images; ++image, out += round.rows * q) {
      std::fill(out, out + rows.first * q, 0.0f);
      std::fill(out + rows.end * q, out + round.rows * q, 0.0f);
      const float* from = x + (image * problem_.c + round.group * channels + c) * plane +
                          (line + rows.first * problem_.stride_h) * problem_.w + column +
                          columns.first * problem_.stride_w;
      for (int64_t row = rows.first; row < rows.end; ++row, from += row_step) {
        float* const y = out + row * q;
        if (columns.first > 0) zero_row(y, columns.first);
        copy_every(problem_.stride_w, from, columns.end - columns.first, y + columns.first);
        if (columns.end < q) zero_row(y + columns.end, q - columns.end);
      }
    }
  }

  /// y = product + bias, through the rectifier if there is one, for each image and output channel of the round.
  void finish(const Round& round, const float* product, int64_t product_step, float* y) const {
    const int64_t outputs = problem_.k / problem_.groups, plane = rounds_.p * rounds_.q,
                  length = round.rows * rounds_.q;
    parallel_for(
        round.images * outputs, std::max<int64_t>(kElementsPerThread / length, 1),
        [&](int64_t begin, int64_t end) {
          const Rectifier after = after_;  // a copy: no store to y changes it, so the loop vectorises
          for (int64_t i = begin; i < end; ++i) {
            const int64_t image = i / outputs, k = i % outputs;
            const float bias = bias_.empty() ? 0.0f : bias_[static_cast<size_t>(round.group * outputs + k)];
            const float* from = product + k * product_step + image * length;
            float* to = y + (image * problem_.k + k) * plane;
            if (after.none()) {
              for (int64_t j = 0; j < length; ++j) to[j] = from[j] + bias;
            } else {
              for (int64_t j = 0; j < length; ++j) to[j] = after.of(from[j] + bias);
            }
          }
        });
  }

  Conv2dProblem problem_;
  Rounds rounds_;
  Rectifier after_;
  std::vector<float> weights_;  // [K, C/G*R*S]
  std::vector<float> bias_;     // [K] or empty
  std::unique_ptr<Gemm> gemm_;
};

class Im2colGemmBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    // The workspace of the blocked product is known only after a backend is chosen: it returns the size of its panels.
    return Rounds(problem).bytes(problem) + gemm_workspace_bytes();
  }
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return gemm_backend(DeviceKind::kCpu).determinism();
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support support = fp32_only("im2col_gemm on the CPU", math); !support) return support;
    if (const Support nchw = nchw_only("im2col_gemm", problem); !nchw) return nchw;
    const Rounds rounds(problem);
    if (rounds.taps > INT32_MAX || rounds.positions() > INT32_MAX) {
      return Support::no(
          concat("im2col_gemm on the CPU unrolls an output row to less than 2^31 x 2^31, found ", rounds.taps,
                 " x ", rounds.positions(), ": make the image or the filter smaller"));
    }
    if (rounds.taps * rounds.positions() >= kMaxColumnFloats) {
      return Support::no(
          concat("im2col_gemm on the CPU unrolls an output row to fewer than 2^40 elements, found ",
                 rounds.taps, " x ", rounds.positions(), ": make the image or the filter smaller"));
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    auto gemm = gemm_backend(DeviceKind::kCpu).prepare(request.math, request.stream);
    return std::make_unique<Im2colGemmKernel>(request, std::move(gemm));
  }
  static size_t gemm_workspace_bytes() {
    Stream stream{Device::cpu()};
    return gemm_backend(DeviceKind::kCpu).prepare(MathMode::kFp32, stream)->workspace_bytes();
  }
};

}  // namespace

LENSLET_BACKEND(conv, cpu_im2col_gemm, Im2colGemmBackend())

}  // namespace lenslet
