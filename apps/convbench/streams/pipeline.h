// Pipeline: a batch in parts, each copied in from page-locked memory, convolved and copied out, on one or several
// streams.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/bench/conv_candidate.h"
#include "apps/convbench/session/options.h"
#include "framework/execution/chrome_trace.h"

namespace lenslet {

/// One stream with memory for one part and the backend prepared for it: a candidate.
struct StreamLane {
  StreamLane(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part,
             const BenchOptions& options, Device device, const std::string& choice, bool with_epilogues);
  Stream stream;
  ReferenceArena arena;
  ConvCandidate candidate;
  int64_t calls = 0;
};

class Pipeline {
 public:
  static constexpr MathMode kMath = MathMode::kFp32;

  /// Prepares a lane for each stream of the largest configuration, all with the choice of the first, for `parts` parts.
  /// Throws UnavailableError, MemoryError.
  Pipeline(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part, int parts,
           int lanes, const BenchOptions& options, Device device);

  std::vector<std::unique_ptr<StreamLane>>& lanes() noexcept { return lanes_; }
  const ConvKernel& kernel() const noexcept { return lanes_.front()->candidate.kernel(); }

  /// Runs the whole batch on the first `streams` lanes and waits for it. Throws DeviceError, also for an unchecked
  /// failed launch.
  void pass(int streams);
  /// Nanoseconds for one step of all parts on one stream, by events.
  double copy_in_ns();
  double compute_ns();
  double copy_out_ns();
  /// The times of each stream in one pass with events inside. A span begins when the stream reaches it; if a copy waits
  /// for another in the same direction, the span includes the wait.
  std::vector<TraceStream> timeline(int streams, double offset_ns, double* end_ns);

  /// Loads input number `round` into host memory and poisons all memory of the lanes, so that results of an earlier
  /// pass cannot be mistaken for new ones.
  void load(int round);
  void poison_lanes();
  float* output() noexcept { return static_cast<float*>(host_y_.data()); }
  size_t output_count() const noexcept { return static_cast<size_t>(judge_.outputs()); }
  /// Judges the whole batch's output for the input loaded last, and checks for writes outside the lanes' memory.
  Verdict judge(int round, int streams, const std::vector<float>& output);

 private:
  void copy_in(StreamLane& lane, int part);
  void compute(StreamLane& lane);
  void copy_out(StreamLane& lane, int part);
  double alone_ns(const std::function<void(StreamLane&, int)>& step);
  StreamLane& lane_of(int part, int streams) { return *lanes_[static_cast<size_t>(part % streams)]; }
  void wait(int streams);

  int parts_;
  size_t part_x_bytes_, part_y_bytes_;
  uint64_t seed_;
  ConvJudge judge_;  // of the whole batch, with the weights of the lanes' judges
  PinnedBuffer host_x_, host_y_;
  std::vector<std::unique_ptr<StreamLane>> lanes_;
  ConvCase data_;
  int loaded_ = -1;
};

/// The whole batch on some streams, from host to host: a candidate that returns when it is done, as on the CPU.
class PassCandidate : public Candidate {
 public:
  PassCandidate(Pipeline& pipeline, int streams) : pipeline_(pipeline), streams_(streams) {}
  std::string name() const override;
  void load(int round, Stream&) override { pipeline_.load(round); }
  void run(Stream&) override { pipeline_.pass(streams_); }
  float* output() override { return pipeline_.output(); }
  size_t output_count() const override { return pipeline_.output_count(); }
  Verdict judge(int round, const std::vector<float>& output) override {
    return pipeline_.judge(round, streams_, output);
  }

 private:
  Pipeline& pipeline_;
  int streams_;
};

}  // namespace lenslet
