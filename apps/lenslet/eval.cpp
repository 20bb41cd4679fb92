// lenslet eval: how many digits of a data set the model reads rightly, and how fast.
#include "apps/lenslet/eval.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/common/environment.h"
#include "apps/common/json_writer.h"
#include "apps/common/output.h"
#include "apps/common/progress.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/batch_runner.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/contact_sheet.h"
#include "apps/lenslet/logits_file.h"
#include "framework/parallel.h"
#include "framework/statistics.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.eval/1";
constexpr int64_t kCpuBatchPerThread = 128;
constexpr int64_t kGpuBatch = 10000;
constexpr double kThroughputMs = 300;
constexpr size_t kSheetLimit = 1000;
constexpr size_t kMissesShown = 10;

std::string data_folder(const EvalOptions& options) {
  if (!options.data.empty()) return options.data;
  const char* const from_environment = std::getenv("LENSLET_MNIST_DIR");
  if (from_environment != nullptr && from_environment[0] != '\0') return from_environment;
  std::error_code ignored;
  if (std::filesystem::is_directory("data", ignored)) return "data";
  throw DataError(
      "no MNIST here: LENSLET_MNIST_DIR is not set and there is no ./data; get it with ./dev mnist, or name "
      "its folder "
      "with --data");
}

// Speed of the whole way, from bytes to logits.
struct Throughput {
  TimeStats pass;             // ns for all images
  double images_per_s = NAN;  // at the median pass
  double resident_per_s = NAN;
  bool bitwise = true;  // every pass gave the same logits
  double first_call_ns = 0;
};

struct Outcome {
  BatchRun run;
  Evaluation evaluation;
  Throughput speed;
};

Outcome run_passes(Executable& executable, const ImageDataset& data, int64_t count) {
  Outcome outcome;
  const double start = host_now_ns();
  executable.run();
  executable.stream().synchronize();
  outcome.speed.first_call_ns = host_now_ns() - start;
  {
    ProgressBar bar("evaluating", count);
    outcome.run = run_images(executable, data, count, [&](int64_t done) { bar.update(done); });
  }
  outcome.evaluation = evaluate(outcome.run.logits, data, outcome.run.count);
  std::vector<double> passes = {outcome.run.wall_ns};
  double spent = outcome.run.wall_ns;
  while (spent < kThroughputMs * 1e6 && !interrupted()) {
    const BatchRun again = run_images(executable, data, count);
    if (again.count < count) break;
    outcome.speed.bitwise =
        outcome.speed.bitwise && again.logits.size() == outcome.run.logits.size() &&
        std::memcmp(again.logits.data(), outcome.run.logits.data(), again.logits.size() * sizeof(float)) == 0;
    passes.push_back(again.wall_ns);
    spent += again.wall_ns;
  }
  outcome.speed.pass = summarize(passes);
  if (outcome.run.count > 0)
    outcome.speed.images_per_s = static_cast<double>(outcome.run.count) / outcome.speed.pass.median * 1e9;
  if (!interrupted()) outcome.speed.resident_per_s = device_resident_rate(executable, kThroughputMs);
  return outcome;
}

