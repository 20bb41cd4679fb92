#include "apps/lenslet/plan_contender.h"

#include <algorithm>

#include "apps/lenslet/drawn_digits.h"
#include "layers/reference/fill.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
constexpr int64_t kPictures = 251;
constexpr int64_t kStep = 37;       // pictures further on in each round
constexpr int64_t kAllJudged = 96;  // slots; of a larger batch half as many between the ends
constexpr int64_t kEnd = 24, kBetween = 48;

std::vector<uint8_t> twice(std::vector<uint8_t> pixels) {
  pixels.insert(pixels.end(), pixels.begin(), pixels.end());
  return pixels;
}

}  // namespace

BatchPictures::BatchPictures(const Graph& graph, uint64_t seed)
    : pixels_(twice(drawn_digits(kPictures, seed))),
      normalised_(pixels_.size()),
      expected_(graph, pixels_.data(), kPictures) {
  normalize_mnist(pixels_.data(), 2 * kPictures, normalised_.data());
}

int32_t BatchPictures::picture_of(int64_t slot, int round) const noexcept {
  return static_cast<int32_t>((slot + kStep * round) % kPictures);
}

void BatchPictures::load(Executable& executable, int round) const {
  const TensorView input = executable.input();
  const size_t image_bytes = static_cast<size_t>(kPixels) * element_bytes(input.type);
  const void* const all = input.type == ElementType::kUint8 ? static_cast<const void*>(pixels_.data())
                                                            : static_cast<const void*>(normalised_.data());
  const char* const from =
      static_cast<const char*>(all) + static_cast<size_t>(picture_of(0, round)) * image_bytes;
  for (int64_t slot = 0; slot < executable.batch(); slot += kPictures) {
    const int64_t images = std::min(kPictures, executable.batch() - slot);
    copy_bytes(input.as<char>() + static_cast<size_t>(slot) * image_bytes, input.device, from, Device::cpu(),
               static_cast<size_t>(images) * image_bytes, executable.stream());
  }
  executable.stream().synchronize();
}

std::vector<BatchPictures::Slots> BatchPictures::judged_slots(int64_t batch, int round) {
  if (batch <= kAllJudged) return {{0, batch}};
  const uint64_t room = static_cast<uint64_t>(batch - 2 * kEnd - kBetween + 1);
  const int64_t middle =
      kEnd + static_cast<int64_t>(reference::Random(static_cast<uint64_t>(round)).below(room));
  return {{0, kEnd}, {middle, kBetween}, {batch - kEnd, kEnd}};
}

std::vector<Contender::Part> PlanContender::judged(int round) const {
  const size_t a_slot = output_count() / static_cast<size_t>(executable_->batch());
  std::vector<Part> parts;
  for (const BatchPictures::Slots& slots : BatchPictures::judged_slots(executable_->batch(), round)) {
    parts.push_back({static_cast<size_t>(slots.first) * a_slot, static_cast<size_t>(slots.count) * a_slot});
  }
  return parts;
}

Verdict PlanContender::judge(int round, const std::vector<float>& output) {
  std::vector<int32_t> picture_of;
  for (const BatchPictures::Slots& slots : BatchPictures::judged_slots(executable_->batch(), round)) {
    for (int64_t i = 0; i < slots.count; ++i)
      picture_of.push_back(pictures_.picture_of(slots.first + i, round));
  }
  Verdict verdict;
  const ReferenceLogits& expected = pictures_.expected();
  verdict.reason = expected.compare(executable_->output().type, output.data(), picture_of,
                                    expected.bound(*executable_), verdict.error);
  verdict.passed = verdict.reason.empty();
  return verdict;
}

}  // namespace lenslet
