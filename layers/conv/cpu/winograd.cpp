// Winograd convolution F(4x4, 3x3) on the CPU, bias and a rectifier fused: 36 multiplications where the direct sum has
// 144, at the price of a larger rounding error.
//
//   Y = A^T [sum over c of U_kc * V_c] A with V_c = B^T d_c B and U_kc = G g_kc G^T, for each 4x4 tile Y of outputs
//   x [N, C, H, W], w [K, C/G, 3, 3], y [N, K, P, Q], all NCHW; winograd/transforms.h has the source and the matrices
//
// Tiles of all images are one line, of which a thread takes a block at a time. For each channel the rows of the block's
// tiles are copied side by side, zeros where the padding is, and transformed, a tile in each lane of a vector. The sums
// over c are then 36 matrix products [K/G, C/G] * [C/G, tiles] with the register tile of
// layers/gemm/cpu/tile_kernel.h, for eight filters at a time, whose outputs are transformed while the products are in
// the cache. Preparing transforms the filters, in fp64, and packs them in the order in which they are read.
#include <algorithm>
#include <array>

#include "framework/base/parallel.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/cpu/winograd/blocks.h"
#include "layers/conv/cpu/winograd/transforms.h"
#include "layers/fp32_only.h"
#include "layers/gemm/cpu/tile_kernel.h"

namespace lenslet {
namespace {

using namespace winograd_cpu;

/// Neighbouring tiles of one row of tiles: `count` from column `column` on, in the block from `tile` on.
struct Strip {
  int64_t n, row, column, count, tile;
};

class WinogradKernel : public ConvKernel {
 public:
  explicit WinogradKernel(const ConvPrepare& request)
      : problem_(request.problem),
        blocks_(request.problem),
        after_(request.applied()),
        filters_(pack_filters(request)) {
    if (request.bias) bias_.assign(request.bias, request.bias + problem_.k);
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(blocks_.slots * blocks_.floats()) * sizeof(float);
  }
  std::string detail() const override { return concat("F(4x4,3x3), ", tile_kernels().isa); }
  double products_saved() const override { return double{kOut * kOut * kTaps * kTaps} / kPositions; }

  void run(const ConvArgs& args, RunContext& context) override {
    float* const memory = static_cast<float*>(context.workspace);
    if (blocks_.slots == 1) return run_items(args, 0, blocks_.items, memory);
    const auto run_slots = [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        run_items(args, slot * blocks_.items / blocks_.slots, (slot + 1) * blocks_.items / blocks_.slots,
                  memory + slot * blocks_.floats());
      }
    };
    blocks_.light ? parallel_for_light(blocks_.slots, 1, run_slots)
                  : parallel_for(blocks_.slots, 1, run_slots);
  }

