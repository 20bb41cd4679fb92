// Winograd convolution F(4x4, 3x3) on the CPU, bias and a rectifier fused: 36 multiplications where the direct sum has
// 144, at the price of a larger rounding error.
//
//   Y = A^T [sum over c of U_kc * V_c] A with V_c = B^T d_c B and U_kc = G g_kc G^T, for each 4x4 tile Y of outputs
//   x [N, C, H, W], w [K, C/G, 3, 3], y [N, K, P, Q], all NCHW; winograd/transforms.h has the source and the matrices
//
// winograd/steps.h has the steps: inputs are transformed with channels in the lanes of a vector, products and outputs
// have filters there, so that small planes lose nothing. A thread takes rows of tiles, also of several images, whose
// transformed inputs stay in its L2 cache; where there are too few tiles, threads share the filters. Preparing
// transforms the filters, in fp64, and packs them in the order in which they are read.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/parallel.h"
#include "framework/base/shared_loop.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/cpu/winograd/blocks.h"
#include "layers/conv/cpu/winograd/steps.h"
#include "layers/conv/winograd_accuracy.h"
#include "layers/fp32_only.h"

namespace lenslet {
namespace {

using namespace winograd_cpu;

/// The rows of tiles of a block that are of one image, `columns` wide from column `column` on.
struct Rectangle {
  int64_t n, row, column, rows, columns;
};

class WinogradKernel : public ConvKernel {
 public:
  explicit WinogradKernel(const ConvPrepare& request)
      : problem_(request.problem),
        blocks_(request.problem),
        after_(request.rectifier),
        filters_(pack_filters(request)),
        bias_(pack_bias(request)) {}
  size_t workspace_bytes() const override {
    return static_cast<size_t>(blocks_.slots * blocks_.floats()) * sizeof(float);
  }
  std::string detail() const override { return concat("F(4x4,3x3), ", to_string(simd_level())); }
  double products_saved() const override { return double{kOut * kOut * kTaps * kTaps} / kPositions; }

  void convolve(const ConvArgs& args, RunContext& context) override {
    float* const memory = static_cast<float*>(context.workspace);
    LoopShares shares;
    shares.items = blocks_.items;
    shares.slots = blocks_.slots;
    shares.light = blocks_.light;
    shared_loop(shares, [&](int64_t slot, int64_t begin, int64_t end) {
      run_items(args, begin, end, memory + slot * blocks_.floats());
    });
  }

 private:
  /// Filters of a group, in whole blocks; those after the last one are zero.
  int64_t stored_filters() const { return blocks_.parts * blocks_.part_filters; }

  /// Per group: blocks of filters, each [36][C/G][block].
  std::vector<float> pack_filters(const ConvPrepare& request) const {
    const int64_t channels = blocks_.channels, width = blocks_.block_filters;
    std::vector<float> packed(
        static_cast<size_t>(problem_.groups * stored_filters() * channels * kPositions));
    for (int64_t k = 0; k < problem_.k; ++k) {
      const int64_t group = k / blocks_.filters, filter = k % blocks_.filters;
      float* const out = packed.data() +
                         (group * stored_filters() + filter / width * width) * channels * kPositions +
                         filter % width;
      for (int64_t c = 0; c < channels; ++c)
        transform_filter(request.weights + (k * channels + c) * kTaps * kTaps, channels * width,
                         out + c * width);
    }
    return packed;
  }

  /// [groups][stored filters].
  std::vector<float> pack_bias(const ConvPrepare& request) const {
    std::vector<float> packed(static_cast<size_t>(problem_.groups * stored_filters()), 0.0f);
    for (int64_t k = 0; request.bias && k < problem_.k; ++k)
      packed[static_cast<size_t>(k / blocks_.filters * stored_filters() + k % blocks_.filters)] =
          request.bias[k];
    return packed;
  }

  void run_items(const ConvArgs& args, int64_t begin, int64_t end, float* memory) const {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t part = item % blocks_.parts, block = item / blocks_.parts % blocks_.count;
      run_block(args, item / blocks_.parts / blocks_.count, block, part * blocks_.part_filters, memory);
    }
  }

  void run_block(const ConvArgs& args, int64_t group, int64_t block, int64_t first_filter,
                 float* memory) const {
    float* const v = memory;
    float* const m = v + kPositions * blocks_.input_step();
    float* const padded = m + kPositions * blocks_.product_step();
    const int64_t tiles = for_each_rectangle(block, [&](const Rectangle& part, int64_t tile) {
      transform_inputs(args, group, part, padded, v + tile * blocks_.stored_channels);
    });
    const int64_t width = blocks_.block_filters;
    const int64_t end = std::min(first_filter + blocks_.part_filters, blocks_.filters);
    for (int64_t first = first_filter; first < end; first += width) {
      const int64_t stored = group * stored_filters() + first;
      steps().products({v, blocks_.input_step(), blocks_.stored_channels,
                        filters_.data() + stored * blocks_.channels * kPositions, blocks_.channels, width, m,
                        blocks_.product_step(), tiles});
      for_each_rectangle(block, [&](const Rectangle& part, int64_t tile) {
        for (int64_t lane = 0; lane < std::min(width, end - first); lane += blocks_.lanes)
          transform_outputs(args, group, part, first + lane, m + tile * width + lane);
      });
    }
  }

