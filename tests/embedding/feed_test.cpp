// Feed and Lane: answers for every way to cut a call into chunks, results kept after a fault, allocations.
#include "api/feed.h"

#include <gtest/gtest.h>

#include "api/model.h"
#include "api/model_state.h"
#include "models/prediction.h"
#include "tests/embedding/pictures.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"
#include "tests/support/lenet5.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::pictures;

constexpr int64_t kBatch = 7, kCount = 20;  // two full chunks and a part of one
constexpr InputOutput kBytesToLogits{ElementType::kUint8, ElementType::kFp32};

BuildOptions pass_of(int64_t batch) { return options_on(Device::cpu(), batch); }

FeedOptions staged(int lanes = 1, int depth = 1) {
  FeedOptions options;
  options.lanes = lanes;
  options.depth = depth;
  options.staged = true;
  return options;
}

std::vector<float> logits_of(Feed& feed) {
  std::vector<float> logits(kCount * kLenet5Classes, -1);
  EXPECT_EQ(feed.run(pictures().pixels.data(), kCount, logits.data(), kBytesToLogits, {}), kCount);
  return logits;
}

TEST(Feed, GivesTheSameBitsByEveryNumberOfLanes) {
  std::vector<float> expected(kCount * kLenet5Classes);
  Lane lane(lenet5(), pass_of(kBatch));
  for (int64_t first = 0; first < kCount; first += kBatch) {
    lane.run(pictures().pixels.data() + first * kPixels, std::min(kBatch, kCount - first),
             expected.data() + first * kLenet5Classes, kBytesToLogits);
  }
  for (int lanes = 1; lanes <= 3; ++lanes) {
    for (int depth = 1; depth <= 2; ++depth) {
      Feed feed(lenet5(), pass_of(kBatch), staged(lanes, depth));
      for (int round = 0; round < 2; ++round)
        EXPECT_EQ(logits_of(feed), expected) << lanes << " lanes, depth " << depth;
    }
  }
}

TEST(Feed, GivesPredictionsOfLogits) {
  Feed feed(lenet5(), pass_of(kBatch), staged(2));
  std::vector<Prediction> predictions(kCount);
  feed.run(pictures().pixels.data(), kCount, predictions.data(), kBytesToPredictions, {});
  for (size_t i = 0; i < predictions.size(); ++i) EXPECT_EQ(predictions[i].label, pictures().digits[i]);
}

// A pass that reads packed pixels packs the bytes of a call; one that reads bytes unpacks the pairs of a call.
TEST(Feed, PacksAndUnpacks) {
  for (const ElementType pass : {ElementType::kUint4, ElementType::kUint8}) {
    SCOPED_TRACE(to_string(pass));
    BuildOptions options = pass_of(kBatch);
    options.execution = Plan::kFused;
    options.input = pass;
    Feed feed(lenet5(), options, staged());
    std::vector<float> of_pairs(kCount * kLenet5Classes, -1), of_bytes(kCount * kLenet5Classes, -1);
    const InputOutput pairs{ElementType::kUint4, ElementType::kFp32};
    EXPECT_EQ(feed.run(pictures().pairs.data(), kCount, of_pairs.data(), pairs, {}), kCount);
    EXPECT_EQ(feed.run(pictures().greys.data(), kCount, of_bytes.data(), kBytesToLogits, {}), kCount);
    EXPECT_EQ(of_pairs, of_bytes);
    EXPECT_EQ(feed.lane().input_bytes(3), pass == ElementType::kUint4 ? 3 * 392u : 3 * 784u);
  }
}

TEST(Feed, ReportsProgressAndEndsEarly) {
  Feed feed(lenet5(), pass_of(kBatch), staged());
  const std::vector<float> all = logits_of(feed);
  for (const int64_t last : {int64_t{0}, kBatch, 2 * kBatch, kCount}) {
    std::vector<float> logits(all.size(), -1);
    std::vector<int64_t> reported;
    const int64_t done =
        feed.run(pictures().pixels.data(), kCount, logits.data(), kBytesToLogits, [&](int64_t images) {
          reported.push_back(images);
          return images < last;
        });
    EXPECT_EQ(reported.front(), 0);
    EXPECT_EQ(reported.back(), done);
    EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
    EXPECT_GE(done, last);
    EXPECT_LE(done, std::min(last + kBatch, kCount)) << "one chunk may be in flight";
    if (last == 0) {
      EXPECT_EQ(done, 0);
    }
    const auto end = static_cast<std::ptrdiff_t>(done * kLenet5Classes);
    EXPECT_TRUE(std::equal(all.begin(), all.begin() + end, logits.begin()));
    EXPECT_TRUE(std::all_of(logits.begin() + end, logits.end(), [](float value) { return value == -1; }));
  }
}

