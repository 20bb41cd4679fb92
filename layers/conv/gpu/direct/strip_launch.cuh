// When and how RGB images are cut into strips, and the launch of conv_direct_strip_kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "framework/base/error.h"
#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/strip.cuh"

namespace lenslet {

template <int K, int kStride, TensorLayout kLayout, bool kVector>
class DirectStrip
    : public OneLaunchConv<DirectRowsFilter<3, K, 3, 3>, DirectStripShape, const float*, float*> {
 public:
  DirectStrip(const ConvPrepare& request, int multiprocessor_count) : filter_(rgb_filter<K>(request)) {
    const Conv2dProblem& problem = request.problem;
    set_planes(shape_, problem);
    const int column_groups = static_cast<int>(ceil_div(problem.w, kDirectStripColumns));
    shape_.strips = count_strips(problem, column_groups, multiprocessor_count);
    shape_.warps = problem.n * shape_.strips * column_groups;
    shape_.by_column_groups = FastDivide(column_groups);
    shape_.by_strips = FastDivide(shape_.strips);
    shape_.relu = request.rectifier.relu();
    this->launch_ = {"conv_direct_strip_kernel", &conv_direct_strip_kernel<K, kStride, kLayout, kVector>,
                     grid_blocks(shape_.warps, kWarps), kDirectStripThreads};
    this->detail_ =
        concat("strips of ", shape_.p / shape_.strips, " rows, 4 columns x ", K, " channels a lane");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    this->launch_(context.stream, filter_, shape_, args.x, args.y);
  }

 private:
  static constexpr int kWarps = kDirectStripThreads / 32;

  /// As many strips as fill the GPU once, so that no second wave waits for the first one's last warp and few rows are
  /// read by two strips; fewer blocks on a multiprocessor where strips would get too short to pay for their first rows.
  static int count_strips(const Conv2dProblem& problem, int column_groups, int multiprocessor_count) {
    // A strip reads two rows (stride 1) or one (stride 2) that its neighbour reads too: 9 rows instead of 7, or 7
    // instead of 6. Chosen by hand.
    constexpr int kMinRows = kStride == 1 ? 7 : 3;
    // Blocks of a multiprocessor, chosen by hand. At stride 2 at least 4 fit, the launch bounds. At stride 1, by the
    // registers of sm_90 in parentheses, 7, 6 and 5 fit for K = 1 to 3 (72, 80, 96). The count is one block more than
    // fits for K = 4, which only NHWC has (120: 4 fit), and without kVector for K = 1 (95: 5 fit) and K = 3 (128: 4
    // fit). The last blocks may then run in a second wave; no file measures these cases.
    constexpr int kMaxBlocks = kStride == 2 ? 4 : K == 1 ? 6 : 5;
    // Whether strips longer than kMaxRows ran faster with one block fewer. Chosen by hand: no file compares.
    constexpr bool kLongWithFewerBlocks = kStride == 1 && K > 1;
    constexpr int kMaxRows = 48;
    const int64_t columns = int64_t{problem.n} * column_groups;
    const int64_t warps = int64_t{multiprocessor_count} * kWarps;
    int64_t strips = 1;
    for (int blocks = kMaxBlocks; blocks >= 1; --blocks) {
      strips = std::max<int64_t>(1, blocks * warps / columns);
      const int64_t rows = problem.p() / strips;
      if (kLongWithFewerBlocks && rows > kMaxRows && blocks == kMaxBlocks) continue;
      if (rows >= kMinRows) break;
    }
    // Warps of many small images fill the GPU unevenly: then shorter strips, several waves of them. From 4 strips on,
    // rounding their number down leaves at most a fifth of the GPU empty (4 of 5); below 4 up to half (1 of 2). The
    // last of 4 waves may be nearly empty. Chosen by this arithmetic.
    constexpr int kFewStrips = 4, kWaves = 4;
    if (strips < kFewStrips) strips = std::max<int64_t>(1, kWaves * kMaxBlocks * warps / columns);
    return static_cast<int>(std::min<int64_t>(strips, problem.p()));
  }

  DirectRowsFilter<3, K, 3, 3> filter_;
  DirectStripShape shape_{};
};

/// Padding 1, stride 1 or 2, and rows that fill at least half of the lanes.
inline bool strips_support(const Conv2dProblem& problem) {
  return is_rgb_3x3(problem) && problem.pad_h == 1 && problem.pad_w == 1 && problem.stride_h <= 2 &&
         2 * int64_t{problem.w} >= round_up(problem.w, kDirectStripColumns);
}

template <int K, TensorLayout kLayout, bool kVector>
std::unique_ptr<ConvKernel> make_strip(const ConvPrepare& request, int multiprocessor_count) {
  if (request.problem.stride_h == 1) {
    return std::make_unique<DirectStrip<K, 1, kLayout, kVector>>(request, multiprocessor_count);
  }
  return std::make_unique<DirectStrip<K, 2, kLayout, kVector>>(request, multiprocessor_count);
}

/// The launch for an NCHW problem; null if strips do not support it.
inline std::unique_ptr<ConvKernel> prepare_strip(const ConvPrepare& request, int multiprocessor_count) {
  const Conv2dProblem& problem = request.problem;
  if (!strips_support(problem) || (problem.k != 1 && problem.k != 3)) return nullptr;
  constexpr TensorLayout kNchw = TensorLayout::kNchw;
  if (problem.w % 4 == 0) {
    return problem.k == 1 ? make_strip<1, kNchw, true>(request, multiprocessor_count)
                          : make_strip<3, kNchw, true>(request, multiprocessor_count);
  }
  return problem.k == 1 ? make_strip<1, kNchw, false>(request, multiprocessor_count)
                        : make_strip<3, kNchw, false>(request, multiprocessor_count);
}

}  // namespace lenslet
