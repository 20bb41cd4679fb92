// Depthwise convolution on the CPU: every channel has filters of its own, 3x3 or 5x5.
//
//   y[n, k, p, q] = b[k] + sum over r, s of w[k, r, s] * x[n, k / (K/C), p*stride - pad_h + r, q*stride - pad_w + s]
//   x [N, C, H, W], w [K, R, S], y [N, K, P, Q], all NCHW
//
// A sum has few terms, so loading them takes the time. Each plane is first copied into a padded buffer, which stays in
// the L1 cache; with stride 2 its even and odd columns lie apart, so that neighbouring outputs read neighbouring
// values. Then a vector of inputs, once loaded, serves all output rows of a block that reach it. The blocking is this
// project's own.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/cpu/rows.h"
#include "layers/fp32_only.h"
#include "layers/vector_rectifier.h"

namespace lenslet {
namespace {

constexpr int64_t kBlockRows = 4;   // output rows computed at once
constexpr int64_t kMaxVector = 16;  // floats
// Below this work a second thread that is awake costs more than it saves.
constexpr double kFlopsPerAwakeThread = 0.05e6;
constexpr double kMaxPlaneFloats = 1e9;  // of a padded plane, so that no product here overflows

/// The padded plane of one channel: [row][column residue of the stride][pitch].
struct Plane {
  explicit Plane(const Conv2dProblem& problem)
      : stride(problem.stride_h),
        pitch(round_up(problem.q(), kMaxVector) + problem.s),
        rows((round_up(problem.p(), kBlockRows) - 1) * stride + problem.r) {}
  int64_t stride, pitch, rows;
  int64_t floats() const { return round_up(rows * stride * pitch, kMaxVector); }
};

/// The columns of a padded row that one residue of the stride takes from a row of the input: `count` from column `from`
/// on, to column `to` of the residue.
struct Columns {
  int64_t from = 0, to = 0, count = 0;
};

/// Copies a plane of the input to its padded place.
struct PackTask {
  const float* x;
  float* out;  // row pad_h of the padded plane
  int64_t rows, w, pitch;
  const Columns* columns;  // by residue
};

/// One plane of outputs.
struct PlaneTask {
  const float* x;        // padded
  const float* weights;  // [R, S]
  float bias;
  float* y;
  int64_t p, q, pitch;
  Rectifier after;
};

/// kBlockRows rows of W outputs from (p, q) on.
template <int W, int R, int kStride>
LENSLET_ALWAYS_INLINE void block(const PlaneTask& task, const float (&weights)[R * R], int64_t p, int64_t q) {
  using Vector = typename FloatVector<W>::unaligned;
  Vector sum[kBlockRows];
#pragma GCC unroll 8
  for (int i = 0; i < kBlockRows; ++i) sum[i] = Vector{};
  const float* const first = task.x + p * kStride * kStride * task.pitch + q;
#pragma GCC unroll 16
  for (int row = 0; row < (kBlockRows - 1) * kStride + R; ++row) {
#pragma GCC unroll 8
    for (int s = 0; s < R; ++s) {
      const Vector x =
          *reinterpret_cast<const Vector*>(first + (row * kStride + s % kStride) * task.pitch + s / kStride);
#pragma GCC unroll 8
      for (int i = 0; i < kBlockRows; ++i) {
        const int r = row - i * kStride;
        if (r >= 0 && r < R) sum[i] += x * weights[r * R + s];
      }
    }
  }
  const int64_t rows = std::min<int64_t>(kBlockRows, task.p - p), columns = std::min<int64_t>(W, task.q - q);
#pragma GCC unroll 8
  for (int i = 0; i < kBlockRows; ++i) {
    if (i >= rows) break;
    Vector y = sum[i] + task.bias;
    rectify(task.after, y);
    float* const out = task.y + (p + i) * task.q + q;
    if (columns == W) {
      *reinterpret_cast<Vector*>(out) = y;
    } else {
      float part[W];
      *reinterpret_cast<Vector*>(part) = y;
      copy_row(part, columns, out);
    }
  }
}

template <int W, int R, int kStride>
LENSLET_ALWAYS_INLINE void plane_of(const PlaneTask& task) {
  float weights[R * R];  // a copy, which stores to y cannot change
  std::copy_n(task.weights, R * R, weights);
  for (int64_t p = 0; p < task.p; p += kBlockRows)
    for (int64_t q = 0; q < task.q; q += W) block<W, R, kStride>(task, weights, p, q);
}

template <int W, int kStride>
LENSLET_ALWAYS_INLINE void pack_plane(const PackTask& task) {
  for (int64_t h = 0; h < task.rows; ++h) {
    const float* const row = task.x + h * task.w;
    float* const target = task.out + h * kStride * task.pitch;
    if constexpr (kStride == 1) {
      copy_row<W>(row + task.columns[0].from, task.columns[0].count, target + task.columns[0].to);
    } else {
      // The columns of one residue begin at 0, those of the other at 1; the first may have one more.
      const int first = task.columns[0].from == 0 ? 0 : 1;
      const Columns even = task.columns[first], odd = task.columns[1 - first];
      const int64_t pairs = std::min(even.count, odd.count);
      float* const to_even = target + first * task.pitch + even.to;
      float* const to_odd = target + (1 - first) * task.pitch + odd.to;
      split_pairs<W>(row, pairs, to_even, to_odd);
      for (int64_t i = pairs; i < even.count; ++i) to_even[i] = row[2 * i];
      for (int64_t i = pairs; i < odd.count; ++i) to_odd[i] = row[2 * i + 1];
    }
  }
}

/// Both steps, compiled for one instruction set.
struct Steps {
  void (*pack)(const PackTask&);
  void (*run)(const PlaneTask&);
};

template <int R, int kStride>
struct Baseline {
  static void pack(const PackTask& task) { pack_plane<4, kStride>(task); }
  static void run(const PlaneTask& task) { plane_of<4, R, kStride>(task); }
};
template <int R, int kStride>
struct Avx2 {
  LENSLET_TARGET_AVX2 static void pack(const PackTask& task) { pack_plane<8, kStride>(task); }
  LENSLET_TARGET_AVX2 static void run(const PlaneTask& task) { plane_of<8, R, kStride>(task); }
};
template <int R, int kStride>
struct Avx512 {
  LENSLET_TARGET_AVX512 static void pack(const PackTask& task) { pack_plane<16, kStride>(task); }
  LENSLET_TARGET_AVX512 static void run(const PlaneTask& task) {
    if (task.q <= 8) return plane_of<8, R, kStride>(task);
    plane_of<16, R, kStride>(task);
  }
};

template <int R, int kStride>
Steps steps_of() {
  static constexpr Steps kSteps[] = {{&Baseline<R, kStride>::pack, &Baseline<R, kStride>::run},
                                     {&Avx2<R, kStride>::pack, &Avx2<R, kStride>::run},
                                     {&Avx512<R, kStride>::pack, &Avx512<R, kStride>::run}};
  return kSteps[static_cast<int>(simd_level())];
}

Steps steps_for(const Conv2dProblem& problem) {
  if (problem.r == 3) return problem.stride_h == 1 ? steps_of<3, 1>() : steps_of<3, 2>();
  return problem.stride_h == 1 ? steps_of<5, 1>() : steps_of<5, 2>();
}

class DepthwiseKernel : public ConvKernel {
 public:
  explicit DepthwiseKernel(const ConvPrepare& request)
      : problem_(request.problem),
        plane_(request.problem),
        p_(request.problem.p()),
        q_(request.problem.q()),
        multiplier_(request.problem.k / request.problem.c),
        after_(request.rectifier),
        steps_(steps_for(request.problem)),
        weights_(request.weights, request.weights + request.problem.weight_shape().num_elements()),
        bias_(static_cast<size_t>(request.problem.k), 0.0f) {
    if (request.bias) std::copy_n(request.bias, bias_.size(), bias_.begin());
    for (int64_t residue = 0; residue < plane_.stride; ++residue) columns_[residue] = columns_of(residue);
    const double threads = std::min(problem_.flops() / kFlopsPerAwakeThread, kThreadsBound);
    slots_ = std::clamp<int64_t>(static_cast<int64_t>(threads), 1,
                                 std::min<int64_t>(num_threads(), int64_t{problem_.n} * problem_.c));
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(slots_ * plane_.floats()) * sizeof(float);
  }

