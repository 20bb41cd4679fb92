// lenslet eval --backend-matrix: the answers of every combination of backends, compared with those of the first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/output/progress.h"
#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/row_table.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/eval/eval.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

constexpr const char* kMatrixSchema = "lenslet.matrix/1";
constexpr size_t kDifferencesShown = 20;                  // of a row, about a screen; --json has all
constexpr int64_t kDigitsAllowed = 3, kDigitsOf = 10000;  // tolerance of reduced precision

/// One combination of backends.
struct MatrixCase {
  std::string spec;     // "conv1=direct,conv2=winograd", "fused mma, uint8 in"
  BuildOptions build;   // without a plan
  std::string refusal;  // why it cannot run; empty if it can
};

BuildOptions layered(const Session& session, int64_t batch) {
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kLayered;
  return build;
}

// Every combination of supported backends for the layers that multiply; --backend fixes the layers it names.
void add_layered(const Session& session, int64_t batch, std::vector<MatrixCase>& cases,
                 std::vector<MatrixCase>& refused) {
  const BuildOptions build = layered(session, batch);
  const std::vector<TuneCandidate> candidates = tune_candidates(session.graph(), build);
  const std::vector<Graph::Node>& nodes = session.graph().nodes();
  std::vector<MatrixCase> grown = {{"", build, ""}};
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].layer || !nodes[i].layer->uses_math()) continue;
    const std::vector<MatrixCase> before = std::exchange(grown, {});
    for (const TuneCandidate& candidate : candidates) {
      if (candidate.nodes != std::vector<size_t>{i}) continue;
      const std::string choice = concat(nodes[i].name, "=", candidate.backend);
      if (candidate.status == row_status::kUnsupported) {
        refused.push_back({choice, build, candidate.reason});
        continue;
      }
      for (MatrixCase one : before) {
        one.spec += concat(one.spec.empty() ? "" : ",", choice);
        one.build.backends.set(nodes[i].name, candidate.backend);
        grown.push_back(std::move(one));
      }
    }
    if (grown.empty()) {
      throw UnavailableError(concat("no backend supports layer ", nodes[i].name, " in ",
                                    to_string(session.math()), " on ", session.device().to_string()));
    }
  }
  cases.insert(cases.end(), grown.begin(), grown.end());
}

// Every whole-network backend in every math mode, with every input that it supports.
void add_fused(const Session& session, int64_t batch, std::vector<MatrixCase>& cases,
               std::vector<MatrixCase>& refused) {
  const Graph& graph = session.graph();
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kFused;
  for (const std::string& backend : graph.network()->backends(session.device().kind)) {
    build.backends.set(graph.name(), backend);
    for (const MathMode math : kMathModes) {
      build.math = math;
      for (const ElementType input : {ElementType::kFp32, ElementType::kUint8}) {
        build.input = input;
        const Support support = graph.network()->supports(
            backend, graph.network_request(build.device, batch, math, input, build.output));
        (support ? cases : refused)
            .push_back({concat("fused ", backend, ", ", to_string(input), " in"), build, support.reason()});
      }
    }
  }
}

// In this order: the model in fp32, if --math is another mode; the combinations of the layers' backends; the
// whole-network plan, unless --backend or --plan layered excludes it; then what cannot run.
std::vector<MatrixCase> matrix_cases(const EvalOptions& options, const Session& session, int64_t batch) {
  std::vector<MatrixCase> cases, refused;
  if (session.math() != MathMode::kFp32) {
    cases.push_back({"auto", layered(session, batch), ""});
    cases.back().build.math = MathMode::kFp32;
    cases.back().build.backends = {};
  }
  const bool fused = options.plan != Plan::kLayered && options.backend.empty() && session.graph().network();
  try {
    add_layered(session, batch, cases, refused);
  } catch (const UnavailableError& error) {
    if (!fused) throw;
    refused.push_back({"layered", layered(session, batch), error.what()});
  }
  if (fused) add_fused(session, batch, cases, refused);
  cases.insert(cases.end(), refused.begin(), refused.end());
  return cases;
}

