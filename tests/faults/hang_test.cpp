// Every wait for a hanging GPU ends after LENSLET_DEVICE_TIMEOUT. The process then has lost its GPU, so each wait is
// tested in a separate process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "framework/gpu_side.h"
#include "framework/tensor/tensor.h"
#include "models/fused_lenet5/polled.h"
#include "models/fused_lenet5/resident.h"
#include "models/lenet5.h"
#include "tests/support/gpu.h"
#ifdef LENSLET_HAS_CUDA
#include "tests/faults/hanging_kernel.h"
#else
namespace lenslet {
void enqueue_hang(Stream&, bool) {}
}  // namespace lenslet
#endif

namespace lenslet {
namespace {

// More than the runtime copies to a buffer of its own before it returns.
constexpr size_t kBytes = size_t{4} << 20;
constexpr int kTimedOut = 3, kReturned = 4;

/// Ends the process: with kTimedOut, and the reason on stderr, if `wait` loses the device.
template <typename Wait>
[[noreturn]] void end_with(Wait&& wait) {
  try {
    wait();
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(kTimedOut);
  }
  _exit(kReturned);
}

class Hang : public testing::Test {
 protected:
  void SetUp() override {
    LENSLET_SKIP_WITHOUT_GPU();
    testing::FLAGS_gtest_death_test_style = "threadsafe";  // a forked process cannot use CUDA
    setenv("LENSLET_DEVICE_TIMEOUT", "1", 1);
  }
  template <typename Wait>
  static void expect_timeout(Wait&& wait) {
    EXPECT_EXIT(end_with(wait), testing::ExitedWithCode(kTimedOut), "did not finish within 1 s");
  }
};

TEST_F(Hang, EndsACopyToPageableMemory) {
  expect_timeout([] {
    Stream stream(Device::cuda());
    const Buffer device(Device::cuda(), kBytes);
    std::vector<unsigned char> host(kBytes);
    enqueue_hang(stream, false);
    copy_bytes(host.data(), Device::cpu(), device.data(), Device::cuda(), kBytes, stream);
  });
}

TEST_F(Hang, EndsACopyFromPageableMemory) {
  expect_timeout([] {
    Stream stream(Device::cuda());
    const Buffer device(Device::cuda(), kBytes);
    const std::vector<unsigned char> host(kBytes);
    enqueue_hang(stream, false);
    copy_bytes(device.data(), Device::cuda(), host.data(), Device::cpu(), kBytes, stream);
  });
}

TEST_F(Hang, EndsTheReleaseOfMemory) {
  expect_timeout([] {
    Stream stream(Device::cuda());
    {
      const Buffer device(Device::cuda(), kBytes);
      enqueue_hang(stream, false);
    }
    throw_if_device_lost();
  });
}

TEST_F(Hang, EndsTheWaitForAResidentKernel) {
  expect_timeout([] {
    Stream stream(Device::cuda());
    ResidentLenet5 resident(builtin_lenet5_weights());
    const std::vector<uint8_t> image(28 * 28);
    Prediction prediction;
    resident.classify(image.data(), 1, &prediction);
    resident.suspend();
    enqueue_hang(stream, true);
    resident.classify(image.data(), 1, &prediction);
  });
}

TEST_F(Hang, EndsTheWaitForAnAnswerInHostMemory) {
  expect_timeout([] {
    Stream stream(Device::cuda());
    PolledLenet5 polled(builtin_lenet5_weights(), Device::cuda(), MathMode::kFp32, 1);
    const std::vector<uint8_t> image(28 * 28);
    Prediction prediction;
    polled.run(image.data(), &prediction);
    enqueue_hang(stream, true);
    polled.run(image.data(), &prediction);
  });
}

}  // namespace
}  // namespace lenslet
