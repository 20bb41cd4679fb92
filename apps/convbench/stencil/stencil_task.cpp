#include "apps/convbench/stencil/stencil_task.h"

#include <algorithm>
#include <cmath>

#include "apps/convbench/bench/verdict.h"
#include "framework/error.h"
#include "framework/tensor.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

constexpr int64_t kReferenceMacs = int64_t{1} << 22;  // about a hundredth of a second in fp64
constexpr int64_t kFewestSamples = 1024;
constexpr int kEdge = 40;          // judged outputs next to an edge: more than a row of a tile
constexpr double kUnit = 0x1p-24;  // unit roundoff of fp32

/// The source of element i of n, computed in another way than in the kernels; -1 means zero.
int64_t source(int64_t i, int64_t n, Boundary boundary) {
  while (i < 0 || i >= n) {
    if (boundary == Boundary::kZero) return -1;
    if (boundary == Boundary::kClamp) return i < 0 ? 0 : n - 1;
    i = i < 0 ? -i : (n - 1) - (i - (n - 1));
  }
  return i;
}

}  // namespace

StencilTask::StencilTask(const Stencil& stencil, reference::Fill fill, uint64_t seed)
    : stencil_(stencil),
      fill_(fill),
      seed_(seed),
      filter_(values(static_cast<size_t>(stencil.filter_size()), seed * 1000)) {}

std::vector<float> StencilTask::values(size_t count, uint64_t seed) const {
  if (fill_ == reference::Fill::kIntegers) return reference::small_integers(count, seed);
  if (fill_ == reference::Fill::kNormal) return reference::normal_values(count, seed);
  return reference::uniform_values(count, seed);
}

const std::vector<float>& StencilTask::input(int round) {
  if (input_round_ == round) return input_;
  input_ = values(static_cast<size_t>(stencil_.elements()),
                  seed_ * 1000 + 100 * (static_cast<uint64_t>(round) + 1));
  input_round_ = round;
  return input_;
}

void StencilTask::allocate(Device device) {
  const size_t tensor = static_cast<size_t>(stencil_.elements()) * sizeof(float);
  const size_t filter = filter_.size() * sizeof(float);
  const size_t needed = 2 * tensor + filter + 4 * GuardedMemory::kCanaryBytes;
  const size_t free = free_memory_bytes(device);
  if (needed > free) {
    throw MemoryError(concat(stencil_.to_string(), " need ", needed, " bytes on ", device.to_string(), ", ",
                             free, " are free: use fewer elements"));
  }
  memory_.emplace(device, std::vector<size_t>{tensor, filter, tensor});
  loaded_ = -1;
}

void StencilTask::load(int round, Stream& stream) {
  if (loaded_ == round) return;
  byte_ = round % 2 == 0 ? GuardedMemory::kNanByte : GuardedMemory::kMarkByte;
  memory_->poison(byte_, stream);
  memory_->upload(0, input(round).data(), stream);
  memory_->upload(1, filter_.data(), stream);
  stream.synchronize();
  loaded_ = round;
}

std::vector<size_t> StencilTask::chosen() const {
  const int64_t width = stencil_.width, height = stencil_.height, count = stencil_.elements();
  const int64_t affordable = std::max(kFewestSamples, kReferenceMacs / stencil_.filter_size());
  std::vector<size_t> indices;
  const auto add = [&](int64_t row, int64_t column) {
    indices.push_back(static_cast<size_t>(row * width + column));
  };
  if (count <= affordable) {
    for (int64_t i = 0; i < count; ++i) indices.push_back(static_cast<size_t>(i));
    return indices;
  }
  // Outputs at edges and corners: every position of the filter across them.
  const auto near_edge = [](int64_t i, int64_t n) { return i < kEdge || i >= n - kEdge; };
  for (int64_t row = 0; row < height; ++row) {
    if (height > 1 && !near_edge(row, height)) continue;
    for (int64_t column = 0; column < width; ++column) {
      if (!near_edge(column, width)) column = std::max(column, width - kEdge);
      add(row, column);
    }
  }
  reference::Random random(seed_);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<uint64_t>(n))); };
  for (int64_t i = 0; i < affordable / 4 && height > 1; ++i) {
    add(i % 2 == 0 ? below(std::min<int64_t>(height, kEdge))
                   : height - 1 - below(std::min<int64_t>(height, kEdge)),
        below(width));
    add(below(height), i % 2 == 0 ? below(std::min<int64_t>(width, kEdge))
                                  : width - 1 - below(std::min<int64_t>(width, kEdge)));
  }
  for (int64_t i = 0; i < affordable / 2; ++i) add(below(height), below(width));
  return indices;
}

const std::vector<StencilTask::Sample>& StencilTask::samples(int round, Boundary boundary) {
  std::vector<Sample>& found = samples_[{round, boundary}];
  if (!found.empty()) return found;
  const std::vector<float>& x = input(round);
  const int64_t width = stencil_.width, taps = stencil_.taps, rows = stencil_.dimensions == 1 ? 1 : taps;
  const int64_t before = stencil_.before(), rows_before = stencil_.dimensions == 1 ? 0 : before;
  for (size_t index : chosen()) {
    const int64_t p = static_cast<int64_t>(index) / width, q = static_cast<int64_t>(index) % width;
    Sample sample{index, 0, 0};
    for (int64_t s = 0; s < rows; ++s) {
      const int64_t h = source(p + s - rows_before, stencil_.height, boundary);
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t w = source(q + t - before, width, boundary);
        if (h < 0 || w < 0) continue;
        const double product = double{filter_[static_cast<size_t>(s * taps + t)]} *
                               double{x[static_cast<size_t>(h * width + w)]};
        sample.value += product;
        sample.magnitude += std::fabs(product);
      }
    }
    found.push_back(sample);
  }
  return found;
}

Verdict StencilTask::judge(int round, Boundary boundary, const std::vector<float>& y, Stream& stream) {
  // |error| <= ((1 + u)^terms - 1) * sum of |w| * |x|, for any order of summation (N. Higham, "Accuracy and Stability
  // of Numerical Algorithms", 2nd ed., 2002, section 3.1). Integer sums stay below 2^24: 4095 terms up to 16.
  const double growth = std::expm1(1.01 * kUnit * stencil_.filter_size());
  const bool exact = fill_ == reference::Fill::kIntegers;
  reference::Comparison comparison;
  for (const Sample& sample : samples(round, boundary)) {
    comparison.add(static_cast<int64_t>(sample.index), y[sample.index], sample.value,
                   exact ? 0 : growth * sample.magnitude);
  }
  Verdict verdict = verdict_of(comparison);
  const auto nan = std::find_if(y.begin(), y.end(), [](float value) { return std::isnan(value); });
  if (verdict.reason.empty() && nan != y.end()) {
    verdict.reason = concat("element ", nan - y.begin(), " is not a number");
  }
  if (verdict.reason.empty()) {
    verdict.reason = memory_->damage(byte_, stream);
    if (!verdict.reason.empty()) loaded_ = -1;  // the next contender gets intact canaries
  }
  verdict.passed = verdict.reason.empty() && comparison.passed();
  return verdict;
}

}  // namespace lenslet