 private:
  /// Per group: row blocks of up to eight filters, each [36][C/G, block].
  static std::vector<float> pack_filters(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const int64_t channels = problem.c / problem.groups, filters = problem.k / problem.groups;
    std::vector<float> packed(static_cast<size_t>(problem.k * channels * kPositions));
    float* out = packed.data();
    for (int64_t k = 0; k < problem.k;) {
      const int block = next_row_block(filters - k % filters);
      for (int64_t c = 0; c < channels; ++c) {
        for (int j = 0; j < block; ++j) {
          transform_filter(request.weights + ((k + j) * channels + c) * kTaps * kTaps, channels * block,
                           out + c * block + j);
        }
      }
      out += kPositions * channels * block;
      k += block;
    }
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
    std::array<Strip, kBlockTiles> strips;
    const int64_t strip_count = divide(block * blocks_.width, strips);
    const int64_t row_step = kOut * blocks_.width;
    float* const v = memory;
    float* const m = v + kPositions * blocks_.position_step();
    float* const rows = m + kPositions * blocks_.product_step();
    float* const out_rows = rows + 2 * kIn * row_step;
    transform_inputs(args.x + group * blocks_.channels * problem_.h * problem_.w, strips, strip_count, rows,
                     v);

    const int64_t end = std::min(first_filter + blocks_.part_filters, blocks_.filters);
    const int64_t plane = int64_t{problem_.p()} * problem_.q();
    std::array<Piece, kBlockTiles * kOut> pieces;
    const int64_t piece_count = output_pieces(strips, strip_count, pieces);
    TileArgs tile;
    tile.taps = blocks_.channels;
    tile.b_step = blocks_.width;
    tile.count = blocks_.width;
    tile.out_step = blocks_.width;
    for (int64_t j = first_filter; j < end;) {
      const int filters = next_row_block(blocks_.filters - j);
      const int64_t k = group * blocks_.filters + j;
      const float* const u = filters_.data() + k * blocks_.channels * kPositions;
      for (int64_t i = 0; i < kPositions; ++i) {
        tile.a = u + i * blocks_.channels * filters;
        tile.b = v + i * blocks_.position_step();
        tile.out = m + i * blocks_.product_step();
        tile_kernels().run[filters](tile);
      }
      for (int f = 0; f < filters; ++f) {
        const float bias = bias_.empty() ? 0.0f : bias_[static_cast<size_t>(k + f)];
        transforms().output({m + f * blocks_.width, blocks_.product_step(), bias, after_, out_rows, row_step,
                             blocks_.width, args.y + (k + f) * plane, pieces.data(), piece_count});
      }
      j += filters;
    }
  }

  /// The strips of the block from tile `first` on; returns their number.
  int64_t divide(int64_t first, std::array<Strip, kBlockTiles>& strips) const {
    const int64_t end = std::min(first + blocks_.width, blocks_.tiles);
    int64_t count = 0;
    for (int64_t tile = first; tile < end;) {
      const int64_t row = tile / blocks_.columns, column = tile % blocks_.columns;
      const int64_t length = std::min(blocks_.columns - column, end - tile);
      strips[static_cast<size_t>(count++)] = {row / blocks_.rows, row % blocks_.rows, column, length,
                                              tile - first};
      tile += length;
    }
    return count;
  }

  /// Writes [36][C/G, width] for the images' group of channels that begins at x.
  void transform_inputs(const float* x, const std::array<Strip, kBlockTiles>& strips, int64_t strip_count,
                        float* rows, float* v) const {
    const int64_t row_step = kOut * blocks_.width;
    const int64_t plane = int64_t{problem_.h} * problem_.w;
    std::array<Piece, kBlockTiles * kIn * 2> pieces;
    int64_t count = 0;
    for (int64_t s = 0; s < strip_count; ++s) {
      const Strip& strip = strips[static_cast<size_t>(s)];
      for (int64_t i = 0; i < kIn; ++i) {
        const int64_t h = strip.row * kOut + i - problem_.pad_h;
        if (h < 0 || h >= problem_.h) continue;
        // Once from the tiles' first column on, once from that of their right neighbours on.
        for (int64_t next = 0; next < 2; ++next) {
          const int64_t start = (strip.column + next) * kOut - problem_.pad_w;
          const int64_t begin = std::max<int64_t>(start, 0),
                        end = std::min<int64_t>(start + strip.count * kOut, problem_.w);
          if (begin >= end) continue;
          pieces[static_cast<size_t>(count++)] = {
              strip.n * problem_.c * plane + h * problem_.w + begin,
              (next * kIn + i) * row_step + strip.tile * kOut + begin - start, end - begin};
        }
      }
    }
    std::fill_n(rows, 2 * kIn * row_step, 0.0f);
    InputTask task{x, pieces.data(),           count,        rows, rows + kIn * row_step, row_step,
                   v, blocks_.position_step(), blocks_.width};
    for (int64_t c = 0; c < blocks_.channels; ++c, task.v += blocks_.width, task.x += plane)
      transforms().input(task);
  }