  void convolve(const ConvArgs& args, RunContext& context) override {
    auto* const workspace = static_cast<float*>(context.workspace);
    LoopShares shares;
    shares.items = int64_t{problem_.n} * problem_.c;
    shares.slots = slots_;
    shares.light = problem_.flops() < kFlopsPerWokenThread * static_cast<double>(slots_);
    const auto run_planes = [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_plane(args, i, workspace + slot * plane_.floats());
    };
    shared_loop(shares, run_planes, [&](int64_t slot) {
      // The padding; each plane overwrites the rest.
      std::fill_n(workspace + slot * plane_.floats(), plane_.floats(), 0.0f);
    });
  }

 private:
  /// All filters of plane `index` of the input.
  void run_plane(const ConvArgs& args, int64_t index, float* memory) const {
    const int64_t rows = std::min<int64_t>(problem_.h, plane_.rows - problem_.pad_h);
    steps_.pack({args.x + index * problem_.h * problem_.w,
                 memory + problem_.pad_h * plane_.stride * plane_.pitch, rows, problem_.w, plane_.pitch,
                 columns_});
    const int64_t taps = int64_t{problem_.r} * problem_.s;
    for (int64_t m = 0; m < multiplier_; ++m) {
      const int64_t k = index % problem_.c * multiplier_ + m;  // of the filters
      steps_.run({memory, weights_.data() + k * taps, bias_[static_cast<size_t>(k)],
                  args.y + (index * multiplier_ + m) * p_ * q_, p_, q_, plane_.pitch, after_});
    }
  }

