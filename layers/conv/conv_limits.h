// Refusals that several backends share.
#pragma once

#include <string>

#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "layers/conv/conv_problem.h"
#include "layers/fp32_only.h"
#include "layers/pool/pool_window.h"

namespace lenslet {

/// What a refusal found: "3x3 at stride 2x2, padding 1x1, dilation 1x1".
inline std::string window_text(const Conv2dProblem& problem) {
  return concat(problem.r, "x", problem.s, " at stride ", problem.stride_h, "x", problem.stride_w,
                ", padding ", problem.pad_h, "x", problem.pad_w, ", dilation ", problem.dilation_h, "x",
                problem.dilation_w);
}

/// No, with a reason, unless each of several channels is a group of its own.
inline Support depthwise_groups(const Conv2dProblem& problem) {
  if (problem.groups == problem.c && problem.c > 1) return Support::yes();
  return Support::no(concat("depthwise supports one group for each of several channels, the problem has ",
                            problem.groups, " for ", counted(problem.c, "channel"), ": use direct"));
}

/// No, with a reason that ends with `remedy`, for strides and dilations that Winograd's transforms do not have.
inline Support winograd_window(const Conv2dProblem& problem, const char* remedy) {
  if (problem.stride_h != 1 || problem.stride_w != 1) {
    return Support::no(
        concat("winograd supports stride 1, found ", problem.stride_h, "x", problem.stride_w, ": ", remedy));
  }
  if (problem.dilation_h != 1 || problem.dilation_w != 1) {
    return Support::no(concat("winograd supports dense filters, found dilation ", problem.dilation_h, "x",
                              problem.dilation_w, ": ", remedy));
  }
  return Support::yes();
}

/// No, with a reason, for tensors of another layout.
inline Support layout_only(const char* backend, const Conv2dProblem& problem, TensorLayout layout) {
  if (problem.layout == layout) return Support::yes();
  return Support::no(concat(backend, " reads and writes ", to_string(layout), ", not ",
                            to_string(problem.layout), ": use ", to_string(layout), ", or another backend"));
}
/// No, with a reason, for NHWC tensors.
inline Support nchw_only(const char* backend, const Conv2dProblem& problem) {
  return layout_only(backend, problem, TensorLayout::kNchw);
}

/// No, with a reason, for a problem that needs more or fewer zeros after the input than before it.
inline Support symmetric_padding(const char* backend, const Conv2dProblem& problem) {
  if (!problem.asymmetric()) return Support::yes();
  return Support::no(concat("asymmetric padding: ", backend, " pads both ends alike, this output needs ",
                            problem.pad_h, "x", problem.pad_w, " before and ",
                            int64_t{problem.pad_h} + problem.more_pad_h, "x",
                            int64_t{problem.pad_w} + problem.more_pad_w, " after: use another backend"));
}

/// No, with a reason, for a window that no layer can fuse, or if none fits into the output.
inline Support windows_fit(const Conv2dProblem& problem, const Pool2dWindow& window) {
  if (const Support fuses = fusible(window); !fuses) return fuses;
  const bool moves = window.stride_h >= 1 && window.stride_w >= 1;
  if (moves && window.rows(problem.p()) >= 1 && window.columns(problem.q()) >= 1) return Support::yes();
  return Support::no(concat("a ", window.r, "x", window.s, " window with padding ", window.pad_h, "x",
                            window.pad_w, " does not fit the output ", problem.p(), "x", problem.q(),
                            kLeavePooling));
}

}  // namespace lenslet
