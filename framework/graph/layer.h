// Layer and Operator: a computation, and one prepared way to execute it.
//
// A Layer is a description with its weights. It infers shapes and lists its backends, with the reason where one does
// not support a request. A request may contain layers that follow; the backend then computes these too before it stores
// the output. An Operator is a layer prepared with one backend for fixed shapes on one device. Its run() enqueues work
// and neither allocates nor synchronises.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"
#include "framework/graph/determinism.h"
#include "framework/measuring/tracer.h"
#include "framework/tensor/math_mode.h"
#include "framework/tensor/shape.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

/// Resources that the caller lends to an operator for one run.
struct RunContext {
  Stream& stream;             // to enqueue on
  void* workspace = nullptr;  // at least Operator::workspace_bytes(), aligned to Buffer::kAlignment
  Tracer* tracer = nullptr;   // may be null
  /// For an output of pairs, an int32 key and an fp32 value for each sample. Null: the output gets the pairs. Else the
  /// values go here, [N] in the device's memory, and the output gets the keys, [N]. Always null on the CPU.
  float* pair_values = nullptr;
};

/// Operations and minimal memory traffic of one layer for its whole batch.
struct Work {
  double flops = 0;  // 2 per multiply-add, counted for the direct algorithm with every backend
  double bytes = 0;  // the inputs that the layer reads + weights + outputs, each once
  /// Bytes in use at a time, if fewer than `bytes`; 0: all of them. A pass on the CPU computes slices of its batch.
  double working_set = 0;
  /// Values of the inputs that `bytes` leaves out, because no window of the layer reads them.
  double unread = 0;
};

class Layer;

/// The request that an operator is prepared for.
struct OperatorRequest {
  Device device;                      // the device that runs it
  std::vector<Shape> inputs;          // with batch, outermost first
  Shape output;                       // of the last layer that the operator computes
  MathMode math = MathMode::kFp32;    // arithmetic of its products
  size_t workspace_limit = SIZE_MAX;  // bytes
  std::string choice;                 // an Operator::choice() to replay; empty: the backend chooses
  // Layers computed before the output is stored, in order, each the only reader of the one before. Borrowed.
  std::vector<const Layer*> fused = {};
  // Between layers fp32 or, in memory aligned to Buffer::kAlignment, fp16; other types only at the graph's input and
  // output.
  ElementType input_type = ElementType::kFp32;   // of every input
  ElementType output_type = ElementType::kFp32;  // of the output

  /// Samples: the first dimension of the first input.
  int64_t batch() const { return inputs.at(0)[0]; }
};

/// A borrowed callable that enqueues work once. Not std::function, whose header most sources, above all CUDA's, would
/// parse for it. Create it in the call, so that it does not outlive the callable.
class EnqueuedWork {
 public:
  /// Borrows `body`, which must outlive this object.
  template <typename Body>
  EnqueuedWork(const Body& body)
      : body_(&body), call_([](const void* object) { (*static_cast<const Body*>(object))(); }) {}
  /// Enqueues the work once more, in the caller's thread; throws what the callable throws.
  void operator()() const { call_(body_); }

 private:
  const void* body_;
  void (*call_)(const void*);
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
  virtual double time_ns(EnqueuedWork enqueue) = 0;
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
  /// The backends for that kind of device, in rank order.
  virtual std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const = 0;
  /// Whether its backends may read pixels and write other types; if not, they read and write fp32 only, or fp16 where
  /// the layer allows it.
  virtual bool converts_ends() const { return false; }
  /// The types that its backends may write.
  virtual std::vector<ElementType> output_types() const { return {ElementType::kFp32}; }

  /// Names of the backends in rank order, as `--backend` takes them.
  std::vector<std::string> backends(DeviceKind kind) const;
  /// The backend of that name; null if there is none.
  const BackendEntry* find_backend(const std::string& name, DeviceKind kind) const;
  /// Yes, or no with the reason: whether that backend computes this layer and the layers fused into it. It is cheap and
  /// needs no device.
  Support supports(const BackendEntry& backend, const OperatorRequest& request) const;
  /// The promise of that backend for a supported request.
  Determinism determinism(const BackendEntry& backend, const OperatorRequest& request) const {
    return do_determinism(backend, request);
  }
  /// Whether `auto` should take that backend for a supported request, and not a later one, a more exact math mode,
  /// fewer fused layers or tensors of fp32.
  bool suits(const BackendEntry& backend, const OperatorRequest& request) const {
    return do_suits(backend, request);
  }
  /// Operations and bytes of a request, with the layers fused into it and the types of its ends.
  Work work_of(const OperatorRequest& request) const;
  /// The backend that `auto` takes within the request's math mode (choose_within_math() may take a more exact one): the
  /// first that supports the request and suits it, else the first that supports it. Null if there is none.
  const BackendEntry* preferred_entry(const OperatorRequest& request) const;
  /// Uploads and transforms weights, and chooses algorithms. Checks supports(), the workspace limit and the planned
  /// choice. Throws UnavailableError, or MemoryError if the workspace is the reason.
  std::unique_ptr<Operator> prepare(const BackendEntry& backend, const OperatorRequest& request,
                                    Stream& stream) const;

  /// Like supports() above, for a caller that has the backend's name. An unknown name is refused with the legal names.
  Support supports(const std::string& backend, const OperatorRequest& request) const;
  Determinism determinism(const std::string& backend, const OperatorRequest& request) const;  ///< By name.
  /// Absolute error bound of an output element for inputs of the kind that the weights were trained for; infinite if
  /// the layer derives none.
  double output_bound(const std::string& backend, const OperatorRequest& request) const;
  std::string preferred(const OperatorRequest& request) const;  ///< Empty if there is none.
  std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                    Stream& stream) const;  ///< By name.

 protected:
  /// The shape of the only input. Throws DataError if there is not exactly one.
  const Shape& only_input(const std::vector<Shape>& inputs) const;

 private:
  /// supports(), without catching errors. By default a backend supports every shape and fuses nothing.
  virtual Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const;
  virtual bool do_suits(const BackendEntry& /*backend*/, const OperatorRequest& /*request*/) const {
    return true;
  }
  virtual Determinism do_determinism(const BackendEntry& /*backend*/,
                                     const OperatorRequest& /*request*/) const {
    return Determinism::kPosition;
  }
  virtual double do_output_bound(const BackendEntry& backend, const OperatorRequest& request) const;
  /// prepare(), for a supported request.
  virtual std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                                  Stream& stream) const = 0;
  /// Whether a backend of it may read and write fp16 between layers; do_supports() then refuses it where none does.
  virtual bool stores_fp16() const { return false; }
  const BackendEntry& backend_named(const std::string& name, DeviceKind kind) const;
};

/// No: "reads and writes fp32, not fp16 in and fp32 out", and the remedy.
Support refuse_ends(ElementType input, ElementType output, const char* remedy = ": leave them fp32");

/// The request for that layer alone, which computes in fp32 unless the math mode affects it.
OperatorRequest request_for(const Layer& layer, std::vector<Shape> inputs, Device device, MathMode math,
                            ElementType input = ElementType::kFp32, ElementType output = ElementType::kFp32);

/// Adds `next`, the only reader of the output, to the request for that backend of `layer`. Returns no with the reason,
/// and leaves the request unchanged, if the backend cannot compute `next` before it stores the output.
Support fuse(const Layer& layer, const BackendEntry& backend, const Layer& next, OperatorRequest& request);

}  // namespace lenslet
