// The host side of implicit_gemm/rows.cuh: supported problems, estimated cost, and preparation.
#pragma once

#include "layers/conv/gpu/implicit_gemm/cost.h"
#include "layers/conv/gpu/implicit_gemm/rows.cuh"
#include "layers/conv/gpu/implicit_gemm_host.cuh"

namespace lenslet {

using ImplicitGemmRowsFunction = void (*)(ImplicitGemmRowsShape, const float*, const float*, const float*,
                                          const ImplicitGemmRow*, float*);

struct ImplicitGemmRowsVariant {
  int block_m, block_n, pad_w, threads, rows, taps, stages;
  size_t shared_bytes;
  // Relative to the gathering kernel's largest tile, chosen by hand. For 128 x 128: rung 11 of the ladder, which
  // gathers, took 1.05 to 1.15 times as long on an H100 (docs/results/2026-11-27-h100/reproduce.json, where it is 08).
  double efficiency;
  ImplicitGemmRowsFunction kernel;
};

template <class Tile>
constexpr ImplicitGemmRowsVariant implicit_gemm_rows_variant(double efficiency) {
  return {Tile::kBlockM, Tile::kBlockN,
          Tile::kPadW,   Tile::kThreads,
          Tile::kRows,   Tile::kBlockL,
          Tile::kStages, Tile::kStages * sizeof(typename Tile::Stage),
          efficiency,    &conv_implicit_gemm_rows_kernel<Tile>};
}

inline constexpr ImplicitGemmRowsVariant kImplicitGemmRowsVariants[] = {
    implicit_gemm_rows_variant<ImplicitGemmRowsTile<128, 128, 0>>(1.12),
    implicit_gemm_rows_variant<ImplicitGemmRowsTile<128, 128, 1>>(1.12),
    implicit_gemm_rows_variant<ImplicitGemmRowsTile<64, 128, 0>>(1.0),
    implicit_gemm_rows_variant<ImplicitGemmRowsTile<64, 128, 1>>(1.0),
};

inline bool implicit_gemm_rows_supports(const ImplicitGemmRowsVariant& choice, const Conv2dProblem& problem) {
  return problem.s == 3 && problem.stride_w == 1 && problem.dilation_w == 1 &&
         problem.pad_w == choice.pad_w && problem.w % 4 == 0 &&
         problem.q() == problem.w + 2 * choice.pad_w - 2 &&
         int64_t{problem.n} * problem.p() * problem.w <= GpuLimits::kElements;
}

/// The cheapest variant of the kernel for rows of three taps; null if none supports the problem or all cost more than
/// `other_cost`.
inline const ImplicitGemmRowsVariant* choose_implicit_gemm_rows(const Conv2dProblem& problem,
                                                                double other_cost, const GpuTraits& gpu) {
  if (gpu.compute_capability < GpuLimits::kAsyncCopies) return nullptr;
  const ImplicitGemmRowsVariant* best = nullptr;
  for (const ImplicitGemmRowsVariant& candidate : kImplicitGemmRowsVariants) {
    if (!implicit_gemm_rows_supports(candidate, problem)) continue;
    if (candidate.shared_bytes > gpu.shared_bytes_per_block_optin) continue;
    const double cost = implicit_gemm_cost(
        candidate, group_tiles(problem, candidate, problem.w) * problem.groups, gpu.multiprocessors);
    if (cost < other_cost) {
      other_cost = cost;
      best = &candidate;
    }
  }
  return best;
}

class ImplicitGemmRows : public OneLaunchConv<ImplicitGemmRowsShape, const float*, const float*, const float*,
                                              const ImplicitGemmRow*, float*> {
 public:
  ImplicitGemmRows(const ConvPrepare& request, const ImplicitGemmRowsVariant& choice) {
    const Conv2dProblem& problem = request.problem;
    const int rows = problem.c / problem.groups * problem.r;
    const int steps = static_cast<int>(ceil_div(rows, choice.rows));
    set_implicit_gemm_sizes(shape_, problem, choice.block_m);
    shape_.positions = problem.n * problem.p() * problem.w;
    shape_.steps = steps;
    shape_.stride_h = problem.stride_h;
    shape_.pad_h = problem.pad_h;
    shape_.by_plane = FastDivide(problem.p() * problem.w);
    shape_.by_w = FastDivide(problem.w);
    shape_.after = StoreRectifier(request.rectifier);

    filters_ = upload_filters(request, steps * choice.taps, shape_.filter_pitch);
    bias_ = upload_bias(request, shape_.filter_pitch);
    // The kernel looks up as far ahead as it copies.
    std::vector<ImplicitGemmRow> table(static_cast<size_t>(steps + choice.stages) * choice.rows,
                                       ImplicitGemmRow{0, ImplicitGemmRow::kNowhere});
    for (int i = 0; i < rows; ++i) {
      const int c = i / problem.r, dh = i % problem.r * problem.dilation_h;
      table[static_cast<size_t>(i)] = {(c * problem.h + dh) * problem.w, dh};
    }
    rows_ = upload_table(request, table);
    const auto blocks = static_cast<unsigned>(group_tiles(problem, choice, problem.w));
    launch_ = {"conv_implicit_gemm_rows_kernel", choice.kernel,
               dim3(blocks, static_cast<unsigned>(problem.groups)), static_cast<unsigned>(choice.threads),
               choice.shared_bytes};
    detail_ =
        concat(choice.block_m, " filters x ", choice.block_n, " positions per block, rows of three taps");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    launch_(context.stream, shape_, args.x, filters_.get(), bias_.get(),
            static_cast<const ImplicitGemmRow*>(rows_.get()), args.y);
  }

 private:
  ImplicitGemmRowsShape shape_{};
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> rows_;
};

}  // namespace lenslet
