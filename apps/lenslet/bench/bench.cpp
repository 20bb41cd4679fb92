// lenslet bench: images per second by batch size, plan, math mode, input and output. Configurations are verified, timed
// in turns, and their accuracy is counted; --latency adds the time of single calls.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "api/feed.h"
#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/bench/bench_config.h"
#include "apps/lenslet/bench/bench_latency.h"
#include "apps/lenslet/bench/bench_report.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/pictures/eval_report.h"
#include "apps/lenslet/pictures/mnist_folder.h"
#include "apps/measuring/measured_rows.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/pixels.h"
#include "models/classifier.h"
#include "models/lenet5.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr int kWindows = 20;                 // minimum per configuration
constexpr int64_t kStandardBatch = 1000;     // of the layered plan in fp32
constexpr int64_t kMaxDigitsOff = 3;         // by which another configuration may differ from it
constexpr int64_t kMaxDigitsOffPacked = 30;  // the same for packed pixels

std::optional<ImageDataset> read_mnist(const Session& session, const std::string& requested) {
  if (!reads_digits(session.graph())) {
    if (!requested.empty()) check_reads_digits(session.network(), "lenslet bench --data");
    return std::nullopt;
  }
  const std::string folder = find_mnist_folder(requested);
  if (folder.empty()) return std::nullopt;
  return read_image_dataset(folder, "t10k", kLenet5Side, kLenet5Side);
}

/// One configuration, before it is measured.
struct BenchCandidate {
  BenchConfig config;
  ResultRow base;
  BuildOptions build;
  // Both null if it cannot be prepared.
  PlanCandidate* pass = nullptr;
  CallCandidate* call = nullptr;

  bool prepared() const { return pass || call; }
  /// The executable of the pass, or of a full pass of the call.
  Executable& executable() const { return call ? call->executable() : pass->executable(); }
};

// The class of each image, -1 for an answer that is not a number; nullopt after a signal.
std::optional<std::vector<int>> classes_of(Executable& executable, const ImageDataset& data) {
  Lane lane(executable);
  const InputOutput call{ElementType::kUint8, lane.ends().output};
  const int64_t max_images = std::min(lane.batch(), data.count);
  std::vector<float> answers(static_cast<size_t>(max_images * kLenet5Classes));
  std::vector<int> classes;
  for (int64_t first = 0; first < data.count; first += max_images) {
    if (interrupted()) return std::nullopt;
    const int64_t images = std::min(max_images, data.count - first);
    lane.run(data.images.data() + first * kLenet5Pixels, images, answers.data(), call);
    for (int64_t i = 0; i < images; ++i) classes.push_back(class_of(call.output, answers.data(), i));
  }
  return classes;
}

// The same by a call of the candidate's model.
std::vector<int> classes_of(CallCandidate& call, ElementType input, const ImageDataset& data) {
  const int64_t pixels = data.count * kLenet5Pixels;
  std::vector<uint8_t> images(bytes_of(input, pixels));
  convert_pixels(ElementType::kUint8, data.images.data(), pixels, {}, input, images.data());
  std::vector<Prediction> answers(static_cast<size_t>(data.count));
  call.predict(images.data(), data.count, answers.data());
  std::vector<int> classes;
  for (int64_t i = 0; i < data.count; ++i) classes.push_back(class_of(kPrediction, answers.data(), i));
  return classes;
}

// The fault; empty if there is none. Packing itself changes some answers.
std::string judge_accuracy(const ResultAccuracy& accuracy, ElementType input) {
  const int64_t max_off = input == ElementType::kUint4 ? kMaxDigitsOffPacked : kMaxDigitsOff;
  if (std::abs(accuracy.correct - accuracy.fp32_correct) <= max_off) return {};
  return concat("reads ", format_count(accuracy.correct), " of ", format_count(accuracy.count),
                " digits correctly, the layered plan in fp32 ", format_count(accuracy.fp32_correct),
                "; at most ", max_off, " may differ");
}

class ModelBench {
 public:
  ModelBench(const ModelBenchOptions& options, const std::vector<NamedFile>& read)
      : options_(options),
        run_("lenslet bench", options, {}, read),
        session_(options, run_.console()),
        data_(read_mnist(session_, options.data)),
        guard_(session_.device()),
        stream_(session_.device()) {
    for (const int64_t batch : bench_batches(options, session_)) {
      batches_.push_back(bench_configs(options, session_, batch));
    }
    run_.console().line(concat(session_.network().title(), ", ", printable(session_.weights_origin()), " on ",
                               session_.describe_device()));
    run_.on(session_.device(), {{"seed", std::to_string(options.seed)},
                                {"weights", session_.weights_origin()},
                                {"samples", data_                            ? "MNIST"
                                            : reads_digits(session_.graph()) ? "drawn"
                                                                             : "random"},
                                {"min_time_ms", format_short(options.measure.min_time_ms)}});
  }

