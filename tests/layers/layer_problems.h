// Problems of single layers beyond the subjects, on which the GPU verifies kernels (linear_test.cpp,
// large_gpu_test.cpp); layer_launches_test.cpp checks that both show every kernel at work.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "layers/linear/gpu/tiled_shape.h"
#include "layers/pool/pool_window.h"
#include "layers/reference/gemm_subject.h"
#include "layers/reference/layer_subject.h"

namespace lenslet {

/// y [batch, outputs] of x [batch, inputs].
struct LinearSize {
  int64_t batch, inputs, outputs;
};

/// Several tiles and a tail in each direction for every tile of `tiled`, on a GPU with that many multiprocessors: with
/// whole quads of inputs and of outputs, and without.
inline std::vector<LinearSize> linear_tile_sizes(int multiprocessors) {
  // The fewest tiles of that width for which it is chosen, 83 samples and more.
  const auto push_chosen = [&](std::vector<LinearSize>& sizes, int lane_outputs, int64_t missing) {
    for (int64_t tiles = 2; tiles <= 8; ++tiles) {
      const int64_t outputs = tiles * LinearTiledShape::kColumnLanes * lane_outputs - missing;
      for (int64_t rows = 2; rows <= multiprocessors; ++rows) {
        const int64_t batch = rows * LinearTiledShape::kRows - 77;
        if (choose_lane_outputs(batch, outputs, multiprocessors) != lane_outputs) continue;
        for (const int64_t inputs : {100, 99}) sizes.push_back({batch, inputs, outputs});
        return;
      }
    }
  };
  std::vector<LinearSize> sizes;
  for (const int lane_outputs : kLaneOutputs) {
    for (const int64_t missing : {4, 3}) push_chosen(sizes, lane_outputs, missing);
  }
  return sizes;
}

/// Every tile width of `tensor_core`, with tails of samples, of inputs, and of outputs where a layer has several tiles;
/// with whole quads of inputs and pairs of outputs, and without.
inline std::vector<LinearSize> linear_tensor_core_sizes() {
  std::vector<LinearSize> sizes;
  for (const int64_t outputs : {10, 9, 30, 31, 50, 51, 84, 83, 120, 119, 190, 189, 250, 249}) {
    for (const int64_t inputs : {132, 131}) {
      for (const int64_t batch : {7, 1003}) sizes.push_back({batch, inputs, outputs});
    }
  }
  return sizes;
}

/// 2^31 outputs and more; rows of whole quads, and not.
inline constexpr LinearSize kLinearPast2To31[] = {{8500013, 8, 260}, {8500013, 8, 259}};

/// Windows over kPoolInputPast2To31, which has more than 2^31 values.
struct PoolCase {
  reference::Pooling kind;
  Pool2dWindow window;
};
inline const Shape kPoolInputPast2To31{2, 300001, 61, 60};
inline std::vector<PoolCase> pools_past_2_to_31() {
  using reference::Pooling;
  const Pool2dWindow halves = Pool2dWindow::square(2, 2), padded = Pool2dWindow::square(3, 2, 1);
  return {
      {Pooling::kMax, halves},           {Pooling::kAverage, halves},
      {Pooling::kMax, padded},           {Pooling::kAverage, padded},
      {Pooling::kAverageInside, padded}, {Pooling::kMax, Pool2dWindow::square(3, 1, 1)}};  // as many outputs
}

/// Products in batches, first with one A for all, then with one B.
inline std::vector<GemmProblem> gemm_batches() {
  std::vector<GemmProblem> problems;
  for (const int batch : {2, 3, 65}) {
    GemmProblem p = reference::gemm_problem(16, 64, 150);
    p.batch = batch;
    p.stride_b = 64 * 150;
    p.stride_c = 16 * 64 + 7;
    problems.push_back(p);
    p.stride_a = 16 * 150;
    p.stride_b = 0;
    problems.push_back(p);
  }
  return problems;
}

/// Whether several threads share its work.
inline bool is_large(const reference::Subject& subject) {
  return subject.layer()->work(subject.inputs()).bytes > 2e5;
}

}  // namespace lenslet
