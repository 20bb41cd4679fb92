#include "apps/lenslet/candidates/layer_timing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "apps/common/results/attempt.h"
#include "apps/common/system/signals.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

// Equal for regions whose candidates differ only in weights and names, so that their times are the same.
std::string kind_of(const Graph& graph, const std::vector<TuneCandidate>& candidates,
                    std::pair<size_t, size_t> region) {
  std::string kind;
  for (size_t i = region.first; i < region.second; ++i) {
    const TuneCandidate& candidate = candidates[i];
    kind += concat(candidate.backend, candidate.status == row_status::kUnsupported ? " not" : "", " at ",
                   candidate.nodes[0] - candidates[region.first].nodes[0], ": ");
    for (const size_t node : candidate.nodes) {
      const Layer& layer = *graph.nodes()[node].layer;
      kind += concat(layer.type(), " ", layer.describe(), ", ");
    }
    for (const Shape& input : candidate.request.inputs) kind += concat(input.to_string(), ", ");
    kind += concat(candidate.request.output.to_string(), "\n");
  }
  return kind;
}

// Copies the measurement of `from` to a candidate of the same kind.
void copy_measured(const TuneCandidate& from, TuneCandidate& to) {
  to.status = from.status;
  to.reason = from.reason;
  to.noise = from.noise;
  to.time = from.time;
  to.choice = from.choice;
  to.detail = from.detail;
  to.workspace_bytes = from.workspace_bytes;
}

}  // namespace

std::vector<LayerFinding> measure_layers(const MeasureOptions& options, LayerStage& stage,
                                         std::vector<TuneCandidate>& candidates,
                                         const std::function<void(int64_t)>& progress) {
  std::vector<LayerFinding> findings(candidates.size());
  size_t largest = 0;
  for (const TuneCandidate& candidate : candidates)
    largest = std::max(largest, candidate.request.output.bytes());
  std::map<std::string, size_t> measured_at;  // by kind: the first candidate of the region
  for (const auto& region : tune_regions(candidates)) {
    const auto [known, is_new] =
        measured_at.emplace(kind_of(stage.graph(), candidates, region), region.first);
    for (size_t i = region.first; !is_new && i < region.second; ++i) {
      const size_t from = known->second + (i - region.first);
      copy_measured(candidates[from], candidates[i]);
      findings[i] = findings[from];
    }
    if (!is_new) continue;
    std::vector<std::unique_ptr<LayerCandidate>> prepared;
    std::vector<Candidate*> timed;
    std::vector<size_t> rows;
    for (size_t i = region.first; i < region.second && !interrupted(); ++i) {
      TuneCandidate& candidate = candidates[i];
      if (candidate.status == row_status::kUnsupported) continue;
      attempt(candidate, stage.stream(), [&] {
        auto layer = std::make_unique<LayerCandidate>(candidate, stage);
        candidate.choice = layer->op().choice();
        candidate.detail = layer->op().detail();
        candidate.workspace_bytes = layer->op().workspace_bytes();
        findings[i].products_saved = layer->op().products_saved();
        stage.book(largest, candidate.workspace_bytes);
        timed.push_back(layer.get());
        rows.push_back(i);
        prepared.push_back(std::move(layer));
      });
    }
    if (timed.empty()) continue;
    const std::vector<Measurement> measured = measure(timed, stage.stream(), options);
    for (size_t i = 0; i < rows.size(); ++i) {
      take_over(measured[i], candidates[rows[i]]);
      findings[rows[i]].error = measured[i].error;
    }
    if (progress) progress(static_cast<int64_t>(region.second));
  }
  return findings;
}

}  // namespace lenslet
