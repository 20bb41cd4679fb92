// Implicit GEMM convolution, fp32 FFMA: per group,
//   y [K/G, N*P*Q] = w [K/G, C/G*R*S] x im2col(x) [C/G*R*S, N*P*Q]
//
// The im2col matrix is never stored: blocks gather their part of it into shared memory by a table of offsets,
// one entry for each (c, r, s). S. Chetlur et al., "cuDNN: efficient primitives for deep learning",
// arXiv:1410.0759 (2014), section 3; here the offsets are precomputed on the host, so that the loop divides
// nothing. It supports any stride, padding, dilation, groups and batch; bias and ReLU are fused. Filters three taps
// wide at stride 1 have their own kernel, implicit_gemm/rows.cuh, which fetches a third as much.
#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/integer_math.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/implicit_gemm/cost.h"
#include "layers/conv/gpu/implicit_gemm/kernel.cuh"
#include "layers/conv/gpu/implicit_gemm/rows_launch.cuh"
#include "layers/conv/gpu/implicit_gemm_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace {

using ImplicitGemmFunction = void (*)(ImplicitGemmShape, const float*, const float*, const float*,
                                      const ImplicitGemmTap*, float*);

struct Variant {
  int block_m, block_n, block_l, threads;
  double efficiency;  // of the inner loop with every multiprocessor full, relative to the largest tile
  ImplicitGemmFunction checked, unchecked;
};

template <class Tile>
constexpr Variant variant(double efficiency) {
  return {Tile::kBlockM,
          Tile::kBlockN,
          Tile::kBlockL,
          Tile::kThreads,
          efficiency,
          &conv_implicit_gemm_kernel<Tile, true>,
          &conv_implicit_gemm_kernel<Tile, false>};
}

// The smaller a tile, the more often an operand is fetched; the more blocks, the more multiprocessors a small
// problem reaches. Few filters (LeNet's 6 and 16) need a flat tile. Each number is the tile's share of the largest
// one's rate, chosen by hand; tests/conv/conv_launches_test.cu pins the choices that follow from it.
constexpr Variant kVariants[] = {
    variant<SgemmTile<128, 128, 16, 8, 8, 4, 2>>(1.0), variant<SgemmTile<128, 64, 8, 8, 8, 8, 4>>(0.93),
    variant<SgemmTile<64, 128, 8, 8, 8, 8, 4>>(0.86),  variant<SgemmTile<32, 128, 16, 8, 4, 4, 4>>(0.78),
    variant<SgemmTile<16, 128, 16, 8, 4, 2, 8>>(0.6),  variant<SgemmTile<8, 256, 8, 8, 4, 1, 8>>(0.4),
    variant<SgemmTile<8, 64, 16, 4, 4, 2, 8>>(0.33),   variant<SgemmTile<32, 32, 16, 4, 4, 8, 8>>(0.45),
    variant<SgemmTile<16, 64, 16, 4, 4, 4, 8>>(0.5),   variant<SgemmTile<16, 32, 16, 4, 4, 4, 8>>(0.35),
};

double variant_cost(const Conv2dProblem& problem, const Variant& variant, int multiprocessor_count) {
  return implicit_gemm_cost(variant, group_tiles(problem, variant, problem.q()) * problem.groups,
                            multiprocessor_count);
}

/// The variant whose busiest multiprocessor has the least to do.
const Variant& choose_variant(const Conv2dProblem& problem, int multiprocessor_count) {
  const Variant* best = &kVariants[0];
  double best_cost = INFINITY;
  for (const Variant& candidate : kVariants) {
    const double cost = variant_cost(problem, candidate, multiprocessor_count);
    if (cost < best_cost) {
      best_cost = cost;
      best = &candidate;
    }
  }
  return *best;
}

class ImplicitGemm : public OneLaunchConv<ImplicitGemmShape, const float*, const float*, const float*,
                                          const ImplicitGemmTap*, float*> {
 public:
  ImplicitGemm(const ConvPrepare& request, const Variant& variant) {
    const Conv2dProblem& problem = request.problem;
    const int taps = problem.c / problem.groups * problem.r * problem.s;
    const int steps = static_cast<int>(ceil_div(taps, variant.block_l));
    const int padded_taps = steps * variant.block_l;
    const bool unpadded = problem.pad_h == 0 && problem.pad_w == 0;

    set_implicit_gemm_sizes(shape_, problem, variant.block_m);
    set_strides(shape_, problem);
    shape_.positions = problem.n * shape_.plane;
    shape_.steps = steps;
    shape_.filter_tiles = shape_.filter_pitch / variant.block_m;
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(shape_.q);
    shape_.vector_store = shape_.plane % 4 == 0;
    shape_.after = StoreRectifier(request.rectifier);

    filters_ = upload_filters(request, padded_taps, shape_.filter_pitch);
    bias_ = upload_bias(request, shape_.filter_pitch);

    taps_ = upload_table(request, implicit_gemm_taps(problem, padded_taps));
    launch_ = {"conv_implicit_gemm_kernel", unpadded ? variant.unchecked : variant.checked,
               dim3(static_cast<unsigned>(group_tiles(problem, variant, problem.q())),
                    static_cast<unsigned>(problem.groups)),
               static_cast<unsigned>(variant.threads)};
    detail_ = concat(variant.block_m, " filters x ", variant.block_n, " positions per block");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(),
            static_cast<const ImplicitGemmTap*>(taps_.get()), args.y);
  }

 private:
  ImplicitGemmShape shape_{};
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> taps_;
};

class ImplicitGemmBackend : public SummingBackend {
 public:
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only("implicit_gemm", math); !fp32) return fp32;
    if (const Support nchw = nchw_only("implicit_gemm", problem); !nchw) return nchw;
    if (const Support limits = own_kernel_limits("implicit_gemm", problem); !limits) return limits;
    const Support reach =
        offsets_fit("implicit_gemm", problem, implicit_gemm_reach(problem), ImplicitGemmTap::kNowhere);
    return reach ? groups_fit_grid("implicit_gemm", problem) : reach;
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    const GpuTraits gpu = gpu_traits(request.stream.device());
    const Variant& variant = choose_variant(request.problem, gpu.multiprocessors);
    if (const ImplicitGemmRowsVariant* rows = choose_implicit_gemm_rows(
            request.problem, variant_cost(request.problem, variant, gpu.multiprocessors), gpu)) {
      return std::make_unique<ImplicitGemmRows>(request, *rows);
    }
    return std::make_unique<ImplicitGemm>(request, variant);
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_implicit_gemm, ImplicitGemmBackend())

}  // namespace lenslet
