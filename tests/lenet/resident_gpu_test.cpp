// The latency modes and the resident kernel: predictions equal those of the layered plan, which golden_test.cpp
// compares with PyTorch; kernels that end and start again; refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "framework/device/runtime.h"
#include "framework/tensor/poison.h"
#include "models/classifier.h"
#include "models/fused_lenet5/polled.h"
#include "models/fused_lenet5/resident.h"
#include "models/lenet5_sizes.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Pixels, kImages = 200, kClasses = kLenet5Classes;

#define SKIP_WITHOUT_CLUSTERS() \
  LENSLET_SKIP_WITHOUT_GPU();   \
  if (!gpu_has_clusters()) GTEST_SKIP() << "clusters of blocks need compute capability 9.0"

/// Strokes and noise, always the same.
const std::vector<uint8_t>& images() {
  static const std::vector<uint8_t> all = [] {
    std::vector<uint8_t> pixels(static_cast<size_t>(kImages * kPixels), 0);
    uint32_t state = 7;
    const auto below = [&](uint32_t limit) {
      return (state = state * 1664525u + 1013904223u) / 65536u % limit;
    };
    for (int64_t i = 0; i < kImages; ++i) {
      uint8_t* const image = pixels.data() + i * kPixels;
      for (int64_t p = 0; p < kPixels && i % 3 == 0; ++p) image[p] = static_cast<uint8_t>(below(256));
      for (int stroke = 0; stroke < 4; ++stroke) {
        const uint32_t row = 4 + below(18), column = 4 + below(18), down = below(2);
        for (uint32_t step = 0; step < 6; ++step)
          image[(row + step * down) * 28 + column + step * (1 - down)] = 255;
      }
    }
    return pixels;
  }();
  return all;
}

/// The layered plan on the CPU.
const std::vector<float>& expected_logits() {
  static const std::vector<float> logits = [] {
    Executable executable(lenet5(), options_on(Device::cpu(), kImages));
    normalise_mnist(images().data(), kImages, executable.input().data);
    executable.run();
    executable.stream().synchronise();
    const float* const out = executable.output().data;
    return std::vector<float>(out, out + kImages * kClasses);
  }();
  return logits;
}

void expect_prediction(const Prediction& prediction, int64_t image) {
  const float* const logits = expected_logits().data() + image * kClasses;
  double probabilities[kClasses];
  softmax(logits, static_cast<int>(kClasses), probabilities);
  ASSERT_EQ(prediction.label, std::max_element(logits, logits + kClasses) - logits) << "image " << image;
  const double expected = probabilities[prediction.label];
  ASSERT_NEAR(prediction.probability, expected, test::probability_bound(expected, test::kLogitTolerance))
      << "image " << image;
}

TEST(LatencyModes, EachGivesThePredictions) {
  SKIP_WITHOUT_CLUSTERS();
  for (const int64_t batch : {1, 3, 8, 17, 64}) {
    PolledLenet5 polled(builtin_lenet5_weights(), Device::cuda(), MathMode::kFp32, batch);
    ResidentOptions options;
    options.max_clusters = static_cast<int>(std::min<int64_t>(batch, ResidentLenet5::kMaxClusters));
    ResidentLenet5 resident(builtin_lenet5_weights(), options);
    EXPECT_NE(polled.detail(), "");
    std::vector<Prediction> predictions(static_cast<size_t>(batch));
    for (const bool of_polled : {true, false}) {
      SCOPED_TRACE(concat(of_polled ? "polled" : "resident", " batch ", batch));
      for (int64_t first = 0; first + batch <= kImages; first += batch) {
        const uint8_t* const pixels = images().data() + first * kPixels;
        if (of_polled) {
          polled.run(pixels, predictions.data());
        } else {
          resident.classify(pixels, batch, predictions.data());
        }
        for (int64_t i = 0; i < batch; ++i) expect_prediction(predictions[static_cast<size_t>(i)], first + i);
      }
    }
  }
}

TEST(LatencyModes, RefuseWhatTheyCannotDo) {
  SKIP_WITHOUT_CLUSTERS();
  const Safetensors weights = builtin_lenet5_weights();
  for (const int64_t batch : {0, 65}) {
    expect_error<UsageError>([&] { PolledLenet5(weights, Device::cuda(), MathMode::kFp32, batch); },
                             "1 to 64 images");
  }
  expect_error<UnavailableError>([&] { PolledLenet5(weights, Device::cpu(), MathMode::kFp32, 1); },
                                 "not cpu");
}

