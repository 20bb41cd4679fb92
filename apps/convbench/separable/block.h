// A depthwise-separable block as a contender: a 3x3 convolution per channel, then a 1x1 convolution across channels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/convbench/options.h"
#include "apps/measuring/contender.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

/// As many output channels as input channels, square images, 3x3 with padding 1.
struct SeparableShape {
  int batch = 1, channels = 1, size = 1;
  Conv2dProblem standard() const;
  Conv2dProblem depthwise() const;
  Conv2dProblem pointwise() const;
};

class SeparableBlock : public Contender {
 public:
  /// Prepares both convolutions. Throws UnavailableError, MemoryError.
  SeparableBlock(std::string name, const SeparableShape& shape, TensorLayout layout,
                 const ConvBackend& depthwise, const ConvBackend& pointwise, const BenchOptions& options,
                 Stream& stream);

  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override;
  void run(Stream& stream) override;
  float* output() override { return static_cast<float*>(memory_->block(kOutput)); }
  size_t output_count() const override { return static_cast<size_t>(pointwise_judge_.outputs()); }
  Verdict judge(int round, const std::vector<float>& output) override;

  std::vector<LaunchResources> launches() const;
  std::string detail() const;
  size_t workspace_bytes() const;

 private:
  enum Block : size_t { kInput, kBetween, kOutput, kWorkspace };
  /// The expected value of one output in fp64, and its error bound.
  struct Expected {
    int64_t index = 0;
    double value = 0, bound = 0;
  };
  std::vector<Expected> expected_of(const ConvCase& data, const std::vector<float>& x_nchw,
                                    uint64_t seed) const;

  std::string name_;
  Conv2dProblem depthwise_, pointwise_;
  ConvAccuracy depthwise_accuracy_, pointwise_accuracy_;
  uint64_t seed_;
  ConvJudge depthwise_judge_, pointwise_judge_;  // of the two convolutions; together they judge the block
  Stream& stream_;
  DevicePrepareServices services_;
  std::unique_ptr<ConvKernel> depthwise_kernel_, pointwise_kernel_;
  std::optional<reference::GuardedMemory> memory_;
  std::vector<float> x_;  // of the loaded round
  std::vector<Expected> expected_;
  int loaded_ = -1;
};

}  // namespace lenslet
