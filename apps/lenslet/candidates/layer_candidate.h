// One operator of a graph as a candidate: a layer, alone or with fused layers, on its inputs within a pass.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/lenslet/candidates/layer_bound.h"
#include "apps/lenslet/candidates/plan_candidate.h"
#include "apps/measuring/candidate.h"
#include "framework/execution/executable.h"
#include "framework/execution/tuner.h"
#include "layers/reference/reference.h"

namespace lenslet {

/// A pass of unfused layers that keeps all activations, which are the candidates' inputs. Candidates run one after
/// another, so they share one output and one workspace.
class LayerStage {
 public:
  /// Throws UnavailableError if a layer has no backend, MemoryError if the activations of all layers do not fit.
  LayerStage(const Graph& graph, const BuildOptions& build, const BatchSamples& samples, Stream& stream);

  const Graph& graph() const noexcept { return graph_; }
  Stream& stream() noexcept { return stream_; }
  /// Runs the pass on batch number `round`, unless that is the current one.
  void load(int round);
  /// The inputs of node `node`.
  std::vector<ConstTensorView> inputs_of(size_t node);
  void book(size_t output_bytes, size_t workspace_bytes);
  float* output() noexcept { return output_.as<float>(); }
  void* workspace() noexcept { return workspace_.data(); }

  /// The reference values of a node's output, for the judged slots of that round.
  struct Answer {
    std::vector<Shape> shapes;          // of the inputs, for the judged slots
    std::vector<std::vector<float>> x;  // the inputs
    reference::Result result;
    int64_t terms = 0;
    std::vector<LayerInput> inputs() const {
      std::vector<LayerInput> all;
      for (size_t i = 0; i < x.size(); ++i) all.push_back({shapes[i], x[i].data()});
      return all;
    }
  };
  const Answer& answer(size_t node, int round);
  const BatchSamples& samples() const noexcept { return samples_; }

 private:
  const Graph& graph_;
  const BatchSamples& samples_;
  Stream& stream_;
  int64_t batch_;
  Executable executable_;
  Buffer output_, workspace_;
  int loaded_ = -1;
  std::map<std::pair<size_t, int>, Answer> answers_;
};

class LayerCandidate : public Candidate {
 public:
  /// Prepares the operator. The text of an exception is the candidate's reason.
  LayerCandidate(const TuneCandidate& candidate, LayerStage& stage);

  const Operator& op() const noexcept { return *operator_; }
  size_t output_bytes() const noexcept { return candidate_.request.output.bytes(); }
  std::string name() const override {
    return concat("layer ", stage_.graph().nodes()[candidate_.nodes.front()].name, " (", candidate_.backend,
                  ")");
  }
  void load(int round, Stream&) override;
  void run(Stream& stream) override;
  float* output() override { return stage_.output(); }
  size_t output_count() const override { return output_bytes() / sizeof(float); }
  std::vector<Part> judged(int round) const override;
  Verdict judge(int round, const std::vector<float>& output) override;

 private:
  const TuneCandidate& candidate_;
  LayerStage& stage_;
  std::unique_ptr<Operator> operator_;
  std::vector<ConstTensorView> inputs_;
};

}  // namespace lenslet
