#include "apps/measuring/measure.h"

#include <algorithm>
#include <memory>

#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/measuring/candidate_checks.h"
#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/measuring/cache_flush.h"
#include "framework/measuring/nvtx.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/sampler.h"
#include "framework/measuring/stream_gate.h"
#include "framework/tensor/tensor.h"

namespace lenslet {
namespace {

constexpr double kBatchNs = 200e3;  // length of a batch of short runs
// Runs per batch. Fewer would hide the gain of a kernel that returns if its output is already there (see
// kStandingRatio); a stream holds back about a thousand launches.
constexpr int kMinBatch = 4, kMaxBatch = 256;
// A first run that a busy machine delays looks too long for batches. Up to this many are taken to find a shorter one,
// unless a run takes longer than such delays.
constexpr int kFirstRuns = 5;
constexpr double kDelayNs = 20e6;
constexpr int kNoiseRetries = 3;       // extra turns for a candidate that is noisier than requested
constexpr int kSamplesATurn = 2000;    // at most. Chosen by hand
constexpr double kCopiesShare = 0.25;  // share of the requested time: copies vary little
// Single runs on a poisoned output, kAloneATurn per turn. The fastest is compared with a run within a batch, whose
// output is there from the run before. It may take kStandingRatio times as long plus kStandingWindows empty windows; if
// it takes longer, the kernel skips work where its output is there already. Before that verdict up to kMaxAlone
// further runs are taken, because a busy machine delays single runs; it delays windows too, so the fastest of kWindows
// counts.
constexpr int kAloneATurn = 3, kMaxAlone = 60, kWindows = 20;
constexpr double kStandingRatio = 2, kStandingWindows = 2;

// With fewer samples the noise is unknown.
constexpr size_t kMinForNoise = 3;

/// A candidate's share of its measurement.
struct Turn {
  double time_ms;
  int min_samples;
  bool last;
};

/// One candidate during the measurement.
struct CandidateState {
  CandidateState(Candidate& which, Stream& stream, std::vector<float>& scratch)
      : candidate(which), checks(which, stream, scratch) {}
  Candidate& candidate;
  CandidateChecks checks;
  Measurement result;
  bool alive = true;           // not failed and not skipped
  bool held_back = true;       // its launches fit behind the gate
  CapturedGraph replay;        // `batch` runs as one launch; empty if a run is long or cannot be captured
  CapturedGraph single;        // one run, if `replay` exists
  double alone_ns = INFINITY;  // fastest single run on a poisoned output
  int batch = 1, hot_turns = kMaxTurns, cold_turns = kMaxTurns;
  int64_t calls = 0;
  double once_ns = 0;
  std::vector<double> hot, cold, end_to_end;
  size_t replays = 0;  // of the samples in `hot`

  void fail(const std::string& status, const std::string& reason) {
    alive = false;
    result.status = status;
    result.reason = reason;
  }
};

class CandidateTiming {
 public:
  CandidateTiming(const std::vector<Candidate*>& candidates, Stream& stream, const MeasureOptions& options)
      : stream_(stream), options_(options), begin_(stream.device()), end_(stream.device()) {
    for (Candidate* candidate : candidates)
      states_.push_back(std::make_unique<CandidateState>(*candidate, stream, scratch_));
  }

  std::vector<Measurement> run() {
    DeviceGuard guard(stream_.device());
    for (auto& state : states_) guarded(*state, [&] { prepare(*state); });
    for (auto& state : states_) guarded(*state, [&] { state->candidate.load(Candidate::kTimed, stream_); });
    if (options_.capture) profiler_start();
    {
      NvtxRange range("measure");
      time_all();
    }
    if (options_.capture) profiler_stop();
    if (options_.verify == Verify::kBoth) {
      for (auto& state : states_) guarded(*state, [&] { judge_after(*state); });
    }
    std::vector<Measurement> results;
    for (auto& state : states_) results.push_back(finish(*state));
    return results;
  }

 private:
  // An error of one candidate ends its own measurement; a lost device ends all of them.
  template <typename Step>
  void guarded(CandidateState& state, Step&& step) {
    if (!state.alive) return;
    pulse();
    const std::optional<NoResult> refusal = attempt_run(state.candidate.name(), stream_, step);
    if (refusal) state.fail(refusal->status, refusal->reason);
  }

  void pulse() const {
    if (options_.pulse) options_.pulse();
  }

  // Between the runs of prepare(), each of which takes seconds for a large problem.
  void pause() const {
    pulse();
    throw_if_interrupted();
  }

