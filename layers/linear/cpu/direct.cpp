// Linear on the CPU without a library: y[n, o] = b[o] + sum over i of x[n, i] * w[o, i].
// x [N, I], w [O, I], y [N, O].
//
// Weights are packed once, transposed, in panels of 64 outputs: [panel][I][64], with zeros after the last output; the
// last panel is narrowed to a multiple of 16. A register tile of some samples by some vectors of outputs moves down a
// panel. Each step of i loads the panel's row once, broadcasts one value per sample and computes multiply-adds. One
// image reads the weights exactly once, in order; that is its bound. The sum over i runs in order, in one chain per
// value. The tile is a template over the vector width, instantiated for each instruction set (framework/base/simd.h).
// The panels and the tile are this project's own arrangement.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {
namespace {

constexpr int64_t kPanel = 64;         // outputs: 4 vectors of AVX-512
constexpr int64_t kUnit = 16;          // a panel's width is a multiple of this
constexpr int kTileRows = 6;           // samples of a register tile
constexpr int64_t kMaxBlockRows = 96;  // samples that a thread takes through one panel after the other
// Smallest number of multiply-adds per thread: about 20 us of one core, several times the cost of waking a thread.
constexpr int64_t kGrainMacs = 1 << 20;

struct Panel {
  const float* weights;  // [inputs][width]
  const float* bias;     // [width]
  int64_t inputs = 0;
  int64_t width = 0;    // stored outputs, a multiple of kUnit
  int64_t outputs = 0;  // true outputs, at most width
  int64_t y_step = 0;   // values from one sample's outputs to the next
  bool relu = false;
};

// kRows samples by kVectors vectors of kLanes outputs, from output `first` of the panel.
template <int kLanes, int kRows, int kVectors>
LENSLET_ALWAYS_INLINE void tile(const Panel& panel, int64_t first, const float* x, float* y) {
  using Vector = typename FloatVector<kLanes>::unaligned;
  Vector sum[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Vector bias = *reinterpret_cast<const Vector*>(panel.bias + first + v * kLanes);
    for (int r = 0; r < kRows; ++r) sum[r][v] = bias;
  }
  const float* w = panel.weights + first;
  for (int64_t i = 0; i < panel.inputs; ++i, w += panel.width) {
    Vector weight[kVectors];
    for (int v = 0; v < kVectors; ++v) weight[v] = *reinterpret_cast<const Vector*>(w + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const float value = x[r * panel.inputs + i];
      for (int v = 0; v < kVectors; ++v) sum[r][v] += value * weight[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      // The comparison is false for NaN, so NaN is kept.
      if (panel.relu) sum[r][v] = sum[r][v] < 0.0f ? Vector{} : sum[r][v];
      const int64_t output = first + v * kLanes;
      const int64_t valid = std::min<int64_t>(panel.outputs - output, kLanes);
      if (valid > 0)
        std::memcpy(y + r * panel.y_step + output, &sum[r][v], static_cast<size_t>(valid) * sizeof(float));
    }
  }
}

// All outputs of a panel for kRows samples. kRows by kTile vectors fill the registers.
template <int kLanes, int kRows, int kTile>
LENSLET_ALWAYS_INLINE void panel_rows(const Panel& panel, const float* x, float* y) {
  int64_t first = 0;
  for (; first + kTile * kLanes <= panel.width; first += kTile * kLanes) {
    tile<kLanes, kRows, kTile>(panel, first, x, y);
  }
  for (; first < panel.width; first += kLanes) tile<kLanes, kRows, 1>(panel, first, x, y);
}

// A panel for `rows` samples, x [rows, inputs], y [rows, y_step]. The samples after the last whole tile go one by one.
template <int kLanes, int kRows, int kTile>
LENSLET_ALWAYS_INLINE void panel_samples(const Panel& panel, int64_t rows, const float* x, float* y) {
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    panel_rows<kLanes, kRows, kTile>(panel, x + row * panel.inputs, y + row * panel.y_step);
  }
  constexpr int kSingleTile = 4;  // vectors of one sample
  for (; row < rows; ++row) {
    panel_rows<kLanes, 1, kSingleTile>(panel, x + row * panel.inputs, y + row * panel.y_step);
  }
}

// Samples by vectors of a tile, as many sums as the registers have room for: 6 x 4 of 32, 6 x 2 of 16, 3 x 4 of 16.
LENSLET_TARGET_AVX512 void panel_avx512(const Panel& panel, int64_t rows, const float* x, float* y) {
  panel_samples<16, kTileRows, 4>(panel, rows, x, y);
}
LENSLET_TARGET_AVX2 void panel_avx2(const Panel& panel, int64_t rows, const float* x, float* y) {
  panel_samples<8, kTileRows, 2>(panel, rows, x, y);
}
void panel_baseline(const Panel& panel, int64_t rows, const float* x, float* y) {
  panel_samples<4, 3, 4>(panel, rows, x, y);
}

using PanelKernel = void (*)(const Panel&, int64_t, const float*, float*);

PanelKernel panel_kernel() {
  switch (simd_level()) {
    case SimdLevel::kAvx512:
      return panel_avx512;
    case SimdLevel::kAvx2:
      return panel_avx2;
    case SimdLevel::kBaseline:
      break;
  }
  return panel_baseline;
}

class DirectOperator : public Operator {
 public:
  explicit DirectOperator(const LinearProblem& problem)
      : batch_(problem.batch), inputs_(problem.inputs), outputs_(problem.outputs), kernel_(panel_kernel()) {
    const int64_t stored = round_up(outputs_, kUnit);
    packed_ = Buffer(Device::cpu(), static_cast<size_t>((inputs_ + 1) * stored) * sizeof(float));
    float* bias = packed_.as<float>();
    float* weights = bias + stored;
    std::fill(bias, weights + inputs_ * stored, 0.0f);
    for (int64_t first = 0; first < outputs_; first += kPanel) {
      Panel panel;
      panel.width = std::min(kPanel, stored - first);
      panel.outputs = std::min(kPanel, outputs_ - first);
      panel.inputs = inputs_;
      panel.y_step = outputs_;
      panel.relu = problem.relu;
      panel.bias = bias + first;
      panel.weights = weights + first * inputs_;
      for (int64_t o = 0; o < panel.outputs; ++o) {
        if (problem.bias) bias[first + o] = problem.bias[first + o];
        const float* row = problem.weights + (first + o) * inputs_;
        for (int64_t i = 0; i < inputs_; ++i) weights[first * inputs_ + i * panel.width + o] = row[i];
      }
      panels_.push_back(panel);
    }
  }