TEST(Feed, KeepsWhatWasComputedBeforeAFault) {
  for (int lanes = 1; lanes <= 2; ++lanes) {
    Feed feed(lenet5(), pass_of(kBatch), staged(lanes));
    int64_t landed = 0, enqueued = 0;
    const auto deal = [&] {
      feed.deal(
          kCount, [] { return true; },
          [&](Feed::Slot&) {
            if (++enqueued > lanes) throw DeviceError("planted");
          },
          [&](Feed::Chunk chunk, char*) { landed += chunk.images; });
    };
    expect_error<DeviceError>(deal, "planted");
    EXPECT_EQ(landed, kBatch) << "of the slot that was to take the next chunk";
    EXPECT_EQ(logits_of(feed).size(), static_cast<size_t>(kCount * kLenet5Classes)) << "it can be used again";
  }
}

TEST(Feed, AllocatesNothingOncePrepared) {
  Feed feed(lenet5(), pass_of(kBatch), staged(2));
  std::vector<float> logits(kCount * kLenet5Classes);
  const auto run = [&] { feed.run(pictures().pixels.data(), kCount, logits.data(), kBytesToLogits, {}); };
  run();
  const AllocationCounter counter;
  run();
  EXPECT_EQ(counter.allocations(), 0);
}

// A thread copies for each lane from ordinary memory; one thread serves all lanes in place.
TEST(Feed, HasLanesForTheMemoryOfACall) {
  constexpr size_t kMiB = size_t{1} << 20;
  const auto lanes = [](Device device, bool whole, size_t chunk, int threads, bool in_place) {
    const FeedOptions options = FeedOptions::for_host_memory(device, whole, chunk, threads, in_place);
    EXPECT_EQ(options.staged, !in_place);
    return options.lanes;
  };
  const Device gpu = Device::cuda(0);
  EXPECT_EQ(lanes(gpu, true, 4 * kMiB, 16, false), 12);
  EXPECT_EQ(lanes(gpu, true, 4 * kMiB, 5, false), 5);
  EXPECT_EQ(lanes(gpu, true, 4 * kMiB, 1, false), 1);
  EXPECT_EQ(lanes(gpu, true, 64 * kMiB, 16, false), 2) << "page-locked memory of 256 MiB";
  EXPECT_EQ(lanes(gpu, true, 512 * kMiB, 16, false), 1);
  EXPECT_EQ(lanes(gpu, false, 4 * kMiB, 16, false), 1) << "layers take longer than one thread's copies";
  EXPECT_EQ(lanes(gpu, true, 16 * kMiB, 16, true), 2);
  EXPECT_EQ(lanes(gpu, true, 16 * kMiB, 1, true), 2) << "no thread copies";
  EXPECT_EQ(lanes(Device::cpu(), true, 4 * kMiB, 16, false), 1);
}

TEST(Feed, WithoutStagingRefusesOrdinaryMemory) {
  FeedOptions options;
  Feed feed(lenet5(), pass_of(kBatch), options);
  std::vector<float> logits(kCount * kLenet5Classes);
  EXPECT_THROW(feed.run(pictures().pixels.data(), kCount, logits.data(), kBytesToLogits, {}),
               std::logic_error);
}

TEST(Lane, LeavesAnswersBehindACountAlone) {
  Lane lane(lenet5(), pass_of(kBatch));
  std::vector<float> logits(kBatch * kLenet5Classes, -1);
  lane.run(pictures().pixels.data(), 3, logits.data(), kBytesToLogits);
  EXPECT_NE(logits[3 * kLenet5Classes - 1], -1);
  EXPECT_EQ(logits[3 * kLenet5Classes], -1);
}

}  // namespace
}  // namespace lenslet
