// lenslet eval on samples of any classifier: how many it answers with their class.
#include "apps/lenslet/eval/eval_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/output/progress.h"
#include "apps/common/output/text.h"
#include "apps/common/results/row_table.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/eval/eval.h"
#include "apps/lenslet/eval/logits_file.h"
#include "apps/lenslet/eval/sample_set.h"
#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

constexpr const char* kSamplesSchema = "lenslet.eval_samples/1";
constexpr int kTop = 5;  // top-5 accuracy, as ImageNet's networks are published with

struct SampleMiss {
  std::string sample, label, predicted;
  int64_t index = 0;
  double probability = 0;  // of the class `predicted`

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("index", self.index)("sample", self.sample)("label", self.label)("predicted", self.predicted);
    v("probability", self.probability);
  }
};

/// The samples of one class.
struct ClassRow {
  std::string name, read_as;  // read_as: the class that most of its misses are taken for
  int64_t count = 0, correct = 0;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("class", self.name)("count", self.count)("correct", self.correct)("read_as", self.read_as);
  }
};

/// Everything that is counted.
struct SampleScore {
  const Session* session = nullptr;
  std::string data;
  int64_t batch = 0, count = 0, correct = 0, in_top = 0, not_numbers = 0;
  bool replayed = false;  // passes after the first two, as a CUDA graph
  double loss = 0, compute_ns = 0;
  std::vector<ClassRow> classes;
  std::vector<SampleMiss> misses;
  std::vector<DeviceShare> shares;

  double share(int64_t part) const {
    return count > 0 ? static_cast<double>(part) / static_cast<double>(count) : 0;
  }
  double samples_per_s() const { return static_cast<double>(count) / compute_ns * 1e9; }
  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const Interval interval = wilson_95(self.correct, self.count);
    v("device", self.session->device_list())("math", self.session->math());
    v("weights", self.session->weights_origin())("data", self.data)("batch", self.batch);
    v("cuda_graph", self.replayed);
    v("count", self.count)("correct", self.correct)("accuracy", self.share(self.correct));
    v("accuracy_interval_95", std::vector<double>{interval.low, interval.high});
    v("correct_in_top_5", self.in_top)("loss", self.loss)("not_numbers", self.not_numbers);
    v("samples_per_s", self.samples_per_s())("shares", self.shares);
  }
};

/// Counts the answers to samples, in order.
class Counting {
 public:
  Counting(const SampleSet& samples, int classes, SampleScore& score)
      : samples_(samples), score_(score), taken_for_(static_cast<size_t>(classes)) {
    for (int c = 0; c < classes; ++c) score.classes.emplace_back().name = name(c);
  }

  void add(int64_t index, const float* logits) {
    const auto classes = static_cast<int>(score_.classes.size());
    const int label = samples_.label(index), predicted = predicted_class(logits, classes);
    ClassRow& row = score_.classes[static_cast<size_t>(label)];
    ++score_.count;
    ++row.count;
    if (predicted < 0) {
      ++score_.not_numbers;
      score_.misses.push_back({samples_.name(index), name(label), "", index, NAN});
      return;
    }
    std::vector<double> probabilities(static_cast<size_t>(classes));
    softmax(logits, classes, probabilities.data());
    const double probability = probabilities[static_cast<size_t>(predicted)];
    loss_ += log_loss(logits, label, predicted, probability);
    score_.in_top +=
        std::count_if(logits, logits + classes, [&](float logit) { return logit > logits[label]; }) < kTop;
    if (predicted == label) {
      ++score_.correct;
      ++row.correct;
      return;
    }
    ++taken_for_[static_cast<size_t>(label)][predicted];
    score_.misses.push_back({samples_.name(index), name(label), name(predicted), index, probability});
  }

  void finish() {
    const int64_t numbers = score_.count - score_.not_numbers;
    score_.loss = numbers > 0 ? loss_ / static_cast<double>(numbers) : NAN;
    for (size_t c = 0; c < taken_for_.size(); ++c) {
      int64_t max_times = 0;
      for (const auto& [other, times] : taken_for_[c]) {
        if (times > max_times) score_.classes[c].read_as = concat(name(other), " ", times);
        max_times = std::max(max_times, times);
      }
    }
  }

 private:
  std::string name(int c) const {
    return samples_.classes().empty() ? std::to_string(c) : samples_.classes()[static_cast<size_t>(c)];
  }

  const SampleSet& samples_;
  SampleScore& score_;
  std::vector<std::map<int, int64_t>> taken_for_;  // by label: how often it is taken for another class
  double loss_ = 0;
};

Table table_of(const std::vector<ClassRow>& classes) {
  TableOf<ClassRow> table;
  table.words("class", &ClassRow::name);
  table.number("samples", [](const ClassRow& row) { return format_count(row.count); });
  table.number("correct", [](const ClassRow& row) { return format_count(row.correct); });
  table.number("share", [](const ClassRow& row) {
    return row.count == 0 ? std::string()
                          : format_percent(static_cast<double>(row.correct) / static_cast<double>(row.count));
  });
  table.words("most taken for", &ClassRow::read_as);
  return table.of(classes);
}

