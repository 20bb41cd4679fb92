// Pooling over windows of each channel of [N, C, H, W], as PyTorch's MaxPool2d and AvgPool2d, and with the padding of
// ONNX.
//
// Output [N, C, P, Q], P = floor((H + 2 pad_h + more_pad_h - dilation_h (r - 1) - 1) / stride_h) + 1, Q alike.
// With window.ceil also a last window that begins before the end of the input (pool_window.h). Every window holds at
// least one input value.
#pragma once

#include "framework/graph/layer.h"
#include "layers/pool/pool_window.h"

namespace lenslet {

/// Pooling of either kind over a window.
class Pool2dLayer : public Layer {
 public:
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// One operation per value in a window, including padding.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  /// The window, which is the same for every channel.
  const Pool2dWindow& window() const noexcept { return window_; }

 protected:
  /// kAverage counts the padding, kAverageInside does not.
  enum class Kind { kMax, kAverage, kAverageInside };
  /// Throws DataError for a window, stride or dilation below 1, or padding below 0 or above that of a window's size.
  Pool2dLayer(Kind kind, Pool2dWindow window);

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;

  Kind kind_;
  Pool2dWindow window_;
};

/// y = max over the window. Padding counts as -infinity. A NaN in the window makes the output NaN.
class MaxPool2dLayer : public Pool2dLayer {
 public:
  /// Throws DataError as Pool2dLayer().
  explicit MaxPool2dLayer(Pool2dWindow window) : Pool2dLayer(Kind::kMax, window) {}
  std::string_view type() const override { return "max_pool2d"; }
};

/// y = sum over the window / divisor. Padding adds 0. With `count_include_pad` (PyTorch's default) the divisor counts
/// input and padding inside the window; without it, input alone.
class AvgPool2dLayer : public Pool2dLayer {
 public:
  /// Throws DataError as Pool2dLayer().
  explicit AvgPool2dLayer(Pool2dWindow window, bool count_include_pad = true)
      : Pool2dLayer(count_include_pad ? Kind::kAverage : Kind::kAverageInside, window),
        counts_padding_(count_include_pad) {}
  std::string_view type() const override { return "avg_pool2d"; }
  /// Whether the divisor counts padding.
  bool counts_padding() const noexcept { return counts_padding_; }

 private:
  bool counts_padding_;
};

}  // namespace lenslet
