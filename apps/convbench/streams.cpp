// convbench streams: a batch in parts, each copied in, convolved and copied out, on one stream and on several.
//
// One stream does the three one after another. With two or more, one part's copies run while another part is computed, and
// copies in both directions at once, so that the total nears the longest of the three alone:
//   overlap = (sum of the three - total) / (sum of the three - longest of the three)
// The first part's copy in and the last part's copy out have nothing to hide behind: of n parts, (sum - longest) / n of them
// remain. The three are measured alone in the same run, turn by turn with the totals.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/convbench/bench/row_table.h"
#include "apps/convbench/commands.h"
#include "framework/chrome_trace.h"
#include "framework/nvtx.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_judge.h"

namespace lenslet {
namespace {

constexpr MathMode kMath = MathMode::kFp32;
constexpr int kTurns = 5;
constexpr int64_t kReferenceMacs = int64_t{1} << 22;
enum Input { kBefore, kTimed, kAfter };  // numbers of inputs

Conv2dProblem chunk_of(const StreamsOptions& options) {
  Conv2dProblem problem = Conv2dProblem::parse(options.problem);
  if (problem.n % options.chunks != 0) {
    throw UsageError(concat("--chunks ", options.chunks, " does not divide the batch of ", problem.n, " in ",
                            problem.to_string(), ": use a divisor, or another mb in --problem"));
  }
  problem.n /= static_cast<int>(options.chunks);
  return problem;
}

Conv2dProblem whole_of(Conv2dProblem chunk, int64_t chunks) {
  chunk.n *= static_cast<int>(chunks);
  return chunk;
}

/// One stream with a prepared convolution and memory for one part.
struct Lane {
  Lane(const Conv2dProblem& chunk, const ConvBackend& backend, const std::vector<float>& weights,
       size_t workspace_limit, Device device, const std::string& choice)
      : stream(device),
        services(stream),
        x(device, chunk.input_shape().bytes()),
        y(device, chunk.output_shape().bytes()) {
    kernel = backend.prepare(
        {chunk, kMath, weights.data(), nullptr, false, workspace_limit, services, stream, choice});
    stream.synchronize();
    workspace = Buffer(device, kernel->workspace_bytes());
  }
  void compute() {
    RunContext context{stream, workspace.data(), nullptr};
    kernel->run({x.as<float>(), y.as<float>()}, context);
  }

  Stream stream;
  DevicePrepareServices services;
  std::unique_ptr<ConvKernel> kernel;
  Buffer x, y, workspace;
};

/// The batch in page-locked memory, and the lanes that work on it.
class Pipeline {
 public:
  Pipeline(const Conv2dProblem& chunk, int chunks, int lanes, const ConvBackend& backend,
           const BenchOptions& options, Device device)
      : chunk_(chunk),
        whole_(whole_of(chunk, chunks)),
        chunks_(chunks),
        accuracy_(backend.accuracy(chunk, kMath)),
        seed_(static_cast<uint64_t>(options.seed) * 1000),
        judge_(whole_, options.fill, seed_, kReferenceMacs),
        host_x_(device, whole_.input_shape().bytes()),
        host_y_(device, whole_.output_shape().bytes()) {
    std::string choice;
    for (int i = 0; i < lanes; ++i) {
      lanes_.push_back(
          std::make_unique<Lane>(chunk, backend, judge_.weights(), options.workspace_limit, device, choice));
      choice = lanes_.front()->kernel->choice();  // all lanes compute alike
    }
  }

  const Conv2dProblem& whole() const noexcept { return whole_; }
  const ConvKernel& kernel() const noexcept { return *lanes_.front()->kernel; }

  /// Nanoseconds on the host's clock, from the first enqueue until all streams are done.
  double total_ns(int streams) {
    NvtxRange range("measure");
    const double start = host_now_ns();
    for (int i = 0; i < chunks_; ++i) {
      Lane& lane = *lanes_[static_cast<size_t>(i % streams)];
      copy_in(lane, i);
      lane.compute();
      copy_out(lane, i);
    }
    for (int i = 0; i < streams; ++i) lanes_[static_cast<size_t>(i)]->stream.synchronize();
    return host_now_ns() - start;
  }

  /// Nanoseconds that one stream takes for all parts of one kind.
  double copy_in_ns() {
    return alone_ns([this](Lane& lane, int i) { copy_in(lane, i); });
  }
  double compute_ns() {
    return alone_ns([](Lane& lane, int) { lane.compute(); });
  }
  double copy_out_ns() {
    return alone_ns([this](Lane& lane, int i) { copy_out(lane, i); });
  }