  std::string detail() const override { return to_string(simd_level()); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& /*context*/) override {
    const float* x = inputs[0].data;
    float* y = output.data;
    const auto panels = static_cast<int64_t>(panels_.size());
    // Threads share blocks of samples and panels, so that there is enough work if there are few of either. The samples
    // of a block stay in L1 for all panels.
    const int64_t macs_per_sample = inputs_ * outputs_;
    const int64_t fitting = kGrainMacs / std::max<int64_t>(macs_per_sample, 1);
    const int64_t block = std::clamp<int64_t>(fitting, kTileRows, kMaxBlockRows) / kTileRows * kTileRows;
    const int64_t blocks = ceil_div(batch_, block);
    const int64_t grain =
        std::max<int64_t>(1, kGrainMacs / std::max<int64_t>(1, block * macs_per_sample / panels));
    const int64_t slots = std::min<int64_t>(num_threads(), ceil_div(blocks * panels, grain));
    shared_loop({blocks * panels, slots}, [&](int64_t /*slot*/, int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t row = job / panels * block;
        const size_t index = static_cast<size_t>(job % panels);
        kernel_(panels_[index], std::min(block, batch_ - row), x + row * inputs_,
                y + row * outputs_ + static_cast<int64_t>(index) * kPanel);
      }
    });
  }

 private:
  int64_t batch_, inputs_, outputs_;
  PanelKernel kernel_;
  Buffer packed_;
  std::vector<Panel> panels_;
};

class DirectBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    return own_linear_limits("direct", problem, INT32_MAX);
  }

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& /*stream*/) const override {
    return std::make_unique<DirectOperator>(problem);
  }
};

}  // namespace

LENSLET_BACKEND(linear, cpu_direct, DirectBackend())

}  // namespace lenslet
