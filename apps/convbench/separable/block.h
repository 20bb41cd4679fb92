// A depthwise-separable block as a candidate: a 3x3 convolution per channel, then a 1x1 convolution across channels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/convbench/bench/study_task.h"
#include "apps/convbench/session/options.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_judge.h"

namespace lenslet {

/// As many output channels as input channels, square images, 3x3 with padding 1.
struct SeparableShape {
  int batch = 1, channels = 1, size = 1;
  Conv2dProblem standard() const;
  Conv2dProblem depthwise() const;
  Conv2dProblem pointwise() const;
};

class SeparableBlock : public StudyTask {
 public:
  /// Prepares both convolutions and allocates memory. Throws UnavailableError, MemoryError.
  SeparableBlock(const SeparableShape& shape, TensorLayout layout, const ConvBackend& depthwise,
                 const ConvBackend& pointwise, const BenchOptions& options, Stream& stream);

  /// Enqueues both convolutions.
  void run(Stream& stream);
  size_t output_count() const override { return static_cast<size_t>(pointwise_judge_.outputs()); }

  std::vector<LaunchResources> launches() const;
  std::string detail() const;
  size_t workspace_bytes() const;

 protected:
  void fill(int round, Stream& stream) override;
  std::vector<Expected> answers(int answer) const override;

 private:
  enum Block : size_t { kInput, kBetween, kWorkspace = kOutput + 1 };

  Conv2dProblem depthwise_, pointwise_;
  ConvAccuracy depthwise_accuracy_, pointwise_accuracy_;
  ConvJudge depthwise_judge_, pointwise_judge_;  // of the two convolutions; together they judge the block
  DevicePrepareServices services_;
  std::unique_ptr<ConvKernel> depthwise_kernel_, pointwise_kernel_;
  ConvCase data_;  // of the input loaded last
  uint64_t data_seed_ = 0;
};

}  // namespace lenslet
