// The candidates of cuDNN for a convolution: algorithms of its old interface, and plans of its graph interface.
// Internal to the module cudnn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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

/// cuDNN has FFT and Winograd only for stride 1 without dilation.
inline bool may_transform(const Conv2dProblem& problem, MathMode math) {
  return math == MathMode::kFp32 && problem.stride_h == 1 && problem.stride_w == 1 &&
         problem.dilation_h == 1 && problem.dilation_w == 1 && problem.r * problem.s > 1;
}

struct CudnnCandidate {
  std::shared_ptr<CudnnPlan> plan;  // of the graph interface; null: the algorithm of the old one
  cudnnConvolutionFwdAlgo_t algorithm{};
  cudnnMathType_t math{};
  TensorLayout filter{};
  size_t workspace_bytes = 0;
};

/// The name of a candidate, unique for one problem and math mode.
inline std::string candidate_name(const CudnnCandidate& candidate, TensorLayout layout) {
  const std::string filter = candidate.filter == layout ? "" : "/kcrs";
  if (candidate.plan) return candidate.plan->name() + filter;
  return concat(algorithm_name(candidate.algorithm), candidate.math == CUDNN_DEFAULT_MATH ? "/default" : "",
                filter);
}

inline bool serves_math(cudnnMathType_t offered, MathMode asked) {
  // The default math type of fp32 data is TF32 on cards that have it.
  return asked == MathMode::kFp32 ? offered == CUDNN_FMA_MATH
                                  : offered == CUDNN_TENSOR_OP_MATH || offered == CUDNN_DEFAULT_MATH;
}

/// The candidates that cuDNN offers and this backend accepts, the heuristic's best guess first. Throws UnavailableError
/// or MemoryError if there is none.
inline std::vector<CudnnCandidate> cudnn_candidates(cudnnHandle_t handle, const Descriptors& descriptors,
                                                    const ConvPrepare& request, size_t limit) {
  const TensorLayout layout = request.problem.layout;
  std::vector<TensorLayout> filters = {layout};
  if (layout == TensorLayout::kNhwc) filters.push_back(TensorLayout::kNchw);
  std::vector<CudnnCandidate> taken;
  size_t least_needed = SIZE_MAX;
  for (const TensorLayout filter : filters) {
    int count = 0;
    LENSLET_CUDNN_CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &count));
    std::vector<cudnnConvolutionFwdAlgoPerf_t> offers(static_cast<size_t>(count));
    if (cudnnGetConvolutionForwardAlgorithm_v7(handle, descriptors.x, descriptors.filter(filter),
                                               descriptors.convolution, descriptors.y, count, &count,
                                               offers.data()) != CUDNN_STATUS_SUCCESS) {
      count = 0;
    }
    offers.resize(static_cast<size_t>(count));
    for (const cudnnConvolutionFwdAlgoPerf_t& offer : offers) {
      if (offer.status != CUDNN_STATUS_SUCCESS || offer.determinism != CUDNN_DETERMINISTIC ||
          !serves_math(offer.mathType, request.math) ||
          (transforms_tiles(offer.algo) && !may_transform(request.problem, request.math))) {
        continue;
      }
      least_needed = std::min(least_needed, offer.memory);
      if (offer.memory <= limit) taken.push_back({nullptr, offer.algo, offer.mathType, filter, offer.memory});
    }
    const bool tiles = may_transform(request.problem, request.math);
    for (auto& plan : cudnn_plans(handle, request.problem, request.math, filter, tiles)) {
      least_needed = std::min(least_needed, plan->workspace_bytes());
      const size_t bytes = plan->workspace_bytes();
      if (bytes <= limit) taken.push_back({std::move(plan), {}, {}, filter, bytes});
    }
  }
  if (!taken.empty()) return taken;
  if (least_needed != SIZE_MAX) {
    throw MemoryError(concat("backend cudnn needs at least ", least_needed, " bytes of workspace for ",
                             request.problem.to_string(), ", the limit is ", limit));
  }
  throw UnavailableError(concat("cudnn offers no deterministic ", to_string(request.math), " algorithm for ",
                                request.problem.to_string(), " in ", to_string(layout), " on this device"));
}

}  // namespace lenslet