  // Turns that together take at most kPatience times the requested time, unless one alone does.
  int turns_of(double turn_ns) const {
    return static_cast<int>(
        std::clamp(kPatience * options_.min_time_ms * 1e6 / std::max(turn_ns, 1.0), 1.0, double{kMaxTurns}));
  }

  static int batch_of(double once_ns) {
    const double runs = kBatchNs / std::max(once_ns, 1.0);
    return runs < 2 ? 1 : static_cast<int>(std::clamp(runs, double{kMinBatch}, double{kMaxBatch}));
  }

  void run_once(CandidateState& state) {
    state.candidate.run(stream_);
    ++state.calls;
  }

  // The first call, verification, and the duration of a run.
  void prepare(CandidateState& state) {
    state.candidate.load(Candidate::kBefore, stream_);
    const double start = host_now_ns();
    run_once(state);
    throw_on_unreported_error(stream_.device());
    stream_.synchronise();
    state.result.first_call_ns = host_now_ns() - start;
    pause();
    // NaN at most once: a run that the gate cannot hold back is timed without it.
    state.once_ns = INFINITY;
    for (int i = 0; std::isinf(state.once_ns) ||
                    (i < kFirstRuns && batch_of(state.once_ns) == 1 && state.once_ns < kDelayNs);
         ++i) {
      const double ns = time_batch(state, 1, nullptr);
      if (!std::isnan(ns)) state.once_ns = std::min(state.once_ns, ns);
    }
    pause();
    if (options_.verify != Verify::kOff) {
      const std::string wrong = state.checks.judge_run(Candidate::kBefore, 0, state.once_ns);
      if (!wrong.empty()) return state.fail(row_status::kFailed, wrong);
      pause();
      for (Candidate* epilogue : state.candidate.epilogues()) judge_epilogue(state, *epilogue);
      if (!state.alive) return;
      const std::string standing = state.checks.judge_run_over(Candidate::kBefore, Candidate::kTimed);
      if (!standing.empty()) return state.fail(row_status::kFailed, standing);
    }
    NvtxRange range("warmup");
    const double end = host_now_ns() + options_.warmup_ms * 1e6;
    state.batch = batch_of(state.once_ns);
    // A run longer than the warm-up was warmed up by the runs before.
    while (host_now_ns() + state.once_ns < end && !interrupted()) {
      const double ns = time_batch(state, state.batch, nullptr);
      if (std::isnan(ns)) continue;
      state.once_ns = std::min(state.once_ns, ns);
      state.batch = batch_of(state.once_ns);
    }
    state.hot_turns = turns_of(state.once_ns * (state.batch + (fills_caches(state) ? 1 : 0)));
    const bool launches = stream_.device().is_cuda() && !state.candidate.is_call();
    if (options_.hot && state.batch > 1 && launches) capture_batch(state);
  }

  void judge_epilogue(CandidateState& state, Candidate& epilogue) {
    if (!state.alive) return;
    pause();
    const std::string wrong =
        CandidateChecks(epilogue, stream_, scratch_).judge_run(Candidate::kBefore, 0, state.once_ns);
    if (!wrong.empty()) state.fail(row_status::kFailed, concat(epilogue.name(), ": ", wrong));
  }

  // Separate launches leave gaps that matter between short kernels; nodes of a CUDA graph leave smaller ones. Each run
  // of the batch is captured by its own call of the candidate.
  void capture_batch(CandidateState& state) {
    try {
      state.single = CapturedGraph::capture(stream_, [&] { run_once(state); });
      state.replay = CapturedGraph::capture(stream_, [&] {
        for (int i = 0; i < state.batch; ++i) run_once(state);
      });
    } catch (const DeviceError&) {
      // Some libraries do what a capture forbids: their runs are enqueued one by one, and the row records it.
      if (device_is_lost(stream_)) throw;
    }
  }

  // Nanoseconds per run of `count` consecutive runs, with the stream held back until all are enqueued; NaN if the gate
  // opened early. `replay`: these runs as one launch. With verification, the output is poisoned before the window.
  double time_batch(CandidateState& state, int count, CacheFlush* flush,
                    const CapturedGraph* replay = nullptr) {
    return time_window(state, count, flush, [&] {
      if (replay) {
        replay->launch(stream_);
        state.calls += count;
      } else {
        for (int i = 0; i < count; ++i) run_once(state);
      }
    });
  }

