// Layer and Operator: a computation, and one prepared way to execute it.
//
// A Layer is a description with its weights. It infers shapes, lists its backends and returns the reason why one does
// not support a request. An Operator is that layer prepared with one backend for fixed shapes on one device. Its run()
// enqueues work and neither allocates nor synchronises.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/determinism.h"
#include "framework/error.h"
#include "framework/math_mode.h"
#include "framework/pool_window.h"
#include "framework/shape.h"
#include "framework/stream.h"
#include "framework/tensor.h"
#include "framework/tracer.h"

namespace lenslet {

/// Resources that the caller lends to an operator for one run.
struct RunContext {
  Stream& stream;             // to enqueue on
  void* workspace = nullptr;  // at least Operator::workspace_bytes(), aligned to Buffer::kAlignment
  Tracer* tracer = nullptr;   // may be null
};

/// Operations and minimal memory traffic of one layer for its whole batch.
struct Work {
  double flops = 0;  // 2 per multiply-add, counted for the direct algorithm with every backend
  double bytes = 0;  // inputs + weights + outputs, each once
};

/// The request that an operator is prepared for.
struct OperatorRequest {
  Device device;                      // the device that runs it
  std::vector<Shape> inputs;          // with batch, outermost first
  Shape output;                       // of the last layer that the operator computes
  MathMode math = MathMode::kFp32;    // arithmetic of its products
  bool fuse_relu = false;             // apply max(x, 0) to the output before it is stored
  size_t workspace_limit = SIZE_MAX;  // bytes
  std::string choice;                 // an Operator::choice() to replay; empty: the backend chooses
  // Max-pool the output before it is stored. With fuse_relu both are applied; they commute.
  std::optional<Pool2dWindow> fuse_max_pool = {};
};

/// Services for a backend while it is prepared, never while it runs. Virtual, so that modules can call them.
class PrepareServices {
 public:
  virtual ~PrepareServices() = default;
  /// Device memory that lives as long as the pointer. Throws MemoryError.
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  /// Copies `count` fp32 values to new device memory, which lives as long as the pointer. Throws MemoryError.
  virtual std::shared_ptr<float> upload(const float* host, size_t count) = 0;
  /// Median nanoseconds of `enqueue` on the stream given to prepare, after a warm-up.
  virtual double time_ns(const std::function<void()>& enqueue) = 0;
  /// Copies `count` fp32 values from the device to the host, after all work enqueued before.
  virtual void download(float* host, const float* device, size_t count) = 0;
};

/// A layer prepared with one backend for fixed shapes on one device.
class Operator {
 public:
  virtual ~Operator() = default;
  /// Bytes of workspace that run() needs.
  virtual size_t workspace_bytes() const { return 0; }
  /// The algorithm that a library chose inside the backend ("IMPLICIT_PRECOMP_GEMM"); empty if there was no choice.
  virtual std::string detail() const { return {}; }
  /// What the backend chose by timing, as text for OperatorRequest::choice; empty if there was no choice.
  virtual std::string choice() const { return {}; }
  /// Multiplications of the direct algorithm over those of this one: above 1 for Winograd and FFT. It distinguishes an
  /// effective rate above the ceiling from a wrong time.
  virtual double products_saved() const { return 1; }
  /// Enqueues the computation. Inputs and output have the requested shapes and are on the requested device.
  virtual void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) = 0;
};

/// A computation with its weights, independent of the backend.
class Layer {
 public:
  virtual ~Layer() = default;
  /// "conv2d", "max_pool2d", "relu", "linear", …
  virtual std::string_view type() const = 0;
  /// One line of text: "6@5x5 stride 1 pad 0".
  virtual std::string describe() const = 0;
  /// The output's shape. Throws DataError with the expected and the actual input shapes.
  virtual Shape infer_shape(const std::vector<Shape>& inputs) const = 0;
  /// Whether the math mode changes how this layer computes (convolutions and matrix products).
  virtual bool uses_math() const { return false; }
  /// Operations and bytes at these input shapes, by the direct algorithm.
  virtual Work work(const std::vector<Shape>& inputs) const = 0;
  /// Names of the backends for that kind of device, in rank order: `auto` takes the first that supports the request.
  virtual std::vector<std::string> backends(DeviceKind kind) const = 0;
  /// Whether that backend supports the request. A name that backends() does not list is refused with the legal names.
  virtual Support supports(const std::string& backend, const OperatorRequest& request) const = 0;
  /// The promise of that backend for a supported request.
  virtual Determinism determinism(const std::string& /*backend*/, const OperatorRequest& /*request*/) const {
    return Determinism::kPosition;
  }
  /// The backend that `auto` takes for this request: by default the first in rank order that supports it. Empty if
  /// there is none.
  virtual std::string preferred(const OperatorRequest& request) const;
  /// Yes if backends() lists the name, else no with the legal names. supports() calls it first.
  Support lists(const std::string& backend, DeviceKind kind) const;
  /// Uploads and transforms weights, and chooses algorithms. Throws UnavailableError if supports() returns no.
  virtual std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                            Stream& stream) const = 0;
  /// True for a layer that computes max(x, 0), which the graph may fuse into its producer.
  virtual bool is_relu() const { return false; }
  /// Whether that backend can apply a ReLU to its output before it stores it.
  virtual bool can_fuse_relu(const std::string& /*backend*/, DeviceKind /*kind*/) const { return false; }
  /// The windows of a max-pooling layer, which the graph may fuse into its producer; null for any other layer.
  virtual const Pool2dWindow* max_pool_window() const { return nullptr; }
  /// Whether that backend supports the request and can max-pool its output by `window` before it stores it.
  virtual Support can_fuse_max_pool(const std::string& backend, const OperatorRequest& request,
                                    const Pool2dWindow& window) const;
  /// Whether fusing is the better default: pooling afterwards may be faster.
  virtual bool suits_max_pool(const std::string& /*backend*/, const OperatorRequest& /*request*/,
                              const Pool2dWindow& /*window*/) const {
    return true;
  }
};

/// Adds `next`, the only reader of the output, to the request for that backend of `layer`. Returns no with the reason,
/// and leaves the request unchanged, if the backend cannot compute `next` before it stores the output.
Support fuse(const Layer& layer, const std::string& backend, const Layer& next, OperatorRequest& request);

}  // namespace lenslet
