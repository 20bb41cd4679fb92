// What several backends refuse alike.
#pragma once

#include "framework/error.h"
#include "layers/conv/conv_problem.h"
#include "layers/fp32_only.h"

namespace lenslet {

/// Refuses tensors stored channels last.
inline Support nchw_only(const char* backend, const Conv2dProblem& problem) {
  if (problem.layout == TensorLayout::kNchw) return Support::yes();
  return Support::no(
      concat(backend, " reads and writes NCHW, asked for ", to_string(problem.layout),
             ": use NCHW, or a backend that serves both: cudnn, or on the CPU onednn and direct"));
}

}  // namespace lenslet
