// A stand-in for oneDNN's module: a convolution backend that writes zeros and fails after
// LENSLET_TEST_RUNS_BEFORE_FAULT runs, or already in preparation with LENSLET_TEST_FAULT_WHILE_PREPARING.
#include <algorithm>
#include <cstdlib>

#include "tests/support/faulty_module.h"

namespace lenslet {
namespace {

class FaultyKernel : public ConvKernel {
 public:
  explicit FaultyKernel(int64_t outputs) : outputs_(outputs) {}
  void convolve(const ConvArgs& args, RunContext& /*context*/) override {
    static int left = runs_before_fault();
    if (left-- <= 0) throw DeviceError("planted fault: the device fell off the bus");
    std::fill_n(args.y, outputs_, 0.0f);
  }

 private:
  int64_t outputs_;
};

class LostDeviceBackend : public FaultyBackend {
 private:
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
