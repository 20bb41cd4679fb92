// Problems that the rows kernel supports, its tiling, and its launch.
#pragma once

#include <memory>

#include "layers/conv/gpu/direct/launch.cuh"
#include "layers/conv/gpu/direct/rows.cuh"

namespace lenslet {

constexpr int kDirectRowsThreads = 128;

template <int C, int K, int R, int S, int kStride, int kPad, int kRows, int kOut, bool kPool = false>
class DirectRows : public OneLaunchConv<DirectRowsFilter<C, K, R, S>, DirectRowsShape, const float*, float*> {
 public:
  DirectRows(const ConvPrepare& request, int multiprocessor_count) {
    const Conv2dProblem& problem = request.problem;
    // [K, C, R, S] to [C, R, S, K]: weights that a thread uses together are contiguous and read two at a time.
    for (int k = 0; k < K; ++k) {
      filter_.bias[k] = request.bias ? request.bias[k] : 0.0f;
      for (int i = 0; i < C * R * S; ++i) filter_.weights[i * K + k] = request.weights[k * C * R * S + i];
    }
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.p = kPool ? problem.p() / 2 : problem.p();
    shape_.q = kPool ? problem.q() / 2 : problem.q();
    const int row_segments = static_cast<int>(ceil_div(shape_.p, kPool ? kRows / 2 : kRows));
    const int column_segments = static_cast<int>(ceil_div(shape_.q, kMaxStored));
    shape_.segments = problem.n * row_segments * column_segments;
    shape_.row_segments = FastDivide(row_segments);
    shape_.column_segments = FastDivide(column_segments);
    shape_.store_width = kMaxStored;
    while (shape_.q % shape_.store_width != 0) shape_.store_width /= 2;
    shape_.relu = request.rectifier.relu();
    // Small problems are spread over as many multiprocessors as there are warps.
    const int block =
        shape_.segments >= kDirectRowsThreads * multiprocessor_count ? kDirectRowsThreads : GpuLimits::kWarp;
    this->launch_ = {"conv_direct_rows_kernel",
                     &conv_direct_rows_kernel<C, K, R, S, kStride, kPad, kRows, kOut, kPool>,
                     dim3(grid_blocks(shape_.segments, block), K / kOut), static_cast<unsigned>(block)};
    this->detail_ =
        concat("rows, ", kRows, "x4 positions x ", kOut, " filters per thread", kPool ? ", pooled 2x2" : "");
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    this->launch_(context.stream, filter_, shape_, args.x, args.y);
  }

 private:
  static constexpr int kMaxStored = kPool ? 2 : 4;  // columns of a thread in the plane that is stored

  DirectRowsFilter<C, K, R, S> filter_;
  DirectRowsShape shape_{};
};

/// The rows kernel if the problem has exactly these sizes, else null. kRows is for problems that fill the GPU; smaller
/// ones get smaller units: one row per thread, and kFewOut filters if even that leaves multiprocessors idle.
template <int C, int K, int R, int S, int kStride, int kPad, int kRows, int kFewOut>
std::unique_ptr<ConvKernel> try_rows(const ConvPrepare& request, int multiprocessor_count) {
  const Conv2dProblem& problem = request.problem;
  const bool fits = is_plain(problem) && problem.c == C && problem.k == K && problem.r == R &&
                    problem.s == S && problem.stride_h == kStride && problem.pad_h == kPad &&
                    problem.pad_w == kPad && problem.w % 4 == 0;
  if (!fits) return nullptr;
  if (request.max_pool) {
    const int64_t threads = int64_t{problem.n} * (problem.p() / 2) * ceil_div(problem.q() / 2, 2);
    if (threads < int64_t{kDirectRowsThreads} * multiprocessor_count) {
      return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 2, kFewOut, true>>(request,
                                                                                       multiprocessor_count);
    }
    return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 2, K, true>>(request, multiprocessor_count);
  }
  const int64_t row_threads = int64_t{problem.n} * problem.p() * ceil_div(problem.q(), 4);
  // Images of three channels with that few outputs get a thread per pixel: direct/pixels_launch.cuh.
  if constexpr (C != 3) {
    if (row_threads < int64_t{kDirectRowsThreads} * multiprocessor_count) {
      return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 1, kFewOut>>(request,
                                                                                 multiprocessor_count);
    }
  }
  // Eight blocks, half of the 2,048 threads that a multiprocessor of an H100 or H200 holds. With two rows per thread
  // half as many threads remain. Chosen by hand.
  if (row_threads < int64_t{8} * kDirectRowsThreads * multiprocessor_count) {
    return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, 1, K>>(request, multiprocessor_count);
  }
  return std::make_unique<DirectRows<C, K, R, S, kStride, kPad, kRows, K>>(request, multiprocessor_count);
}

inline std::unique_ptr<ConvKernel> prepare_rows(const ConvPrepare& request, int multiprocessor_count) {
  if (request.max_pool && !request.max_pool->is_halving()) return nullptr;
  using Try = std::unique_ptr<ConvKernel> (*)(const ConvPrepare&, int);
  constexpr Try kTries[] = {
      &try_rows<1, 6, 5, 5, 1, 0, 1, 2>,                                     // LeNet-5's first layer
      &try_rows<3, 1, 3, 3, 1, 1, 2, 1>, &try_rows<3, 3, 3, 3, 1, 1, 2, 1>,  // RGB image to 1 or 3 planes
      &try_rows<3, 1, 3, 3, 2, 1, 2, 1>, &try_rows<3, 3, 3, 3, 2, 1, 2, 1>,
      &try_rows<3, 1, 3, 3, 3, 1, 1, 1>, &try_rows<3, 3, 3, 3, 3, 1, 1, 1>,
  };
  for (const Try attempt : kTries) {
    if (auto kernel = attempt(request, multiprocessor_count)) return kernel;
  }
  return nullptr;
}

}  // namespace lenslet
