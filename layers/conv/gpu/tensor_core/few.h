// The tensor-core convolution of few channels to few filters, such as LeNet's.
#pragma once

#include <memory>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// Whether that kernel computes a problem within own_kernel_limits() in tf32 and fp16, pooled 2x2 or not: yes, or no
/// with a reason that begins with `what` and ends with `remedy`.
Support few_support(const char* what, const Conv2dProblem& problem, bool pool, const char* remedy);
/// Whether it computes the problem in fp16 with `ends`: yes, or no with the reason.
Support few_takes(const Conv2dProblem& problem, bool pool, const ConvEnds& ends);
/// Whether `auto` should prefer it to fp32: it supports the problem, which has many images.
bool few_suits(const Conv2dProblem& problem);
/// The kernel; null if it does not support the problem.
std::unique_ptr<ConvKernel> prepare_tensor_core_few(const ConvPrepare& request, int multiprocessors);

}  // namespace lenslet