  void load(int input) {
    if (loaded_ == input) return;
    data_ = judge_.make_case(seed_ + 100 * static_cast<uint64_t>(input + 1));
    std::copy(data_.x.begin(), data_.x.end(), static_cast<float*>(host_x_.data()));
    loaded_ = input;
  }
  /// Fills host and device outputs with NaN.
  void poison() {
    for (auto& lane : lanes_) {
      fill_bytes(lane->y.data(), lane->stream.device(), 0xff, lane->y.bytes(), lane->stream);
      lane->stream.synchronize();
    }
    std::fill_n(static_cast<float*>(host_y_.data()), judge_.outputs(), NAN);
  }
  /// Judges what lies in the host's output.
  reference::Comparison compare() const {
    const auto* y = static_cast<const float*>(host_y_.data());
    return judge_.compare(data_, std::vector<float>(y, y + judge_.outputs()), accuracy_, false, false);
  }

  /// What each stream did when, from one pass with events inside. A span begins when its stream reaches it: where a
  /// copy waits for another one in the same direction, the wait is in its span.
  std::vector<TraceStream> timeline(int streams, double offset_ns, double* end_ns) {
    struct Marks {
      Event begin, copied, computed, end;
    };
    const Device device = lanes_.front()->stream.device();
    std::vector<Marks> marks;
    for (int i = 0; i < chunks_; ++i)
      marks.push_back({Event(device), Event(device), Event(device), Event(device)});
    Event origin(device);
    origin.record(lanes_.front()->stream);
    for (int i = 0; i < chunks_; ++i) {
      Lane& lane = *lanes_[static_cast<size_t>(i % streams)];
      Marks& mark = marks[static_cast<size_t>(i)];
      mark.begin.record(lane.stream);
      copy_in(lane, i);
      mark.copied.record(lane.stream);
      lane.compute();
      mark.computed.record(lane.stream);
      copy_out(lane, i);
      mark.end.record(lane.stream);
    }
    for (int i = 0; i < streams; ++i) lanes_[static_cast<size_t>(i)]->stream.synchronize();
    std::vector<TraceStream> traces;
    for (int i = 0; i < streams; ++i) traces.push_back({concat("of ", streams, ": stream ", i), {}});
    *end_ns = offset_ns;
    for (int i = 0; i < chunks_; ++i) {
      const Marks& mark = marks[static_cast<size_t>(i)];
      std::vector<TraceSpan>& spans = traces[static_cast<size_t>(i % streams)].spans;
      const auto span = [&](const char* name, const Event& from, const Event& to) {
        const double begin = offset_ns + std::max(0.0, from.ns_since(origin)), length = to.ns_since(from);
        spans.push_back({concat(name, " ", i), "part", begin, length});
        *end_ns = std::max(*end_ns, begin + length);
      };
      span("h2d", mark.begin, mark.copied);
      span("conv", mark.copied, mark.computed);
      span("d2h", mark.computed, mark.end);
    }
    return traces;
  }

 private:
  void copy_in(Lane& lane, int i) {
    const auto* from =
        static_cast<const unsigned char*>(host_x_.data()) + static_cast<size_t>(i) * lane.x.bytes();
    copy_bytes(lane.x.data(), lane.stream.device(), from, Device::cpu(), lane.x.bytes(), lane.stream);
  }
  void copy_out(Lane& lane, int i) {
    auto* to = static_cast<unsigned char*>(host_y_.data()) + static_cast<size_t>(i) * lane.y.bytes();
    copy_bytes(to, Device::cpu(), lane.y.data(), lane.stream.device(), lane.y.bytes(), lane.stream);
  }

  template <typename Step>
  double alone_ns(Step&& step) {
    Lane& lane = *lanes_.front();
    Event begin(lane.stream.device()), end(lane.stream.device());
    begin.record(lane.stream);
    for (int i = 0; i < chunks_; ++i) step(lane, i);
    end.record(lane.stream);
    end.synchronize();
    return end.ns_since(begin);
  }

