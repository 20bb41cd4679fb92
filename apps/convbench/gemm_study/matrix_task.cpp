#include "apps/convbench/gemm_study/matrix_task.h"

#include <algorithm>
#include <cmath>

#include "framework/error.h"
#include "framework/tensor.h"
#include "layers/reference/compare.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

enum Block : size_t { kA, kB, kC, kWorkspace };
constexpr int kJudgedWhole = 256;      // 16.8 million multiply-adds in fp64: a hundredth of a second
constexpr int kJudgedLines = 48;       // rows and columns of larger products
constexpr double kUnit = 0x1p-24;      // unit roundoff of fp32
constexpr double kMostExact = 0x1p20;  // integers up to 4, products up to 16: sums below 2^24

/// One line at random in each of equal strips, first and last always.
std::vector<int> lines(int size, uint64_t seed) {
  std::vector<int> chosen;
  reference::Random random(seed);
  const int count = size <= kJudgedWhole ? size : kJudgedLines;
  for (int i = 0; i < count; ++i) {
    const int64_t first = int64_t{size} * i / count, end = int64_t{size} * (i + 1) / count;
    chosen.push_back(
        static_cast<int>(first + static_cast<int64_t>(random.below(static_cast<uint64_t>(end - first)))));
  }
  chosen.front() = 0;
  chosen.back() = size - 1;
  return chosen;
}

}  // namespace

MatrixTask::MatrixTask(int size, reference::Fill fill, uint64_t seed)
    : size_(size), fill_(fill), seed_(seed) {}

double MatrixTask::flops() const noexcept { return 2.0 * size_ * size_ * size_; }
double MatrixTask::bytes() const noexcept { return 3.0 * size_ * size_ * sizeof(float); }

std::vector<float> MatrixTask::values(uint64_t seed) const {
  const size_t count = static_cast<size_t>(size_) * static_cast<size_t>(size_);
  if (fill_ == reference::Fill::kIntegers) return reference::small_integers(count, seed);
  if (fill_ == reference::Fill::kNormal) return reference::normal_values(count, seed);
  return reference::uniform_values(count, seed);
}

std::vector<float> MatrixTask::a(int round) const {
  return values(seed_ * 1000 + 100 * (static_cast<uint64_t>(round) + 1));
}

void MatrixTask::allocate(Device device, size_t workspace_bytes) {
  const size_t matrix = static_cast<size_t>(size_) * static_cast<size_t>(size_) * sizeof(float);
  const size_t needed = 3 * matrix + workspace_bytes + 5 * GuardedMemory::kCanaryBytes;
  const size_t free = free_memory_bytes(device);
  if (needed > free) {
    throw MemoryError(concat("matrices of ", size_, " x ", size_, " need ", needed, " bytes on ",
                             device.to_string(), ", ", free, " are free: use smaller --sizes"));
  }
  if (b_.empty()) b_ = values(seed_ * 1000);
  memory_.emplace(device, std::vector<size_t>{matrix, matrix, matrix, workspace_bytes});
  loaded_ = -1;
}

void MatrixTask::load(int round, Stream& stream) {
  if (loaded_ == round) return;
  byte_ = round % 2 == 0 ? GuardedMemory::kNanByte : GuardedMemory::kMarkByte;
  const std::vector<float> left = a(round);
  memory_->poison(byte_, stream);
  memory_->upload(kA, left.data(), stream);
  memory_->upload(kB, b_.data(), stream);
  stream.synchronize();
  loaded_ = round;
}

MatrixArgs MatrixTask::args() const {
  return {size_, static_cast<const float*>(memory_->block(kA)), static_cast<const float*>(memory_->block(kB)),
          static_cast<float*>(memory_->block(kC))};
}

void* MatrixTask::workspace() const {
  return memory_->block_bytes(kWorkspace) > 0 ? memory_->block(kWorkspace) : nullptr;
}

const std::vector<MatrixTask::Sample>& MatrixTask::samples(int round) {
  std::vector<Sample>& found = samples_[round];
  if (!found.empty()) return found;
  const auto n = static_cast<size_t>(size_);
  const std::vector<float> left = a(round);
  const uint64_t seed = seed_ * 1000 + static_cast<uint64_t>(round);
  const std::vector<int> rows = lines(size_, 2 * seed), columns = lines(size_, 2 * seed + 1);
  std::vector<double> column(n);
  for (int j : columns) {
    for (size_t k = 0; k < n; ++k) column[k] = double{b_[k * n + static_cast<size_t>(j)]};
    for (int i : rows) {
      Sample sample{static_cast<size_t>(i) * n + static_cast<size_t>(j), 0, 0};
      const float* row = left.data() + static_cast<size_t>(i) * n;
      for (size_t k = 0; k < n; ++k) {
        const double product = double{row[k]} * column[k];
        sample.value += product;
        sample.magnitude += std::fabs(product);
      }
      found.push_back(sample);
    }
  }
  return found;
}

Verdict MatrixTask::judge(int round, const std::vector<float>& c, Stream& stream) {
  // |error| <= ((1 + u)^n - 1) * sum of |a| * |b|, in whatever order the sums are taken (N. Higham, "Accuracy and
  // Stability of Numerical Algorithms", 2nd ed., 2002, section 3.1).
  const double growth = std::expm1(1.01 * kUnit * size_);
  const bool exact = fill_ == reference::Fill::kIntegers && size_ < kMostExact;
  reference::Comparison comparison;
  for (const Sample& sample : samples(round)) {
    comparison.add(static_cast<int64_t>(sample.index), c[sample.index], sample.value,
                   exact ? 0 : growth * sample.magnitude);
  }
  Verdict verdict;
  verdict.error = {comparison.max_abs(), comparison.max_rel(), comparison.bound(), comparison.checked()};
  verdict.reason = comparison.reason();
  const auto nan = std::find_if(c.begin(), c.end(), [](float value) { return std::isnan(value); });
  if (verdict.reason.empty() && nan != c.end()) {
    verdict.reason = concat("element ", nan - c.begin(), " is not a number");
  }
  if (verdict.reason.empty()) {
    verdict.reason = memory_->damage(byte_, stream);
    if (!verdict.reason.empty()) loaded_ = -1;  // the next contender gets whole canaries
  }
  verdict.passed = verdict.reason.empty() && comparison.passed();
  return verdict;
}

}  // namespace lenslet
