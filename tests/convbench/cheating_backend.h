// A right kernel wrapped by a cheat, on the device that the test was compiled for.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "framework/tensor.h"
#include "layers/conv/conv_registry.h"

namespace lenslet {

constexpr DeviceKind kDevice = LENSLET_TEST_DEVICE;

/// A right kernel in the hands of a cheat, with what the cheat remembers.
struct Victim {
  ConvKernel& kernel;
  Conv2dProblem problem;
  int number;                     // of its backend's kernels, in the order in which they were prepared
  std::shared_ptr<void> cache;    // device memory of an output
  std::shared_ptr<Stream> other;  // another stream than the one that is timed
  std::shared_ptr<std::thread> thread;
  int64_t calls = 0;

  size_t output_bytes() const { return problem.output_shape().bytes(); }
};
using Cheat = std::function<void(Victim&, const ConvArgs&, RunContext&)>;

class CheatingKernel : public ConvKernel {
 public:
  CheatingKernel(const ConvPrepare& request, std::unique_ptr<ConvKernel> kernel, const Cheat& cheat,
                 int number)
      : kernel_(std::move(kernel)), cheat_(cheat), victim_{*kernel_, request.problem, number, {}, {}, {}} {
    victim_.cache = request.services.allocate(victim_.output_bytes());
    victim_.other = std::make_shared<Stream>(request.stream.device());
  }
  ~CheatingKernel() override {
    if (victim_.thread) victim_.thread->join();
  }
  size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::optional<ConvAccuracy> accuracy() const override {
    return accuracy_of_sums(victim_.problem, MathMode::kFp32);
  }
  void run(const ConvArgs& args, RunContext& context) override {
    cheat_(victim_, args, context);
    ++victim_.calls;
  }

 private:
  std::unique_ptr<ConvKernel> kernel_;
  const Cheat& cheat_;
  Victim victim_;
};

class CheatingBackend : public ConvBackend {
 public:
  explicit CheatingBackend(Cheat cheat) : cheat_(std::move(cheat)) {}
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    return honest().supports(problem, math);
  }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const override {
    return honest().workspace_bytes(problem, math);
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    ConvAccuracy any_choice = honest().accuracy(problem, math);
    any_choice.constant *= 1e6;  // what was chosen, honest(), tells less
    return any_choice;
  }
  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const override {
    return std::make_unique<CheatingKernel>(request, honest().prepare(request), cheat_, prepared_++);
  }

 private:
  static const ConvBackend& honest() { return find_conv_backend(kDevice, "direct").open(); }
  Cheat cheat_;
  mutable int prepared_ = 0;
};

inline void work(Victim& victim, const ConvArgs& args, RunContext& context) {
  victim.kernel.run(args, context);
}

/// Writes something wrong over the first output.
inline void spoil(const ConvArgs& args, RunContext& context) {
  fill_bytes(args.y, context.stream.device(), 0x40, sizeof(float), context.stream);
}

}  // namespace lenslet
