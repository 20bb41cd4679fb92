#include "apps/measuring/measure.h"

#include <algorithm>
#include <memory>

#include "apps/common/attempt.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/measuring/distrust.h"
#include "framework/cache_flush.h"
#include "framework/error.h"
#include "framework/nvtx.h"
#include "framework/sampler.h"
#include "framework/stream_gate.h"
#include "framework/tensor.h"

namespace lenslet {
namespace {

constexpr int kRounds = 5;          // maximum number of turns per candidate
constexpr double kBatchNs = 200e3;  // length of a batch of short runs
// Runs per batch. Fewer would hide the gain of a kernel that returns if its output is already there (see
// kStandingRatio); a stream holds back about a thousand launches.
constexpr int kMinBatch = 4, kMaxBatch = 256;
constexpr double kPatience = 10;   // a slow candidate's turns take at most this times the requested time
constexpr double kLongNs = 100e6;  // for longer runs, filling the caches takes less than a hundredth
constexpr int kNoiseRetries = 3;   // extra turns for a candidate that is noisier than requested
constexpr int kSamplesATurn = 2000;
constexpr double kCopiesShare = 0.25;  // share of the requested time: copies vary little
// Single runs on a poisoned output, kAloneATurn per turn. The fastest is compared with a run within a batch, whose
// output is the earlier run's. It may take kStandingRatio times as long plus kStandingWindows times an almost empty
// window; beyond that, the kernel returns at once if its output is already there. Before that verdict up to kMostAlone
// further runs are taken, because a busy machine delays single runs.
constexpr int kAloneATurn = 3, kMostAlone = 60;
constexpr double kStandingRatio = 2, kStandingWindows = 2;
enum Input { kBefore, kTimed, kAfter };  // rounds of Contender::load

// With fewer samples the noise is unknown.
constexpr size_t kLeastForNoise = 3;

/// One candidate during the measurement.
struct Rival {
  Rival(Contender& which, Stream& stream, std::vector<float>& scratch)
      : contender(which), distrust(which, stream, scratch) {}
  Contender& contender;
  Distrust distrust;
  Measurement result;
  bool alive = true;      // not failed and not skipped
  bool held_back = true;  // its launches fit behind the gate
  bool last_turn = false;
  CapturedGraph replay;        // `batch` runs as one launch; empty if a run is long or cannot be captured
  CapturedGraph single;        // one run, if `replay` exists
  double alone_ns = INFINITY;  // fastest single run on a poisoned output
  int batch = 1, turns = kRounds;
  int64_t calls = 0;
  double once_ns = 0;
  std::vector<double> hot, cold, end_to_end;

  void fail(const std::string& status, const std::string& reason) {
    alive = false;
    result.status = status;
    result.reason = reason;
  }
};

class Contest {
 public:
  Contest(const std::vector<Contender*>& contenders, Stream& stream, const MeasureOptions& options)
      : stream_(stream), options_(options), begin_(stream.device()), end_(stream.device()) {
    for (Contender* contender : contenders)
      rivals_.push_back(std::make_unique<Rival>(*contender, stream, scratch_));
  }

  std::vector<Measurement> run() {
    DeviceGuard guard(stream_.device());
    for (auto& rival : rivals_) guarded(*rival, [&] { prepare(*rival); });
    for (auto& rival : rivals_) guarded(*rival, [&] { rival->contender.load(kTimed, stream_); });
    if (options_.capture) profiler_start();
    {
      NvtxRange range("measure");
      time_all();
    }
    if (options_.capture) profiler_stop();
    if (options_.verify == Verify::kBoth) {
      for (auto& rival : rivals_) guarded(*rival, [&] { check_after(*rival); });
    }
    std::vector<Measurement> results;
    for (auto& rival : rivals_) results.push_back(finish(*rival));
    return results;
  }

 private:
  // An error of one candidate ends its own measurement; a lost device ends all of them.
  template <typename Step>
  void guarded(Rival& rival, Step&& step) {
    if (!rival.alive) return;
    const std::optional<Refusal> refusal = attempt_run(rival.contender.name(), stream_, step);
    if (refusal) rival.fail(refusal->status, refusal->reason);
  }

