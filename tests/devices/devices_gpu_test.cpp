// Model on all GPUs of the machine: the answers of one, from every kind of memory. The bits too where the passes are
// the same; several GPUs divide a call into other passes, which other backends may compute.
#include <gtest/gtest.h>

#include <cstring>

#include "api/host_memory.h"
#include "api/model.h"
#include "framework/device/device_list.h"
#include "framework/device/near_processors.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"
#include "framework/tensor/tensor.h"
#include "tests/embedding/pictures.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"
#include "tests/support/host_values.h"
#include "tests/support/logit_tolerances.h"

#define LENSLET_SKIP_WITHOUT_TWO_GPUS()                                                           \
  do {                                                                                            \
    LENSLET_SKIP_WITHOUT_GPU();                                                                   \
    if (choose_devices("cuda:all").devices.size() < 2) GTEST_SKIP() << "needs two GPUs, has one"; \
  } while (false)

namespace lenslet {
namespace {

using test::pictures;
using test::repeated;

Model on(const std::string& device, const std::string& plan = "auto", const std::string& math = "fp32") {
  return Model::built_in({device, plan, "", math});
}

int64_t images_of(const Model& model) {
  int64_t images = 0;
  for (const DeviceShare& share : model.shares()) {
    EXPECT_EQ(share.fault, "");
    images += share.images;
  }
  return images;
}

TEST(DevicesGpu, AllOfOneIsThatOne) {
  LENSLET_SKIP_WITHOUT_GPU();
  const std::vector<Device> all = choose_devices("cuda:all").devices;
  Model model = on("cuda:all");
  EXPECT_EQ(model.devices(), all);
  EXPECT_EQ(model.shares().size(), all.size() > 1 ? all.size() : 0);
  Model one = on(all.front().to_string());
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, 50000);
  std::vector<Prediction> found(50000), expected(50000);
  model.predict(pixels.data(), 50000, found.data());
  one.predict(pixels.data(), 50000, expected.data());
  EXPECT_TRUE(same_bits(found, expected));
}

TEST(DevicesGpu, SeveralGiveTheAnswersOfOneFromHostMemory) {
  LENSLET_SKIP_WITHOUT_TWO_GPUS();
  const int64_t counts[] = {1, 20, 3000, 100000, 1000003};
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, counts[4]);
  void* pinned = allocate_host_memory(pixels.size());
  std::memcpy(pinned, pixels.data(), pixels.size());
  for (const char* plan : {"auto", "layered"}) {
    for (const char* math : {"fp32", "fp16"}) {
      if (std::string(plan) == "layered" && std::string(math) == "fp16") continue;
      SCOPED_TRACE(testing::Message() << plan << " " << math);
      const double tolerance =
          std::string(math) == "fp32" ? test::kProbabilityTolerance : test::kShortProbabilityTolerance;
      Model one = on("cuda:0", plan, math), all = on("cuda:all", plan, math);
      int64_t computed = 0;
      for (const int64_t count : counts) {
        if (std::string(plan) == "layered" && count > 100000) continue;
        SCOPED_TRACE(count);
        std::vector<Prediction> expected(static_cast<size_t>(count)), found(static_cast<size_t>(count));
        one.predict(pixels.data(), count, expected.data());
        for (const void* from : {static_cast<const void*>(pixels.data()), static_cast<const void*>(pinned)}) {
          std::memset(static_cast<void*>(found.data()), 0x55, found.size() * sizeof(Prediction));
          all.predict(static_cast<const uint8_t*>(from), count, found.data());
          computed += count;
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].label, expected[i].label) << i;
            ASSERT_NEAR(found[i].probability, expected[i].probability, tolerance) << i;
          }
        }
      }
      EXPECT_EQ(images_of(all), computed);
      for (const DeviceShare& share : all.shares()) EXPECT_GT(share.images, 0) << share.device.to_string();
    }
  }
  free_host_memory(pinned);
}

TEST(DevicesGpu, RepeatBitForBitWhicheverComputes) {
  LENSLET_SKIP_WITHOUT_TWO_GPUS();
  Model all = on("cuda:all");
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, 200000);
  std::vector<Prediction> first(200000), again(200000);
  all.predict(pixels.data(), 200000, first.data());
  for (int round = 0; round < 10; ++round) {
    all.predict(pixels.data(), 200000, again.data());
    ASSERT_TRUE(same_bits(first, again)) << round;
  }
}

TEST(DevicesGpu, MemoryOfADeviceIsComputedThere) {
  LENSLET_SKIP_WITHOUT_TWO_GPUS();
  Model all = on("cuda:all", "fused");
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, 1000);
  std::vector<Prediction> expected(1000);
  on("cuda:0", "fused").predict(pixels.data(), 1000, expected.data());
  for (const Device device : all.devices()) {
    SCOPED_TRACE(device.to_string());
    const DeviceGuard guard(device);
    Stream stream(device);
    const Buffer input(device, pixels.size()), answers(device, expected.size() * sizeof(Prediction));
    copy_bytes(input.data(), device, pixels.data(), Device::cpu(), pixels.size(), stream);
    all.predict(static_cast<const uint8_t*>(input.data()), 1000, static_cast<Prediction*>(answers.data()),
                Place::on_device(stream.native_handle()));
    std::vector<Prediction> found(1000);
    copy_bytes(found.data(), Device::cpu(), answers.data(), device, answers.bytes(), stream);
    stream.synchronise();
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].label, expected[i].label) << i;
      ASSERT_NEAR(found[i].probability, expected[i].probability, test::kProbabilityTolerance) << i;
    }
  }
}

TEST(DevicesGpu, HasABusAddress) {
  LENSLET_SKIP_WITHOUT_GPU();
  const std::string address = runtime::pci_address(0);
  EXPECT_EQ(address.size(), std::string("0000:3B:00.0").size()) << address;
  (void)processors_near(Device::cuda(0));  // whatever the machine has, it is no error
}

}  // namespace
}  // namespace lenslet
