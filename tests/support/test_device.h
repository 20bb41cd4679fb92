// The device of a program whose tests are linked twice, for each kind of device: with lenslet_test_on_cpu or with
// lenslet_test_on_gpu.
#pragma once

#include "tests/support/gpu.h"

namespace lenslet {

extern const Device kDevice;

/// Skips its tests, with the reason, without that device. `Base`: testing::Test, or testing::TestWithParam<...>.
template <typename Base = testing::Test>
class DeviceTest : public Base {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
  }
};

}  // namespace lenslet
