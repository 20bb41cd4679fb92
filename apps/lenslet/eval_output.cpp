#include "apps/lenslet/eval_output.h"

#include <cstdlib>

#include "apps/common/environment.h"
#include "apps/common/json_writer.h"
#include "apps/common/result_file.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/eval.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.eval/1";
constexpr size_t kMissesShown = 10;

}  // namespace

void print_eval(Console& console, const EvalOptions& options, const Session& session,
                const Executable& executable, const EvalOutcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  console.line(concat("backends:   ", describe_backends(executable.plan())));
  console.line(concat("accuracy:   ", format_count(evaluation.correct), " of ",
                      format_count(evaluation.count), " = ", format_percent(evaluation.accuracy()),
                      "  (95 % interval ", format_percent(interval.low), " to ",
                      format_percent(interval.high), ")"));
  if (outcome.fp32) {
    const Fp32Beside& fp32 = *outcome.fp32;
    const int64_t more = fp32.correct - evaluation.correct;
    console.line(concat(
        "fp32:       ", format_count(fp32.correct), " of ", format_count(evaluation.count), " = ",
        format_percent(static_cast<double>(fp32.correct) / static_cast<double>(evaluation.count)),
        more == 0 ? std::string(", as many") : concat(", ", std::abs(more), more > 0 ? " more" : " fewer"),
        "; ", fp32.read_differently, " read differently (", fp32.backends, ")"));
  }
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
  if (outcome.streaming) print_streaming(console, *outcome.streaming);
  console.line();
  console.print(confusion_text(evaluation));
  if (evaluation.misses.empty() || is_standard_output(options.misses)) return;
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

void write_eval_json(const EvalOptions& options, const Session& session, const Executable& executable,
                     const ImageDataset& data, const EvalOutcome& outcome) {
  if (options.json.empty()) return;
  OutputFile sink(options.json);
  JsonWriter json([&](const std::string& part) { sink.write(part); });
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  json.begin_object().field("schema", kSchema);
  write_run_status(json, interrupted(), outcome.fault);
  json.field("interrupted", interrupted());
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
  if (outcome.fp32) {
    json.key("fp32")
        .begin_object()
        .field("backends", outcome.fp32->backends)
        .field("correct", outcome.fp32->correct);
    json.field("read_differently", outcome.fp32->read_differently).end_object();
  } else {
    json.null_field("fp32");
  }
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
  if (outcome.streaming) {
    write_streaming(json, *outcome.streaming);
  } else {
    json.null_field("sustained");
  }
  json.end_object().finish();
  sink.commit();
}

std::string eval_csv(const EvalOptions& options, const Executable& executable, const EvalOutcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  return concat(
      "device,math,split,batch,count,correct,accuracy,low_95,high_95,loss,images_per_s,resident_images_per_s,"
      "backends,fp32_correct,",
      kStreamingCsvHeading, "\n", executable.device().to_string(), ",", to_string(executable.plan().math()),
      ",", options.split, ",", executable.batch(), ",", evaluation.count, ",", evaluation.correct, ",",
      format_fixed(evaluation.accuracy(), 6), ",", format_fixed(interval.low, 6), ",",
      format_fixed(interval.high, 6), ",", format_fixed(evaluation.loss, 6), ",",
      format_fixed(outcome.speed.images_per_s, 0), ",", format_fixed(outcome.speed.resident_per_s, 0), ",",
      csv_field(describe_backends(executable.plan())), ",",
      outcome.fp32 ? std::to_string(outcome.fp32->correct) : std::string(), ",",
      outcome.streaming ? streaming_csv(*outcome.streaming) : std::string(",,,,,"), "\n");
}

}  // namespace lenslet