  Conv2dProblem chunk_, whole_;
  int chunks_;
  ConvAccuracy accuracy_;
  uint64_t seed_;
  ConvJudge judge_;
  PinnedBuffer host_x_, host_y_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  ConvCase data_;
  int loaded_ = -1;
};

/// Something that is timed in turns.
struct Timed {
  std::function<double()> once;
  std::vector<double> samples;
  TimeStats stats() const { return summarize(samples); }
};

/// One number of streams.
struct Variant {
  int streams = 1;
  Timed total;
  std::optional<ResultError> error;
  std::string wrong;  // empty while it is right
};

void verify(Pipeline& pipeline, Variant& variant, int input, bool run) {
  if (!variant.wrong.empty()) return;
  if (run) {
    pipeline.load(input);
    pipeline.poison();
    pipeline.total_ns(variant.streams);
  }
  const reference::Comparison comparison = pipeline.compare();
  ResultError& error = variant.error ? *variant.error : variant.error.emplace();
  error.max_abs = std::max(error.max_abs, comparison.max_abs());
  error.max_rel = std::max(error.max_rel, comparison.max_rel());
  error.bound = std::max(error.bound, comparison.bound());
  error.checked += comparison.checked();
  if (!comparison.passed()) variant.wrong = comparison.reason();
}

/// Times everything in turns, and judges what the last timed pass of each variant wrote.
void time_all(Pipeline& pipeline, std::vector<Timed*> parts, std::vector<Variant>& variants,
              const MeasureOptions& options) {
  const auto sample = [&](Timed& timed, double ms) {
    const double until = host_now_ns() + ms * 1e6;
    do {
      timed.samples.push_back(timed.once());
    } while (host_now_ns() < until && !options.stop());
  };
  const auto all = [&](auto&& each) {
    for (Timed* part : parts) each(*part);
    for (Variant& variant : variants) each(variant.total);
  };
  pipeline.load(kTimed);
  all([&](Timed& timed) {
    sample(timed, options.warmup_ms);
    timed.samples.clear();
  });
  for (int turn = 0; turn < kTurns && !options.stop(); ++turn) {
    all([&](Timed& timed) {
      const bool judged = turn + 1 == kTurns && options.verify == Verify::kBoth;
      const auto variant = std::find_if(variants.begin(), variants.end(),
                                        [&](const Variant& each) { return &each.total == &timed; });
      if (judged && variant != variants.end()) pipeline.poison();
      sample(timed, options.min_time_ms / kTurns);
      if (judged && variant != variants.end()) verify(pipeline, *variant, kTimed, false);
    });
  }
}

ResultRow base_row(const StreamsOptions& options, const Conv2dProblem& chunk, int streams,
                   const BenchSession& session) {
  ResultRow row;
  const Conv2dProblem whole = whole_of(chunk, options.chunks);
  row.problem = whole.to_string();
  row.backend = options.backend;
  row.math = to_string(kMath);
  row.cache = "hot";
  row.study = "d";
  row.labels = {
      {"table", "streams"}, {"streams", std::to_string(streams)}, {"chunks", std::to_string(options.chunks)}};
  row.flops = whole.flops();
  row.bytes_ideal = static_cast<double>(whole.input_shape().bytes() + whole.output_shape().bytes());
  row.repro = concat("convbench streams --device ", session.device().to_string(), " --backend ",
                     options.backend, " --chunks ", options.chunks, " --streams ", streams, " --seed ",
                     options.seed, " --problem '", row.problem, "'");
  return row;
}

/// Share of what could be hidden that was: 1 where the longest of the three parts is all that remains.
double overlap_of(const ResultRow& row) {
  double sum = 0, longest = 0;
  for (const auto& [stage, ns] : row.stages_ns) {
    sum += ns;
    longest = std::max(longest, ns);
  }
  return sum > longest ? (sum - row.time.median) / (sum - longest) : NAN;
}

std::string table_of(const std::vector<ResultRow>& rows, int images) {
  Table table;
  table.column("streams")
      .column("status", Table::Align::kLeft)
      .column("median us")
      .column("p10")
      .column("p90");
  table.column("images/s").column("GB/s").column("of the bound").column("overlap").column("x one stream");
  const auto one = std::find_if(rows.begin(), rows.end(),
                                [](const ResultRow& row) { return row.labels[1].second == "1"; });
  std::string notes;
  for (const ResultRow& row : rows) {
    const bool timed = row.time.samples > 0;
    const double ns = timed ? row.time.median : NAN;
    table.row({row.labels[1].second, row.status, format_us(ns), format_us(timed ? row.time.p10 : NAN),
               format_us(timed ? row.time.p90 : NAN), format_rate(images * 1e9 / ns),
               format_short(row.gbytes_per_s()), format_share(row.ceiling_fraction),
               format_share(timed ? overlap_of(row) : NAN),
               format_ratio(one != rows.end() && one->time.samples > 0 ? one->time.median / ns : NAN)});
    if (row.status != "PASSED")
      notes += concat("  ", row.labels[1].second, ": ", printable(row.reason), "\n");
  }
  return table.to_string() + notes;
}

void write_trace(const std::string& path, Pipeline& pipeline, const std::vector<int>& streams,
                 BenchSession& session) {
  constexpr double kGapNs = 200e3;
  std::vector<TraceStream> traces;
  double at = 0;
  for (int count : streams) {
    double end = 0;
    for (TraceStream& trace : pipeline.timeline(count, at, &end)) traces.push_back(std::move(trace));
    at = end + kGapNs;
  }
  write_result(path, chrome_trace("convbench streams", traces));
  session.console().line(concat("timeline: ", printable(path), ", for ui.perfetto.dev"));
}

std::vector<ResultRow> measure_streams(const StreamsOptions& options, const Conv2dProblem& chunk,
                                       BenchSession& session) {
  DeviceGuard guard(session.device());
  const ConvBackend& backend = find_conv_backend(session.device().kind, options.backend).open();
  if (const Support support = backend.supports(chunk, kMath); !support)
    throw Error(support.code(), support.reason());
  const int most = *std::max_element(options.streams.begin(), options.streams.end());
  Pipeline pipeline(chunk, static_cast<int>(options.chunks), most, backend, options, session.device());
  const MeasureOptions measure = session.measure_options();
  std::vector<Variant> variants(options.streams.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    variants[i].streams = options.streams[i];
    variants[i].total.once = [&pipeline, streams = options.streams[i]] { return pipeline.total_ns(streams); };
  }
  if (measure.verify != Verify::kOff) {
    for (Variant& variant : variants) verify(pipeline, variant, kBefore, true);
  }
  Timed copy_in{[&] { return pipeline.copy_in_ns(); }, {}},
      compute{[&] { return pipeline.compute_ns(); }, {}},
      copy_out{[&] { return pipeline.copy_out_ns(); }, {}};
  time_all(pipeline, {&copy_in, &compute, &copy_out}, variants, measure);
  if (measure.verify == Verify::kBoth) {
    for (Variant& variant : variants) verify(pipeline, variant, kAfter, true);
  }
  const std::vector<std::pair<std::string, double>> stages = {{"copy in", copy_in.stats().median},
                                                              {"conv", compute.stats().median},
                                                              {"copy out", copy_out.stats().median}};
  const auto longest = std::max_element(stages.begin(), stages.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<ResultRow> rows;
  for (const Variant& variant : variants) {
    ResultRow row = base_row(options, chunk, variant.streams, session);
    row.detail = pipeline.kernel().detail();
    row.launches = pipeline.kernel().launches();
    row.workspace_bytes = static_cast<int64_t>(pipeline.kernel().workspace_bytes()) * variant.streams;
    row.stages_ns = stages;
    row.error = variant.error;
    if (!variant.wrong.empty()) {
      row.status = "FAILED";
      row.reason = variant.wrong;
    } else if (variant.total.samples.empty()) {
      row.status = "SKIPPED";
      row.reason = "interrupted before it was measured";
    } else {
      row.time = variant.total.stats();
      row.end_to_end = row.time;
      row.bound_by = longest->first;
      row.ceiling_fraction = longest->second / row.time.median;
    }
    rows.push_back(std::move(row));
  }
  if (!options.trace.empty() && !session.stopped()) {
    pipeline.load(kTimed);
    write_trace(options.trace, pipeline, options.streams, session);
  }
  return rows;
}

}  // namespace

void streams_into(const StreamsOptions& options, BenchSession& session) {
  const Conv2dProblem chunk = chunk_of(options);
  session.begin(1, "streams");
  std::vector<ResultRow> wanted;
  for (int streams : options.streams) wanted.push_back(base_row(options, chunk, streams, session));
  std::vector<ResultRow> rows = session.resumed(wanted);
  if (rows.empty()) rows = measure_streams(options, chunk, session);
  const int images = chunk.n * static_cast<int>(options.chunks);
  std::string parts;
  for (const auto& [stage, ns] : rows.front().stages_ns)
    parts += concat(parts.empty() ? "" : ", ", stage, " ", format_time(ns));
  session.console().line(concat("\n", rows.front().problem, ", ", options.backend, ", in ", options.chunks,
                                " parts of ", chunk.n, "; alone: ", parts));
  session.console().print(table_of(rows, images));
  session.add(std::move(rows));
}

ExitCode run_streams(const StreamsOptions& options) {
  chunk_of(options).validate();
  return with_session(options, "streams", BenchSession::Needs::kGpu,
                      [&](BenchSession& session) { streams_into(options, session); });
}

}  // namespace lenslet