  static int batch_of(double once_ns) {
    const double runs = kBatchNs / std::max(once_ns, 1.0);
    return runs < 2 ? 1 : static_cast<int>(std::clamp(runs, double{kMinBatch}, double{kMaxBatch}));
  }

  void run_once(Rival& rival) {
    rival.contender.run(stream_);
    ++rival.calls;
  }

  // The first call, verification, and the duration of a run.
  void prepare(Rival& rival) {
    rival.contender.load(kBefore, stream_);
    const double start = host_now_ns();
    run_once(rival);
    throw_on_unreported_error(stream_.device());
    stream_.synchronize();
    rival.result.first_call_ns = host_now_ns() - start;
    throw_if_interrupted();  // a run of a large problem takes seconds
    // NaN at most once: a run that the gate cannot hold back is timed without it.
    do {
      rival.once_ns = time_batch(rival, 1, nullptr);
    } while (std::isnan(rival.once_ns));
    throw_if_interrupted();
    if (options_.verify != Verify::kOff) {
      const std::string wrong = rival.distrust.check(kBefore, 0, rival.once_ns);
      if (!wrong.empty()) return rival.fail("FAILED", wrong);
      for (Contender* variant : rival.contender.variants()) check_variant(rival, *variant);
      if (!rival.alive) return;
      const std::string standing = rival.distrust.check_over(kBefore, kTimed);
      if (!standing.empty()) return rival.fail("FAILED", standing);
    }
    NvtxRange range("warmup");
    const double end = host_now_ns() + options_.warmup_ms * 1e6;
    rival.batch = batch_of(rival.once_ns);
    // A run longer than the warm-up was warmed up by the runs before.
    while (host_now_ns() + rival.once_ns < end && !interrupted()) {
      const double ns = time_batch(rival, rival.batch, nullptr);
      if (std::isnan(ns)) continue;
      rival.once_ns = ns;
      rival.batch = batch_of(ns);
    }
    const double turn_ns = std::max(rival.once_ns * rival.batch, 1.0);
    rival.turns =
        static_cast<int>(std::clamp(kPatience * options_.min_time_ms * 1e6 / turn_ns, 1.0, double{kRounds}));
    if (options_.hot && rival.batch > 1 && stream_.device().is_cuda()) capture_batch(rival);
  }

  void check_variant(Rival& rival, Contender& variant) {
    if (!rival.alive) return;
    const std::string wrong = Distrust(variant, stream_, scratch_).check(kBefore, 0, rival.once_ns);
    if (!wrong.empty()) rival.fail("FAILED", concat(variant.name(), ": ", wrong));
  }

  // Separate launches leave gaps that matter between short kernels; nodes of a CUDA graph leave smaller ones. Each run
  // of the batch is captured by its own call of the candidate.
  void capture_batch(Rival& rival) {
    try {
      rival.single = CapturedGraph::capture(stream_, [&] { run_once(rival); });
      rival.replay = CapturedGraph::capture(stream_, [&] {
        for (int i = 0; i < rival.batch; ++i) run_once(rival);
      });
    } catch (const DeviceError&) {
      // Some libraries do what a capture forbids: their runs are enqueued one by one, and the row records it.
      if (device_is_lost(stream_)) throw;
    }
  }

  // Nanoseconds per run of `count` consecutive runs, with the stream held back until all are enqueued; NaN if the gate
  // opened early. `replay`: these runs as one launch. With verification, the output is poisoned before the window.
  double time_batch(Rival& rival, int count, CacheFlush* flush, const CapturedGraph* replay = nullptr) {
    return time_window(rival, count, flush, [&] {
      if (replay) {
        replay->launch(stream_);
        rival.calls += count;
      } else {
        for (int i = 0; i < count; ++i) run_once(rival);
      }
    });
  }

