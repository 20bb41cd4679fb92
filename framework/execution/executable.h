// Executable: a graph built for one device, one batch size and one choice of backends; it can run many times.
//
// Building infers shapes, chooses a backend for each layer, fuses layers into the one before if its backend offers
// that, chooses the element type of each tensor between layers, places activation buffers by lifetime, allocates one
// workspace and prepares the weights. Afterwards run() only enqueues. On the CPU it computes a large batch in slices
// (framework/execution/slices.h).
//
// A tensor between layers is fp16 if two things hold: every reader multiplies in fp16, so it would round the tensor
// anyway; and the backends of the writer and of all readers support fp16 there and suit it. Else it is fp32. The value
// is rounded once in either case, to nearest, so that results are the same bit for bit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/execution/kept_graphs.h"
#include "framework/execution/memory_layout.h"
#include "framework/execution/plan.h"
#include "framework/graph/backend_spec.h"
#include "framework/graph/graph.h"
#include "framework/measuring/tracer.h"

namespace lenslet {

/// Options of an Executable.
struct BuildOptions {
  Device device;                    // by default the CPU
  int64_t batch = 1;                // samples per pass
  MathMode math = MathMode::kFp32;  // of every layer that multiplies
  /// The backends requested by name, of layers or of the whole network; the others are chosen.
  BackendSpec backends;
  /// Replays these choices exactly, instead of math and backends. Borrowed while building.
  const Plan* plan = nullptr;
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
  /// Plan::kLayered, or Plan::kFused: the graph's whole(). A plan brings its own.
  std::string execution = Plan::kLayered;
  ElementType input = ElementType::kFp32;   // pixels only if the first layer converts them
  ElementType output = ElementType::kFp32;  // another one only if the last layer converts to it
  /// Input and output are in page-locked host memory that the device reads and writes over the bus, without copies. For
  /// small batches. Refused on the CPU.
  bool mapped_io = false;
  /// Only run(input, output) is called: no memory is taken for input and output. Refused with mapped_io.
  bool caller_ends = false;
  bool fuse = true;  // fuse layers into their producer if it supports that, except those named in `backends`
  bool keep_activations = false;  // every node has its own buffer of fp32, for activation()
  /// The second pass is captured, later ones replay it with one launch. Refused on the CPU, and with
  /// LENSLET_CHECK_LAYERS=1. A capture that fails throws once; later passes then run step by step.
  bool cuda_graph = false;
  /// Runs on this stream of the device instead of its own, so that candidates can take turns on it. Borrowed: it must
  /// outlive the executable.
  Stream* stream = nullptr;
};

/// A graph prepared for one device, one batch size and one choice of backends. It runs on one stream.
class Executable {
 public:
  /// One operator and what it reads and writes, of the first slice.
  struct Step {
    std::string name;                                 // the layer; stages and ranges are named after it
    std::string type;                                 // "conv2d"
    std::string backend;                              // the code that runs
    std::string detail;                               // the algorithm that a library chose
    MathMode math = MathMode::kFp32;                  // of every layer that multiplies
    bool uses_math = false;                           // whether `math` affects this layer
    Determinism determinism = Determinism::kBounded;  // the promise of the step
    std::vector<std::string> fused;  // nodes this operator computes besides its own ("relu1", "pool1")
    Work work;                       // of the step for the whole batch, including the nodes fused into it
    size_t workspace_bytes = 0;      // of the step alone
    double prepare_ns = 0;           // time to prepare it, once
    const Layer* layer = nullptr;    // owned by the graph
    size_t node = 0;                 // index into the nodes of the graph that runs: graph() or its whole()
    std::string range;               // NVTX range: "layer.conv1"
    std::string backend_range;       // NVTX range inside it: "conv.winograd"
    std::vector<ConstTensorView> inputs;  // memory of the executable or of its caller
    TensorView output;                    // likewise
    const BackendEntry* entry = nullptr;  // the backend's row in its layer's table
    std::unique_ptr<Operator> op;         // prepared for the samples of a slice

    /// All nodes that it computes: "conv1+relu1+pool1".
    std::string nodes() const {
      std::string text = name;
      for (const std::string& each : fused) text += "+" + each;
      return text;
    }
  };