  template <typename Enqueue>
  double time_window(CandidateState& state, int count, CacheFlush* flush, Enqueue&& runs) {
    if (state.candidate.is_call()) return time_calls(state, count, flush, runs);
    const auto enqueue = [&] {
      if (options_.verify == Verify::kBoth) state.checks.poison();
      if (flush) flush->enqueue(stream_);
      begin_.record(stream_);
      runs();
      end_.record(stream_);
    };
    if (state.held_back) {
      // If it fails, there are too many launches, or the host is slow: fewer runs a batch, in the end one, not held
      // back.
      if (!run_held_back(stream_, enqueue)) {
        if (count == 1) state.held_back = false;
        state.batch = std::max(1, state.batch / 4);
        state.replay = {};
        state.single = {};
        throw_on_unreported_error(stream_.device());
        return NAN;
      }
    } else {
      enqueue();
      stream_.synchronise();
    }
    throw_on_unreported_error(stream_.device());
    return end_.ns_since(begin_) / count;
  }

  // The same for calls, which wait for their own work.
  template <typename Call>
  double time_calls(CandidateState& state, int count, CacheFlush* flush, Call&& calls) {
    if (options_.verify == Verify::kBoth) state.checks.poison();
    if (flush) flush->enqueue(stream_);
    stream_.synchronise();
    const double start = host_now_ns();
    calls();
    const double ns = host_now_ns() - start;
    throw_on_unreported_error(stream_.device());
    return ns / count;
  }

  void time_all() {
    for (int go = 0; go <= kNoiseRetries; ++go) {
      bool noisy = false;
      for (int turn = 0; turn < kMaxTurns; ++turn) {
        if (!options_.hot) break;
        take_turn(go, turn, &CandidateState::hot_turns, &CandidateTiming::time_hot);
      }
      if (options_.cold) {
        flush_ = std::make_unique<CacheFlush>(stream_.device());
        const double flush_ns = time_flush();
        for (auto& state : states_) state->cold_turns = turns_of(state->once_ns + flush_ns);
        for (int turn = 0; turn < kMaxTurns; ++turn) {
          take_turn(go, turn, &CandidateState::cold_turns, &CandidateTiming::time_cold);
        }
        flush_.reset();
      }
      for (auto& state : states_) noisy = noisy || (state->alive && too_noisy(*state));
      if (!noisy || interrupted()) break;
    }
    if (options_.end_to_end) {
      for (int turn = 0; turn < kMaxTurns; ++turn) {
        take_turn(0, turn, &CandidateState::hot_turns, &CandidateTiming::time_end_to_end);
      }
    }
  }

  // The nanoseconds of the second flush; the first one also takes the memory from the system.
  double time_flush() {
    double ns = 0;
    for (int i = 0; i < 2; ++i) {
      const double start = host_now_ns();
      flush_->enqueue(stream_);
      stream_.synchronise();
      ns = host_now_ns() - start;
    }
    return ns;
  }

  // One turn per candidate; extra turns only for those that are still too noisy.
  void take_turn(int go, int index, int CandidateState::*turns_of_state,
                 void (CandidateTiming::*time)(CandidateState&, const Turn&)) {
    for (auto& state : states_) {
      const int turns = (*state).*turns_of_state;
      if (index >= turns || (go > 0 && !too_noisy(*state))) continue;
      const Turn turn = {options_.min_time_ms / turns,
                         static_cast<int>(ceil_div(options_.min_samples, turns)), index + 1 == turns};
      guarded(*state, [&] { (this->*time)(*state, turn); });
    }
  }

  template <typename Sample>
  void sample_for(const Turn& turn, std::vector<double>& samples, Sample&& sample) {
    Sampler sampler(turn.time_ms, turn.min_samples, kSamplesATurn, interrupted);
    while (sampler.next()) {
      if (const double ns = sample(); !std::isnan(ns)) samples.push_back(ns);
    }
  }

  // Whether a turn begins with a run that is not timed: the candidate before left its data in the caches.
  static bool fills_caches(const CandidateState& state) { return state.once_ns < kLongNs; }

  void time_hot(CandidateState& state, const Turn& turn) {
    if (fills_caches(state)) run_once(state);
    sample_for(turn, state.hot, [&] {
      const bool replays = static_cast<bool>(state.replay);  // a window that fails discards it
      const double ns = time_batch(state, state.batch, nullptr, replays ? &state.replay : nullptr);
      if (replays && !std::isnan(ns)) ++state.replays;
      return ns;
    });
    judge_timed(state, turn);
    if (state.alive && state.batch > 1 && options_.verify == Verify::kBoth) time_alone(state, turn);
  }

