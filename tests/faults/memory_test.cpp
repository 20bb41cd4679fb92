// Too little memory on a device, simulated by a limit and, on a GPU, for real: the message has the needed bytes, the
// free bytes and a batch that fits; nothing leaks; the process continues. Compiled once for each kind of device.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <regex>

#include "framework/device/device_memory.h"
#include "tests/support/expect_error.h"
#include "tests/support/lenet5.h"
#include "tests/support/test_device.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

BuildOptions options_for(int64_t batch, const std::string& execution) {
  return options_on(kDevice, batch, execution);
}

int64_t number_after(const std::string& text, const std::string& words) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(words + "([0-9]+)")) ? std::stoll(found[1]) : -1;
}

class Memory : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
    lenet5();  // the weights are in host memory, which counts
    taken_ = device_memory_taken(kDevice);
  }
  void TearDown() override {
    set_device_memory_limit(SIZE_MAX);
    EXPECT_EQ(device_memory_taken(kDevice), taken_) << "bytes were left behind";
  }
  void limit(size_t bytes) { set_device_memory_limit(taken_ + bytes); }
  size_t taken_ = 0;
};

TEST_P(Memory, TheMessageNamesABatchThatFits) {
  { Executable warm_up(lenet5(), options_for(1, GetParam())); }  // memory that a library keeps
  for (const size_t mib : {8, 40, 100}) {
    limit(mib * kMiB);
    std::string message;
    try {
      Executable executable(lenet5(), options_for(600000, GetParam()));
      FAIL() << "600,000 images fit into " << mib << " MiB";
    } catch (const OutOfDeviceMemory& error) {
      message = error.what();
      EXPECT_GT(error.needed_bytes(), error.free_bytes());
      EXPECT_LE(error.free_bytes(), mib * kMiB);
      EXPECT_NE(message.find(std::to_string(error.needed_bytes())), std::string::npos) << message;
      EXPECT_NE(message.find(std::to_string(error.free_bytes())), std::string::npos) << message;
      EXPECT_EQ(error.exit_code(), ExitCode::kMemory);
    }
    EXPECT_EQ(device_memory_taken(kDevice), taken_) << "the refused one left something behind";
    const int64_t fits = number_after(message, "the largest batch that fits is about ");
    ASSERT_GT(fits, 64) << message;
    {
      Executable executable(lenet5(), options_for(fits, GetParam()));
      executable.run_checked();
    }
    EXPECT_THROW(Executable(lenet5(), options_for(fits + fits / 4, GetParam())), OutOfDeviceMemory)
        << "a quarter more than " << fits << " fits as well";
  }
}

TEST_P(Memory, WhatFitsNotAtAllIsRefusedWithTheReason) {
  limit(1000);
  expect_error<MemoryError>([&] { Executable(lenet5(), options_for(64, GetParam())); },
                            "not even a batch of 1 fits");
  expect_error<MemoryError>([&] { Executable(lenet5(), options_for(1, GetParam())); },
                            "not even a batch of 1 fits");
}

INSTANTIATE_TEST_SUITE_P(Plans, Memory, testing::Values(Plan::kLayered, Plan::kFused), ByName());

class Buffers : public Memory {};
INSTANTIATE_TEST_SUITE_P(Any, Buffers, testing::Values("none"));

TEST_P(Buffers, AreCountedAndKeptWithinTheLimit) {
  limit(10 * kMiB);
  Buffer first(kDevice, 6 * kMiB);
  EXPECT_EQ(device_memory_taken(kDevice), taken_ + 6 * kMiB);
  EXPECT_LE(free_memory_bytes(kDevice), 4 * kMiB);
  expect_error<OutOfDeviceMemory>([&] { Buffer(kDevice, 5 * kMiB); }, "5242880 bytes needed");
  Buffer second(kDevice, 4 * kMiB);
  expect_error<OutOfDeviceMemory>([&] { Buffer(kDevice, 1); }, "0 of");
  first = Buffer();
  EXPECT_EQ(device_memory_taken(kDevice), taken_ + 4 * kMiB);
  Buffer moved(std::move(second));
  EXPECT_EQ(device_memory_taken(kDevice), taken_ + 4 * kMiB);
}

TEST_P(Buffers, MoreThanTheDeviceHasIsRefusedAndTheRestServes) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "a CPU's memory is lent beyond what there is";
  const size_t free_bytes = free_memory_bytes(kDevice);
  expect_error<OutOfDeviceMemory>([&] { Buffer(kDevice, 2 * free_bytes); },
                                  std::to_string(2 * free_bytes) + " bytes needed");
  const Buffer hog(kDevice, free_bytes - 500 * kMiB);
  for (const char* plan : {Plan::kLayered, Plan::kFused}) {
    int64_t fits = 0;
    try {
      Executable(lenet5(), options_for(600000, plan));
      FAIL() << "600,000 images fit into 500 MiB";
    } catch (const OutOfDeviceMemory& error) {
      fits = number_after(error.what(), "the largest batch that fits is about ");
      EXPECT_GT(fits, 1000) << error.what();
    }
    Executable executable(lenet5(), options_for(fits, plan));
    executable.run_checked();
  }
}

}  // namespace
}  // namespace lenslet
