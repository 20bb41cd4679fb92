// Layer and Operator: what is computed, and one way of computing it.
//
// A Layer is a description with its weights: it infers shapes, lists the backends it can take and says why
// one cannot serve. An Operator is that layer prepared with one backend for fixed shapes on one device; its
// run() enqueues work and neither allocates nor synchronises.
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

/// What the caller lends an operator for one run.
struct RunContext {
  Stream& stream;             // to enqueue on
  void* workspace = nullptr;  // at least Operator::workspace_bytes(), aligned to Buffer::kAlignment
  Tracer* tracer = nullptr;   // may be null
};

/// Arithmetic and compulsory traffic of one layer for its whole batch.
struct Work {
  double flops = 0;  // 2 per multiply-add, counted for the direct algorithm whatever the backend
  double bytes = 0;  // inputs + weights + outputs, each once
};

/// What a layer is asked to be prepared for.
struct OperatorRequest {
  Device device;                      // where it will run
  std::vector<Shape> inputs;          // with batch, outermost first
  Shape output;                       // of the last layer that the operator computes
  MathMode math = MathMode::kFp32;    // arithmetic of its products
  bool fuse_relu = false;             // apply max(x, 0) to the output before it is stored
  size_t workspace_limit = SIZE_MAX;  // bytes
  std::string choice;                 // of Operator::choice(), to replay; empty: the backend chooses
  // Pool the output by maxima before it is stored. With fuse_relu both are applied, in either order: they commute.
  std::optional<Pool2dWindow> fuse_max_pool = {};
};

/// Services that a backend uses while it is prepared (never while it runs). Virtual, so that modules can call
/// them.
class PrepareServices {
 public:
  virtual ~PrepareServices() = default;
  /// Device memory that lives as long as the pointer. Throws MemoryError.
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  /// `count` fp32 values copied from the host to the device.
  virtual std::shared_ptr<float> upload(const float* host, size_t count) = 0;
  /// Median nanoseconds of `enqueue` on the stream given to prepare, warmed up first.
  virtual double time_ns(const std::function<void()>& enqueue) = 0;
  /// `count` fp32 values copied from the device to the host, once everything enqueued before is done.
  virtual void download(float* host, const float* device, size_t count) = 0;
};

/// A layer prepared with one backend for fixed shapes on one device.
class Operator {
 public:
  virtual ~Operator() = default;
  /// Bytes of workspace run() needs.
  virtual size_t workspace_bytes() const { return 0; }
  /// What a library chose inside the backend ("IMPLICIT_PRECOMP_GEMM"); empty where there is nothing to tell.
  virtual std::string detail() const { return {}; }
  /// What the backend chose by timing, in words that OperatorRequest::choice takes back; empty where it had no choice.
  virtual std::string choice() const { return {}; }
  /// Products that the direct algorithm multiplies over those that this one does: above 1 for Winograd and FFT, so that
  /// a rate beyond the machine's is told apart from a mistake.
  virtual double products_saved() const { return 1; }
  /// Enqueues the computation. Inputs and output have the requested shapes and lie on the requested device.
  virtual void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) = 0;
};

/// What is computed, whatever computes it.
class Layer {
 public:
  virtual ~Layer() = default;
  /// "conv2d", "max_pool2d", "relu", "linear", …
  virtual std::string_view type() const = 0;
  /// One line for people: "6@5x5 stride 1 pad 0".
  virtual std::string describe() const = 0;
  /// The output's shape. Throws DataError naming what the layer expected and found.
  virtual Shape infer_shape(const std::vector<Shape>& inputs) const = 0;
  /// Whether the math mode changes how this layer computes (convolutions and matrix products).
  virtual bool uses_math() const { return false; }
  /// Operations and bytes at these input shapes, by the direct algorithm.
  virtual Work work(const std::vector<Shape>& inputs) const = 0;
  /// Names of the backends for that kind of device, in rank order: the first that supports a request serves
  /// `auto`.
  virtual std::vector<std::string> backends(DeviceKind kind) const = 0;
  /// Whether that backend can serve the request; a name that backends() does not list is refused with the
  /// legal names.
  virtual Support supports(const std::string& backend, const OperatorRequest& request) const = 0;
  /// Which bits that backend repeats, for a request that it supports.
  virtual Determinism determinism(const std::string& /*backend*/, const OperatorRequest& /*request*/) const {
    return Determinism::kPosition;
  }
  /// The backend `auto` takes for this request: by default the first in rank order that supports it; empty
  /// for none.
  virtual std::string preferred(const OperatorRequest& request) const;
  /// Yes where backends() lists the name, else no, with the legal names: what supports() begins with.
  Support lists(const std::string& backend, DeviceKind kind) const;
  /// Prepares: uploads and transforms weights, chooses algorithms. Throws UnavailableError where supports()
  /// says no.
  virtual std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                            Stream& stream) const = 0;
  /// True for a layer that computes max(x, 0), which the graph may fuse into its producer.
  virtual bool is_relu() const { return false; }
  /// Whether that backend can apply ReLU to its output before storing it.
  virtual bool can_fuse_relu(const std::string& /*backend*/, DeviceKind /*kind*/) const { return false; }
  /// The windows of a layer that takes maxima over them, which the graph may fuse into its producer; null for any other.
  virtual const Pool2dWindow* max_pool_window() const { return nullptr; }
  /// Whether that backend can serve the request and pool its output by `window` before storing it.
  virtual Support can_fuse_max_pool(const std::string& backend, const OperatorRequest& request,
                                    const Pool2dWindow& window) const;
  /// Whether it should, where nobody asks for either: pooling afterwards may be faster.
  virtual bool suits_max_pool(const std::string& /*backend*/, const OperatorRequest& /*request*/,
                              const Pool2dWindow& /*window*/) const {
    return true;
  }
};

/// Adds `next`, which alone reads what `request` asks that backend of `layer` for, to the request. No, with the reason,
/// where `next` cannot be computed before the output is stored; the request is then as before.
Support fuse(const Layer& layer, const std::string& backend, const Layer& next, OperatorRequest& request);

}  // namespace lenslet