  template <typename Enqueue>
  double time_window(Rival& rival, int count, CacheFlush* flush, Enqueue&& runs) {
    const auto enqueue = [&] {
      if (options_.verify == Verify::kBoth) rival.distrust.poison();
      if (flush) flush->enqueue(stream_);
      begin_.record(stream_);
      runs();
      end_.record(stream_);
    };
    if (rival.held_back) {
      if (!run_held_back(
              stream_,
              enqueue)) {  // too many launches or a slow host: fewer runs a batch, in the end one, not held back
        if (count == 1) rival.held_back = false;
        rival.batch = std::max(1, rival.batch / 4);
        rival.replay = {};
        rival.single = {};
        throw_on_unreported_error(stream_.device());
        return NAN;
      }
    } else {
      enqueue();
      stream_.synchronize();
    }
    throw_on_unreported_error(stream_.device());
    return end_.ns_since(begin_) / count;
  }

  void time_all() {
    for (int go = 0; go <= kNoiseRetries; ++go) {
      bool noisy = false;
      for (int round = 0; round < kRounds; ++round) {
        if (options_.hot) turn(go, round, [&](Rival& rival, double time_ms) { time_hot(rival, time_ms); });
      }
      if (options_.cold) {
        flush_ = std::make_unique<CacheFlush>(stream_.device());
        for (int round = 0; round < kRounds; ++round) {
          turn(go, round, [&](Rival& rival, double time_ms) { time_cold(rival, time_ms); });
        }
        flush_.reset();
      }
      for (auto& rival : rivals_) noisy = noisy || (rival->alive && too_noisy(*rival));
      if (!noisy || interrupted()) break;
    }
    if (options_.end_to_end) {
      for (int round = 0; round < kRounds; ++round) {
        turn(0, round, [&](Rival& rival, double time_ms) { time_end_to_end(rival, kCopiesShare * time_ms); });
      }
    }
  }

  // One turn per candidate; extra turns only for those that are still too noisy.
  template <typename Time>
  void turn(int go, int round, Time&& time) {
    for (auto& rival : rivals_) {
      if (round >= rival->turns || (go > 0 && !too_noisy(*rival))) continue;
      rival->last_turn = round + 1 == rival->turns;
      guarded(*rival, [&] { time(*rival, options_.min_time_ms / rival->turns); });
    }
  }

  template <typename Sample>
  void sample_for(const Rival& rival, std::vector<double>& samples, double time_ms, Sample&& sample) {
    const int least = (options_.min_samples + rival.turns - 1) / rival.turns;
    Sampler sampler(time_ms, least, kSamplesATurn, interrupted);
    while (sampler.next()) {
      if (const double ns = sample(); !std::isnan(ns)) samples.push_back(ns);
    }
  }

  void time_hot(Rival& rival, double time_ms) {
    if (rival.once_ns < kLongNs) run_once(rival);  // the candidate before left its data in the caches
    sample_for(rival, rival.hot, time_ms, [&] {
      return time_batch(rival, rival.batch, nullptr, rival.replay ? &rival.replay : nullptr);
    });
    judge_timed(rival);
    if (rival.alive && rival.batch > 1 && options_.verify == Verify::kBoth) time_alone(rival);
  }

  // Single runs on a poisoned output, timed like the batches; see kStandingRatio.
  void time_alone(Rival& rival) {
    const CapturedGraph* const single = rival.single ? &rival.single : nullptr;
    const auto take = [&](int count) {
      for (int i = 0; i < count && !interrupted(); ++i) {
        const double ns = time_batch(rival, 1, nullptr, single);
        if (!std::isnan(ns)) rival.alone_ns = std::min(rival.alone_ns, ns);
      }
    };
    take(kAloneATurn);
    if (!rival.last_turn || !std::isfinite(rival.alone_ns) || rival.hot.empty()) return;
    if (rival.distrust.still_poisoned())
      return rival.fail("FAILED", "skipped work: a single run left its output unwritten");
    double window_ns = INFINITY;
    for (int i = 0; i < kAloneATurn; ++i) {
      const double ns = time_window(rival, 1, nullptr, [&] {
        fill_bytes(rival.contender.output(), stream_.device(), 0, sizeof(float), stream_);
      });
      if (!std::isnan(ns)) window_ns = std::min(window_ns, ns);
    }
    const double batch_ns = summarize(rival.hot).median;
    const double most = kStandingRatio * batch_ns + kStandingWindows * window_ns;
    for (int i = 0; i < kMostAlone && rival.alone_ns > most && !interrupted(); ++i) take(1);
    if (rival.alone_ns > most && !interrupted()) {
      rival.fail("FAILED", concat("skips work where its output stands: a run takes ", format_time(batch_ns),
                                  " behind another, ", format_time(rival.alone_ns), " on a poisoned output"));
    }
  }

