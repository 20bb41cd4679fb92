// The device of a program that is compiled once for each kind: LENSLET_TEST_DEVICE.
#pragma once

#include "tests/support/gpu.h"

namespace lenslet {

constexpr Device kDevice{LENSLET_TEST_DEVICE, 0};

/// Skips its tests, with the reason, without that device. `Base`: testing::Test, or testing::TestWithParam<...>.
template <typename Base = testing::Test>
class DeviceTest : public Base {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
  }
};

}  // namespace lenslet