// More images than slots and more rounds than tags, so that every tag is reused.
class ResidentClusters : public testing::TestWithParam<int> {};

TEST_P(ResidentClusters, AnswersInOrderForManyLaps) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.max_clusters = GetParam();
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  EXPECT_LE(resident.clusters(), GetParam());
  EXPECT_EQ(resident.launches(), 1);
  int64_t next = 0, answered = 0;
  for (const int64_t ahead : {1, 2, 5, 63, 64}) {
    for (int64_t round = 0; round < 150; ++round) {
      for (int64_t i = 0; i < ahead; ++i, ++next)
        resident.submit(images().data() + next % kImages * kPixels, 1);
      std::vector<Prediction> predictions(static_cast<size_t>(ahead));
      std::vector<float> logits(static_cast<size_t>(ahead * kClasses));
      resident.wait(ahead, predictions.data(), logits.data());
      for (int64_t i = 0; i < ahead; ++i, ++answered) {
        const int64_t image = answered % kImages;
        expect_prediction(predictions[static_cast<size_t>(i)], image);
        for (int64_t k = 0; k < kClasses; ++k) {
          ASSERT_NEAR(logits[static_cast<size_t>(i * kClasses + k)],
                      expected_logits()[static_cast<size_t>(image * kClasses + k)], test::kLogitTolerance);
        }
      }
    }
  }
  EXPECT_GT(answered, 64 * 127);
}

// Clusters end at different times and begin again, while images of all are in flight.
TEST_P(ResidentClusters, EndAndBeginAgainUnderLoad) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.max_clusters = GetParam();
  options.lease_ms = 1;
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  int64_t submitted = 0, answered = 0;
  for (int64_t call = 0; call < 2000; ++call) {
    const int64_t count = std::min(1 + call % 40, ResidentLenet5::kMaxBatch - (submitted - answered));
    for (int64_t i = 0; i < count; ++i, ++submitted)
      resident.submit(images().data() + submitted % kImages * kPixels, 1);
    for (const int64_t last = submitted - call % 7; answered < last; ++answered) {
      Prediction prediction;
      resident.wait(1, &prediction);
      expect_prediction(prediction, answered % kImages);
    }
  }
  EXPECT_GT(resident.launches(), 3);
}

// As many images as clusters, and other than before: none takes the image of another.
TEST_P(ResidentClusters, AreSuspendedTogether) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.max_clusters = GetParam();
  options.idle_ms = options.lease_ms = 100000;  // only the stop ends them
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  for (int64_t i = 0; i < 70; ++i) {
    Prediction prediction;
    resident.classify(images().data() + i * kPixels, 1, &prediction);
    expect_prediction(prediction, i);
    if (i % 10 == 9) resident.suspend();
  }
  EXPECT_EQ(resident.launches(), 7);
}

// Every stage of every cluster size within a few images and short launches: racecheck slows a kernel down a thousand
// times, and reports at its end.
TEST_P(ResidentClusters, AnswerAFewImages) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.max_clusters = GetParam();
  options.lease_ms = 20;
  const int64_t count = std::min<int64_t>(2 * GetParam(), ResidentLenet5::kMaxBatch);
  std::vector<Prediction> predictions(static_cast<size_t>(count));
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  resident.classify(images().data(), count, predictions.data());
  for (int64_t i = 0; i < count; ++i) expect_prediction(predictions[static_cast<size_t>(i)], i);
  resident.submit(images().data(), count);
}

INSTANTIATE_TEST_SUITE_P(Clusters, ResidentClusters, testing::Values(1, 4, 16, 32, 64));

TEST(Resident, EndsIdleAndBeginsAgain) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.idle_ms = 5;
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  for (int64_t i = 0; i < 5; ++i) {
    Prediction prediction;
    resident.classify(images().data() + i * kPixels, 1, &prediction);
    expect_prediction(prediction, i);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_GE(resident.launches(), 4);
}

