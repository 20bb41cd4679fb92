// lenslet eval: counts the digits of a data set that the model reads correctly, and measures the speed.
#include "apps/lenslet/eval/eval.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "apps/common/output/progress.h"
#include "apps/common/output/text.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/eval/contact_sheet.h"
#include "apps/lenslet/eval/eval_output.h"
#include "apps/lenslet/eval/eval_ranks.h"
#include "apps/lenslet/eval/eval_samples.h"
#include "apps/lenslet/eval/logits_file.h"
#include "apps/lenslet/eval/sample_set.h"
#include "apps/lenslet/pictures/mnist_folder.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "framework/base/clock.h"
#include "framework/base/parallel.h"
#include "framework/measuring/sampler.h"
#include "framework/measuring/statistics.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

// Default batches. The fp32 pixels of 128 images of 28 x 28 are 401 KB, which a core's L2 holds: chosen by hand. A GPU
// takes MNIST's test set in one pass.
constexpr int64_t kCpuBatchPerThread = 128;
constexpr int64_t kGpuBatch = 10000;
// Passes are timed for kLongMs on a GPU, whose clock settles meanwhile, and while they are fewer than kEnoughPasses;
// else for kShortMs.
constexpr double kLongMs = 300, kShortMs = 100;
constexpr size_t kEnoughPasses = 5;
constexpr int kDeviceGroups = 20;  // samples of a pass with the input on the device. Chosen by hand
constexpr size_t kSheetLimit = 1000;
constexpr int64_t kDefaultStreams = 3;  // one is copied, one computed, one waits

// Nanoseconds of a pass with the input on the device, for `min_time_ms`. A sample is the mean of a group of passes that
// are enqueued without waiting, as many as take a kDeviceGroups-th of that time: the start and the end of a group are
// a small part of it.
TimeStats time_device_passes(Executable& executable, double min_time_ms) {
  DeviceGuard guard(executable.device());
  const auto group_ns = [&](int64_t passes) {
    const double start = host_now_ns();
    for (int64_t i = 0; i < passes; ++i) executable.run();
    executable.stream().synchronise();
    return host_now_ns() - start;
  };
  group_ns(1);  // warms up
  const double wanted_ns = min_time_ms * 1e6 / kDeviceGroups;
  int64_t passes = 1;
  for (double ns; (ns = group_ns(passes)) < wanted_ns && !interrupted();) {
    // A short group is mostly start and end, so the next grows only a little.
    passes = static_cast<int64_t>(
        std::ceil(static_cast<double>(passes) * std::clamp(1.1 * wanted_ns / ns, 1.1, 16.0)));
  }
  std::vector<double> samples;
  Sampler sampler(min_time_ms, 1, INT_MAX, interrupted);
  while (sampler.next()) samples.push_back(group_ns(passes) / static_cast<double>(passes));
  return summarise(samples);
}

void run_passes(Model& model, const ImageDataset& data, int64_t count, bool shows_progress,
                EvalOutcome& outcome) {
  const double start = host_now_ns();
  model.run_checked();
  outcome.speed.first_call_ns = host_now_ns() - start;
  {
    ProgressBar bar("evaluating", shows_progress ? count : 0);
    run_images(model, data, count, outcome.run, [&](int64_t done) { bar.update(done); });
  }
  std::vector<double> passes = {outcome.run.wall_ns};
  double spent = outcome.run.wall_ns;
  const double min_ms = model.executable().device().is_cuda() ? kLongMs : kShortMs;
  while (spent < (passes.size() < kEnoughPasses ? kLongMs : min_ms) * 1e6 && !interrupted()) {
    BatchRun again;
    run_images(model, data, count, again);
    if (again.count < count) break;
    outcome.speed.bitwise =
        outcome.speed.bitwise && again.logits.size() == outcome.run.logits.size() &&
        std::memcmp(again.logits.data(), outcome.run.logits.data(), again.logits.size() * sizeof(float)) == 0;
    passes.push_back(again.wall_ns);
    spent += again.wall_ns;
  }
  outcome.speed.pass = summarise(passes);
  if (outcome.run.count > 0)
    outcome.speed.images_per_s = static_cast<double>(outcome.run.count) / outcome.speed.pass.median * 1e9;
  const std::vector<DeviceShare> shares = model.shares();
  report_faults(shares);
  if (interrupted() || (!shares.empty() && !shares.front().fault.empty())) return;
  outcome.speed.device_pass = time_device_passes(model.executable(), min_ms);
  outcome.speed.device_images_per_s =
      static_cast<double>(model.executable().batch()) / outcome.speed.device_pass.median * 1e9;
}

