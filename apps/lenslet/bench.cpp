// lenslet bench: images a second over batch sizes, plans, math modes, inputs and outputs, each configuration against
// the others, verified and counted; with --latency the time of single calls.
#include <algorithm>
#include <memory>
#include <optional>

#include "apps/common/attempt.h"
#include "apps/common/ceilings.h"
#include "apps/common/output.h"
#include "apps/common/progress.h"
#include "apps/common/result_file.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/bench_accuracy.h"
#include "apps/lenslet/bench_config.h"
#include "apps/lenslet/bench_latency.h"
#include "apps/lenslet/bench_report.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/mnist_folder.h"
#include "apps/lenslet/plan_contender.h"
#include "apps/measuring/measured_rows.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int kWindows = 20;  // at least, of each configuration

std::optional<ImageDataset> read_mnist(const std::string& asked) {
  const std::string folder = find_mnist_folder(asked);
  if (folder.empty()) return std::nullopt;
  return read_image_dataset(folder, "t10k", kLenet5Side, kLenet5Side);
}

/// One configuration on its way to its rows.
struct Entry {
  BenchConfig config;
  ResultRow base;
  BuildOptions build;
  std::unique_ptr<PlanContender> contender;
  std::string status, reason;  // where there is no contender
};

class ModelBench {
 public:
  ModelBench(const ModelBenchOptions& options, Console& console)
      : options_(options),
        console_(console),
        session_(options),
        data_(read_mnist(options.data)),
        pictures_(data_ ? BatchPictures(session_.graph(), *data_, options.seed)
                        : BatchPictures(session_.graph(), options.seed)),
        guard_(session_.device()),
        stream_(session_.device()),
        accuracy_(session_, data_, stream_) {
    for (const int64_t batch : bench_batches(options, session_.device())) {
      batches_.push_back(bench_configs(options, session_, batch));
    }
    console_.line(
        concat("LeNet-5, ", printable(session_.weights_origin()), " on ", session_.describe_device()));
    console_.line(concat("pictures:   ", pictures_.count(), ", ",
                         data_ ? concat("from ", printable(data_->images_path))
                               : std::string("drawn: no MNIST here, so nothing is counted")));
    results_.before = read_conditions(session_.device());
    ceilings_ = measure_ceilings(session_.device());
    throw_if_interrupted();
    console_.line(describe(ceilings_));
    results_.tool = "lenslet bench";
    results_.with_gpus = session_.device().is_cuda();
    results_.ceilings = &ceilings_;
    results_.settings = {{"seed", std::to_string(options.seed)},
                         {"weights", session_.weights_origin()},
                         {"pictures", data_ ? "MNIST" : "drawn"},
                         {"min_time_ms", format_short(options.measure.min_time_ms)}};
  }

  void run() {
    int64_t configurations = 0;
    for (const std::vector<BenchConfig>& batch : batches_)
      configurations += static_cast<int64_t>(batch.size());
    ProgressBar progress("configurations", configurations);
    int64_t done = 0;
    for (const std::vector<BenchConfig>& batch : batches_) {
      if (interrupted()) break;
      measure_batch(batch);
      save();
      progress.update(done += static_cast<int64_t>(batch.size()));
    }
  }

  ExitCode finish() {
    results_.interrupted = interrupted();
    write_files();
    console_.line();
    console_.print(options_.latency ? latency_table(results_.rows) : bench_table(results_.rows));
    if (interrupted()) return ExitCode::kInterrupted;
    demand_results();
    return ExitCode::kOk;
  }

  // Writes the files as they are, marked with what ended the run.
  void fail(const std::string& how) {
    results_.error = how;
    write_files();
  }

 private:
  void measure_batch(const std::vector<BenchConfig>& configs) {
    std::vector<Entry> entries;
    std::vector<Contender*> rivals;
    for (const BenchConfig& config : configs) {
      entries.push_back(prepare(config));
      if (entries.back().contender) rivals.push_back(entries.back().contender.get());
    }
    MeasureOptions measure_options = options_.measure;
    measure_options.min_samples = kWindows;
    const std::vector<Measurement> measurements = measure(rivals, stream_, measure_options);
    size_t next = 0;
    for (Entry& entry : entries) {
      const Measurement* const measured = entry.contender ? &measurements[next++] : nullptr;
      std::vector<ResultRow> rows =
          options_.latency ? latency_rows(entry, measured) : plain_rows(entry, measured);
      for (ResultRow& row : rows) results_.rows.push_back(std::move(row));
    }
  }

  Entry prepare(const BenchConfig& config) {
    Entry entry;
    entry.config = config;
    entry.base = bench_row(config, options_, session_);
    entry.build = config.build_options(session_, stream_);
    attempt(entry, stream_, [&] {
      auto executable = built(entry.build);
      entry.base.setup_ns = executable->build_ns();
      entry.base.workspace_bytes = static_cast<int64_t>(executable->plan().workspace_bytes);
      entry.base.detail =
          config.plan == Plan::kFused ? executable->steps()[0].detail : describe_backends(executable->plan());
      entry.contender = std::make_unique<PlanContender>(config.key(), std::move(executable), pictures_);
    });
    return entry;
  }

