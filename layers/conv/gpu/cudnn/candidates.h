// The candidates of cuDNN for a convolution: algorithms of its old interface, and plans of its graph interface.
// Internal to the module cudnn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/gpu/cudnn/objects.h"
#include "layers/conv/gpu/cudnn/plans.h"

namespace lenslet {

inline const char* algorithm_name(cudnnConvolutionFwdAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return "IMPLICIT_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return "IMPLICIT_PRECOMP_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
      return "GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_DIRECT:
      return "DIRECT";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
      return "FFT";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
      return "FFT_TILING";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
      return "WINOGRAD";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      return "WINOGRAD_NONFUSED";
    default:
      return "unknown algorithm";
  }
}

inline bool transforms_tiles(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
}

/// cuDNN has FFT and Winograd only for stride 1 without dilation. Transforms of 16-bit tensors would be rounded.
inline bool may_transform(const Conv2dProblem& problem, MathMode math) {
  return problem.type == ElementType::kFp32 && math == MathMode::kFp32 && problem.stride_h == 1 &&
         problem.stride_w == 1 && problem.dilation_h == 1 && problem.dilation_w == 1 &&
         problem.r * problem.s > 1;
}

struct CudnnCandidate {
  std::shared_ptr<CudnnPlan> plan;  // of the graph interface; null: the algorithm of the old one
  cudnnConvolutionFwdAlgo_t algorithm{};
  cudnnMathType_t math{};
  TensorLayout filter{};
  size_t workspace_bytes = 0;
};

/// Ends the name of a candidate whose filters have another layout than the data.
inline const char* filter_mark(TensorLayout filter, TensorLayout layout) {
  return filter == layout ? "" : "/kcrs";
}

/// The name of a candidate, unique for one problem and math mode.
inline std::string candidate_name(const CudnnCandidate& candidate, TensorLayout layout) {
  const std::string filter = filter_mark(candidate.filter, layout);
  if (candidate.plan) return candidate.plan->name() + filter;
  return concat(algorithm_name(candidate.algorithm), candidate.math == CUDNN_DEFAULT_MATH ? "/default" : "",
                filter);
}

inline bool supports_math(cudnnMathType_t offered, ElementType type, MathMode requested) {
  if (type != ElementType::kFp32) return true;  // the products of any are exact
  // The default math type of fp32 data is TF32 on GPUs that have it.
  return requested == MathMode::kFp32 ? offered == CUDNN_FMA_MATH
                                      : offered == CUDNN_TENSOR_OP_MATH || offered == CUDNN_DEFAULT_MATH;
}

/// The layouts of filters that are tried.
inline std::vector<TensorLayout> filter_layouts(TensorLayout layout) {
  if (layout == TensorLayout::kNchw) return {layout};
  return {layout, TensorLayout::kNchw};
}

/// The algorithms of the old interface that this backend accepts.
inline std::vector<CudnnCandidate> cudnn_algorithms(cudnnHandle_t handle, const Descriptors& descriptors,
                                                    const ConvPrepare& request, TensorLayout filter) {
  int count = 0;
  LENSLET_CUDNN_CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &count));
  std::vector<cudnnConvolutionFwdAlgoPerf_t> offers(static_cast<size_t>(count));
  if (cudnnGetConvolutionForwardAlgorithm_v7(handle, descriptors.x, descriptors.filter(filter),
                                             descriptors.convolution, descriptors.y, count, &count,
                                             offers.data()) != CUDNN_STATUS_SUCCESS) {
    count = 0;
  }
  offers.resize(static_cast<size_t>(count));
  std::vector<CudnnCandidate> accepted;
  for (const cudnnConvolutionFwdAlgoPerf_t& offer : offers) {
    if (offer.status != CUDNN_STATUS_SUCCESS || offer.determinism != CUDNN_DETERMINISTIC ||
        !supports_math(offer.mathType, request.problem.type, request.math) ||
        (transforms_tiles(offer.algo) && !may_transform(request.problem, request.math))) {
      continue;
    }
    accepted.push_back({nullptr, offer.algo, offer.mathType, filter, offer.memory});
  }
  return accepted;
}

/// The candidates that cuDNN offers and this backend accepts, the heuristic's best guess first. Throws UnavailableError
/// or MemoryError if there is none.
inline std::vector<CudnnCandidate> cudnn_candidates(cudnnHandle_t handle, const Descriptors& descriptors,
                                                    const ConvPrepare& request, size_t limit) {
  const TensorLayout layout = request.problem.layout;
  const bool tiles = may_transform(request.problem, request.math);
  std::vector<CudnnCandidate> taken;
  size_t min_needed = SIZE_MAX;
  const auto consider = [&](CudnnCandidate candidate) {
    min_needed = std::min(min_needed, candidate.workspace_bytes);
    if (candidate.workspace_bytes <= limit) taken.push_back(std::move(candidate));
  };
  for (const TensorLayout filter : filter_layouts(layout)) {
    for (CudnnCandidate& candidate : cudnn_algorithms(handle, descriptors, request, filter))
      consider(std::move(candidate));
    for (auto& plan : cudnn_plans(handle, request.problem, request.math, filter, tiles)) {
      const size_t bytes = plan->workspace_bytes();
      consider({std::move(plan), {}, {}, filter, bytes});
    }
  }
  if (!taken.empty()) return taken;
  if (min_needed != SIZE_MAX) throw MemoryError(workspace_fits("backend cudnn", min_needed, limit).reason());
  throw UnavailableError(concat(
      "cudnn offers no deterministic ",
      request.problem.type == ElementType::kFp32 ? to_string(request.math) : request.problem.type.name(),
      " algorithm for ", request.problem.to_string(), " in ", to_string(layout), " on this device"));
}

/// The candidate of that name; nullopt if cuDNN does not offer it here or it exceeds `limit`. Builds no other plan:
/// building one takes longer than listing the names of all.
inline std::optional<CudnnCandidate> cudnn_candidate(cudnnHandle_t handle, const Descriptors& descriptors,
                                                     const ConvPrepare& request, size_t limit,
                                                     const std::string& name) {
  const TensorLayout layout = request.problem.layout;
  for (const TensorLayout filter : filter_layouts(layout)) {
    for (CudnnCandidate& candidate : cudnn_algorithms(handle, descriptors, request, filter)) {
      if (candidate_name(candidate, layout) == name && candidate.workspace_bytes <= limit)
        return std::move(candidate);
    }
    const std::string mark = filter_mark(filter, layout);
    if (name.size() < mark.size() || name.compare(name.size() - mark.size(), mark.size(), mark) != 0)
      continue;
    const std::string plan_name = name.substr(0, name.size() - mark.size());
    const bool tiles = may_transform(request.problem, request.math);
    for (auto& plan : cudnn_plans(handle, request.problem, request.math, filter, tiles, plan_name)) {
      const size_t bytes = plan->workspace_bytes();
      if (bytes <= limit) return CudnnCandidate{std::move(plan), {}, {}, filter, bytes};
    }
  }
  return std::nullopt;
}

}  // namespace lenslet
