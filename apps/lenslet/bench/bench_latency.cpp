#include "apps/lenslet/bench/bench_latency.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/measuring/measure.h"
#include "framework/base/clock.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/statistics.h"
#include "framework/measuring/stream_gate.h"
#include "framework/tensor/poison.h"
#include "models/fused_lenet5/polled.h"
#include "models/fused_lenet5/resident.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr int64_t kWarmUp = 100;  // untimed calls at the start
constexpr const char *kPolled = "polled", *kResident = "resident";
constexpr int kInOrderPasses = 200, kInOrderWarmUp = 20;  // some milliseconds of passes. Chosen by hand

/// One way to call the model with a batch and get the answers back.
class LatencyPath {
 public:
  virtual ~LatencyPath() = default;
  /// "copy", "graph", "mapped", …
  virtual std::string mode() const = 0;
  /// Backend and detail; empty if they are the configuration's own.
  virtual std::string backend() const { return {}; }
  virtual std::string detail() const { return {}; }
  /// Where the caller's samples are, in the model's format, and where its answers go.
  virtual TensorView input() = 0;
  virtual TensorView output() = 0;
  /// The timed call: returns when the answers are in output().
  virtual void call() = 0;
  /// Leaves the device to the other paths until the next call, which may take longer.
  virtual void pause() {}
};

// The CPU works directly in the executable's memory.
class CallPath : public LatencyPath {
 public:
  explicit CallPath(Executable& executable) : executable_(executable) {}
  std::string mode() const override { return "call"; }
  TensorView input() override { return executable_.input(); }
  TensorView output() override { return executable_.output(); }
  void call() override { executable_.run(); }

 private:
  Executable& executable_;
};

// Copies in, runs, copies out and waits: enqueued one by one, or captured and replayed as one CUDA graph.
class CopyPath : public LatencyPath {
 public:
  CopyPath(Executable& executable, bool captured)
      : executable_(executable),
        host_in_(executable.device(), executable.input().bytes()),
        host_out_(executable.device(), executable.output().bytes()) {
    if (!captured) return;
    graph_ = CapturedGraph::capture(executable.stream(), [this] { enqueue(); });
  }
  std::string mode() const override { return graph_ ? "graph" : "copy"; }
  TensorView input() override { return on_host(executable_.input(), host_in_); }
  TensorView output() override { return on_host(executable_.output(), host_out_); }
  void call() override {
    if (graph_) {
      graph_.launch(executable_.stream());
    } else {
      enqueue();
    }
    executable_.stream().synchronise();
  }

 private:
  static TensorView on_host(TensorView view, const PinnedBuffer& memory) {
    view.data = static_cast<float*>(memory.data());
    view.device = Device::cpu();
    return view;
  }
  void enqueue() {
    const TensorView in = executable_.input();
    const ConstTensorView out = executable_.output();
    copy_bytes(in.data, in.device, host_in_.data(), Device::cpu(), in.bytes(), executable_.stream());
    executable_.run();
    copy_bytes(host_out_.data(), Device::cpu(), out.data, out.device, out.bytes(), executable_.stream());
  }

  Executable& executable_;
  PinnedBuffer host_in_, host_out_;
  CapturedGraph graph_;
};

// The kernels access page-locked host memory over the bus.
class MappedPath : public LatencyPath {
 public:
  MappedPath(const Graph& graph, const BuildOptions& build) : executable_(graph, build) {}
  std::string mode() const override { return "mapped"; }
  TensorView input() override { return executable_.input(); }
  TensorView output() override { return executable_.output(); }
  void call() override {
    executable_.run();
    executable_.stream().synchronise();
  }

 private:
  Executable executable_;
};

// Bytes in, predictions out, both in pageable memory; waits for no stream.
class BytesPath : public LatencyPath {
 public:
  explicit BytesPath(const Executable& executable)
      : input_(executable.steps().back().inputs.front()),
        output_(executable.output()),
        pixels_(input_.bytes()),
        predictions_(static_cast<size_t>(executable.batch())) {}
  TensorView input() override {
    return {reinterpret_cast<float*>(pixels_.data()), input_.shape, Device::cpu(), input_.type};
  }
  TensorView output() override {
    return {reinterpret_cast<float*>(predictions_.data()), output_.shape, Device::cpu(), output_.type};
  }