void print(Console& console, const SampleScore& score, const Executable& executable) {
  const Interval interval = wilson_95(score.correct, score.count);
  console.line(concat("backends:   ", describe_backends(executable.plan())), kLabel);
  if (score.count == 0) return;  // interrupted, or the device failed
  if (!score.shares.empty()) console.line("shares:     " + describe_shares(score.shares), kLabel);
  console.line(
      concat("accuracy:   ", format_count(score.correct), " of ", format_count(score.count), " = ",
             format_percent(score.share(score.correct)), "  (95 % interval ", format_percent(interval.low),
             " to ", format_percent(interval.high), ")",
             score.classes.size() > static_cast<size_t>(kTop)
                 ? concat("; among the five likeliest classes: ", format_percent(score.share(score.in_top)))
                 : std::string()),
      kLabel);
  console.line(concat("loss:       ", format_fixed(score.loss, 6), " (mean negative log-likelihood)"),
               kLabel);
  console.line(concat("throughput: ", format_rate(score.samples_per_s()),
                      " samples/s from the network's inputs to its outputs, in passes of ", score.batch),
               kLabel);
  console.line();
  console.print(table_of(score.classes));
  if (score.misses.empty()) return;
  std::string shown;
  for (size_t i = 0; i < score.misses.size() && i < kMissesShown; ++i) {
    const SampleMiss& miss = score.misses[i];
    shown += concat(i == 0 ? "" : ", ", printable_excerpt(miss.sample, 60), " ", miss.label, ">",
                    miss.predicted.empty() ? "?" : miss.predicted);
  }
  console.line();
  console.line(concat("misses:     ", shown, score.misses.size() > kMissesShown ? ", ..." : "",
                      "  (all: --misses FILE)"),
               kLabel);
}

void check_no_digit_options(const EvalOptions& options) {
  if (options.backend_matrix || options.streams || options.repeat || !options.contact_sheet.empty())
    throw UsageError(
        "--backend-matrix, --streams, --repeat and --contact-sheet are for networks that read digits, on IDX "
        "files");
}

}  // namespace

ExitCode run_eval_samples(const EvalOptions& options, const Session& session, Run& run) {
  check_no_digit_options(options);
  const Network& network = session.network();
  const PictureChoices choices = picture_choices(options, network);
  const std::unique_ptr<SampleSet> samples = open_sample_set(options, network, choices);
  const int64_t count = std::min(samples->count(), options.limit.value_or(samples->count()));
  Console& console = run.console();
  console.keep(files_named("--data", samples->files()));
  console.line(concat(network.title(), ", ", printable(session.weights_origin()), ", ",
                      to_string(session.math()), " on ", session.describe_device()));
  console.line(concat("data:       ", printable(samples->origin()), ", ", format_count(count), " of ",
                      format_count(samples->count()), " samples"));
  if (const std::string order = samples->order(); !order.empty()) console.line(order);
  run.on(session.device());
  SampleScore score;
  score.session = &session;
  score.data = samples->origin();
  score.batch = eval_batch(session, count);
  Model model = session.model(score.batch);
  const auto values = static_cast<size_t>(model.input_shape().num_elements());
  const auto classes = static_cast<size_t>(model.output_shape().num_elements());
  const bool probabilities = writes_probabilities(network.graph);
  const int64_t group = score.batch * static_cast<int64_t>(session.devices().size());
  std::vector<float> inputs(static_cast<size_t>(group) * values), all;
  std::vector<float> logits(static_cast<size_t>(group) * classes);
  Counting counting(*samples, static_cast<int>(classes), score);
  model.prepare();
  run.guard([&] {
    ProgressBar bar("evaluating", count);
    for (int64_t first = 0; first < count && !interrupted(); first += group) {
      const int64_t now = std::min(group, count - first);
      samples->read(first, now, inputs.data());
      const double start = host_now_ns();
      model.run(inputs.data(), now, logits.data());
      score.compute_ns += host_now_ns() - start;
      if (probabilities) make_logits(logits.data(), now * static_cast<int64_t>(classes));
      for (int64_t i = 0; i < now; ++i)
        counting.add(first + i, logits.data() + static_cast<size_t>(i) * classes);
      if (!options.logits.empty())
        all.insert(all.end(), logits.begin(),
                   logits.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(now) * classes));
      bar.update(first + now);
    }
  });
  report_faults(model.shares());
  score.shares = model.shares();
  score.replayed = model.executable().replays();
  counting.finish();
  print(console, score, model.executable());
  const CsvRow row = csv_row(score);
  run.write(
      kSamplesSchema,
      [&](Document& document) {
        SampleScore::fields(score, document.members());
        document.list("classes", score.classes);
        document.list("misses", score.misses);
      },
      csv_line(row.columns) + csv_line(row.cells));
  if (!options.misses.empty()) write_result(options.misses, csv_of(score.misses));
  if (!options.logits.empty()) write_logits(options.logits, all, static_cast<int>(classes));
  if (const ExitCode code = run.end(); code != ExitCode::kOk) return code;
  if (score.not_numbers > 0)
    throw CheckError(concat(score.not_numbers, " of ", score.count,
                            " samples have outputs that are not numbers; look at the weights' values"));
  check_accuracy(options, score.share(score.correct));
  return ExitCode::kOk;
}

}  // namespace lenslet