  /// Once, because divisions take longer than a row.
  Columns columns_of(int64_t residue) const {
    Columns columns;
    const int64_t stride = plane_.stride, pad = problem_.pad_w;
    columns.to = pad <= residue ? 0 : ceil_div(pad - residue, stride);
    columns.from = columns.to * stride + residue - pad;
    if (columns.from < problem_.w)
      columns.count =
          std::clamp<int64_t>(plane_.pitch - columns.to, 0, ceil_div(problem_.w - columns.from, stride));
    return columns;
  }

  Conv2dProblem problem_;
  Plane plane_;
  Columns columns_[2];  // by residue
  int64_t p_, q_, multiplier_;
  Rectifier after_;
  Steps steps_;
  std::vector<float> weights_, bias_;
  int64_t slots_ = 1;
};

class DepthwiseBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    return static_cast<size_t>(num_threads() * Plane(problem).floats()) * sizeof(float);
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("depthwise on the CPU", math); !fp32) return fp32;
    if (const Support groups = depthwise_groups(problem); !groups) return groups;
    const bool square = problem.r == problem.s && problem.stride_h == problem.stride_w;
    if (!square || (problem.r != 3 && problem.r != 5) || problem.stride_h > 2 || problem.dilation_h != 1 ||
        problem.dilation_w != 1 || problem.layout != TensorLayout::kNchw) {
      return Support::no(
          concat("depthwise on the CPU supports 3x3 and 5x5 at stride 1x1 and 2x2, without dilation, in "
                 "NCHW, found ",
                 window_text(problem), ", in ", to_string(problem.layout), ": use direct"));
    }
    const double floats = (problem.p() + 8.0) * 2 * ((problem.q() + 32.0) * 2 + 8);
    if (floats > kMaxPlaneFloats) {
      return Support::no(concat("depthwise on the CPU supports padded feature maps of up to ",
                                kMaxPlaneFloats, " values, the problem needs up to ", floats,
                                ": use direct"));
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<DepthwiseKernel>(request);
  }
};

}  // namespace

LENSLET_BACKEND(conv, cpu_depthwise, DepthwiseBackend())

}  // namespace lenslet
