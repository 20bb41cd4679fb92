// Problems of single layers beyond the subjects, on which the GPU verifies kernels (linear_test.cpp,
// large_gpu_test.cpp); layer_launches_test.cu checks that both show every kernel at work.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "layers/pool/pool_window.h"
#include "layers/reference/gemm_subject.h"
#include "layers/reference/layer_subject.h"

namespace lenslet {

/// y [batch, outputs] of x [batch, inputs].
struct LinearSize {
  int64_t batch, inputs, outputs;
};

/// Several tiles and a tail in each direction for every tile size of `tiled`, on a GPU with that many multiprocessors:
/// with whole quads of inputs and of outputs, and without.
inline std::vector<LinearSize> linear_tile_sizes(int64_t multiprocessors) {
  struct Outputs {
    int64_t count, tiles;  // `tiles` of the width that wastes the fewest columns
  };
  std::vector<LinearSize> sizes;
  for (const auto& [outputs, tiles] : std::initializer_list<Outputs>{
           {156, 5}, {150, 5}, {316, 5}, {319, 5}, {188, 2}, {190, 2}, {252, 2}, {251, 2}}) {
    // A tile of 40 rows is chosen where it gives each multiprocessor one tile, taller ones for more samples.
    for (const int64_t batch : {int64_t{41}, multiprocessors / tiles * 40 - 17, 75 * multiprocessors + 7}) {
      for (const int64_t inputs : {36, 35}) sizes.push_back({batch, inputs, outputs});
    }
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
