// lenslet bench: images a second over batch sizes, plans, math modes, inputs and outputs, each configuration against
// the others, verified and counted; with --latency the time of single calls.
#include <algorithm>
#include <memory>
#include <optional>

#include "apps/common/attempt.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/bench_accuracy.h"
#include "apps/lenslet/bench_config.h"
#include "apps/lenslet/bench_latency.h"
#include "apps/lenslet/bench_report.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/mnist_folder.h"
#include "apps/lenslet/plan_contender.h"
#include "apps/measuring/run.h"
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
  ModelBench(const ModelBenchOptions& options, const std::vector<NamedFile>& read)
      : options_(options),
        run_("lenslet bench", options, {}, read),
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
    run_.console().line(
        concat("LeNet-5, ", printable(session_.weights_origin()), " on ", session_.describe_device()));
    run_.console().line(concat("pictures:   ", pictures_.count(), ", ",
                               data_ ? concat("from ", printable(data_->images_path))
                                     : std::string("drawn: no MNIST here, so nothing is counted")));
    run_.on(session_.device(), {{"seed", std::to_string(options.seed)},
                                {"weights", session_.weights_origin()},
                                {"pictures", data_ ? "MNIST" : "drawn"},
                                {"min_time_ms", format_short(options.measure.min_time_ms)}});
  }

  ExitCode run() {
    return run_.complete([&] {
      run_.begin(static_cast<int64_t>(batches_.size()), "batch sizes");
      for (const std::vector<BenchConfig>& batch : batches_) {
        run_.add(measure_batch(batch));  // after a signal, rows that are SKIPPED
        if (interrupted()) break;
      }
      run_.console().line();
      run_.console().print(options_.latency ? latency_table(run_.rows()) : bench_table(run_.rows()));
    });
  }

 private:
  std::vector<ResultRow> measure_batch(const std::vector<BenchConfig>& configs) {
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
    std::vector<ResultRow> all;
    for (Entry& entry : entries) {
      const Measurement* const measured = entry.contender ? &measurements[next++] : nullptr;
      std::vector<ResultRow> rows =
          options_.latency ? latency_rows(entry, measured) : plain_rows(entry, measured);
      for (ResultRow& row : rows) all.push_back(std::move(row));
    }
    return all;
  }

  Entry prepare(const BenchConfig& config) {
    Entry entry;
    entry.config = config;
    entry.base = bench_row(config, options_, session_);
    entry.build = config.build_options(session_, stream_);
    const auto refusal = attempt(stream_, [&] {
      auto executable = built(entry.build);
      entry.base.setup_ns = executable->build_ns();
      entry.base.workspace_bytes = static_cast<int64_t>(executable->plan().workspace_bytes);
      entry.base.detail =
          config.plan == Plan::kFused ? executable->steps()[0].detail : describe_backends(executable->plan());
      entry.contender = std::make_unique<PlanContender>(config.key(), std::move(executable), pictures_);
    });
    if (!refusal) return entry;
    entry.status = refusal->status;
    entry.reason = refusal->reason;
    run_.refuse(
        config.by_name ? config.variant : std::string(), refusal->code,
        concat("batch ", config.batch, ", ", entry.base.backend, " ", entry.base.math, ": ", entry.reason));
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
    const RowContext context{options_.measure.hot, options_.measure.cold, &run_.ceilings()};
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

  const ModelBenchOptions& options_;
  Run run_;
  Session session_;
  std::optional<ImageDataset> data_;
  BatchPictures pictures_;
  DeviceGuard guard_;
  Stream stream_;
  BenchAccuracy accuracy_;
  std::vector<std::vector<BenchConfig>> batches_;
};

}  // namespace

ExitCode run_bench(const ModelBenchOptions& options) {
  std::vector<NamedFile> read = files_read(options);
  for (NamedFile& file : mnist_files(options.data)) read.push_back(std::move(file));
  return ModelBench(options, read).run();
}

}  // namespace lenslet
