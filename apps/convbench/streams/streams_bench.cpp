#include "apps/convbench/streams/streams_bench.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/measuring/candidate_checks.h"
#include "apps/measuring/measure.h"
#include "framework/base/clock.h"
#include "framework/measuring/nvtx.h"
#include "framework/measuring/row_status.h"
#include "framework/measuring/sampler.h"
#include "framework/measuring/statistics.h"

namespace lenslet {
namespace {

/// One step of all parts alone, timed with the candidates.
struct Alone {
  const char* name;
  double (Pipeline::*once_ns)();
  std::vector<double> samples;
  double median() const { return summarise(samples).median; }
};

/// A candidate: one number of streams.
struct StreamsCandidate {
  StreamsCandidate(Pipeline& pipeline, int count, Stream& host, std::vector<float>& scratch)
      : streams(count), pass(pipeline, count), checks(pass, host, scratch) {}
  int streams;
  PassCandidate pass;
  CandidateChecks checks;
  std::optional<NoResult> fault;
  std::vector<double> samples;
  int64_t passes = 0;
};

class StreamsTiming {
 public:
  StreamsTiming(Pipeline& pipeline, const std::vector<int>& streams, const MeasureOptions& options)
      : pipeline_(pipeline), options_(options), host_(Device::cpu()) {
    for (int count : streams)
      candidates_.push_back(std::make_unique<StreamsCandidate>(pipeline, count, host_, scratch_));
    for (auto& lane : pipeline.lanes())
      lane_checks_.push_back(std::make_unique<CandidateChecks>(lane->candidate, lane->stream, scratch_));
  }

  void run() {
    if (options_.verify != Verify::kOff) judge(Candidate::kBefore);
    time_all();
    if (options_.verify == Verify::kBoth) judge(Candidate::kAfter);
  }

  const std::vector<std::unique_ptr<StreamsCandidate>>& candidates() const noexcept { return candidates_; }
  std::vector<std::pair<std::string, double>> stages() const {
    std::vector<std::pair<std::string, double>> stages;
    for (const Alone& alone : alone_) {
      if (!alone.samples.empty()) stages.emplace_back(alone.name, alone.median());
    }
    return stages;
  }

 private:
  /// Returns the fault that `step` finds or throws; rethrows if the device is lost.
  std::optional<NoResult> fault_of(const std::function<std::string()>& step) {
    std::string wrong;
    StreamLane& lane = *pipeline_.lanes().front();
    const std::optional<NoResult> refusal =
        attempt_run(lane.candidate.name(), lane.stream, [&] { wrong = step(); });
    if (refusal || wrong.empty()) return refusal;
    return NoResult{row_status::kFailed, ExitCode::kCheckFailed, wrong};
  }

  /// Fails every row that uses that lane.
  void fail(int lane, const NoResult& fault) {
    for (auto& candidate : candidates_) {
      if (lane < candidate->streams && !candidate->fault) candidate->fault = fault;
    }
  }

  // Checks each lane alone, then each candidate from host to host. A fault of a lane fails all rows that use it.
  void judge(int round) {
    for (size_t i = 0; i < lane_checks_.size(); ++i) {
      std::optional<NoResult> fault = fault_of([&] { return judge_lane(i, round); });
      if (!fault) continue;
      if (fault->status != row_status::kSkipped) fault->reason = concat("stream ", i, ": ", fault->reason);
      fail(static_cast<int>(i), *fault);
    }
    for (auto& candidate : candidates_) {
      if (!candidate->fault)
        candidate->fault =
            fault_of([&] { return candidate->checks.judge_run(round, candidate->passes, NAN); });
    }
  }

  std::string judge_lane(size_t index, int round) {
    StreamLane& lane = *pipeline_.lanes()[index];
    lane.candidate.load(round, lane.stream);
    double once_ns = 0;
    for (int i = 0; i < 2; ++i) {  // the first run may include one-time set-up
      const double start = host_now_ns();
      lane.candidate.run(lane.stream);
      throw_on_unreported_error(lane.stream.device());
      lane.stream.synchronise();
      once_ns = host_now_ns() - start;
    }
    std::string wrong = lane_checks_[index]->judge_run(round, lane.calls, once_ns);
    if (!wrong.empty() || round != Candidate::kBefore) return wrong;
    for (Candidate* epilogue : lane.candidate.epilogues()) {
      wrong = CandidateChecks(*epilogue, lane.stream, scratch_).judge_run(round, 0, once_ns);
      if (!wrong.empty()) return concat(epilogue->name(), ": ", wrong);
    }
    return lane_checks_[index]->judge_run_over(Candidate::kBefore, Candidate::kTimed);
  }

  template <typename Once>
  void sample(std::vector<double>& samples, double ms, Once&& once) {
    Sampler sampler(ms, 1, INT_MAX, interrupted);
    while (sampler.next()) samples.push_back(once());
  }

