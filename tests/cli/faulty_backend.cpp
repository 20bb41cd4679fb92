// A convolution backend whose device fails after a number of runs: a stand-in for oneDNN's module, told by
// LENSLET_TEST_RUNS_BEFORE_FAULT how many runs go well (with zeros for an answer). With
// LENSLET_TEST_FAULT_WHILE_PREPARING set it fails before the first.
#include <algorithm>
#include <cstdlib>

#include "tests/support/faulty_module.h"

namespace lenslet {
namespace {

class FaultyKernel : public ConvKernel {
 public:
  explicit FaultyKernel(int64_t outputs) : outputs_(outputs) {}
  void run(const ConvArgs& args, RunContext& /*context*/) override {
    static int left = runs_before_fault();
    if (left-- <= 0) throw DeviceError("planted fault: the device fell off the bus");
    std::fill_n(args.y, outputs_, 0.0f);
  }

 private:
  int64_t outputs_;
};

class LostDeviceBackend : public FaultyBackend {
 public:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    if (std::getenv("LENSLET_TEST_FAULT_WHILE_PREPARING") != nullptr)
      throw DeviceError("planted fault: no kernel image for this device");
    return std::make_unique<FaultyKernel>(request.problem.output_shape().num_elements());
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_MODULE_EXPORT const lenslet::ConvBackend* lenslet_conv_backend() {
  static const lenslet::LostDeviceBackend backend;
  return &backend;
}