  // A batch too large for a layer is a row like one that no backend serves: other batches may fit.
  std::unique_ptr<Executable> built(const BuildOptions& build) const {
    try {
      return std::make_unique<Executable>(session_.graph(), build);
    } catch (const UsageError& error) {
      throw UnavailableError(error.what());
    }
  }

  Work work_of(const BenchConfig& config) const {
    return session_.graph().fused()->work(
        {session_.device(), config.batch, config.math, config.input, config.output});
  }

  std::vector<ResultRow> plain_rows(Entry& entry, const Measurement* measured) {
    const RowContext context{options_.measure.hot, options_.measure.cold, &ceilings_};
    if (!measured) return rows_without_time(entry.base, entry.status, entry.reason, context);
    std::vector<ResultRow> rows = rows_of(entry.base, *measured, context, work_of(entry.config),
                                          entry.config.math, entry.contender->products_saved());
    if (measured->status == "PASSED") {
      for (ResultRow& row : rows) add_accuracy(entry, row);
    }
    return rows;
  }

  void add_accuracy(Entry& entry, ResultRow& row) {
    row.accuracy = accuracy_.of(entry.config.key(), entry.contender->executable());
    const std::string wrong = row.accuracy ? judge_accuracy(*row.accuracy) : std::string();
    if (wrong.empty()) return;
    row.status = "FAILED";
    row.reason = wrong;
  }

  std::vector<ResultRow> latency_rows(Entry& entry, const Measurement* measured) {
    if (!measured || measured->status != "PASSED") {
      const RowContext context{true, false, nullptr};
      if (!measured) return rows_without_time(entry.base, entry.status, entry.reason, context);
      return rows_without_time(entry.base, measured->status, measured->reason, context);
    }
    Executable& executable = entry.contender->executable();
    ResultRow base = entry.base;
    base.stages_ns = pass_times(executable, measured->hot.median);
    base.first_call_ns = measured->first_call_ns;
    std::vector<ResultRow> rows =
        measure_latency(latency_paths(executable, entry.build, load_lenet5_weights(options_.weights)),
                        pictures_, pictures_.expected().bound(executable), base, options_.calls);
    for (ResultRow& row : rows) {
      if (row.status == "PASSED") add_accuracy(entry, row);
    }
    return rows;
  }

  // Until finish() a file says INTERRUPTED: whatever ends the program, it never passes for a whole one.
  void save() {
    results_.interrupted = true;
    if (!options_.json.empty() && !is_stream(options_.json)) write_result(options_.json, results_.to_json());
  }

  void write_files() const {
    if (!options_.json.empty()) write_result(options_.json, results_.to_json());
    if (!options_.csv.empty()) write_result(options_.csv, results_.to_csv());
  }

  // What a person asked for and did not get is an error; so is what is wrong.
  void demand_results() const {
    const auto about = [](const ResultRow& row) {
      return concat("batch ", row.images, ", ", row.backend, " ", row.math, ": ", row.reason);
    };
    for (const ResultRow& row : results_.rows) {
      if (row.status == "FAILED") throw CheckError(about(row));
    }
    for (const ResultRow& row : results_.rows) {
      if (row.status == "ERROR") throw DeviceError(about(row));
    }
    const auto measured = [&](const std::string& variant) {
      return std::any_of(results_.rows.begin(), results_.rows.end(), [&](const ResultRow& row) {
        return row.time.samples > 0 && (variant.empty() || row.backend == variant);
      });
    };
    for (const ResultRow& row : results_.rows) {
      if (row.time.samples > 0) continue;
      const bool by_name = std::find(options_.variants.begin(), options_.variants.end(), row.backend) !=
                           options_.variants.end();
      if (measured(by_name ? row.backend : std::string())) continue;
      if (row.status == "SKIPPED") throw MemoryError(about(row));
      throw UnavailableError(about(row));
    }
    const auto suspects = std::count_if(results_.rows.begin(), results_.rows.end(),
                                        [](const ResultRow& row) { return row.status == "SUSPECT"; });
    if (options_.strict && suspects > 0) {
      throw CheckError(
          concat(suspects, suspects == 1 ? " row is" : " rows are", " SUSPECT, and --strict was given"));
    }
  }

  const ModelBenchOptions& options_;
  Console& console_;
  Session session_;
  std::optional<ImageDataset> data_;
  BatchPictures pictures_;
  DeviceGuard guard_;
  Stream stream_;
  BenchAccuracy accuracy_;
  std::vector<std::vector<BenchConfig>> batches_;
  Ceilings ceilings_;
  ResultFile results_;
};

}  // namespace

ExitCode run_bench(const ModelBenchOptions& options) {
  std::vector<NamedFile> read = files_read(options);
  for (NamedFile& file : mnist_files(options.data)) read.push_back(std::move(file));
  Console console({{"--json", options.json}, {"--csv", options.csv}}, read);
  ModelBench bench(options, console);
  try {
    bench.run();
  } catch (const std::exception& error) {
    bench.fail(error.what());
    throw;
  }
  return bench.finish();
}

}  // namespace lenslet