  ExitCode run() {
    return run_.complete([&] {
      if (!anything_may_run()) run_.leave_out_ceilings();
      if (!make_samples()) return;
      run_.begin(static_cast<int64_t>(batches_.size()), "batch sizes");
      for (const std::vector<BenchConfig>& batch : batches_) {
        run_.add(measure_batch(batch));  // after a signal the rows are SKIPPED
        if (interrupted()) break;
      }
      run_.console().line();
      (options_.latency ? print_latency : print_bench)(run_.console(), run_.rows());
    });
  }

 private:
  bool anything_may_run() {
    for (const std::vector<BenchConfig>& batch : batches_) {
      for (const BenchConfig& config : batch) {
        if (may_run(session_.graph(), config.build_options(session_, stream_))) return true;
      }
    }
    return false;
  }

  std::string origin_of_samples() const {
    if (data_) return concat("from ", printable(data_->images_path));
    return reads_digits(session_.graph()) ? "drawn: no MNIST here, so nothing is counted"
                                          : "of random bytes, so nothing is counted";
  }

  /// Computes the reference's answers, which takes time. After a signal it adds SKIPPED rows of the first batch size
  /// and returns false.
  bool make_samples() {
    try {
      if (data_) {
        samples_.emplace(session_.graph(), *data_, options_.seed);
      } else {
        samples_.emplace(session_.graph(), options_.seed);
      }
    } catch (const InterruptedError&) {
      std::vector<ResultRow> rows;
      for (const BenchConfig& config : batches_.front()) {
        const RowContext context{options_.measure.hot, options_.measure.cold, nullptr};
        for (ResultRow& row : rows_without_time(bench_row(config, options_, session_), row_status::kSkipped,
                                                why_unmeasured(), context))
          rows.push_back(std::move(row));
      }
      run_.add(std::move(rows));
      return false;
    }
    run_.console().line(concat("samples:    ", samples_->count(), ", ", origin_of_samples()));
    return true;
  }

