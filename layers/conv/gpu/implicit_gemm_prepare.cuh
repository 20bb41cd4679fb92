// What preparing an implicit GEMM takes, whichever kernel runs it: the cost of a tiling, filters packed tap
// by tap, tables on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/integer_math.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {

/// What the busiest multiprocessor has to do, in multiply-adds of the largest tile's inner loop a tap.
inline double implicit_gemm_cost(int64_t blocks, int block_m, int block_n, double efficiency,
                                 int multiprocessor_count) {
  return static_cast<double>(ceil_div(blocks, multiprocessor_count)) * block_m * block_n / efficiency;
}

/// [K, C/G, R, S] to [G, padded_taps, pitch]: the filters of one tap are contiguous, padded with zeros.
inline std::shared_ptr<float> upload_filters(const ConvPrepare& request, int padded_taps, int pitch) {
  const Conv2dProblem& problem = request.problem;
  const int group_filters = problem.k / problem.groups,
            taps = problem.c / problem.groups * problem.r * problem.s;
  std::vector<float> packed(static_cast<size_t>(problem.groups) * padded_taps * pitch, 0.0f);
  for (int k = 0; k < problem.k; ++k) {
    const int64_t group = k / group_filters, filter = k % group_filters;
    for (int64_t i = 0; i < taps; ++i) {
      packed[static_cast<size_t>((group * padded_taps + i) * pitch + filter)] =
          request.weights[int64_t{k} * taps + i];
    }
  }
  return request.services.upload(packed.data(), packed.size());
}

/// [K] or none to [G, pitch], zeros around it.
inline std::shared_ptr<float> upload_bias(const ConvPrepare& request, int pitch) {
  const int group_filters = request.problem.k / request.problem.groups;
  std::vector<float> bias(static_cast<size_t>(request.problem.groups) * pitch, 0.0f);
  for (int k = 0; request.bias && k < request.problem.k; ++k) {
    bias[static_cast<size_t>(int64_t{k / group_filters} * pitch + k % group_filters)] = request.bias[k];
  }
  return request.services.upload(bias.data(), bias.size());
}

/// A table of taps or rows, on the device of the request's stream.
template <class Entry>
std::shared_ptr<void> upload_table(const ConvPrepare& request, const std::vector<Entry>& table) {
  const size_t bytes = table.size() * sizeof(Entry);
  std::shared_ptr<void> memory = request.services.allocate(bytes);
  copy_bytes(memory.get(), request.stream.device(), table.data(), Device::cpu(), bytes, request.stream);
  return memory;
}

}  // namespace lenslet