// The first images of `data` by another pass, to compare with a run of all of them; none after a signal.
std::optional<Beside> read_beside(const Session& session, const BuildOptions& other, const ImageDataset& data,
                                  const BatchRun& run) {
  Model model = session.model(other);
  BatchRun exact;
  run_images(model, data, run.count, exact);
  report_faults(model.shares());
  if (exact.count < run.count) return std::nullopt;
  Beside beside;
  beside.backends = describe_backends(model.executable().plan());
  beside.correct = evaluate(exact.logits, data, exact.count).correct;
  for (size_t i = 0; i < exact.logits.size(); i += kLenet5Classes) {
    beside.differing += predicted_class(exact.logits.data() + i, kLenet5Classes) !=
                        predicted_class(run.logits.data() + i, kLenet5Classes);
  }
  return beside;
}

// The same images in fp32, if `executable` uses another math mode: with the same kind of plan if it supports fp32, else
// layer by layer.
std::optional<Beside> read_in_fp32(const Session& session, const Executable& executable,
                                   const ImageDataset& data, const BatchRun& run) {
  const std::vector<PlanLayer>& layers = executable.plan().layers;
  const auto reduced = [](const PlanLayer& layer) { return layer.math != MathMode::kFp32; };
  if (std::none_of(layers.begin(), layers.end(), reduced)) return std::nullopt;
  BuildOptions build = session.build_options(executable.batch());
  build.plan = nullptr;
  build.math = MathMode::kFp32;
  build.backends = {};
  build.input = executable.plan().input;
  build.execution = executable.plan().execution;
  const Graph& graph = session.graph();
  if (build.execution == Plan::kFused &&
      !graph.network()->preferred_entry(
          graph.network_request(build.device, build.batch, build.math, build.input, build.output))) {
    build.execution = Plan::kLayered;
    build.input = ElementType::kFp32;
  }
  return read_beside(session, build, data, run);
}

// The same images as bytes by the same backend, if `executable` reads them packed: packing rounds them.
std::optional<Beside> read_in_bytes(const Session& session, const Executable& executable,
                                    const ImageDataset& data, const BatchRun& run) {
  if (executable.plan().input != ElementType::kUint4) return std::nullopt;
  Plan of_bytes = executable.plan();
  of_bytes.input = ElementType::kUint8;
  BuildOptions build = session.build_options(executable.batch());
  build.plan = &of_bytes;
  return read_beside(session, build, data, run);
}

StreamingReport stream(const EvalOptions& options, const Session& session, const Executable& executable,
                       const ImageDataset& data, int64_t count) {
  const bool gpu = session.device().is_cuda();
  StreamingRequest request;
  request.lanes = static_cast<int>(options.streams.value_or(gpu ? kDefaultStreams : 1));
  request.chunk = executable.batch();
  request.passes = options.repeat.value_or(0);
  ProgressBar bar("streaming", request.passes * count);
  return stream_images(session, data, count, request, [&](int64_t done) { bar.update(done); });
}

}  // namespace

std::string data_folder(const EvalOptions& options) {
  const std::string folder = find_mnist_folder(options.data);
  if (!folder.empty()) return folder;
  throw DataError(
      "no MNIST here: LENSLET_MNIST_DIR is not set and there is no ./data; get it with ./dev mnist, or name "
      "its folder with --data");
}