  double pass_ns(StreamsCandidate& candidate) {
    NvtxRange range("measure");
    const double start = host_now_ns();
    pipeline_.pass(candidate.streams);
    ++candidate.passes;
    return host_now_ns() - start;
  }

  // One turn of every candidate; after the last turn the outputs are judged.
  void take_turn(double ms, bool last) {
    const auto fault = fault_of([&]() -> std::string {
      for (Alone& alone : alone_) sample(alone.samples, ms, [&] { return (pipeline_.*alone.once_ns)(); });
      return {};
    });
    if (fault) return fail(0, *fault);
    for (auto& candidate : candidates_) {
      if (candidate->fault) continue;
      candidate->fault = fault_of([&]() -> std::string {
        const bool judged = last && options_.verify == Verify::kBoth;
        if (judged) candidate->checks.poison();
        sample(candidate->samples, ms, [&] {
          if (options_.verify == Verify::kBoth) pipeline_.poison_lanes();
          return pass_ns(*candidate);
        });
        if (!judged) return {};
        const std::string wrong = candidate->checks.judge_output(Candidate::kTimed);
        return wrong.empty()
                   ? wrong
                   : concat("wrong after ", candidate->passes, " passes, while it was timed: ", wrong);
      });
    }
  }

  void time_all() {
    const auto fault = fault_of([&]() -> std::string {
      pipeline_.load(Candidate::kTimed);
      return {};
    });
    if (fault) return fail(0, *fault);
    take_turn(options_.warmup_ms, false);
    for (Alone& alone : alone_) alone.samples.clear();
    for (auto& candidate : candidates_) candidate->samples.clear();
    for (int turn = 0; turn < kMaxTurns && !interrupted(); ++turn)
      take_turn(options_.min_time_ms / kMaxTurns, turn + 1 == kMaxTurns);
  }

  Pipeline& pipeline_;
  const MeasureOptions& options_;
  Stream host_;
  std::vector<float> scratch_;
  std::vector<std::unique_ptr<StreamsCandidate>> candidates_;
  std::vector<std::unique_ptr<CandidateChecks>> lane_checks_;
  Alone alone_[3] = {{"copy in", &Pipeline::copy_in_ns, {}},
                     {"conv", &Pipeline::compute_ns, {}},
                     {"copy out", &Pipeline::copy_out_ns, {}}};
};

std::vector<ResultRow> rows_without_time(const StreamsRequest& request, const NoResult& refusal) {
  std::vector<ResultRow> rows;
  for (int streams : request.streams) {
    rows.push_back(request.base(streams));
    rows.back().status = refusal.status;
    rows.back().reason = refusal.reason;
  }
  return rows;
}

}  // namespace

std::vector<ResultRow> bench_streams(const StreamsRequest& request, BenchSession& session) {
  DeviceGuard guard(session.device());
  std::unique_ptr<Pipeline> pipeline;
  const auto refusal = attempt(session.stream(), [&] {
    const ConvBackend& backend = request.open();
    if (const Support support = backend.supports(request.part, Pipeline::kMath); !support)
      throw UnavailableError(support.reason());
    const int max_streams = *std::max_element(request.streams.begin(), request.streams.end());
    pipeline = std::make_unique<Pipeline>(request.backend, backend, request.part, request.parts, max_streams,
                                          session.options(), session.device());
  });
  if (refusal) {
    session.refuse(request.backend, refusal->code, refusal->reason);
    return rows_without_time(request, *refusal);
  }
  const MeasureOptions& options = session.measure_options();
  StreamsTiming timing(*pipeline, request.streams, options);
  timing.run();
  const std::vector<std::pair<std::string, double>> stages = timing.stages();
  const auto longest = std::max_element(stages.begin(), stages.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<ResultRow> rows;
  for (const auto& candidate : timing.candidates()) {
    ResultRow row = request.base(candidate->streams);
    row.detail = pipeline->kernel().detail();
    row.launches = pipeline->kernel().launches();
    row.workspace_bytes = static_cast<int64_t>(pipeline->kernel().workspace_bytes()) * candidate->streams;
    row.stages_ns = stages;
    if (options.verify != Verify::kOff) row.error = candidate->checks.error();
    if (candidate->fault || candidate->samples.empty()) {
      row.status = candidate->fault ? candidate->fault->status : row_status::kSkipped;
      row.reason = candidate->fault ? candidate->fault->reason : why_unmeasured();
    } else {
      row.time = summarise(candidate->samples);
      row.end_to_end = row.time;
      row.bound_by = longest->first;
      row.ceiling_fraction = longest->second / row.time.median;
    }
    rows.push_back(std::move(row));
  }
  if (request.after && !session.stopped()) request.after(*pipeline);
  return rows;
}

}  // namespace lenslet
