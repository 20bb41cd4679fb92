// RAII for cuDNN's descriptors, and its errors as exceptions. Internal to the module cudnn.
#pragma once

#include <cudnn.h>

#include "framework/base/error.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

inline void check_cudnn(cudnnStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message = concat(expression, " failed: ", cudnnGetErrorString(status), " (",
                                     static_cast<int>(status), ") at ", file, ":", line);
  if (status == CUDNN_STATUS_NOT_INITIALIZED || status == CUDNN_STATUS_NOT_SUPPORTED)
    throw UnavailableError(message);
  throw DeviceError(message);
}

#define LENSLET_CUDNN_CHECK(expression) ::lenslet::check_cudnn((expression), #expression, __FILE__, __LINE__)

template <typename T, cudnnStatus_t (*Create)(T*), cudnnStatus_t (*Destroy)(T)>
class Owned {
 public:
  Owned() { LENSLET_CUDNN_CHECK(Create(&object_)); }
  ~Owned() { (void)Destroy(object_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator T() const noexcept { return object_; }

 private:
  T object_ = nullptr;
};

using Handle = Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using TensorDescriptor =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;
using ActivationDescriptor =
    Owned<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor>;

inline cudnnTensorFormat_t format_of(TensorLayout layout) {
  return layout == TensorLayout::kNhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

inline cudnnDataType_t data_type_of(ElementType type) {
  return type == ElementType::kFp16   ? CUDNN_DATA_HALF
         : type == ElementType::kBf16 ? CUDNN_DATA_BFLOAT16
                                      : CUDNN_DATA_FLOAT;
}

inline void describe_tensor(cudnnTensorDescriptor_t descriptor, TensorLayout layout, ElementType type,
                            const Shape& nchw) {
  const auto size = [&](int i) { return static_cast<int>(nchw[i]); };
  LENSLET_CUDNN_CHECK(cudnnSetTensor4dDescriptor(descriptor, format_of(layout), data_type_of(type), size(0),
                                                 size(1), size(2), size(3)));
}

/// The descriptors of one problem for cuDNN.
struct Descriptors {
  explicit Descriptors(const Conv2dProblem& problem) {
    describe_tensor(x, problem.layout, problem.type, problem.input_shape());
    describe_tensor(y, problem.layout, problem.type, problem.output_shape());
    describe_tensor(bias, problem.layout, problem.type, {1, problem.k, 1, 1});
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      LENSLET_CUDNN_CHECK(cudnnSetFilter4dDescriptor(filter(layout), data_type_of(problem.type),
                                                     format_of(layout), problem.k, problem.c / problem.groups,
                                                     problem.r, problem.s));
    }
    LENSLET_CUDNN_CHECK(cudnnSetConvolution2dDescriptor(
        convolution, problem.pad_h, problem.pad_w, problem.stride_h, problem.stride_w, problem.dilation_h,
        problem.dilation_w, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    LENSLET_CUDNN_CHECK(cudnnSetConvolutionGroupCount(convolution, problem.groups));
    LENSLET_CUDNN_CHECK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0.0));
    LENSLET_CUDNN_CHECK(
        cudnnSetActivationDescriptor(identity, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0.0));
    int n = 0, k = 0, p = 0, q = 0;
    LENSLET_CUDNN_CHECK(
        cudnnGetConvolution2dForwardOutputDim(convolution, x, filter(problem.layout), &n, &k, &p, &q));
    if (n != problem.n || k != problem.k || p != problem.p() || q != problem.q()) {
      throw DeviceError(concat("cudnn expects an output of ", n, "x", k, "x", p, "x", q, " for ",
                               problem.to_string(), ", Lenslet ", problem.n, "x", problem.k, "x", problem.p(),
                               "x", problem.q()));
    }
  }

  cudnnFilterDescriptor_t filter(TensorLayout layout) const {
    return layout == TensorLayout::kNhwc ? krsc : kcrs;
  }

  TensorDescriptor x, y, bias;
  FilterDescriptor kcrs, krsc;
  ConvolutionDescriptor convolution;
  ActivationDescriptor relu, identity;
};

}  // namespace lenslet