  /// The graph must outlive this. Throws UsageError, UnavailableError (a backend requested by name does not support its
  /// layer: with its reason), MemoryError (with the bytes needed and free, and the largest batch that fits),
  /// DeviceError.
  Executable(const Graph& graph, const BuildOptions& options);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Bytes: the alignment that run(input, output) requires of GPU memory. No kernel loads or copies more at once.
  static constexpr size_t kEndAlignment = 16;

  /// The memory that a run reads, [N, ...]. The caller fills it (framework/tensor/tensor.h: copy) on stream(). With
  /// mapped_io its device is the CPU, and the caller writes it when the previous run is done.
  TensorView input() noexcept { return input_; }
  /// The memory that a run writes: the last node's output, or one element for each sample. With mapped_io its device is
  /// the CPU.
  ConstTensorView output() const noexcept { return output_; }
  /// Like output() above, for a caller that writes it.
  TensorView output() noexcept { return output_; }
  /// A node's output after a run. Needs keep_activations, and `fuse` off for a node that would be fused.
  ConstTensorView activation(const std::string& node) const;

  /// The stream on which run() enqueues.
  Stream& stream() noexcept { return stream_; }
  /// As BuildOptions::device.
  Device device() const noexcept { return device_; }
  /// Samples per pass.
  int64_t batch() const noexcept { return batch_; }
  /// Samples that the steps compute at once: fewer than batch() if a pass on the CPU repeats them for each slice.
  int64_t slice_samples() const noexcept { return slice_samples_; }
  /// How often a pass repeats the steps. The last slice may share samples with the one before it.
  int64_t slices() const noexcept { return ceil_div(batch_, slice_samples_); }
  /// The graph that it was built from.
  const Graph& graph() const noexcept { return given_; }
  /// The choices; replaying them gives the same executable.
  const Plan& plan() const noexcept { return plan_; }
  /// The steps in order of execution.
  const std::vector<Step>& steps() const noexcept { return steps_; }
  /// The weakest promise of the steps.
  Determinism determinism() const noexcept;
  /// Time to build it in nanoseconds, including preparation.
  double build_ns() const noexcept { return build_ns_; }

  /// The plan of an executable of that graph. Prepares the layers, and takes no memory for activations or a workspace.
  static Plan plan_of(const Graph& graph, const BuildOptions& options);

  /// Enqueues one pass on stream(). Neither allocates nor synchronises, except with cuda_graph: then the first pass is
  /// run_checked(), because libraries initialise themselves in it, and the second is captured, which allocates. Throws
  /// the MemoryError or DeviceError of a failed capture once.
  void run();
  /// Enqueues one pass that reads `input` and writes `output` in place, instead of input() and output(). Both must have
  /// the shape, element type and device of those views, must not overlap, and on a GPU must be aligned to kEndAlignment
  /// bytes. With caller_ends and cuda_graph the second pass with the same memory captures it, which allocates, and
  /// later ones replay it; while `stream` records a graph itself, it records the steps. Throws UsageError for memory
  /// that does not fit, and with mapped_io or keep_activations; the error of a failed capture as run() does.
  void run(ConstTensorView input, TensorView output) { run(input, output, stream_); }
  /// Like run(input, output), on another stream of the device. Runs of one executable share its activations and
  /// workspace, so the caller orders those of different streams (writes_own_memory()). `pair_values` as
  /// RunContext::pair_values has it; refused on the CPU, and for an output that is not of pairs.
  void run(ConstTensorView input, TensorView output, Stream& stream, float* pair_values = nullptr);
  /// Whether run(input, output) writes memory besides the output: activations, or a workspace.
  bool writes_own_memory() const noexcept { return steps_.size() != 1 || workspace_.bytes() > 0; }
  /// Whether run() replays a captured graph.
  bool replays() const noexcept { return static_cast<bool>(captured_); }
  /// Whether passes after the first two replay a captured graph.
  bool will_replay() const noexcept { return capture_due_ || replays(); }
  /// Runs one pass and waits after each layer, so that a DeviceError names the layer that failed. For the first pass
  /// and for finding faults.
  void run_checked();
  /// run_checked() until one such pass succeeded, then run(): a layer that fails does so in the first pass, and is
  /// named.
  void run_first_checked();
  /// Enqueues one step of a slice within its NVTX range. Stages are reported to `tracer`, which may be null, and to
  /// NVTX. With LENSLET_CHECK_LAYERS=1 it also waits, so that an error names its layer; times are then meaningless.
  void run_step(size_t index, Tracer* tracer = nullptr, int64_t slice = 0);

