// Pipeline: a batch in parts, each copied in from page-locked memory, convolved and copied out, on one stream or
// several.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/bench/conv_contender.h"
#include "apps/convbench/options.h"
#include "framework/chrome_trace.h"

namespace lenslet {

/// One stream, with the backend prepared for one part and memory for it: a contender like any other.
struct Lane {
  Lane(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part,
       const BenchOptions& options, Device device, const std::string& choice, bool with_variants);
  Stream stream;
  ReferenceArena arena;
  ConvContender contender;
  int64_t calls = 0;
};

class Pipeline {
 public:
  static constexpr MathMode kMath = MathMode::kFp32;

  /// Prepares as many lanes as the largest number of streams, all with the first one's choice, for `parts` parts.
  /// Throws UnavailableError, MemoryError.
  Pipeline(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part, int parts,
           int lanes, const BenchOptions& options, Device device);

  std::vector<std::unique_ptr<Lane>>& lanes() noexcept { return lanes_; }
  const ConvKernel& kernel() const noexcept { return lanes_.front()->contender.kernel(); }

  /// The whole batch over the first `streams` lanes; returns when all of it is done. Throws DeviceError also for an
  /// unchecked launch that failed.
  void pass(int streams);
  /// Nanoseconds that one stream takes for all parts of one kind, by events.
  double copy_in_ns();
  double compute_ns();
  double copy_out_ns();
  /// What each stream did when, from one pass with events inside. A span begins when its stream reaches it: where a
  /// copy waits for another one in the same direction, the wait is in its span.
  std::vector<TraceStream> timeline(int streams, double offset_ns, double* end_ns);

  /// Brings input number `round` into the host's memory and poisons all that the lanes have, so that nothing of an
  /// earlier pass can be taken for this one's.
  void load(int round);
  void poison_lanes();
  float* output() noexcept { return static_cast<float*>(host_y_.data()); }
  size_t output_count() const noexcept { return static_cast<size_t>(judge_.outputs()); }
  /// Judges the whole batch's output of the input that was loaded last, and what lanes wrote outside their memory.
  Verdict judge(int round, int streams, const std::vector<float>& output);

 private:
  void copy_in(Lane& lane, int part);
  void compute(Lane& lane);
  void copy_out(Lane& lane, int part);
  double alone_ns(const std::function<void(Lane&, int)>& step);
  Lane& lane_of(int part, int streams) { return *lanes_[static_cast<size_t>(part % streams)]; }
  void wait(int streams);

  int parts_;
  size_t part_x_bytes_, part_y_bytes_;
  uint64_t seed_;
  ConvJudge judge_;  // of the whole batch, with the weights of the lanes' judges
  PinnedBuffer host_x_, host_y_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  ConvCase data_;
  int loaded_ = -1;
};

/// The whole batch over some streams, from host to host: to its judge a contender that returns when it is done, as one
/// on the CPU does.
class PassContender : public Contender {
 public:
  PassContender(Pipeline& pipeline, int streams) : pipeline_(pipeline), streams_(streams) {}
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
