// Model on several devices, which are the CPU several times: the bits, shares and errors of one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "api/model.h"
#include "api/model_setup.h"
#include "framework/device/device_health.h"
#include "tests/embedding/model_options.h"
#include "tests/embedding/pictures.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::pictures;
using test::repeated;

std::shared_ptr<const ModelSetup> on_cpu(size_t times, const std::string& plan = "auto") {
  Choices choices;
  choices.device = "cpu";
  choices.plan = plan;
  return std::make_shared<const ModelSetup>(ModelSetup(choices), std::vector<Device>(times, Device::cpu()));
}

Model single_pass(size_t devices, int64_t batch) {
  const auto setup = on_cpu(devices);
  return Model(setup, setup->build_options(batch, {}));
}

std::vector<float> logits_of(Model& model, const std::vector<uint8_t>& pixels) {
  const auto count = static_cast<int64_t>(pixels.size()) / kPixels;
  std::vector<float> logits(static_cast<size_t>(count * kLenet5Classes), -1);
  EXPECT_EQ(model.logits(pixels.data(), count, logits.data()), count);
  return logits;
}

TEST(ModelOnDevices, OfASinglePassGivesTheBitsOfOne) {
  Model one = single_pass(1, 7), three = single_pass(3, 7);
  EXPECT_EQ(one.devices().size(), 1u);
  EXPECT_TRUE(one.shares().empty());
  EXPECT_EQ(three.devices().size(), 3u);
  three.prepare();
  three.run_checked();
  int64_t computed = 0;
  for (const int64_t count : {1, 2, 20, 500}) {
    const std::vector<uint8_t> pixels = repeated(pictures().pixels, count);
    EXPECT_EQ(logits_of(three, pixels), logits_of(one, pixels)) << count;
    computed += count;
  }
  ASSERT_EQ(three.shares().size(), 3u);
  for (const DeviceShare& share : three.shares()) {
    computed -= share.images;
    EXPECT_EQ(share.fault, "");
  }
  EXPECT_EQ(computed, 0);
}

TEST(ModelOnDevices, DividesLargeCallsAndLeavesSmallOnesToOne) {
  for (const char* plan : {"auto", "layered"}) {
    SCOPED_TRACE(plan);
    ModelOptions options;
    options.plan = plan;
    Model one(on_cpu(1, plan), options), two(on_cpu(2, plan), options);
    const std::vector<uint8_t> few = repeated(pictures().pixels, 20),
                               pixels = repeated(pictures().pixels, 6000);  // above 2 MiB, several chunks
    for (int round = 1; round <= 20; ++round) {
      EXPECT_EQ(logits_of(two, few), logits_of(one, few));
      EXPECT_EQ(two.shares()[0].images, 20 * round);
      EXPECT_EQ(two.shares()[1].images, 0);
    }
    int64_t computed = 400;
    // The first may be so much faster that the second finds nothing left.
    for (int round = 0; round < 100 && two.shares()[1].images == 0; ++round) {
      std::vector<Prediction> found(6000), expected(6000);
      two.predict(pixels.data(), 6000, found.data());
      one.predict(pixels.data(), 6000, expected.data());
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].label, expected[i].label) << i;
        ASSERT_EQ(found[i].probability, expected[i].probability) << i;
      }
      computed += 6000;
      EXPECT_EQ(two.shares()[0].images + two.shares()[1].images, computed);
    }
    EXPECT_GT(two.shares()[1].images, 0);
  }
}

TEST(ModelOnDevices, RefusesWhatOneRefuses) {
  Model model = single_pass(2, 7);
  std::vector<float> logits(10);
  EXPECT_EQ(model.logits(pictures().pixels.data(), 0, logits.data()), 0);
  EXPECT_EQ(model.logits(static_cast<const uint8_t*>(nullptr), 0, nullptr), 0);
  expect_error<UsageError>([&] { model.logits(static_cast<const uint8_t*>(nullptr), 1, logits.data()); },
                           "the images must not be a null pointer");
  expect_error<UsageError>([&] { model.logits(pictures().pixels.data(), -1, logits.data()); }, "negative");
  Model whole(on_cpu(2), ModelOptions());
  expect_error<UsageError>(
      [&] { whole.logits(pictures().pixels.data(), 1, logits.data(), Place::on_device(nullptr)); },
      "cannot read the memory of a GPU");
}

TEST(ModelOnDevices, ReportsProgressAndEndsEarly) {
  Model one = single_pass(1, 7), two = single_pass(2, 7);
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, 700);
  const std::vector<float> expected = logits_of(one, pixels);
  std::vector<float> logits(expected.size(), -1);
  int64_t told = -1;
  const int64_t done = two.logits(pixels.data(), 700, logits.data(), [&](int64_t images) {
    EXPECT_GE(images, told);
    told = images;
    return images < 70;
  });
  EXPECT_EQ(told, done);
  EXPECT_GE(done, 70);
  EXPECT_TRUE(std::equal(logits.begin(), logits.begin() + done * kLenet5Classes, expected.begin()));
}

// In a process of its own, since a loss is for good. The first model is of one device, the second of two.
TEST(ModelOnDevices, LeavesOutADeviceThatWasLostBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto answers = [](const std::vector<Device>& devices) {
    const auto setup = std::make_shared<const ModelSetup>(*on_cpu(1), devices);
    BuildOptions pass = setup->build_options(7, {});
    pass.execution = Plan::kLayered;
    Model model(setup, pass);
    EXPECT_EQ(model.profile(7, 0).batch, 7);
    return logits_of(model, repeated(pictures().pixels, 20));
  };
  const auto body = [&] {
    mark_device_lost("planted");
    const Device lost = Device::cuda(0), cpu = Device::cpu();
    const std::vector<float> expected = answers({cpu});
    const bool same = answers({lost, cpu}) == expected && answers({lost, cpu, cpu}) == expected;
    std::_Exit(same && !testing::Test::HasFailure() ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST(ModelOnDevices, OneDeviceIsAnOrdinaryModel) {
  ModelOptions options = test::on_cpu();
  Model model = Model::built_in(options);
  EXPECT_EQ(model.devices(), std::vector<Device>{Device::cpu()});
  EXPECT_TRUE(model.shares().empty());
  for (const char* device : {"cuda:all", "cuda:0,1"}) {
    if (cuda_status().devices.size() > 1) continue;
    options.device = device;
    if (!cuda_status().devices.empty() && options.device == "cuda:all") continue;
    expect_error<UnavailableError>([&] { Model::built_in(options); }, "cuda:");
  }
}

}  // namespace
}  // namespace lenslet