 private:
  enum class Memory { kTaken, kPlanned };
  Executable(const Graph& graph, const BuildOptions& options, Memory memory);
  void build(const BuildOptions& options);
  void finish_step(Step& step, size_t workspace_limit);
  std::vector<OperatorRequest> choose_steps(const BuildOptions& options);  // executable_steps.cpp
  void fuse_readers(Step& step, OperatorRequest& request, const BuildOptions& options);
  void choose_types(std::vector<OperatorRequest>& requests, const BuildOptions& options);
  Support store_fp16(size_t writer, const std::vector<size_t>& readers, bool planned,
                     std::vector<OperatorRequest>& requests) const;
  std::vector<size_t> readers_of(const Step& step) const;
  OperatorRequest of_pass(OperatorRequest request, size_t first, size_t last) const;
  void shape_outputs(const std::vector<OperatorRequest>& requests);
  MemoryLayout place_activations(bool keep_all, bool ends_elsewhere);
  void prepare_steps(const std::vector<OperatorRequest>& requests, size_t workspace_limit);
  void book_memory(const MemoryLayout& memory, const BuildOptions& options);
  void check_memory(size_t needed) const;
  void place_io(const BuildOptions& options);
  using Ends = KeptGraphs::Ends;
  class StepsAt;
  void check_place(ConstTensorView given, ConstTensorView own, const char* role, size_t alignment) const;
  size_t end_alignment(const TensorView& own) const noexcept;
  void move_ends(Ends from, Ends to) noexcept;
  Ends slice_of(Ends pass, int64_t slice) const noexcept;
  void check_own_ends() const;  // throws UsageError with caller_ends
  void run_between(Ends pass, Stream& stream);
  CapturedGraph capture(Ends ends);
  void enqueue_step(size_t index, Tracer* tracer, Stream& stream, float* pair_values = nullptr);
  void visit_step(size_t index, Tracer* tracer, Stream& stream, float* pair_values = nullptr);
  void run_step_and_wait(size_t index, Tracer* tracer, Stream& stream, float* pair_values = nullptr);
  const BackendEntry& choose_backend(size_t node, OperatorRequest& request,
                                     const BuildOptions& options) const;

  const Graph& given_;
  const Graph& running_;  // given_, or its whole()
  const Memory memory_;
  Device device_;
  int64_t batch_, slice_samples_;
  std::unique_ptr<Stream> own_stream_;  // null if the stream is borrowed
  Stream& stream_;
  Buffer activations_;
  Buffer workspace_;
  std::unique_ptr<PinnedBuffer> mapped_;  // with mapped_io: the input, then the output
  TensorView input_;
  TensorView output_;
  std::vector<Shape> pass_shapes_;  // of each node's output, for the batch
  std::vector<Shape> shapes_;       // for a slice
  // By node, from BuildOptions::backends; empty if a plan is replayed.
  std::vector<const BackendEntry*> requested_;
  std::vector<int> step_of_;  // the step that computes each node; -1 for the input
  // The node whose buffer holds each node's output; for a producer, the last node fused into it.
  std::vector<int> buffer_of_;
  std::vector<TensorView> node_outputs_;  // by node; without data for a node fused away
  bool keep_activations_ = false;
  bool caller_ends_ = false;
  std::vector<Step> steps_;
  Plan plan_;
  CapturedGraph captured_;                   // a pass in its own memory
  bool capture_due_ = false;                 // with cuda_graph: such a pass is still to be captured
  std::optional<KeptGraphs> kept_captures_;  // with caller_ends and cuda_graph
  bool checked_ = false;                     // run_checked() has returned
  double build_ns_ = 0;
};

/// The request for a node of that graph, before another layer is fused into it. `shapes` as Graph::infer_shapes() has
/// them.
OperatorRequest node_request(const Graph& graph, size_t node, const std::vector<Shape>& shapes,
                             const BuildOptions& options);

}  // namespace lenslet
