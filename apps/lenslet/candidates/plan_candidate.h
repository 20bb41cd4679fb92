// The whole model as a candidate: executables of different plans on one stream, with the same samples and the same
// judge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/model.h"
#include "apps/common/results/attempt.h"
#include "apps/lenslet/candidates/logits_check.h"
#include "apps/measuring/measure.h"
#include "framework/execution/executable.h"
#include "models/digit/image_dataset.h"

namespace lenslet {

/// Samples for batches of any size, with the reference's outputs. Slots get them in a random order that repeats after
/// a prime number of slots, so that no tile of a kernel sees the same samples again. Each round gives every slot
/// another sample. There are a few hundred; fewer, but two at least, of a network that the judge takes long for.
class BatchSamples {
 public:
  /// Drawn digits; for a network that reads something else random bytes. The graph must outlive this.
  BatchSamples(const Graph& graph, uint64_t seed);
  /// Images of the data set, chosen by the seed.
  BatchSamples(const Graph& graph, const ImageDataset& data, uint64_t seed);

  int64_t count() const noexcept { return expected_.count(); }
  int32_t sample_of(int64_t slot, int round) const noexcept;
  /// Fills `input`, in host memory, with the first slots of batch number `round`.
  void fill(TensorView input, int round) const;
  /// Fills the executable's input with batch number `round`. Synchronises.
  void load(Executable& executable, int round) const;
  /// The reference's outputs for samples that a pass reads as type `input`: packed pixels are rounded, so the judge
  /// reads them as rounded too. Judges those at their first use; not thread-safe.
  const ReferenceLogits& expected(ElementType input) const;

  /// Judges the answers of type `output` to batch number `round`, read as type `input`.
  Verdict judge(int round, ElementType input, ElementType output, int64_t batch,
                const std::vector<float>& answers, double bound) const;

  /// Slots of a batch for which judging every value between the layers is quick: all of a small batch, else both ends
  /// and some between them, which change every round.
  struct Slots {
    int64_t first = 0, count = 0;
  };
  std::vector<Slots> judged_slots(int64_t batch, int round) const;

 private:
  BatchSamples(const Graph& graph, std::vector<uint8_t> pixels, uint64_t seed);

  const Graph& graph_;
  Shape shape_;                  // of one sample
  std::vector<uint8_t> pixels_;  // [count, shape_]
  std::vector<int32_t> order_;   // by slot, in round 0
  ReferenceLogits expected_;
  mutable std::optional<ReferenceLogits> expected_of_packed_;
  int64_t all_judged_;  // batches up to this size are judged whole
};

/// For a whole pass, what Operator::products_saved() is for one layer.
double products_saved(const Executable& executable);

/// An executable, which must run on the stream that is timed (BuildOptions::stream).
class PlanCandidate : public Candidate {
 public:
  PlanCandidate(std::string name, std::unique_ptr<Executable> executable, const BatchSamples& samples)
      : name_(std::move(name)),
        executable_(std::move(executable)),
        samples_(samples),
        bound_(samples.expected(executable_->plan().input).bound(*executable_)) {}

  Executable& executable() noexcept { return *executable_; }
  std::string name() const override { return name_; }
  void load(int round, Stream&) override { samples_.load(*executable_, round); }
  /// The first run waits after every layer, so that a failing layer is reported by name.
  void run(Stream&) override { executable_->run_first_checked(); }
  float* output() override { return executable_->output().data; }
  size_t output_count() const override { return executable_->output().bytes() / sizeof(float); }
  /// Judges every slot.
  Verdict judge(int round, const std::vector<float>& output) override;

 private:
  std::string name_;
  std::unique_ptr<Executable> executable_;
  const BatchSamples& samples_;
  double bound_;
};

/// Calls of a Model with a batch of pixels, bytes or packed, and predictions, both in ordinary host memory.
class CallCandidate : public Candidate {
 public:
  CallCandidate(std::string name, Model model, int64_t batch, ElementType input, const BatchSamples& samples);

  Model& model() noexcept { return model_; }
  /// The executable of a full pass of the call.
  Executable& executable() { return model_.executable(std::min(batch_, model_.pass_size())); }
  /// Classifies `count` images in `images`, of the candidate's input type.
  void predict(const void* images, int64_t count, Prediction* predictions);
  std::string name() const override { return name_; }
  bool is_call() const override { return true; }
  void load(int round, Stream&) override;
  void run(Stream&) override { predict(images_.data(), batch_, predictions_.data()); }
  float* output() override { return reinterpret_cast<float*>(predictions_.data()); }
  size_t output_count() const override { return predictions_.size() * sizeof(Prediction) / sizeof(float); }
  Verdict judge(int round, const std::vector<float>& output) override;

 private:
  std::string name_;
  Model model_;
  int64_t batch_;
  ElementType input_;
  const BatchSamples& samples_;
  double bound_;
  std::vector<uint8_t> images_;
  std::vector<Prediction> predictions_;
};

/// Whether backends support each layer of a pass with these options. If not, an Executable of them refuses; it may also
/// refuse for other reasons, such as memory.
bool may_run(const Graph& graph, BuildOptions build);

/// Whole plans, prepared to be timed against each other on one stream.
class PlanTiming {
 public:
  PlanTiming(const Graph& graph, const BatchSamples& samples, Stream& stream)
      : graph_(graph), samples_(samples), stream_(stream) {}

  struct Prepared {
    std::unique_ptr<PlanCandidate> candidate;  // null if it cannot be prepared, or is a call
    std::unique_ptr<CallCandidate> call;       // the other kind
    NoResult refusal;                          // why there is neither

    Candidate* either() const noexcept {
      return candidate ? static_cast<Candidate*>(candidate.get()) : call.get();
    }
  };

  /// Prepares a plan. The reference is valid until the next call. Throws DeviceError if the device is lost.
  const Prepared& add(const std::string& name, BuildOptions build);
  /// Prepares calls of a model of these options that computes the same graph. The reference as for add().
  const Prepared& add_call(const std::string& name, const std::function<Model()>& make, int64_t batch,
                           ElementType input);
  /// Adds a plan that cannot run.
  void refuse(const std::string& reason);
  /// One measurement per plan, in order.
  std::vector<Measurement> measure(const MeasureOptions& options) const;

 private:
  const Prepared& prepare(const std::function<void(Prepared&)>& make);

  const Graph& graph_;
  const BatchSamples& samples_;
  Stream& stream_;
  std::vector<Prepared> plans_;
};

}  // namespace lenslet
