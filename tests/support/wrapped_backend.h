// Wraps a correct backend; a test overrides the faulty part.
#pragma once

#include <memory>
#include <optional>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// A prepared kernel that runs unchanged.
class WrappedKernel : public ConvKernel {
 public:
  explicit WrappedKernel(std::unique_ptr<ConvKernel> right) : right_(std::move(right)) {}
  size_t workspace_bytes() const override { return right_->workspace_bytes(); }
  std::optional<ConvAccuracy> accuracy() const override { return right_->accuracy(); }
  void convolve(const ConvArgs& args, RunContext& context) override { right_->convolve(args, context); }

 protected:
  ConvKernel& right() { return *right_; }

 private:
  std::unique_ptr<ConvKernel> right_;
};

/// Answers and prepares like `right`, which must outlive it.
class WrappedBackend : public ConvBackend {
 public:
  explicit WrappedBackend(const ConvBackend& right) : right_(right) {}
  bool takes(ElementType type) const override { return right_.takes(type); }
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const override {
    return right_.workspace_bytes(problem, math);
  }
  Support fuses_max_pool(const Conv2dProblem& problem, MathMode math,
                         const Pool2dWindow& window) const override {
    return right_.fuses_max_pool(problem, math, window);
  }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return right_.accuracy(problem, math);
  }

 protected:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    return right_.supports(problem, math);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return right_.prepare(request);
  }

 private:
  const ConvBackend& right_;
};

}  // namespace lenslet
