// The host's side of resident clusters: the words of an image, and answers while clusters end and are launched again.
// The GPU is simulated, and a thread stands in for each cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "models/fused_lenet5/gpu/resident/arguments.h"
#include "models/fused_lenet5/pack_image.h"
#include "models/fused_lenet5/resident.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"
#include "tests/support/gpus.h"
#include "tests/support/simulated_gpu.h"

namespace lenslet {
namespace {

using simulated_gpu::Launch;

/// What an emulated cluster answers: the first pixel as the label, and a sum that depends on each pixel's place.
Prediction emulated_answer(const uint8_t* pixels) {
  int32_t sum = 0;
  for (int i = 0; i < kLenet5Pixels; ++i) sum = (sum * 31 + pixels[i]) % 1000003;
  return {pixels[0], static_cast<float>(sum)};
}

/// The clusters of a resident kernel, a thread each, with the protocol of resident/kernel.cuh.
class EmulatedClusters {
 public:
  /// A cluster ends after `images_each`, as it does at the end of its lease.
  explicit EmulatedClusters(int images_each) : images_each_(images_each) {
    simulated_gpu::on_launch([this](const Launch& launch) {
      start(*static_cast<const cluster_lenet5::ResidentArguments*>(launch.arguments[0]));
    });
    simulated_gpu::on_query([this] { return running_ == 0; });
  }
  ~EmulatedClusters() {
    over_ = true;  // for those that the host did not end
    for (std::thread& thread : threads_) thread.join();
    simulated_gpu::on_query(nullptr);
  }
  EmulatedClusters(const EmulatedClusters&) = delete;
  EmulatedClusters& operator=(const EmulatedClusters&) = delete;

 private:
  void start(const cluster_lenet5::ResidentArguments& args) {
    EXPECT_EQ(running_, 0) << "a launch begins when the launch before has ended";
    running_ = args.turn.clusters;
    for (int cluster = 0; cluster < args.turn.clusters; ++cluster) {
      const uint64_t first = args.turn.first_image[cluster];
      EXPECT_EQ(first % static_cast<uint64_t>(args.turn.clusters), static_cast<uint64_t>(cluster));
      EXPECT_NE(resident::answer_tag(load_word(args.memory->predictions[first % resident::kSlots])),
                resident::tag_of(first))
          << "a cluster waits for ever if the host has put another image into the slot";
      threads_.emplace_back([this, memory = args.memory, clusters = args.turn.clusters,
                             launch = args.turn.launch, cluster, first] {
        uint64_t image = first;
        for (int done = 0; done < images_each_ && answer(memory, launch, image); ++done)
          image += static_cast<uint64_t>(clusters);
        store_word(memory->ended[cluster], launch);
        --running_;
      });
    }
  }
  /// False once the host names another launch.
  bool answer(resident::Memory* memory, uint64_t launch, uint64_t image) const {
    const uint64_t tag = resident::tag_of(image), slot = image % resident::kSlots;
    const uint64_t* const words = memory->images[slot];
    for (uint64_t word = 0; word != resident::launch_word(launch, tag);) {
      word = load_word(words[resident::kLaunchWord]);
      if (over_ || resident::launch_of(word) != launch) return false;
      std::this_thread::yield();
    }
    uint8_t pixels[kLenet5Pixels];
    for (int i = 0; i < resident::kImageWords; ++i) {
      uint64_t seven = 0;
      while (resident::image_tag(seven = load_word(words[i])) != tag) std::this_thread::yield();
      for (int k = 0; k < resident::kWordPixels; ++k)
        pixels[i * resident::kWordPixels + k] = static_cast<uint8_t>(seven >> (8 * k));
    }
    const Prediction answer = emulated_answer(pixels);
    uint32_t bits = 0;
    std::memcpy(&bits, &answer.probability, sizeof bits);
    store_word(memory->predictions[slot],
               resident::answer_word(bits, static_cast<uint32_t>(answer.label), tag));
    return true;
  }

  int images_each_;
  std::atomic<bool> over_{false};
  std::atomic<int> running_{0};
  std::vector<std::thread> threads_;
};

// Each way to pack an image writes every pixel and tag, and reads nothing past the end of the image.
TEST(ResidentProtocol, EveryWayToPackAnImageGivesTheSameWords) {
  const auto pixels = std::make_unique<uint8_t[]>(kLenet5Pixels);  // a sanitizer reports a read past its end
  for (int i = 0; i < kLenet5Pixels; ++i)
    pixels[static_cast<size_t>(i)] = static_cast<uint8_t>(i * 37 + i / 251);
  alignas(16) uint64_t one_way[resident::kImageWords], other_way[resident::kImageWords];
  resident::pack_image(one_way, pixels.get(), 127);
  resident::pack_image_by_words(other_way, pixels.get(), 127);
  for (int i = 0; i < resident::kImageWords; ++i) {
    uint64_t expected = uint64_t{127} << 56;
    for (int k = 0; k < resident::kWordPixels; ++k)
      expected |= uint64_t{pixels[static_cast<size_t>(i * resident::kWordPixels + k)]} << (8 * k);
    ASSERT_EQ(one_way[i], expected) << "word " << i;
    ASSERT_EQ(other_way[i], expected) << "word " << i;
  }
}

// Each image goes to its cluster and its answer to its place, while clusters end on their own and are launched again,
// those that answered more than the host has read among them.
TEST(ResidentProtocol, ClustersTakeImagesInTurn) {
  setenv("LENSLET_DEVICE_TIMEOUT", "20", 1);  // seconds after which a missing answer is a failure
  simulated_gpu::insert(published_gpus());
  simulated_gpu::set_registers("fused_lenet5_resident_kernel", 255);  // what __launch_bounds__ allows it
  std::vector<uint8_t> pixels(size_t{40} * 40 * kLenet5Pixels);  // as large as needed: nothing beyond is read
  uint32_t state = 1;
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  for (const int max_clusters : {1, 4, 16, 64}) {
    SCOPED_TRACE(concat("at most ", max_clusters, " clusters"));
    EmulatedClusters clusters(5);
    ResidentOptions options;
    options.device = Device::cuda(kH200);
    options.max_clusters = max_clusters;
    ResidentLenet5 resident(builtin_lenet5_weights(), options);
    EXPECT_EQ(resident.clusters(), max_clusters);
    EXPECT_EQ(resident.launches(), 1);
    int64_t submitted = 0, answered = 0;
    for (int call = 0; call < 40; ++call) {
      const int64_t count =
          std::min<int64_t>(1 + call * 7 % 40, ResidentLenet5::kMaxBatch - submitted + answered);
      resident.submit(pixels.data() + submitted * kLenet5Pixels, count);
      submitted += count;
      for (const int64_t last = submitted - call % 5; answered < last; ++answered) {
        Prediction prediction;
        resident.wait(1, &prediction);
        const Prediction expected = emulated_answer(pixels.data() + answered * kLenet5Pixels);
        ASSERT_EQ(prediction.label, expected.label);
        ASSERT_EQ(prediction.probability, expected.probability);
      }
      if (submitted == answered) resident.suspend();
    }
    EXPECT_GT(resident.launches(), 3);
    resident.wait(submitted - answered, nullptr);
  }
}

}  // namespace
}  // namespace lenslet
