#include "apps/lenslet/doctor/model_test.h"

#include <cstdint>
#include <memory>
#include <string>

#include "apps/common/output/progress.h"
#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/candidates/layer_candidate.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "framework/base/error.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/poison.h"
#include "layers/reference/subjects.h"

namespace lenslet {
namespace {

constexpr int64_t kBatch = 3;  // a batch, but no multiple of what kernels compute together

ResultRow row_for(Device device, const std::string& what, const std::string& backend) {
  ResultRow row;
  row.name = concat(device.to_string(), " ", what, " ", backend);
  row.backend = backend;
  return row;
}

// One run on input 0, over NaN.
void judge(Candidate& candidate, Stream& stream, ResultRow& row) {
  fill_bytes(candidate.output(), stream.device(), kNanByte, candidate.output_count() * sizeof(float), stream);
  candidate.load(0, stream);
  candidate.run(stream);
  std::vector<float> found;
  for (const Candidate::Part& part : candidate.judged(0)) {
    const size_t before = found.size();
    found.resize(before + part.count);
    copy_bytes(found.data() + before, Device::cpu(), candidate.output() + part.first, stream.device(),
               part.count * sizeof(float), stream);
  }
  stream.synchronise();
  const Verdict verdict = candidate.judge(0, found);
  row.status = verdict.passed ? row_status::kPassed : row_status::kFailed;
  row.reason = verdict.reason;
  row.error = verdict.error;
}

ResultRow layer_row(const TuneCandidate& candidate, LayerStage& stage, bool uses_math) {
  const std::vector<Graph::Node>& nodes = stage.graph().nodes();
  const Graph::Node& head = nodes[candidate.nodes[0]];
  ResultRow row = row_for(stage.stream().device(), head.name, candidate.backend);
  for (size_t i = 1; i < candidate.nodes.size(); ++i)
    row.name += concat(i == 1 ? " with " : ", ", nodes[candidate.nodes[i]].name);
  row.problem = concat(head.layer->type(), " ", head.layer->describe());
  if (uses_math) row.math = to_string(candidate.request.math);
  if (candidate.status == row_status::kUnsupported) {
    row.status = row_status::kUnsupported;
    row.reason = candidate.reason;
    return row;
  }
  attempt(row, stage.stream(), [&] {
    LayerCandidate layer(candidate, stage);
    stage.book(candidate.request.output.bytes(), layer.op().workspace_bytes());
    judge(layer, stage.stream(), row);
  });
  return row;
}

void test_layers(LayerStage& stage, BuildOptions build, std::vector<ResultRow>& rows) {
  for (const MathMode math : kMathModes) {
    build.math = math;
    const std::vector<TuneCandidate> candidates = tune_candidates(stage.graph(), build);
    ProgressBar bar(concat("layers, ", to_string(math)), static_cast<int64_t>(candidates.size()));
    for (size_t i = 0; i < candidates.size() && !interrupted(); ++i) {
      const bool uses_math = stage.graph().nodes()[candidates[i].nodes[0]].layer->uses_math();
      // A layer without products computes the same in every mode.
      const bool offered = uses_math && candidates[i].status != row_status::kUnsupported;
      if (math == MathMode::kFp32 || offered) rows.push_back(layer_row(candidates[i], stage, uses_math));
      bar.update(static_cast<int64_t>(i) + 1);
    }
  }
}

void test_passes(const Graph& graph, BuildOptions build, const BatchSamples& samples, Stream& stream,
                 std::vector<ResultRow>& rows) {
  const auto test = [&](const std::string& what, const std::string& backend) {
    if (interrupted()) return;
    ResultRow& row = rows.emplace_back(row_for(stream.device(), what, backend));
    row.math = to_string(build.math);
    attempt(row, stream, [&] {
      PlanCandidate pass(row.name, std::make_unique<Executable>(graph, build), samples);
      judge(pass, stream, row);
    });
  };
  build.stream = &stream;
  build.execution = Plan::kLayered;
  test("whole pass,", "layered");
  if (!graph.network()) return;
  build.execution = Plan::kFused;
  for (const std::string& backend : graph.network()->backends(stream.device().kind)) {
    build.backends.set(graph.name(), backend);
    test("whole pass, fused", backend);
  }
}

}  // namespace

std::vector<ResultRow> model_test(const Graph& graph, const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  if (!options.target.usable) return rows;
  const DeviceGuard guard(options.target.device);
  Stream stream(options.target.device);
  BuildOptions build;
  build.device = options.target.device;
  build.batch = kBatch;
  build.workspace_limit = options.workspace_limit;
  try {
    const BatchSamples samples(graph, options.seed);
    LayerStage stage(graph, build, samples, stream);
    test_layers(stage, build, rows);
    test_passes(graph, build, samples, stream, rows);
  } catch (const InterruptedError&) {
    // The signal came while the samples' answers were computed: the finished rows are kept.
  }
  return rows;
}

}  // namespace lenslet
