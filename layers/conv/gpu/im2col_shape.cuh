// The sizes of a launch of conv_im2col_gemm_unroll_kernel.
#pragma once

#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

struct Im2colShape {
  int channels, h, w;  // of the input
  int r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  FastDivide by_q;
  int images, first_pixel, pixels;  // of one round; pixels of each image
};

}  // namespace lenslet