void run_images(Model& model, const ImageDataset& data, int64_t count, BatchRun& run,
                const std::function<void(int64_t)>& progress) {
  run.logits.assign(static_cast<size_t>(count * kLenet5Classes), 0.0f);
  // Also after an error `logits` has only the images that were computed.
  struct KeepComputed {
    BatchRun& run;
    ~KeepComputed() { run.logits.resize(static_cast<size_t>(run.count * kLenet5Classes)); }
  };
  const KeepComputed keep_computed{run};
  model.prepare();
  const double start = host_now_ns();
  model.logits(data.images.data(), count, run.logits.data(), [&](int64_t done) {
    run.count = done;
    if (progress) progress(done);
    return !interrupted();
  });
  run.wall_ns = host_now_ns() - start;
}

int64_t eval_batch(const Session& session, int64_t count) {
  const int64_t fallback = session.device().is_cuda() ? kGpuBatch : kCpuBatchPerThread * num_threads();
  return session.batch_or(std::clamp<int64_t>(count, 1, fallback));
}

namespace {

// Throws UsageError for options that need a single process.
void check_one_process(const EvalOptions& options, bool samples, const Ranks& ranks) {
  if (ranks.alone()) return;
  if (samples)
    throw UsageError(
        "under mpirun lenslet eval reads digits of IDX files; start it without mpirun for other data");
  if (options.backend_matrix || options.streams || options.repeat || !options.contact_sheet.empty())
    throw UsageError(
        "--backend-matrix, --streams, --repeat and --contact-sheet are for one process; start it without "
        "mpirun");
}

// Throws UsageError for options that need a single device.
void check_one_device(const EvalOptions& options, const Session& session, const Ranks& ranks) {
  if (session.devices().size() == 1) return;
  if (!ranks.alone())
    throw UsageError(
        "under mpirun each process computes on one device: --device cuda:rank gives each its own");
  if (options.backend_matrix || options.streams || options.repeat)
    throw UsageError(concat("--backend-matrix, --streams and --repeat are for one device, found --device ",
                            session.device_list()));
}

// Writes the files of --misses, --logits and --contact-sheet.
void write_outputs(const EvalOptions& options, const ImageDataset& data, const EvalOutcome& outcome,
                   Console& console) {
  const auto& misses = outcome.evaluation.misses;
  if (!options.misses.empty()) write_result(options.misses, misses_csv(outcome.evaluation));
  if (!options.logits.empty()) write_logits(options.logits, outcome.run.logits, kLenet5Classes);
  if (options.contact_sheet.empty()) return;
  const size_t shown = std::min(misses.size(), kSheetLimit);
  write_contact_sheet(options.contact_sheet, data,
                      {misses.begin(), misses.begin() + static_cast<std::ptrdiff_t>(shown)});
  if (shown < misses.size())
    console.line(concat("the contact sheet shows the first ", shown, " of ", misses.size(), " misses"));
}

// The exit code, once everything is written.
ExitCode verdict(const EvalOptions& options, const Run& run, const EvalOutcome& outcome, int64_t count) {
  const Evaluation& evaluation = outcome.evaluation;
  if (!run.fault().empty()) {
    throw DeviceError(concat("after ", evaluation.count, " of ", count, " images: ", run.fault()));
  }
  if (interrupted()) return ExitCode::kInterrupted;
  if (evaluation.not_numbers > 0) {
    throw CheckError(concat(evaluation.not_numbers, " of ", evaluation.count,
                            " images have logits that are not numbers; look at the weights' values"));
  }
  if (outcome.streaming && outcome.streaming->differing > 0) {
    throw CheckError(concat(outcome.streaming->differing, " of ", outcome.streaming->images,
                            " results that were streamed are not, bit for bit, those of a plain pass"));
  }
  check_accuracy(options, evaluation.accuracy());
  return ExitCode::kOk;
}

ExitCode run_rank(const EvalOptions& options, Ranks& ranks) {
  std::vector<NamedFile> read = files_read(options);
  const bool samples = names_sample_set(options.data);
  check_one_process(options, samples, ranks);
  read.emplace_back("--labels", options.labels);
  if (samples) {
    read.emplace_back("--data", options.data);
    read.emplace_back("--answers", options.answers);
  } else {
    for (NamedFile& file : mnist_files(options.data)) read.push_back(std::move(file));
  }
  Run run(options.backend_matrix ? "lenslet eval --backend-matrix" : "lenslet eval", options,
          {{"--misses", options.misses},
           {"--logits", options.logits},
           {"--contact-sheet", options.contact_sheet},
           {"--save-plan", options.save_plan}},
          read);
  Console& console = run.console();
  Session session(options, console, chosen_normalisation(options));
  session.check_plan_writes_logits();
  check_one_device(options, session, ranks);
  check_writes_classes(session.network().graph, session.network().origin, kUseRun);
  if (samples || !reads_digits(options, session.network())) {
    check_one_process(options, true, ranks);
    return run_eval_samples(options, session, run);
  }
  check_no_answers(options);
  (void)picture_choices(options, session.network());  // refuses options that digits have no use for
  if (options.streams && !session.device().is_cuda()) {
    throw UsageError(
        "--streams overlaps the copies and kernels of a GPU, and the CPU needs no copies: leave it out; "
        "--repeat works without it");
  }
  ImageDataset data = read_image_dataset(data_folder(options), options.split, kLenet5Side, kLenet5Side);
  const int64_t count = std::min(data.count, options.limit.value_or(data.count));
  console.line(concat(session.network().title(), ", ", printable(session.weights_origin()), ", ",
                      to_string(session.math()), " on ", session.describe_device()));
  console.line(concat("data:       ", printable(data.images_path), ", ", format_count(count), " of ",
                      format_count(data.count), " images"));
  run.on(session.device());
  if (options.backend_matrix) return run_backend_matrix(options, session, data, count, run);

  const RankRange range = eval_range(ranks, count);
  if (!ranks.alone()) keep_range(data, range);
  Model model = session.model(eval_batch(session, range.count));
  const Executable& executable = model.executable();
  EvalOutcome outcome;
  ranks.meet();  // all are prepared and start together
  run.guard([&] {
    if (range.count == 0) return;
    run_passes(model, data, range.count, ranks.first(), outcome);
    if (!interrupted()) outcome.fp32 = read_in_fp32(session, executable, data, outcome.run);
    if (!interrupted()) outcome.uint8 = read_in_bytes(session, executable, data, outcome.run);
    if ((options.streams || options.repeat) && !interrupted()) {
      outcome.streaming = stream(options, session, executable, data, count);
    }
  });
  outcome.shares = model.shares();
  outcome.evaluation = evaluate(outcome.run.logits, data, outcome.run.count);
  const Evaluation& evaluation = outcome.evaluation;
  if (!ranks.alone()) {  // a rank without all answers writes nothing
    if (!run.fault().empty() || interrupted()) return verdict(options, run, outcome, range.count);
    join_outcomes(ranks, options, session, range, outcome);
    if (!ranks.first()) return ExitCode::kOk;
  }
  print_eval(console, options, session, executable, outcome);
  write_eval_files(run, options, session, executable, data, outcome);
  write_outputs(options, data, outcome, console);
  if (run.fault().empty() && interrupted())
    console.line(concat("interrupted after ", evaluation.count, " of ", count, " images"));
  return verdict(options, run, outcome, count);
}

}  // namespace

ExitCode run_eval(const EvalOptions& options) {
  return run_in_ranks([&](Ranks& ranks) { return run_rank(options_of_rank(ranks, options), ranks); });
}

}  // namespace lenslet