void print_report(Console& console, const Session& session, const Executable& executable,
                  const Outcome& outcome, const EvalOptions& options) {
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  console.line(concat("backends:   ", describe_backends(executable.plan())));
  console.line(concat("accuracy:   ", format_count(evaluation.correct), " of ",
                      format_count(evaluation.count), " = ", format_percent(evaluation.accuracy()),
                      "  (95 % interval ", format_percent(interval.low), " to ",
                      format_percent(interval.high), ")"));
  console.line(concat("loss:       ", format_fixed(evaluation.loss, 6), " (mean negative log-likelihood)"));
  console.line(concat("throughput: ", format_rate(outcome.speed.images_per_s),
                      " images/s from bytes to logits (", format_time(outcome.speed.pass.median),
                      " a pass, p10 ", format_time(outcome.speed.pass.p10), ", p90 ",
                      format_time(outcome.speed.pass.p90), ", ", outcome.speed.pass.samples, " passes), ",
                      format_rate(outcome.speed.resident_per_s), " images/s with the input on ",
                      session.device().to_string()));
  console.line(
      concat("set-up:     ", format_time(executable.build_ns()), " to build, first call ",
             format_time(outcome.speed.first_call_ns), ", logits ",
             outcome.speed.bitwise ? "bit for bit the same in every pass" : "NOT the same in every pass"));
  console.line();
  console.print(confusion_text(evaluation));
  if (evaluation.misses.empty() || options.misses == "-") return;
  console.line();
  std::string shown;
  for (size_t i = 0; i < evaluation.misses.size() && i < kMissesShown; ++i) {
    const Miss& miss = evaluation.misses[i];
    shown += concat(i == 0 ? "" : ", ", "#", miss.index, " ", miss.label, ">",
                    miss.predicted < 0 ? std::string("?") : std::to_string(miss.predicted));
  }
  console.line(concat("misses:     ", shown, evaluation.misses.size() > kMissesShown ? ", ..." : "",
                      "  (all: --misses FILE, pictures: --contact-sheet FILE.png)"));
}

void write_json(const EvalOptions& options, const Session& session, const Executable& executable,
                const ImageDataset& data, const Outcome& outcome) {
  if (options.json.empty()) return;
  ResultSink sink(options.json);
  JsonWriter json([&](const std::string& part) { sink.write(part); });
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  json.begin_object().field("schema", kSchema).field("interrupted", interrupted());
  write_environment(json, session.device().is_cuda());
  write_run(json, session, data, options.split);
  json.field("batch", executable.batch()).field("cuda_graph", options.cuda_graph);
  json.key("layers").begin_array();
  for (const PlanLayer& layer : executable.plan().layers) {
    json.begin_object(JsonWriter::Style::kInline).field("name", layer.name).field("backend", layer.backend);
    json.field("math", to_string(layer.math)).end_object();
  }
  json.end_array();
  json.field("count", evaluation.count).field("correct", evaluation.correct);
  json.field("accuracy", evaluation.accuracy());
  json.key("accuracy_interval_95").begin_array(JsonWriter::Style::kInline);
  json.value(interval.low).value(interval.high).end_array();
  json.field("loss", evaluation.loss).field("not_numbers", evaluation.not_numbers);
  json.key("confusion").begin_array();
  for (const auto& row : evaluation.confusion) {
    json.begin_array(JsonWriter::Style::kInline);
    for (const int64_t cell : row) json.value(cell);
    json.end_array();
  }
  json.end_array();
  json.key("misses").begin_array();
  for (const Miss& miss : evaluation.misses) {
    json.begin_object(JsonWriter::Style::kInline).field("index", miss.index).field("label", miss.label);
    if (miss.predicted < 0) {
      json.null_field("predicted");
    } else {
      json.field("predicted", miss.predicted);
    }
    json.field("probability", miss.probability).field("margin", miss.margin).end_object();
  }
  json.end_array();
  json.key("throughput").begin_object();
  json.field("images_per_s", outcome.speed.images_per_s);
  json.field("device_resident_images_per_s", outcome.speed.resident_per_s);
  write_time_stats(json, "pass_ns", outcome.speed.pass);
  json.field("passes", static_cast<uint64_t>(outcome.speed.pass.samples));
  json.field("build_ns", executable.build_ns()).field("first_call_ns", outcome.speed.first_call_ns);
  json.field("bitwise_repeatable", outcome.speed.bitwise).end_object();
  json.end_object().finish();
  sink.commit();
}

// One line, so that runs can be appended to each other.
std::string csv_report(const EvalOptions& options, const Executable& executable, const Outcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  return concat(
      "device,math,split,batch,count,correct,accuracy,low_95,high_95,loss,images_per_s,resident_images_per_s,"
      "backends\n",
      executable.device().to_string(), ",", to_string(options.math.value_or(MathMode::kFp32)), ",",
      options.split, ",", executable.batch(), ",", evaluation.count, ",", evaluation.correct, ",",
      format_fixed(evaluation.accuracy(), 6), ",", format_fixed(interval.low, 6), ",",
      format_fixed(interval.high, 6), ",", format_fixed(evaluation.loss, 6), ",",
      format_fixed(outcome.speed.images_per_s, 0), ",", format_fixed(outcome.speed.resident_per_s, 0), ",",
      csv_field(describe_backends(executable.plan())), "\n");
}

}  // namespace