  // Single runs on a poisoned output, timed like the batches; see kStandingRatio.
  void time_alone(CandidateState& state, const Turn& turn) {
    const auto take = [&](int count) {
      for (int i = 0; i < count && !interrupted(); ++i) {
        // A window that could not be held back discards the graph.
        const double ns = time_batch(state, 1, nullptr, state.single ? &state.single : nullptr);
        if (!std::isnan(ns)) state.alone_ns = std::min(state.alone_ns, ns);
      }
    };
    take(kAloneATurn);
    if (!turn.last || !std::isfinite(state.alone_ns) || state.hot.empty()) return;
    if (state.checks.still_poisoned())
      return state.fail(row_status::kFailed, "skipped work: a single run left its output unwritten");
    double window_ns = INFINITY;
    for (int i = 0; i < kWindows && !interrupted(); ++i) {
      const double ns = time_window(state, 1, nullptr, [&] { state.checks.touch(); });
      if (!std::isnan(ns)) window_ns = std::min(window_ns, ns);
    }
    const double batch_ns = summarise(state.hot).median;
    const double max_alone_ns = kStandingRatio * batch_ns + kStandingWindows * window_ns;
    for (int i = 0; i < kMaxAlone && state.alone_ns > max_alone_ns && !interrupted(); ++i) take(1);
    if (state.alone_ns > max_alone_ns && !interrupted()) {
      state.fail(row_status::kFailed,
                 concat("skips work where its output stands: a run takes ", format_time(batch_ns),
                        " after another, ", format_time(state.alone_ns), " on a poisoned output"));
    }
  }

  void time_cold(CandidateState& state, const Turn& turn) {
    sample_for(turn, state.cold, [&] { return time_batch(state, 1, flush_.get()); });
    judge_timed(state, turn);
  }

  void time_end_to_end(CandidateState& state, const Turn& turn) {
    if (!state.candidate.end_to_end()) return;
    sample_for({kCopiesShare * turn.time_ms, turn.min_samples, turn.last}, state.end_to_end, [&] {
      if (options_.verify == Verify::kBoth) {
        state.checks.poison();
        stream_.synchronise();
      }
      const double start = host_now_ns();
      state.candidate.copy_in(stream_);
      run_once(state);
      state.candidate.copy_out(stream_);
      stream_.synchronise();
      return host_now_ns() - start;
    });
    if (options_.verify != Verify::kBoth || !turn.last) return;
    const std::string wrong = state.checks.judge_end_to_end(Candidate::kTimed);
    if (!wrong.empty()) state.fail(row_status::kFailed, concat("from host to host: ", wrong));
  }

  // Judges the output of the last turn's runs; judging every turn would take longer than the turns.
  void judge_timed(CandidateState& state, const Turn& turn) {
    if (options_.verify != Verify::kBoth || !turn.last) return;
    const std::string wrong = state.checks.judge_output(Candidate::kTimed);
    if (!wrong.empty())
      state.fail(row_status::kFailed,
                 concat("wrong after ", state.calls, " calls, while it was timed: ", wrong));
  }

  void judge_after(CandidateState& state) {
    const std::string wrong = state.checks.judge_run(Candidate::kAfter, state.calls, state.once_ns);
    if (!wrong.empty()) state.fail(row_status::kFailed, wrong);
  }

  static double noise(const std::vector<double>& samples) {
    if (samples.size() < kMinForNoise)
      return samples.empty() ? 0 : HUGE_VAL;  // unknown noise counts as too high
    const TimeStats stats = summarise(samples);
    return (stats.p90 - stats.p10) / stats.median;
  }
  double noise(const CandidateState& state) const { return std::max(noise(state.hot), noise(state.cold)); }
  bool too_noisy(const CandidateState& state) const { return noise(state) > options_.max_noise; }

  Measurement finish(CandidateState& state) {
    Measurement& result = state.result;
    if (options_.verify != Verify::kOff) result.error = state.checks.error();
    if (!state.alive) return result;  // an unverified candidate gets no time
    result.hot = summarise(state.hot);
    result.cold = summarise(state.cold);
    result.end_to_end = summarise(state.end_to_end);
    result.replayed = state.replays > 0 && state.replays == state.hot.size();
    if (too_noisy(state)) {
      const double found = noise(state);
      result.noise = std::isfinite(found) ? concat("noise ", format_percent(found, 1), " after ",
                                                   kNoiseRetries + 1, " times the requested time")
                                          : concat("noise unknown: fewer than ", kMinForNoise, " samples");
    }
    if (!state.held_back) {
      result.note =
          "more launches than a stream can hold back, or a host too slow to enqueue them in time: the time "
          "includes the host's launch rate";
    }
    return result;
  }

  Stream& stream_;
  const MeasureOptions& options_;
  Event begin_, end_;
  std::vector<float> scratch_;
  std::vector<std::unique_ptr<CandidateState>> states_;
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

std::vector<Measurement> measure(const std::vector<Candidate*>& candidates, Stream& stream,
                                 const MeasureOptions& options) {
  return CandidateTiming(candidates, stream, options).run();
}

}  // namespace lenslet