TEST(Resident, EndsWithItsLeaseUnderLoad) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentOptions options;
  options.lease_ms = 2;
  ResidentLenet5 resident(builtin_lenet5_weights(), options);
  for (int64_t i = 0; i < 20000; ++i) {
    Prediction prediction;
    resident.classify(images().data() + i % kImages * kPixels, 1, &prediction);
    expect_prediction(prediction, i % kImages);
  }
  EXPECT_GT(resident.launches(), 3);
}

// The kernel writes all shared memory that it reads: remains of an earlier kernel have no effect.
TEST(Resident, StartsOnSharedMemoryFullOfNans) {
  SKIP_WITHOUT_CLUSTERS();
  Stream stream(Device::cuda());
  for (int64_t i = 0; i < 3; ++i) {
    runtime::fill_shared_async(kNanByte, stream.native_handle());
    stream.synchronise();
    ResidentLenet5 resident(builtin_lenet5_weights());
    Prediction prediction;
    resident.classify(images().data() + i * kPixels, 1, &prediction);
    expect_prediction(prediction, i);
  }
}

TEST(Resident, LeavesTheGpuToOthers) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentLenet5 first(builtin_lenet5_weights()), second(builtin_lenet5_weights());
  PolledLenet5 polled(builtin_lenet5_weights(), Device::cuda(), MathMode::kFp32, 8);
  for (int64_t i = 0; i < 100; ++i) {
    Prediction one, two, eight[8];
    first.submit(images().data() + i * kPixels, 1);
    second.submit(images().data() + (i + 1) * kPixels, 1);
    polled.run(images().data() + i * kPixels, eight);
    second.wait(1, &two);
    first.wait(1, &one);
    expect_prediction(one, i);
    expect_prediction(two, i + 1);
    for (int64_t k = 0; k < 8; ++k) expect_prediction(eight[k], i + k);
  }
}

TEST(Resident, IsSuspendedAndRefusesMisuse) {
  SKIP_WITHOUT_CLUSTERS();
  ResidentLenet5 resident(builtin_lenet5_weights());
  Prediction prediction;
  resident.suspend();
  resident.suspend();
  resident.classify(images().data(), 1, &prediction);
  expect_prediction(prediction, 0);
  EXPECT_EQ(resident.launches(), 2);
  expect_error<UsageError>([&] { resident.wait(1, &prediction); },
                           "1 answer requested, found 0 images in flight");
  expect_error<UsageError>([&] { resident.submit(images().data(), 65); },
                           "no room for 65 images: 0 of 64 slots are in use");
  resident.submit(images().data(), 64);
  expect_error<UsageError>([&] { resident.submit(images().data(), 1); },
                           "no room for 1 image: 64 of 64 slots are in use");
  expect_error<UsageError>([&] { resident.suspend(); }, "found 64 images in flight");
  ResidentOptions options;
  constexpr int64_t kTooMany = INT64_MAX / 1000000 + 1;  // nanoseconds of it overflow
  for (const int64_t idle_ms : {int64_t{0}, kTooMany}) {
    options.idle_ms = idle_ms;
    expect_error<UsageError>(
        [&] { ResidentLenet5(builtin_lenet5_weights(), options); },
        concat("idle_ms and lease_ms must be 1 to ", kTooMany - 1, ", found ", idle_ms, " and 1000"));
  }
  for (const int clusters : {0, 65}) {
    options = {};
    options.max_clusters = clusters;
    expect_error<UsageError>([&] { ResidentLenet5(builtin_lenet5_weights(), options); },
                             concat("max_clusters must be 1 to 64, found ", clusters));
  }
}

// The resident kernel also ends if no caller waits for its images, and during an exception.
TEST(Resident, EndsWhenAnExceptionFlies) {
  SKIP_WITHOUT_CLUSTERS();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(
      {
        ResidentOptions options;
        options.idle_ms = options.lease_ms = 100000;
        ResidentLenet5 resident(builtin_lenet5_weights(), options);
        resident.submit(images().data(), 64);
        throw DataError("in between");
      },
      DataError);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(ResidentWithoutGpu, IsRefusedWithTheReason) {
  if (cuda_status().usable) GTEST_SKIP() << "there is a GPU";
  expect_error<UnavailableError>([] { ResidentLenet5 resident{builtin_lenet5_weights()}; },
                                 cuda_status().reason);
}

}  // namespace
}  // namespace lenslet
