#include "apps/lenslet/candidates/layer_candidate.h"

#include <cmath>

#include "apps/measuring/verdict.h"
#include "layers/reference/compare.h"

namespace lenslet {
namespace {

BuildOptions all_kept(BuildOptions build, Stream& stream) {
  build.fuse = false;
  build.keep_activations = true;
  build.stream = &stream;
  return build;
}

}  // namespace

LayerStage::LayerStage(const Graph& graph, const BuildOptions& build, const BatchSamples& samples,
                       Stream& stream)
    : graph_(graph),
      samples_(samples),
      stream_(stream),
      batch_(build.batch),
      executable_(graph, all_kept(build, stream)) {}

void LayerStage::load(int round) {
  if (loaded_ == round) return;
  samples_.load(executable_, round);
  executable_.run();
  stream_.synchronise();
  loaded_ = round;
}

std::vector<ConstTensorView> LayerStage::inputs_of(size_t node) {
  std::vector<ConstTensorView> inputs;
  for (const int input : graph_.nodes()[node].inputs) {
    const Graph::Node& read = graph_.nodes()[static_cast<size_t>(input)];
    inputs.push_back(read.layer ? executable_.activation(read.name) : ConstTensorView(executable_.input()));
  }
  return inputs;
}

void LayerStage::book(size_t output_bytes, size_t workspace_bytes) {
  if (output_.bytes() < output_bytes) output_ = Buffer(executable_.device(), output_bytes);
  if (workspace_.bytes() < workspace_bytes) workspace_ = Buffer(executable_.device(), workspace_bytes);
}

const LayerStage::Answer& LayerStage::answer(size_t node, int round) {
  const auto known = answers_.find({node, round});
  if (known != answers_.end()) return known->second;
  load(round);
  Answer answer;
  for (const ConstTensorView& input : inputs_of(node)) {
    const size_t slot_size = static_cast<size_t>(input.shape.num_elements() / batch_);
    std::vector<float>& x = answer.x.emplace_back();
    int64_t slots = 0;
    for (const BatchSamples::Slots& part : samples_.judged_slots(batch_, round)) {
      x.resize(static_cast<size_t>(slots + part.count) * slot_size);
      copy_bytes(x.data() + static_cast<size_t>(slots) * slot_size, Device::cpu(),
                 input.data + static_cast<size_t>(part.first) * slot_size, input.device,
                 static_cast<size_t>(part.count) * slot_size * sizeof(float), stream_);
      slots += part.count;
    }
    answer.shapes.push_back(input.shape.with_batch(slots));
  }
  stream_.synchronise();
  answer.result = reference_layer(*graph_.nodes()[node].layer, answer.inputs(), answer.terms);
  return answers_.emplace(std::make_pair(node, round), std::move(answer)).first->second;
}

LayerCandidate::LayerCandidate(const TuneCandidate& candidate, LayerStage& stage)
    : candidate_(candidate),
      stage_(stage),
      operator_(stage.graph().nodes()[candidate.nodes[0]].layer->prepare(*candidate.entry, candidate.request,
                                                                         stage.stream())),
      inputs_(stage.inputs_of(candidate.nodes[0])) {
  stage_.stream().synchronise();
}

void LayerCandidate::load(int round, Stream&) { stage_.load(round); }

void LayerCandidate::run(Stream& stream) {
  RunContext context{stream, stage_.workspace(), nullptr};
  operator_->run(inputs_, {stage_.output(), candidate_.request.output, stream.device()}, context);
}

std::vector<Candidate::Part> LayerCandidate::judged(int round) const {
  const int64_t batch = candidate_.request.output[0];
  const size_t a_slot = output_count() / static_cast<size_t>(batch);
  std::vector<Part> parts;
  for (const BatchSamples::Slots& slots : stage_.samples().judged_slots(batch, round)) {
    parts.push_back({static_cast<size_t>(slots.first) * a_slot, static_cast<size_t>(slots.count) * a_slot});
  }
  return parts;
}

Verdict LayerCandidate::judge(int round, const std::vector<float>& output) {
  const LayerStage::Answer& answer = stage_.answer(candidate_.nodes[0], round);
  reference::Result expected = answer.result;
  const Layer& head = *stage_.graph().nodes()[candidate_.nodes[0]].layer;
  std::vector<double> allowed = layer_bounds(head, *candidate_.entry, candidate_.request.math,
                                             answer.inputs(), answer.result, answer.terms);
  for (size_t i = 1; i < candidate_.nodes.size(); ++i) {
    apply_fused(*stage_.graph().nodes()[candidate_.nodes[i]].layer, expected, allowed);
  }
  if (output.size() != expected.values.size()) {
    Verdict verdict;
    verdict.reason = concat("the reference has ", expected.values.size(), " outputs, found ", output.size());
    return verdict;
  }
  reference::Comparison comparison;
  for (size_t i = 0; i < output.size(); ++i) {
    comparison.add(static_cast<int64_t>(i), output[i], expected.values[i], allowed[i]);
  }
  return verdict_of(comparison);
}

}  // namespace lenslet
