// A resident kernel's own lease, without the host's side of ResidentLenet5: every slot is filled before the launch, so
// that the kernel always finds its next image, however slow the host is.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

#include "framework/tensor/tensor.h"
#include "models/fused_lenet5/gpu/resident/launch.h"
#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/pack_image.h"
#include "models/lenet5.h"
#include "models/lenet5_sizes.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

using resident::kSlots;

constexpr uint64_t kLaunch = 1;
constexpr int64_t kNsPerMs = 1000000;

/// Launches one cluster on full slots and waits for its end. Returns the number of images that it has answered.
int answered_with_lease(int64_t lease_ns) {
  Stream stream(Device::cuda());
  const cluster_lenet5::ResidentLaunch launch(lenet5_parameters(builtin_lenet5_weights()), 1, stream);
  const PinnedBuffer pinned(Device::cuda(), sizeof(resident::Memory));
  auto* const memory = new (pinned.data()) resident::Memory{};
  const std::vector<uint8_t> pixels(static_cast<size_t>(kLenet5Pixels), 100);
  for (uint64_t image = 0; image < kSlots; ++image) {
    resident::pack_image(memory->images[image], pixels.data(), resident::tag_of(image));
    memory->images[image][resident::kLaunchWord] = resident::launch_word(kLaunch, resident::tag_of(image));
  }
  resident::Turn turn{};
  turn.clusters = launch.clusters();
  turn.launch = kLaunch;
  turn.idle_ns = kNsPerMs;  // after the last slot the next image is missing
  turn.lease_ns = lease_ns;
  launch.enqueue(memory, turn, stream);
  stream.synchronise();
  EXPECT_EQ(memory->ended[0], kLaunch);
  int answered = 0;
  for (uint64_t image = 0; image < kSlots; ++image)
    answered += resident::answer_tag(memory->predictions[image]) == resident::tag_of(image) ? 1 : 0;
  return answered;
}

TEST(ResidentLease, LetsAKernelAnswerEverySlot) {
  LENSLET_SKIP_WITHOUT_GPU();
  if (!gpu_has_clusters()) GTEST_SKIP() << "clusters of blocks need compute capability 9.0";
  EXPECT_EQ(answered_with_lease(100000 * kNsPerMs), kSlots);
}

TEST(ResidentLease, EndsAKernelWhileEverySlotIsFull) {
  LENSLET_SKIP_WITHOUT_GPU();
  if (!gpu_has_clusters()) GTEST_SKIP() << "clusters of blocks need compute capability 9.0";
  EXPECT_LT(answered_with_lease(1000), kSlots / 2) << "32 images take more than 60 us, the lease is 1 us";
}

}  // namespace
}  // namespace lenslet