  void time_cold(Rival& rival, double time_ms) {
    sample_for(rival, rival.cold, time_ms, [&] { return time_batch(rival, 1, flush_.get()); });
    judge_timed(rival);
  }

  void time_end_to_end(Rival& rival, double time_ms) {
    if (!rival.contender.end_to_end()) return;
    sample_for(rival, rival.end_to_end, time_ms, [&] {
      if (options_.verify == Verify::kBoth) {
        rival.distrust.poison();
        stream_.synchronize();
      }
      const double start = host_now_ns();
      rival.contender.copy_in(stream_);
      run_once(rival);
      rival.contender.copy_out(stream_);
      stream_.synchronize();
      return host_now_ns() - start;
    });
    if (options_.verify != Verify::kBoth || !rival.last_turn) return;
    const std::string wrong = rival.distrust.check_end_to_end(kTimed);
    if (!wrong.empty()) rival.fail("FAILED", concat("from host to host: ", wrong));
  }

  // Judges the output of the last turn's runs; judging every turn would take longer than the turns.
  void judge_timed(Rival& rival) {
    if (options_.verify != Verify::kBoth || !rival.last_turn) return;
    const std::string wrong = rival.distrust.judge_output(kTimed);
    if (!wrong.empty())
      rival.fail("FAILED", concat("wrong after ", rival.calls, " calls, while it was timed: ", wrong));
  }

  void check_after(Rival& rival) {
    const std::string wrong = rival.distrust.check(kAfter, rival.calls, rival.once_ns);
    if (!wrong.empty()) rival.fail("FAILED", wrong);
  }

  static double noise(const std::vector<double>& samples) {
    if (samples.size() < kLeastForNoise)
      return samples.empty() ? 0 : HUGE_VAL;  // unknown noise counts as too high
    const TimeStats stats = summarize(samples);
    return (stats.p90 - stats.p10) / stats.median;
  }
  double noise(const Rival& rival) const { return std::max(noise(rival.hot), noise(rival.cold)); }
  bool too_noisy(const Rival& rival) const { return noise(rival) > options_.max_noise; }

  Measurement finish(Rival& rival) {
    Measurement& result = rival.result;
    if (options_.verify != Verify::kOff) result.error = rival.distrust.error();
    if (!rival.alive) return result;  // an unverified candidate gets no time
    result.hot = summarize(rival.hot);
    result.cold = summarize(rival.cold);
    result.end_to_end = summarize(rival.end_to_end);
    result.replayed = static_cast<bool>(rival.replay);
    if (too_noisy(rival)) {
      const double found = noise(rival);
      result.note = std::isfinite(found) ? concat("noise ", format_percent(found, 1), " after ",
                                                  kNoiseRetries + 1, " times the requested time")
                                         : concat("noise unknown: fewer than ", kLeastForNoise, " samples");
    }
    if (!rival.held_back) {
      result.note += concat(result.note.empty() ? "" : "; ",
                            "more launches than a stream can hold back, or a host too slow to ",
                            "enqueue them in time: the time includes the host's launch rate");
    }
    return result;
  }

  Stream& stream_;
  const MeasureOptions& options_;
  Event begin_, end_;
  std::vector<float> scratch_;
  std::vector<std::unique_ptr<Rival>> rivals_;
  std::unique_ptr<CacheFlush> flush_;
};

}  // namespace

const char* to_string(Verify verify) noexcept {
  switch (verify) {
    case Verify::kOff:
      return "off";
    case Verify::kBefore:
      return "before";
    case Verify::kBoth:
      break;
  }
  return "both";
}

std::vector<Measurement> measure(const std::vector<Contender*>& rivals, Stream& stream,
                                 const MeasureOptions& options) {
  return Contest(rivals, stream, options).run();
}

}  // namespace lenslet