int64_t eval_batch(const Session& session, int64_t count) {
  const int64_t fallback = session.device().is_cuda() ? kGpuBatch : kCpuBatchPerThread * num_threads();
  return session.batch_or(std::min(count, fallback));
}

void write_run(JsonWriter& json, const Session& session, const ImageDataset& data, const std::string& split) {
  json.field("device", session.device().to_string()).field("device_name", session.device_name());
  json.field("math", to_string(session.math())).field("weights", session.weights_origin());
  json.field("split", split).field("images_file", data.images_path);
}

ExitCode run_eval(const EvalOptions& options) {
  Console console(
      {options.json, options.csv, options.misses, options.logits, options.contact_sheet, options.save_plan});
  if (!options.contact_sheet.empty()) check_contact_sheet_name(options.contact_sheet);
  if (options.backend_matrix && options.plan != "auto" && options.plan != Plan::kLayered) {
    throw UsageError("--backend-matrix chooses the backends itself, a plan would too; leave out --plan");
  }
  if (options.backend_matrix && !(options.misses.empty() && options.contact_sheet.empty() &&
                                  options.logits.empty() && options.save_plan.empty())) {
    throw UsageError(
        "--misses, --contact-sheet, --logits and --save-plan belong to one run, not to --backend-matrix");
  }
  if (options.backend_matrix && options.input) {
    throw UsageError("--backend-matrix runs the layered plan, which reads fp32; leave out --input");
  }
  Session session(options);
  session.demand_logits();
  const ImageDataset data = read_image_dataset(data_folder(options), options.split, kLenet5Side, kLenet5Side);
  const int64_t count = std::min(data.count, options.limit.value_or(data.count));
  console.line(concat("LeNet-5, ", session.weights_origin(), ", ", to_string(session.math()), " on ",
                      session.describe_device()));
  console.line(concat("data:       ", printable(data.images_path), ", ", format_count(count), " of ",
                      format_count(data.count), " images"));
  if (options.backend_matrix) return run_backend_matrix(options, session, data, count, console);

  const std::unique_ptr<Executable> executable = session.build(eval_batch(session, count));
  const Outcome outcome = run_passes(*executable, data, count);
  const Evaluation& evaluation = outcome.evaluation;
  print_report(console, session, *executable, outcome, options);
  write_json(options, session, *executable, data, outcome);
  if (!options.csv.empty()) write_result(options.csv, csv_report(options, *executable, outcome));
  if (!options.misses.empty()) write_result(options.misses, misses_csv(evaluation));
  if (!options.logits.empty()) write_logits(options.logits, outcome.run.logits, kLenet5Classes);
  if (!options.contact_sheet.empty()) {
    const size_t shown = std::min(evaluation.misses.size(), kSheetLimit);
    write_contact_sheet(
        options.contact_sheet, data,
        {evaluation.misses.begin(), evaluation.misses.begin() + static_cast<std::ptrdiff_t>(shown)});
    if (shown < evaluation.misses.size()) {
      console.line(
          concat("the contact sheet shows the first ", shown, " of ", evaluation.misses.size(), " misses"));
    }
  }
  if (interrupted()) {
    console.line(concat("interrupted after ", evaluation.count, " of ", count, " images"));
    return ExitCode::kInterrupted;
  }
  if (evaluation.not_numbers > 0) {
    throw CheckError(concat(evaluation.not_numbers, " of ", evaluation.count,
                            " images have logits that are not numbers; look at the weights' values"));
  }
  if (options.min_accuracy && evaluation.accuracy() < *options.min_accuracy) {
    throw CheckError(concat("accuracy ", format_fixed(evaluation.accuracy(), 6), " is below --min-accuracy ",
                            format_fixed(*options.min_accuracy, 6)));
  }
  return ExitCode::kOk;
}

}  // namespace lenslet