 protected:
  ConstTensorView input_, output_;
  std::vector<uint8_t> pixels_;
  std::vector<Prediction> predictions_;
};

// Launches a kernel per call; the host polls for its answers.
class PolledPath : public BytesPath {
 public:
  PolledPath(const Safetensors& weights, const Executable& executable, MathMode math)
      : BytesPath(executable), runner_(weights, executable.device(), math, executable.batch()) {}
  std::string mode() const override { return kPolled; }
  std::string backend() const override { return "small"; }
  std::string detail() const override { return runner_.detail(); }
  void call() override { runner_.run(pixels_.data(), predictions_.data()); }

 private:
  PolledLenet5 runner_;
};

// A resident kernel polls for samples, the host for answers. It has a cluster for each sample, as far as they fit.
class ResidentPath : public BytesPath {
 public:
  ResidentPath(const Safetensors& weights, const Executable& executable, MathMode math)
      : BytesPath(executable), kernel_(weights, options(executable, math)) {}
  std::string mode() const override { return kResident; }
  std::string backend() const override { return "resident"; }
  std::string detail() const override {
    const int clusters = kernel_.clusters();
    return concat("resident, ", counted(clusters, "cluster"), " of ", kernel_.blocks(), " blocks");
  }
  void call() override {
    kernel_.classify(pixels_.data(), static_cast<int64_t>(predictions_.size()), predictions_.data());
  }
  void pause() override { kernel_.suspend(); }

 private:
  static ResidentOptions options(const Executable& executable, MathMode math) {
    if (math != MathMode::kFp32)
      throw UnavailableError(concat("a resident kernel computes in fp32, not in ", to_string(math)));
    ResidentOptions options;
    options.device = executable.device();
    options.max_clusters =
        static_cast<int>(std::min<int64_t>(executable.batch(), ResidentLenet5::kMaxClusters));
    return options;
  }

  ResidentLenet5 kernel_;
};

struct LatencyPaths {
  std::vector<std::unique_ptr<LatencyPath>> offered;
  std::vector<std::pair<std::string, NoResult>> refused;  // by mode
};

// The paths that the executable's configuration supports on its device.
LatencyPaths latency_paths(Executable& executable, const BuildOptions& build, const Safetensors& weights) {
  LatencyPaths paths;
  auto& offered = paths.offered;
  if (!executable.device().is_cuda()) {
    offered.push_back(std::make_unique<CallPath>(executable));
    return paths;
  }
  offered.push_back(std::make_unique<CopyPath>(executable, false));
  offered.push_back(std::make_unique<CopyPath>(executable, true));
  BuildOptions mapped = build;
  mapped.mapped_io = true;
  offered.push_back(std::make_unique<MappedPath>(executable.graph(), mapped));
  const Plan& plan = executable.plan();
  const bool for_polling = plan.execution == Plan::kFused && plan.input == ElementType::kUint8 &&
                           plan.output == kPrediction && executable.batch() <= PolledLenet5::kMaxBatch;
  if (!for_polling) return paths;
  const MathMode math = executable.steps().back().math;
  const auto offer = [&](const char* mode, const auto& make) {
    const auto refusal = attempt(executable.stream(), [&] { offered.push_back(make()); });
    if (refusal) paths.refused.emplace_back(mode, *refusal);
  };
  offer(kPolled, [&] { return std::make_unique<PolledPath>(weights, executable, math); });
  offer(kResident, [&] { return std::make_unique<ResidentPath>(weights, executable, math); });
  return paths;
}

ResultRow row_of(const ResultRow& base, const std::string& mode) {
  ResultRow row = base;
  row.name = "latency";
  row.labels.emplace_back("mode", mode);
  return row;
}

/// A path, before it becomes a row.
struct Runner {
  explicit Runner(LatencyPath& which) : path(which), in(which.input()), out(which.output()) {}
  LatencyPath& path;
  TensorView in, out;
  std::vector<double> times_ns;
  ResultError error;
  std::string wrong;
  int64_t calls = 0;

