#include "apps/convbench/bench/study_task.h"

#include <algorithm>
#include <cmath>

#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/tensor/roundoff.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

using reference::GuardedMemory;

void StudyTask::allocate(Device device, const std::string& what, std::vector<Block> blocks) {
  std::vector<size_t> sizes;
  size_t needed = (blocks.size() + 1) * GuardedMemory::kCanaryBytes;
  for (const Block& block : blocks) {
    sizes.push_back(block.bytes);
    needed += block.bytes;
  }
  const size_t free = free_memory_bytes(device);
  if (needed > free) {
    throw MemoryError(concat(what, " needs ", needed, " bytes on ", device.to_string(), ", ", free,
                             " are free: use fewer or smaller ones"));
  }
  memory_.emplace(device, sizes);
  blocks_ = std::move(blocks);
  loaded_ = -1;
}

void StudyTask::upload(size_t index, const std::vector<float>& values, Stream& stream) {
  memory_->upload(index, values.data(), stream);
}

void StudyTask::poison(int byte, Stream& stream) {
  byte_ = byte;
  memory_->poison(byte, stream);
}

std::vector<float> StudyTask::values(size_t count, uint64_t seed) const {
  if (fill_ == reference::Fill::kIntegers) return reference::small_integers(count, seed);
  if (fill_ == reference::Fill::kNormal) return reference::normal_values(count, seed);
  return reference::uniform_values(count, seed);
}

// |error| <= ((1 + u)^terms - 1) * sum of the products' absolute values, for any order of summation (N. Higham,
// "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, section 3.1).
StudyTask::Expected StudyTask::sum(size_t index, double value, double magnitude, int terms) const {
  constexpr int kMaxExact = 1 << 20;  // integers up to 4, products up to 16: sums below 2^24
  const bool exact = fill_ == reference::Fill::kIntegers && terms < kMaxExact;
  return {static_cast<int64_t>(index), value, exact ? 0 : std::expm1(1.01 * kUnitFp32 * terms) * magnitude};
}

void StudyTask::load(int round, Stream& stream) {
  if (loaded_ == round) return;
  fill(round, stream);
  stream.synchronise();
  loaded_ = round;
}

Verdict StudyTask::judge(int round, const std::vector<float>& output, Stream& stream, int answer) {
  Verdict verdict;
  if (round != loaded_) {
    verdict.reason = concat("input ", round, " is not loaded");
    return verdict;
  }
  std::vector<Expected>& expected = answers_[{round, answer}];
  if (expected.empty()) expected = answers(answer);
  reference::Comparison comparison;
  for (const Expected& one : expected)
    comparison.add(one.index, output[static_cast<size_t>(one.index)], one.value, one.bound);
  verdict = verdict_of(comparison);
  const auto odd =
      std::find_if_not(output.begin(), output.end(), [](float value) { return std::isfinite(value); });
  if (verdict.reason.empty() && odd != output.end())
    verdict.reason = concat("found ", *odd, " at ", odd - output.begin());
  if (verdict.reason.empty()) {
    if (const std::string damage = memory_->damage(byte_, stream); !damage.empty()) {
      loaded_ = -1;  // the next candidate gets intact canaries
      std::string names;
      for (size_t i = 0; i < blocks_.size(); ++i)
        names += concat(i == 0 ? "" : ", ", i, " ", blocks_[i].name);
      verdict.reason = concat(damage, " (blocks: ", names, ")");
    }
  }
  verdict.passed = comparison.passed() && verdict.reason.empty();
  return verdict;
}

}  // namespace lenslet
