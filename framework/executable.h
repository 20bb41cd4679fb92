// Executable: a graph built for one device, one batch and one choice of backends, ready to run again and
// again.
//
// Building infers shapes, chooses a backend for each layer, fuses ReLU and max pooling into their producer where the
// backend offers it, plans activation buffers by lifetime, books one workspace and prepares the weights. run() then
// only enqueues.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/backend_spec.h"
#include "framework/graph.h"
#include "framework/memory_plan.h"
#include "framework/plan.h"
#include "framework/tracer.h"

namespace lenslet {

/// What an Executable is built for.
struct BuildOptions {
  Device device;                    // where it runs
  int64_t batch = 1;                // images of a pass
  MathMode math = MathMode::kFp32;  // of every layer that multiplies
  BackendSpec backends;             // those asked for by name; the others are chosen in rank order
  /// Replays these choices exactly, instead of math and backends. Borrowed while building.
  const Plan* plan = nullptr;
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
  /// Plan::kLayered, or Plan::kFused: the graph's FusedModel. A plan brings its own.
  std::string execution = Plan::kLayered;
  std::string fused_variant;                // of the FusedModel; empty: its preferred one. Only with kFused
  ElementType input = ElementType::kFp32;   // kUint8 only with kFused
  ElementType output = ElementType::kFp32;  // kPrediction only with kFused
  /// Input and output lie in page-locked host memory that the device reads and writes over the bus: no copies, for the
  /// smallest batches. Refused on the CPU.
  bool mapped_io = false;
  bool fuse =
      true;  // ReLU and max pooling into their producer; not a layer that `backends` asks for by its own name
  bool keep_activations = false;  // every node keeps a buffer of its own, for activation()
  bool cuda_graph = false;        // capture once, replay with one launch (CUDA only)
  /// Runs on this stream of the device instead of one of its own, so that rivals can take turns on it. Borrowed: it must
  /// outlive the executable.
  Stream* stream = nullptr;
};

class Executable {
 public:
  /// One operator and what it reads and writes.
  struct Step {
    std::string name;                                 // the layer; stages and ranges are named after it
    std::string type;                                 // "conv2d"
    std::string backend;                              // the code that runs
    std::string detail;                               // what a library chose inside
    MathMode math = MathMode::kFp32;                  // of every layer that multiplies
    bool uses_math = false;                           // math means something for this layer
    Determinism determinism = Determinism::kBounded;  // which bits the layer repeats
    std::vector<std::string> fused;       // nodes this operator computes besides its own ("relu1", "pool1")
    Work work;                            // of the step, what is fused into it included
    size_t workspace_bytes = 0;           // of the step alone
    double prepare_ns = 0;                // what preparing it took, once
    size_t node = 0;                      // index into the graph's nodes
    std::string range;                    // NVTX range: "layer.conv1"
    std::string backend_range;            // NVTX range inside it: "conv.winograd"
    std::vector<ConstTensorView> inputs;  // what it reads
    TensorView output;                    // what it writes
    std::unique_ptr<Operator> op;         // what computes it
  };

  /// Throws UsageError, UnavailableError (a backend asked for by name that cannot serve: with its reason),
  /// MemoryError (with the bytes needed and free, and the largest batch that fits), DeviceError. The graph
  /// must outlive this.
  Executable(const Graph& graph, const BuildOptions& options);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Where a run reads, [N, ...]; the caller fills it (framework/tensor.h: copy) on stream(). With mapped_io its device
  /// is the CPU, and the caller writes there once the run before is done.
  TensorView input() noexcept { return input_; }
  /// What a run writes: the last node, or [N] predictions. With mapped_io its device is the CPU.
  ConstTensorView output() const noexcept { return output_; }
  /// A node's output after a run; needs keep_activations, and `fuse` off for a node that would be fused away.
  ConstTensorView activation(const std::string& node) const;

  /// On which run() enqueues.
  Stream& stream() noexcept { return stream_; }
  /// Where it runs.
  Device device() const noexcept { return device_; }
  /// Images of a pass.
  int64_t batch() const noexcept { return batch_; }
  /// What it was built from.
  const Graph& graph() const noexcept { return graph_; }
  /// The choices made.
  const Plan& plan() const noexcept { return plan_; }
  /// In the order of a pass.
  const std::vector<Step>& steps() const noexcept { return steps_; }
  /// Which bits of the output a run repeats: the weakest of what the steps promise.
  Determinism determinism() const noexcept;
  /// What building took, preparing included.
  double build_ns() const noexcept { return build_ns_; }

  /// Enqueues one pass on stream(): the captured graph where there is one, else step by step. Neither
  /// allocates nor synchronises.
  void run();
  /// As run(), step by step, but the pass reads `input` and writes `output` where they lie, instead of input() and output():
  /// no copies for a caller on the CPU. Both have those views' shape, element type and device, do not overlap, and on a GPU
  /// are aligned to Buffer::kAlignment. Throws UsageError where they do not fit, or with a captured graph, mapped_io or
  /// keep_activations.
  void run(ConstTensorView input, TensorView output);
  /// One pass that is done when this returns, each layer waited for: DeviceError then names the layer that failed. For the
  /// first pass, and where a fault is looked for.
  void run_checked();
  /// Enqueues one step, within its NVTX range; stages go to `tracer` (null: to NVTX alone). With LENSLET_CHECK_LAYERS=1 it
  /// waits as well, so that a fault is told of its layer; times then mean nothing.
  void run_step(size_t index, Tracer* tracer = nullptr);

 private:
  void build(const BuildOptions& options);
  void build_fused(const BuildOptions& options);  // executable_fused.cpp
  void finish_step(Step& step, size_t workspace_limit);
  std::vector<OperatorRequest> choose_steps(const BuildOptions& options);  // executable_layered.cpp
  void fuse_readers(Step& step, OperatorRequest& request, const BuildOptions& options);
  MemoryPlan place_activations(bool keep_all);
  void prepare_steps(const std::vector<OperatorRequest>& requests, size_t workspace_limit);
  void book_memory(const MemoryPlan& memory, bool mapped_io);
  void demand_memory(size_t needed) const;
  void place_io(TensorView& input, TensorView& output, bool mapped_io);
  /// Where a pass begins and ends.
  struct Ends {
    const float* input;
    float* output;
  };
  void demand_place(ConstTensorView given, ConstTensorView own, const char* role) const;
  void move_ends(Ends from, Ends to) noexcept;
  void capture();
  void enqueue_step(size_t index, Tracer* tracer);
  void run_step_and_wait(size_t index, Tracer* tracer);
  std::string choose_backend(const Graph::Node& node, OperatorRequest& request,
                             const BuildOptions& options) const;

  const Graph& graph_;
  Device device_;
  int64_t batch_;
  std::unique_ptr<Stream> own_stream_;  // null where the stream is borrowed
  Stream& stream_;
  Buffer activations_;
  Buffer workspace_;
  std::unique_ptr<PinnedBuffer> mapped_;  // with mapped_io: the input, then the output
  TensorView input_;
  TensorView output_;
  std::vector<Shape> shapes_;  // of each node's output; none of a fused plan
  std::vector<int> step_of_;   // the step that computes each node; -1 for the input
  std::vector<int>
      buffer_of_;  // the node whose buffer holds each node's output: for a producer, what is fused into it
  std::vector<TensorView> node_outputs_;  // by node; data is null for a node fused away
  bool keep_activations_ = false;
  std::vector<Step> steps_;
  Plan plan_;
  CapturedGraph captured_;
  double build_ns_ = 0;
};

}  // namespace lenslet
