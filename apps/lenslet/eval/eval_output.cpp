#include "apps/lenslet/eval/eval_output.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "apps/common/output/text.h"
#include "apps/lenslet/eval/eval.h"
#include "framework/base/counted.h"

namespace lenslet {

template <>
struct Fields<PlanLayer> {
  template <class Self, class V>
  static void of(Self& layer, V&& v) {
    v("name", layer.name)("backend", layer.backend)("math", layer.math);
  }
};

namespace {

constexpr const char* kSchema = "lenslet.eval/1";

/// Everything that the files contain.
struct EvalFile {
  const EvalOptions& options;
  const Session& session;
  const Executable& executable;
  const ImageDataset& data;
  const EvalOutcome& outcome;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const Executable& executable = self.executable;
    const EvalOutcome& outcome = self.outcome;
    const Evaluation& evaluation = outcome.evaluation;
    const Interval interval = wilson_95(evaluation.correct, evaluation.count);
    evaluated_fields(v, self.session, self.data, self.options.split);
    v("batch", executable.batch())("cuda_graph", executable.replays());
    v("layers", executable.plan().layers).column("backends", describe_backends(executable.plan()));
    v("count", evaluation.count)("correct", evaluation.correct)("accuracy", evaluation.accuracy());
    v("accuracy_interval_95", std::vector<double>{interval.low, interval.high});
    v.column("low_95", interval.low).column("high_95", interval.high);
    v("loss", evaluation.loss)("not_numbers", evaluation.not_numbers);
    v("fp32", outcome.fp32).later("uint8", outcome.uint8);
    v("confusion", evaluation.confusion)("misses", evaluation.misses);
    v.group("throughput", [&](auto& speed) {
      speed({"images_per_s", "images_per_s"}, outcome.speed.images_per_s);
      speed({"device_images_per_s", "device_images_per_s"}, outcome.speed.device_images_per_s);
      speed.time({"device_pass_ns", "device_pass_ns"}, {"device_samples", "device_samples"},
                 outcome.speed.device_pass);
      speed.time({"pass_ns", "pass_ns"}, {"passes", "pass_samples"}, outcome.speed.pass);
      speed({"build_ns", "build_ns"}, executable.build_ns());
      speed({"first_call_ns", "first_call_ns"}, outcome.speed.first_call_ns);
      speed({"bitwise_repeatable", "bitwise_repeatable"}, outcome.speed.bitwise);
    });
    v("sustained", outcome.streaming)("ranks", outcome.ranks)("shares", outcome.shares);
  }
};

// "4 with 2,320 to 2,560 images: 4 on cpu of node1".
std::string describe_ranks(const std::vector<RankPart>& ranks) {
  const auto fewer = [](const RankPart& a, const RankPart& b) { return a.count < b.count; };
  const auto [smallest, largest] = std::minmax_element(ranks.begin(), ranks.end(), fewer);
  std::map<std::string, int> places;
  for (const RankPart& rank : ranks) ++places[concat(rank.device, " of ", rank.host)];
  std::string text;
  for (const auto& [place, count] : places) text += concat(text.empty() ? "" : ", ", count, " on ", place);
  return concat(ranks.size(), " with ", format_count(smallest->count),
                smallest->count == largest->count ? "" : " to " + format_count(largest->count),
                " images: ", printable(text));
}

// "9,963 of 10,000 = 99.63 %, as many; 2 read differently (fused simd, uint8 in)".
std::string describe_beside(const Beside& beside, const Evaluation& evaluation) {
  const int64_t more = beside.correct - evaluation.correct;
  return concat(
      format_count(beside.correct), " of ", format_count(evaluation.count), " = ",
      format_percent(static_cast<double>(beside.correct) / static_cast<double>(evaluation.count)),
      more == 0 ? std::string(", as many") : concat(", ", std::abs(more), more > 0 ? " more" : " fewer"),
      "; ", beside.differing, " read differently (", beside.backends, ")");
}

}  // namespace

void print_eval(Console& console, const EvalOptions& options, const Session& session,
                const Executable& executable, const EvalOutcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  const Interval interval = wilson_95(evaluation.correct, evaluation.count);
  console.line(concat("backends:   ", describe_backends(executable.plan())), kLabel);
  if (evaluation.count == 0) return;  // interrupted, or the device failed
  if (!outcome.shares.empty()) console.line("shares:     " + describe_shares(outcome.shares), kLabel);
  if (!outcome.ranks.empty()) console.line("ranks:      " + describe_ranks(outcome.ranks), kLabel);
  console.line(
      concat("accuracy:   ", format_count(evaluation.correct), " of ", format_count(evaluation.count), " = ",
             format_percent(evaluation.accuracy()), "  (95 % interval ", format_percent(interval.low), " to ",
             format_percent(interval.high), ")"),
      kLabel);
  if (outcome.fp32) console.line("fp32:       " + describe_beside(*outcome.fp32, evaluation), kLabel);
  if (outcome.uint8) {
    console.line("packing:    4 bits a pixel, rounded to 16 greys: lossy, so some answers differ", kLabel);
    console.line("uint8:      " + describe_beside(*outcome.uint8, evaluation), kLabel);
  }
  console.line(concat("loss:       ", format_fixed(evaluation.loss, 6), " (mean negative log-likelihood)"),
               kLabel);
  console.line(
      concat("throughput: ", format_rate(outcome.speed.images_per_s), " images/s from bytes to logits (",
             format_time(outcome.speed.pass.median), " for all ", format_count(evaluation.count),
             " images, p10 ", format_time(outcome.speed.pass.p10), ", p90 ",
             format_time(outcome.speed.pass.p90), ", ", counted(outcome.speed.pass.samples, "run"), "), ",
             format_rate(outcome.speed.device_images_per_s), " images/s with the input on ",
             outcome.ranks.empty() ? session.device().to_string() : "the devices", " (",
             format_time(outcome.speed.device_pass.median), " a pass of ", format_count(executable.batch()),
             ", p10 ", format_time(outcome.speed.device_pass.p10), ", p90 ",
             format_time(outcome.speed.device_pass.p90), ")"),
      kLabel);
  console.line(
      concat("set-up:     ", format_time(executable.build_ns()), " to build, first call ",
             format_time(outcome.speed.first_call_ns), ", logits ",
             outcome.speed.bitwise ? "bit for bit the same in every pass" : "NOT the same in every pass"),
      kLabel);
  if (outcome.streaming) print_streaming(console, *outcome.streaming);
  console.line();
  console.print(confusion_table(evaluation));
  if (evaluation.misses.empty() || is_standard_output(options.misses)) return;
  console.line();
  std::string shown;
  for (size_t i = 0; i < evaluation.misses.size() && i < kMissesShown; ++i) {
    const Miss& miss = evaluation.misses[i];
    shown += concat(i == 0 ? "" : ", ", "#", miss.index, " ", miss.label, ">",
                    miss.predicted < 0 ? std::string("?") : std::to_string(miss.predicted));
  }
  console.line(concat("misses:     ", shown, evaluation.misses.size() > kMissesShown ? ", ..." : "",
                      "  (all: --misses FILE, pictures: --contact-sheet FILE.png)"),
               kLabel);
}

void write_eval_files(const Run& run, const EvalOptions& options, const Session& session,
                      const Executable& executable, const ImageDataset& data, const EvalOutcome& outcome) {
  const EvalFile file{options, session, executable, data, outcome};
  const CsvRow row = csv_row(file);
  run.write(
      kSchema, [&](Document& document) { EvalFile::fields(file, document.members()); },
      csv_line(row.columns) + csv_line(row.cells));
}

}  // namespace lenslet
