// A convolution backend whose device fails after a number of runs: a stand-in for oneDNN's module, told by
// LENSLET_TEST_RUNS_BEFORE_FAULT how many runs go well (with zeros for an answer). With LENSLET_TEST_FAULT_WHILE_PREPARING
// set it fails before the first.
#include <algorithm>
#include <cstdlib>

#include "framework/module.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {
namespace {

int runs_left() {
  const char* const text = std::getenv("LENSLET_TEST_RUNS_BEFORE_FAULT");
  return text == nullptr ? 0 : std::atoi(text);
}

class FaultyKernel : public ConvKernel {
 public:
  explicit FaultyKernel(int64_t outputs) : outputs_(outputs) {}
  void run(const ConvArgs& args, RunContext& /*context*/) override {
    static int left = runs_left();
    if (left-- <= 0) throw DeviceError("planted fault: the device fell off the bus");
    std::fill_n(args.y, outputs_, 0.0f);
  }

 private:
  int64_t outputs_;
};

class FaultyBackend : public ConvBackend {
 public:
  Support supports(const Conv2dProblem& /*problem*/, MathMode math) const override {
    return math == MathMode::kFp32 ? Support::yes() : Support::no("fp32 only");
  }
  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return {}; }
  std::unique_ptr<ConvKernel> prepare(const ConvPrepare& request) const override {
    if (std::getenv("LENSLET_TEST_FAULT_WHILE_PREPARING") != nullptr)
      throw DeviceError("planted fault: no kernel image for this device");
    return std::make_unique<FaultyKernel>(request.problem.output_shape().num_elements());
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_DEFINE_MODULE()

LENSLET_MODULE_EXPORT const lenslet::ConvBackend* lenslet_conv_backend() {
  static const lenslet::FaultyBackend backend;
  return &backend;
}

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  if (capacity > 0) libraries[0] = {"faulty", "0", "none"};
  return 1;
}
