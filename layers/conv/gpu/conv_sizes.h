// The sizes of a problem as members of a kernel's shape. Each shape declares those that its kernel needs.
#pragma once

#include "layers/conv/conv_problem.h"

namespace lenslet {

/// Height and width of an input plane and of an output plane.
template <typename Shape>
void set_planes(Shape& shape, const Conv2dProblem& problem) {
  shape.h = problem.h;
  shape.w = problem.w;
  shape.p = problem.p();
  shape.q = problem.q();
}

/// Sets the sizes of kernels whose filter is a template parameter and whose stride is 1.
template <typename Shape>
void set_unit_stride_sizes(Shape& shape, const Conv2dProblem& problem) {
  set_planes(shape, problem);
  shape.c = problem.c;
  shape.k = problem.k;
  shape.pad_h = problem.pad_h;
  shape.pad_w = problem.pad_w;
}

/// Strides and padding.
template <typename Shape>
void set_strides(Shape& shape, const Conv2dProblem& problem) {
  shape.stride_h = problem.stride_h;
  shape.stride_w = problem.stride_w;
  shape.pad_h = problem.pad_h;
  shape.pad_w = problem.pad_w;
}

/// All but the batch and the groups.
template <typename Shape>
void set_all_sizes(Shape& shape, const Conv2dProblem& problem) {
  set_unit_stride_sizes(shape, problem);
  set_strides(shape, problem);
  shape.r = problem.r;
  shape.s = problem.s;
  shape.dilation_h = problem.dilation_h;
  shape.dilation_w = problem.dilation_w;
}

}  // namespace lenslet
