// One of two GPUs is lost: only that one is refused from then on, and nothing calls the runtime for it. A process has
// its losses until it ends, so each case is a process.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "framework/device/device_list.h"
#include "framework/device/stream.h"
#include "framework/tensor/tensor.h"
#include "tests/devices/two_gpus.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using two_gpus::State;

const Device kFirst = Device::cuda(0), kSecond = Device::cuda(1);
int handled = 0;

#define CHECK(holds)                                               \
  do {                                                             \
    if (!(holds)) {                                                \
      std::fprintf(stderr, "line %d: not %s\n", __LINE__, #holds); \
      std::_Exit(1);                                               \
    }                                                              \
  } while (false)

template <typename Body>
std::string error_of(const Body& body) {
  return message_of<DeviceError>(body);
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// Expects that `body` returns, in a process of its own, since a loss is for good.
template <typename Body>
void in_a_process(Body body) {
  const auto all = [&] {
    body();
    std::_Exit(0);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

void wait(Stream& stream) {
  const DeviceGuard guard(stream.device());
  stream.synchronise();
}

class LostDevice : public testing::TestWithParam<State> {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    ::setenv("LENSLET_DEVICE_TIMEOUT", "1", 1);
  }
  static std::string words() {
    return GetParam() == State::kFaulty ? "a kernel failed" : "did not finish within 1 s";
  }
};

TEST_P(LostDevice, LeavesTheOtherUsable) {
  in_a_process([] {
    on_device_lost([] { ++handled; });
    Stream first(kFirst), second(kSecond);
    two_gpus::set(1, GetParam());
    CHECK(contains(error_of([&] { wait(second); }), words()));
    CHECK(device_lost() && device_lost(kSecond) && !device_lost(kFirst));
    CHECK(contains(device_lost_reason(), words()));
    CHECK(handled == 1);
    const int calls = two_gpus::calls_while_lost(1);
    for (const auto& use :
         {std::function<void()>([&] { wait(second); }), std::function<void()>([] { Stream again(kSecond); }),
          std::function<void()>([] { Buffer memory(kSecond, 64); }),
          std::function<void()>([] { throw_if_device_lost(kSecond); })}) {
      const std::string message = error_of(use);
      CHECK(contains(message, "this process cannot use cuda:1 any more: ") && contains(message, words()));
    }
    CHECK(error_of([&] { wait(first); }) == "");
    CHECK(error_of([] { Buffer memory(kFirst, 64); }) == "");
    CHECK(error_of([] { throw_if_device_lost(kFirst); }) == "");
    CHECK(!device_lost(Device::cpu()));
    {
      const DeviceGuard guard(kFirst);
      CHECK(error_of([] { throw_if_device_lost(); }) == "");
    }
    CHECK(two_gpus::calls_while_lost(1) == calls);
  });
}

TEST_P(LostDevice, MayBeTheFirst) {
  in_a_process([] {
    Stream first(kFirst), second(kSecond);
    two_gpus::set(0, GetParam());
    CHECK(contains(error_of([&] { wait(first); }), words()));
    CHECK(device_lost(kFirst) && !device_lost(kSecond));
    CHECK(contains(error_of([] { throw_if_device_lost(); }), "cannot use cuda:0 any more"));
    for (int round = 0; round < 2; ++round) {
      CHECK(error_of([&] { wait(second); }) == "");
      CHECK(error_of([] { Buffer memory(kSecond, 64); }) == "");
    }
  });
}

// Memory of the host may be in use by any device, so the runtime might wait for the lost one.
TEST_P(LostDevice, KeepsItsMemoryAndThatOfTheHost) {
  in_a_process([] {
    Stream first(kFirst), second(kSecond);
    std::optional<Buffer> of_first(std::in_place, kFirst, 64), of_second(std::in_place, kSecond, 64);
    std::optional<PinnedBuffer> pinned;
    {
      const DeviceGuard guard(kFirst);
      pinned.emplace(kFirst, 64);
    }
    two_gpus::set(1, GetParam());
    CHECK(contains(error_of([&] { wait(second); }), words()));
    const int calls = two_gpus::calls_while_lost(1);
    of_first.reset();
    of_second.reset();
    pinned.reset();
    CHECK(two_gpus::allocations(0) == 0);
    CHECK(two_gpus::allocations(1) == 1);
    CHECK(two_gpus::pinned_allocations() == 1);
    CHECK(two_gpus::calls_while_lost(1) == calls);
  });
}

// Freeing memory of a GPU waits for the streams of that GPU only; of the host, for all, and blames the right one.
TEST_P(LostDevice, IsFoundByWhoFreesMemory) {
  in_a_process([] {
    Stream first(kFirst), second(kSecond);
    {
      Buffer memory(kFirst, 64);
      two_gpus::set(1, GetParam());
    }
    CHECK(!device_lost());
    CHECK(two_gpus::allocations(0) == 0);
    CHECK(two_gpus::calls_while_lost(1) == 0);
    {
      const DeviceGuard guard(kFirst);
      PinnedBuffer memory(kFirst, 64);
    }
    if (GetParam() == State::kHanging) {  // a faulty stream has no work that is not done
      CHECK(device_lost(kSecond));
      CHECK(two_gpus::pinned_allocations() == 1);
    }
    CHECK(!device_lost(kFirst));
  });
}

TEST_P(LostDevice, IsTheOwnersToReportIfOthersTakeOver) {
  in_a_process([] {
    on_device_lost([] { ++handled; });
    Stream second(kSecond);
    two_gpus::set(1, GetParam());
    {
      const SparesProcess others;
      CHECK(contains(error_of([&] { wait(second); }), words()));
    }
    CHECK(handled == 0);
    report_device_lost();
    CHECK(handled == 1);
    report_device_lost();
    CHECK(handled == 1);
  });
}

// Starting CUDA takes part of a second, and a forked process cannot use it afterwards.
TEST(TheCpu, IsChosenWithoutCuda) {
  EXPECT_EQ(choose_device("cpu").device, Device::cpu());
  EXPECT_EQ(choose_devices("cpu").devices, std::vector<Device>{Device::cpu()});
  EXPECT_EQ(two_gpus::counts(), 0);
  (void)choose_device("auto");
  EXPECT_EQ(two_gpus::counts(), 1);
}

std::string state_name(const testing::TestParamInfo<State>& info) {
  return info.param == State::kFaulty ? "Faulty" : "Hanging";
}
INSTANTIATE_TEST_SUITE_P(Gpus, LostDevice, testing::Values(State::kFaulty, State::kHanging), state_name);

}  // namespace
}  // namespace lenslet