/// One image that two combinations classify differently.
struct Difference {
  int64_t index = 0;
  int label = 0;
  int first_class = 0, this_class = 0;
  double first_margin = 0, this_margin = 0;  // largest logit minus the second largest

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("index", self.index)("label", self.label);
    v("first_class", self.first_class)("first_margin", self.first_margin);
    v("this_class", self.this_class)("this_margin", self.this_margin);
  }
};

struct MatrixRow {
  std::string spec;  // MatrixCase::spec
  MathMode math = MathMode::kFp32;
  std::string status = row_status::kPassed;
  std::string reason;
  int64_t correct = 0;
  double max_logit_difference = 0;
  double images_per_s = NAN;
  std::vector<Difference> differences;

  bool ran() const { return std::isfinite(images_per_s); }

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const auto where_it_ran = [&](auto value) { return self.ran() ? std::optional(value) : std::nullopt; };
    v("backends", self.spec)("math", self.math)("status", self.status)("reason", self.reason);
    v("correct", where_it_ran(self.correct));
    v.column("differing", where_it_ran(self.differences.size()));
    v("max_logit_difference", where_it_ran(self.max_logit_difference));
    v("images_per_s", self.images_per_s)("differences", self.differences);
  }
};

double margin(const float* logits) {
  float best = -INFINITY, second = -INFINITY;
  for (int i = 0; i < kLenet5Classes; ++i) {
    if (logits[i] > best) {
      second = best;
      best = logits[i];
    } else if (logits[i] > second) {
      second = logits[i];
    }
  }
  return static_cast<double>(best) - static_cast<double>(second);
}

void compare(const std::vector<float>& first, const std::vector<float>& logits, const ImageDataset& data,
             MatrixRow& row) {
  for (size_t i = 0; i < first.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(first[i]) - static_cast<double>(logits[i]));
    // Keeps a NaN, which std::max would drop.
    if (!(difference <= row.max_logit_difference)) row.max_logit_difference = difference;
  }
  const size_t images = first.size() / kLenet5Classes;
  for (size_t i = 0; i < images; ++i) {
    const float* const a = first.data() + i * kLenet5Classes;
    const float* const b = logits.data() + i * kLenet5Classes;
    const int class_a = predicted_class(a, kLenet5Classes), class_b = predicted_class(b, kLenet5Classes);
    if (class_a != class_b) {
      row.differences.push_back(
          {static_cast<int64_t>(i), data.labels[i], class_a, class_b, margin(a), margin(b)});
    }
  }
}

/// Runs one combination and fills in the row. The first that runs stores its logits in `first`, the standard.
void run_case(const Session& session, const BuildOptions& build, const ImageDataset& data, int64_t count,
              std::vector<float>& first, MatrixRow& row) {
  attempt(row, [&] {
    BuildOptions pass = build;
    pass.cuda_graph = session.setup().replays(pass);
    Model model = session.model(pass);
    model.executable().run_checked();  // the first call is not timed, nor the one that is captured
    if (model.executable().will_replay()) {
      model.executable().run();
      model.executable().stream().synchronise();
    }
    BatchRun run;
    run_images(model, data, count, run);
    if (run.count < count) throw InterruptedError(why_unmeasured());
    const Evaluation evaluation = evaluate(run.logits, data, count);
    row.correct = evaluation.correct;
    row.images_per_s = static_cast<double>(count) / run.wall_ns * 1e9;
    if (evaluation.not_numbers > 0) {
      row.status = row_status::kFailed;
      row.reason = concat(evaluation.not_numbers, " images have logits that are not numbers");
    }
    if (first.empty()) first = run.logits;
    compare(first, run.logits, data, row);
  });
}