  /// Of the planes of filter 0.
  int64_t output_pieces(const std::array<Strip, kBlockTiles>& strips, int64_t strip_count,
                        std::array<Piece, kBlockTiles * kOut>& pieces) const {
    const int64_t p = problem_.p(), q = problem_.q();
    int64_t count = 0;
    for (int64_t s = 0; s < strip_count; ++s) {
      const Strip& strip = strips[static_cast<size_t>(s)];
      const int64_t column = strip.column * kOut, first = strip.row * kOut;
      for (int64_t i = 0; i < std::min<int64_t>(kOut, p - first); ++i) {
        pieces[static_cast<size_t>(count++)] = {strip.n * problem_.k * p * q + (first + i) * q + column,
                                                i * kOut * blocks_.width + strip.tile * kOut,
                                                std::min(strip.count * kOut, q - column)};
      }
    }
    return count;
  }

  Conv2dProblem problem_;
  Blocks blocks_;
  Rectifier after_;
  std::vector<float> filters_;  // transformed and packed
  std::vector<float> bias_;     // [K] or empty
};

class WinogradBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support support = fp32_only("the CPU", math); !support) return support;
    if (const Support nchw = nchw_only("winograd", problem); !nchw) return nchw;
    if (problem.r != kTaps || problem.s != kTaps) {
      return Support::no(concat("winograd on the CPU supports 3x3 filters, found ", problem.r, "x", problem.s,
                                ": use direct"));
    }
    if (problem.stride_h != 1 || problem.stride_w != 1) {
      return Support::no(concat("winograd supports stride 1, found ", problem.stride_h, "x", problem.stride_w,
                                ": use direct"));
    }
    if (problem.dilation_h != 1 || problem.dilation_w != 1) {
      return Support::no(concat("winograd supports dense filters, found dilation ", problem.dilation_h, "x",
                                problem.dilation_w, ": use direct"));
    }
    if (problem.c / problem.groups > kMostChannels) {
      return Support::no(concat("winograd on the CPU supports up to ", kMostChannels,
                                " channels a group, found ", problem.c / problem.groups, ": use direct"));
    }
    return Support::yes();
  }
  bool suits(const Conv2dProblem& problem) const override {
    const Blocks blocks(problem);
    return blocks.channels >= 8 && blocks.filters >= 8 && blocks.tiles >= 16;
  }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    const Blocks blocks(problem);
    return static_cast<size_t>(blocks.slots * blocks.floats()) * sizeof(float);
  }
  /// Let a = kAmplification, a^2 in two dimensions. Every product |x||w| inside a tile is rounded at most C/G + 19
  /// times, each time amplified by at most that factor: C/G times in the sum over channels and once more where the
  /// processor has no fused multiply-add, once in U, 3 times in each of the two transforms of the inputs, 4 times in
  /// each of the two of the outputs, and with the bias. So |error| <= 1.01 * a^2 * (C/G + 19) * eps * (max|x| * sum|w|
  /// + |b|). The maximum is that of the image, because a tile's rounding also comes from inputs outside the output's
  /// window.
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode /*math*/) const override {
    const double channels = double{1} * problem.c / problem.groups;
    ConvAccuracy accuracy;
    accuracy.constant =
        1.01 * kAmplification * kAmplification * (channels + 19) / static_cast<double>(conv_terms(problem));
    accuracy.exact_on_integers = false;  // G contains thirds and fifths
    accuracy.by_image_maximum = true;
    return accuracy;
  }
  bool fuses_rectifiers() const override { return true; }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    auto kernel = std::make_unique<WinogradKernel>(request);
    if (kernel->workspace_bytes() > request.workspace_limit) {
      throw MemoryError(concat("conv winograd needs ", kernel->workspace_bytes(),
                               " bytes of workspace, the limit is ", request.workspace_limit));
    }
    return kernel;
  }
};

}  // namespace

LENSLET_BACKEND(conv, cpu_winograd, WinogradBackend())

}  // namespace lenslet