  /// Calls visit(rectangle, its first tile in the block) for each image of the block; returns the number of tiles.
  template <typename Visit>
  int64_t for_each_rectangle(int64_t block, const Visit& visit) const {
    const int64_t column = block % blocks_.pieces * blocks_.width;
    const int64_t columns = std::min(blocks_.width, blocks_.columns - column);
    int64_t strip = block / blocks_.pieces * blocks_.height, tile = 0;
    const int64_t end = std::min(strip + blocks_.height, blocks_.strips);
    while (strip < end) {
      const int64_t row = strip % blocks_.rows, rows = std::min(blocks_.rows - row, end - strip);
      visit(Rectangle{strip / blocks_.rows, row, column, rows, columns}, tile);
      tile += rows * columns;
      strip += rows;
    }
    return tile;
  }

  void transform_inputs(const ConvArgs& args, int64_t group, const Rectangle& part, float* padded,
                        float* v) const {
    const int64_t plane = int64_t{problem_.h} * problem_.w;
    const int64_t pitch = part.columns * kOut + kIn - kOut, height = part.rows * kOut + kIn - kOut;
    // In the image.
    const int64_t top = part.row * kOut - problem_.pad_h, left = part.column * kOut - problem_.pad_w;
    const int64_t row = std::clamp<int64_t>(top, 0, problem_.h),
                  end_row = std::clamp<int64_t>(top + height, row, problem_.h);
    const int64_t column = std::clamp<int64_t>(left, 0, problem_.w),
                  end_column = std::clamp<int64_t>(left + pitch, column, problem_.w);
    InputTask task;
    task.x = args.x + (part.n * problem_.c + group * blocks_.channels) * plane + row * problem_.w + column;
    task.plane = plane;
    task.w = problem_.w;
    task.rows = column < end_column ? end_row - row : 0;
    task.columns = end_column - column;
    task.padded = padded;
    task.first = (row - top) * pitch + column - left;
    task.tile_rows = part.rows;
    task.tile_columns = part.columns;
    task.v = v;
    task.v_step = blocks_.input_step();
    task.tile_step = blocks_.stored_channels;
    // The padding; each vector of channels overwrites the rest.
    if (task.rows < height || task.columns < pitch) std::fill_n(padded, height * pitch * blocks_.lanes, 0.0f);
    for (int64_t c = 0; c < blocks_.channels; c += blocks_.lanes) {
      task.channels = blocks_.channels - c;
      steps().input(task);
      task.x += blocks_.lanes * plane;
      task.v += blocks_.lanes;
    }
  }

  /// Transforms the outputs of a vector of filters, the first `filter` of the group.
  void transform_outputs(const ConvArgs& args, int64_t group, const Rectangle& part, int64_t filter,
                         const float* m) const {
    const int64_t p = problem_.p(), q = problem_.q(), row = part.row * kOut, column = part.column * kOut;
    const int64_t k = group * blocks_.filters + filter;
    OutputTask task;
    task.m = m;
    task.m_step = blocks_.product_step();
    task.width = blocks_.block_filters;
    task.tile_rows = part.rows;
    task.tile_columns = part.columns;
    task.bias = bias_.data() + group * stored_filters() + filter;
    task.after = after_;
    task.filters = blocks_.filters - filter;
    task.y = args.y + ((part.n * problem_.k + k) * p + row) * q + column;
    task.plane = p * q;
    task.q = q;
    task.rows = p - row;
    task.columns = q - column;
    steps().output(task);
  }

  Conv2dProblem problem_;
  Blocks blocks_;
  Rectifier after_;
  std::vector<float> filters_;  // transformed and packed
  std::vector<float> bias_;     // packed
};

class WinogradBackend : public ConvBackend {
 public:
  bool suits(const Conv2dProblem& problem, MathMode /*math*/) const override {
    const Blocks blocks(problem);
    return blocks.channels >= 8 && blocks.filters >= 8 && blocks.strips * blocks.columns >= 4;
  }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    const Blocks blocks(problem);
    return static_cast<size_t>(blocks.slots * blocks.floats()) * sizeof(float);
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode /*math*/) const override {
    ConvAccuracy accuracy = winograd_accuracy(problem, kWinogradSixInputs);
    accuracy.exact_on_integers = false;  // G contains thirds and fifths
    return accuracy;
  }
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support support = fp32_only("winograd on the CPU", math); !support) return support;
    if (const Support nchw = nchw_only("winograd", problem); !nchw) return nchw;
    if (problem.r != kTaps || problem.s != kTaps) {
      return Support::no(concat("winograd on the CPU supports 3x3 filters, found ", problem.r, "x", problem.s,
                                ": use direct"));
    }
    if (const Support window = winograd_window(problem, "use direct"); !window) return window;
    if (problem.c / problem.groups > kMaxChannels) {
      return Support::no(concat("winograd on the CPU supports up to ", kMaxChannels,
                                " channels per group, found ", problem.c / problem.groups, ": use direct"));
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<WinogradKernel>(request);
  }
};

}  // namespace

LENSLET_BACKEND(conv, cpu_winograd, WinogradBackend())

}  // namespace lenslet