  std::vector<ResultRow> measure_batch(const std::vector<BenchConfig>& configs) {
    PlanTiming timing(session_.graph(), *samples_, stream_);
    std::vector<BenchCandidate> candidates;
    for (const BenchConfig& config : configs) {
      BenchCandidate candidate{config, bench_row(config, options_, session_),
                               config.build_options(session_, stream_)};
      const bool host = config.place == ModelBenchOptions::kHost;
      const PlanTiming::Prepared& plan =
          host ? timing.add_call(
                     config.key(), [&] { return session_.model(model_options(config)); }, config.batch,
                     config.input)
               : timing.add(config.key(), candidate.build);
      candidate.pass = plan.candidate.get();
      candidate.call = plan.call.get();
      if (!candidate.prepared()) {
        run_.refuse(config.by_name ? config.backend : std::string(), plan.refusal.code,
                    concat("batch ", config.batch, ", ", candidate.base.backend,
                           candidate.base.backend.empty() ? "" : " ", candidate.base.math, ": ",
                           plan.refusal.reason));
      } else {
        const Executable& executable = candidate.executable();
        candidate.base.setup_ns = executable.build_ns();
        candidate.base.workspace_bytes = static_cast<int64_t>(executable.plan().workspace_bytes);
        candidate.base.detail =
            config.plan == Plan::kFused ? executable.steps()[0].detail : describe_backends(executable.plan());
      }
      candidates.push_back(std::move(candidate));
    }
    MeasureOptions measure_options = options_.measure;
    measure_options.min_samples = kWindows;
    measure_options.pulse = [this] { run_.pulse(); };
    const std::vector<Measurement> measured = timing.measure(measure_options);
    std::vector<ResultRow> all;
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::vector<ResultRow> rows = options_.latency ? latency_rows(candidates[i], measured[i])
                                                     : plain_rows(candidates[i], measured[i]);
      for (ResultRow& row : rows) {
        if (row.status == row_status::kPassed || row.status == row_status::kSuspect)
          add_accuracy(candidates[i], row);
        all.push_back(std::move(row));
      }
    }
    return all;
  }

  // The options of a model as programs use it: the model chooses its passes and what the caller did not name.
  ModelOptions model_options(const BenchConfig& config) const {
    ModelOptions options;
    options.device = session_.device().to_string();
    options.workspace_limit = options_.workspace_limit;
    if (session_.setup().saved_plan()) {
      options.plan = options_.plan;
      return options;
    }
    options.plan = config.plan;
    options.math = to_string(config.math);
    if (!options_.backends.empty()) options.backend = config.backend;
    return options;
  }

  Work work_of(const BenchConfig& config, const Executable& executable) const {
    const Graph& graph = session_.graph();
    if (!graph.network()) {
      Work work;
      for (const Executable::Step& step : executable.steps()) {
        work.flops += step.work.flops;
        work.bytes += step.work.bytes;
        work.working_set += step.work.working_set;
      }
      return work;
    }
    return graph.network()->work_of(
        graph.network_request(session_.device(), config.batch, config.math, config.input, config.output));
  }

  std::vector<ResultRow> plain_rows(const BenchCandidate& candidate, const Measurement& measured) const {
    // No ceiling of a GPU binds a call: the host's copies and the bus do.
    const bool over_bus = candidate.call && session_.device().is_cuda();
    const RowContext context{options_.measure.hot, options_.measure.cold,
                             over_bus ? nullptr : &run_.ceilings()};
    if (!candidate.prepared())
      return rows_without_time(candidate.base, measured.status, measured.reason, context);
    return rows_of(candidate.base, measured, context, work_of(candidate.config, candidate.executable()),
                   candidate.config.math, products_saved(candidate.executable()));
  }

  // Counted once per configuration, for any batch size; nullopt without data and after a signal.
  std::optional<ResultAccuracy> accuracy_of(const BenchCandidate& candidate) {
    if (!data_) return std::nullopt;
    const std::string key = candidate.config.key();
    if (const auto found = counted_.find(key); found != counted_.end()) return found->second;
    if (!fp32_classes_) {
      BuildOptions build = session_.build_options(std::min(kStandardBatch, data_->count));
      build.execution = Plan::kLayered;
      build.stream = &stream_;
      Executable standard(session_.graph(), build);
      fp32_classes_ = classes_of(standard, *data_);
    }
    const std::optional<std::vector<int>> classes =
        candidate.call ? classes_of(*candidate.call, candidate.config.input, *data_)
                       : classes_of(candidate.pass->executable(), *data_);
    if (!classes || !fp32_classes_) return std::nullopt;
    ResultAccuracy accuracy;
    accuracy.count = data_->count;
    for (size_t i = 0; i < classes->size(); ++i) {
      const int here = (*classes)[i], in_fp32 = (*fp32_classes_)[i];
      accuracy.correct += here == data_->labels[i];
      accuracy.fp32_correct += in_fp32 == data_->labels[i];
      accuracy.differing += here != in_fp32;
    }
    return counted_[key] = accuracy;
  }

  void add_accuracy(const BenchCandidate& candidate, ResultRow& row) {
    row.accuracy = accuracy_of(candidate);
    const std::string wrong =
        row.accuracy ? judge_accuracy(*row.accuracy, candidate.config.input) : std::string();
    if (wrong.empty()) return;
    row.status = row_status::kFailed;
    row.reason = wrong;
  }

  std::vector<ResultRow> latency_rows(const BenchCandidate& candidate, const Measurement& measured) const {
    if (measured.status != row_status::kPassed)
      return rows_without_time(candidate.base, measured.status, measured.reason, {true, false, nullptr});
    Executable& executable = candidate.executable();
    ResultRow base = candidate.base;
    base.stages_ns = pass_times(executable, measured.hot.median);
    base.first_call_ns = measured.first_call_ns;
    const Safetensors weights = session_.graph().network() ? load_lenet5_weights(options_.weights_file())
                                                           : Safetensors();  // only its kernels read them
    return measure_latency(executable, candidate.build, weights, *samples_, base, options_.calls);
  }

  const ModelBenchOptions& options_;
  Run run_;
  Session session_;
  std::optional<ImageDataset> data_;
  std::optional<BatchSamples> samples_;  // made by run(): a signal during it leaves the files, too
  DeviceGuard guard_;
  Stream stream_;
  std::optional<std::vector<int>> fp32_classes_;
  std::map<std::string, ResultAccuracy> counted_;  // by BenchConfig::key()
  std::vector<std::vector<BenchConfig>> batches_;
};

}  // namespace

ExitCode run_bench(const ModelBenchOptions& options) {
  const ModelBenchOptions with_plan = with_saved_plan(options);
  std::vector<NamedFile> read = files_read(with_plan);
  for (NamedFile& file : mnist_files(options.data)) read.push_back(std::move(file));
  return ModelBench(with_plan, read).run();
}

}  // namespace lenslet