  // Times one call, with other samples than the previous one; nanoseconds.
  double call(const BatchSamples& samples, double bound) {
    const int round = static_cast<int>(calls++ % INT32_MAX);
    samples.fill(in, round);
    std::memset(out.data, kNanByte, out.bytes());
    const double start = host_now_ns();
    path.call();
    const double ns = host_now_ns() - start;
    std::vector<int32_t> sample_of;
    for (int64_t slot = 0; slot < in.shape[0]; ++slot) sample_of.push_back(samples.sample_of(slot, round));
    const std::string found = samples.expected(in.type).compare(out.type, out.data, sample_of, bound, error);
    if (wrong.empty() && !found.empty()) wrong = concat("call ", calls, ": ", found);
    return ns;
  }
  // The times of `count` calls, of fewer after an interruption or a wrong answer.
  std::vector<double> run(int64_t count, const BatchSamples& samples, double bound) {
    std::vector<double> times;
    while (static_cast<int64_t>(times.size()) < count && !interrupted() && wrong.empty())
      times.push_back(call(samples, bound));
    return times;
  }
};

// Median nanoseconds between two events around `enqueue`, on a stream that is held back until all is enqueued.
template <typename Enqueue>
double median_between_events(Stream& stream, Enqueue&& enqueue) {
  Event begin(stream.device()), end(stream.device());
  std::vector<double> samples;
  for (int i = 0; i < kInOrderWarmUp + kInOrderPasses; ++i) {
    const bool held_back = run_held_back(stream, [&] {
      begin.record(stream);
      enqueue();
      end.record(stream);
    });
    if (i >= kInOrderWarmUp && held_back) samples.push_back(end.ns_since(begin));
  }
  return samples.empty() ? NAN : summarise(samples).median;
}

}  // namespace

std::vector<std::pair<std::string, double>> pass_times(Executable& executable, double back_to_back_ns) {
  if (!executable.device().is_cuda()) return {{"cpu", back_to_back_ns}};
  Stream& stream = executable.stream();
  return {{"pipelined", back_to_back_ns},
          {"in_order", median_between_events(stream, [&] { executable.run(); })},
          {"between_events", median_between_events(stream, [] {})}};
}

std::vector<ResultRow> measure_latency(Executable& executable, const BuildOptions& build,
                                       const Safetensors& weights, const BatchSamples& samples,
                                       const ResultRow& base, int64_t calls) {
  const LatencyPaths paths = latency_paths(executable, build, weights);
  const double bound = samples.expected(executable.plan().input).bound(executable);
  std::vector<Runner> runners;
  for (const auto& path : paths.offered) runners.emplace_back(*path);
  for (Runner& runner : runners) {
    runner.run(kWarmUp, samples, bound);
    runner.path.pause();
  }
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    for (Runner& runner : runners) {
      runner.run(1, samples, bound);  // after a pause
      const std::vector<double> times = runner.run(ceil_div(calls, kMaxTurns), samples, bound);
      runner.times_ns.insert(runner.times_ns.end(), times.begin(), times.end());
      runner.path.pause();
    }
  }
  std::vector<ResultRow> rows;
  for (Runner& runner : runners) {
    ResultRow row = row_of(base, runner.path.mode());
    if (const std::string backend = runner.path.backend(); !backend.empty()) {
      row.backend = backend;
      row.detail = runner.path.detail();
      row.stages_ns.clear();  // the GPU's time belongs to another backend
    }
    row.error = runner.error;
    row.replayed = runner.path.mode() == "graph";
    if (runner.wrong.empty()) {
      row.time = summarise(runner.times_ns);
      if (runner.times_ns.empty()) {
        row.status = row_status::kSkipped;
        row.reason = why_unmeasured();
      } else {
        std::sort(runner.times_ns.begin(), runner.times_ns.end());
        row.p99_ns = percentile(runner.times_ns, 0.99);
      }
    } else {
      row.status = row_status::kFailed;
      row.reason = runner.wrong;
    }
    rows.push_back(std::move(row));
  }
  for (const auto& [mode, refusal] : paths.refused) {
    ResultRow& row = rows.emplace_back(row_of(base, mode));
    row.status = refusal.status;
    row.reason = refusal.reason;
  }
  return rows;
}

}  // namespace lenslet