void print_rows(Console& console, const std::vector<MatrixRow>& rows) {
  const auto where_it_ran = [](auto&& cell) {
    return [cell](const MatrixRow& row) { return row.ran() ? cell(row) : std::string("-"); };
  };
  TableOf<MatrixRow> table;
  table.words("backends", &MatrixRow::spec);
  table.words("math", [](const MatrixRow& row) { return to_string(row.math); }).key();
  table.number("correct", where_it_ran([](const MatrixRow& row) { return format_count(row.correct); }));
  table.number("differ",
               where_it_ran([](const MatrixRow& row) { return std::to_string(row.differences.size()); }));
  table.number("max |logit diff|",
               where_it_ran([](const MatrixRow& row) { return format_short(row.max_logit_difference); }));
  table.number("images/s", &MatrixRow::images_per_s, format_rate);
  table.words("status", &MatrixRow::status).note("reason", [](const MatrixRow& row) { return row.reason; });
  console.print(table.of(rows));
  for (const MatrixRow& row : rows) {
    for (size_t i = 0; i < row.differences.size() && i < kDifferencesShown; ++i) {
      const Difference& d = row.differences[i];
      console.line(concat(row.spec, ", ", to_string(row.math), ": image ", d.index, " (label ", d.label,
                          ") read as ", d.this_class, " with margin ", format_short(d.this_margin),
                          ", the first row ", d.first_class, " with margin ", format_short(d.first_margin)));
    }
  }
}

// Why the row's number of correct digits is wrong; empty if it is right. In fp32 it must equal the standard's, in a
// reduced math mode be close to it.
std::string judge_count(const EvalOptions& options, const MatrixRow& row, const MatrixRow& standard,
                        int64_t count) {
  const int64_t max_apart = row.math == standard.math && row.math == MathMode::kFp32
                                ? 0
                                : std::max(kDigitsAllowed, kDigitsAllowed * count / kDigitsOf);
  if (standard.math == MathMode::kFp32 && std::abs(row.correct - standard.correct) > max_apart) {
    return concat("counts ", row.correct, " correct, ", standard.spec, " in fp32 counts ", standard.correct,
                  max_apart > 0 ? concat(": more than ", max_apart, " apart") : std::string());
  }
  if (options.min_accuracy &&
      static_cast<double>(row.correct) < *options.min_accuracy * static_cast<double>(count)) {
    return concat("below --min-accuracy ", *options.min_accuracy);
  }
  return {};
}

// The row in which the device failed, or null.
const MatrixRow* failed_at(const std::vector<MatrixRow>& rows) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const MatrixRow& one) { return one.status == row_status::kError; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

ExitCode run_backend_matrix(const EvalOptions& options, const Session& session, const ImageDataset& data,
                            int64_t count, Run& run) {
  const std::vector<MatrixCase> cases = matrix_cases(options, session, eval_batch(session, count));
  std::vector<MatrixRow> rows;
  std::vector<float> first;
  {
    ProgressBar bar("combinations", static_cast<int64_t>(cases.size()));
    for (const MatrixCase& one : cases) {
      MatrixRow row;
      row.spec = one.spec;
      row.math = one.build.math;
      if (!one.refusal.empty()) {
        row.status = row_status::kUnsupported;
        row.reason = one.refusal;
      } else if (interrupted() || failed_at(rows)) {
        continue;  // after a CUDA fault every later call also fails
      } else {
        run_case(session, one.build, data, count, first, row);
      }
      rows.push_back(std::move(row));
      bar.update(static_cast<int64_t>(rows.size()));
    }
  }
  const auto standard =
      std::find_if(rows.begin(), rows.end(), [](const MatrixRow& row) { return row.ran(); });
  const bool any_ran = standard != rows.end();
  bool failed = false;
  for (MatrixRow& row : rows) {
    if (row.ran()) {
      const std::string wrong = judge_count(options, row, *standard, count);
      if (!wrong.empty()) {
        row.status = row_status::kFailed;
        row.reason = wrong;
      }
    }
    failed = failed || row.status == row_status::kFailed;
  }
  run.guard([&] {
    if (const MatrixRow* const row = failed_at(rows)) throw DeviceError(concat(row->spec, ": ", row->reason));
  });
  print_rows(run.console(), rows);
  const auto body = [&](Document& document) {
    evaluated_fields(document.members(), session, data, options.split);
    document.members()("count", count);
    document.list("rows", rows);
  };
  run.write(kMatrixSchema, body, csv_of(rows));
  if (const ExitCode code = run.end(); code != ExitCode::kOk) return code;
  if (!any_ran) throw UnavailableError("no combination of backends could run; the table has the reasons");
  return failed ? ExitCode::kCheckFailed : ExitCode::kOk;
}

}  // namespace lenslet
