#include "apps/convbench/gemm_study/matrix_task.h"

#include <algorithm>
#include <cmath>

#include "apps/convbench/bench/verdict.h"
#include "framework/error.h"
#include "framework/tensor.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

enum Block : size_t { kA, kB, kC, kWorkspace };
constexpr int64_t kReferenceMacs = int64_t{1} << 22;  // about a hundredth of a second in fp64
constexpr int kEdge = 64;                             // columns at both ends that are always judged
constexpr double kUnit = 0x1p-24;                     // unit roundoff of fp32
constexpr int kMostExact = 1 << 20;                   // integers up to 4, products up to 16: sums below 2^24

std::vector<int> judged_columns(const MatrixShape& shape, uint64_t seed) {
  const int64_t affordable = std::max<int64_t>(1, kReferenceMacs / (int64_t{shape.rows} * shape.inner));
  std::vector<int> columns;
  if (shape.columns <= std::max<int64_t>(affordable, 2 * kEdge)) {
    for (int i = 0; i < shape.columns; ++i) columns.push_back(i);
    return columns;
  }
  for (int i = 0; i < kEdge; ++i) columns.push_back(i);
  for (int i = 0; i < kEdge; ++i) columns.push_back(shape.columns - 1 - i);
  reference::Random random(seed);
  for (int64_t i = 2 * kEdge; i < affordable; ++i) {
    columns.push_back(static_cast<int>(random.below(static_cast<uint64_t>(shape.columns))));
  }
  return columns;
}

}  // namespace

MatrixTask::MatrixTask(const MatrixShape& shape, reference::Fill fill, uint64_t seed)
    : shape_(shape), fill_(fill), seed_(seed), judged_(judged_columns(shape, seed)) {}

double MatrixTask::flops() const noexcept { return 2.0 * shape_.inner * static_cast<double>(output_count()); }
double MatrixTask::bytes() const noexcept {
  const size_t floats =
      count(shape_.rows, shape_.inner) + count(shape_.inner, shape_.columns) + output_count();
  return static_cast<double>(floats) * sizeof(float);
}

std::vector<float> MatrixTask::values(size_t count, uint64_t seed) const {
  if (fill_ == reference::Fill::kIntegers) return reference::small_integers(count, seed);
  if (fill_ == reference::Fill::kNormal) return reference::normal_values(count, seed);
  return reference::uniform_values(count, seed);
}

std::vector<float> MatrixTask::a(int round) const {
  return values(count(shape_.rows, shape_.inner), seed_ * 1000 + static_cast<uint64_t>(round));
}

void MatrixTask::allocate(Device device, size_t workspace_bytes) {
  const size_t needed = static_cast<size_t>(bytes()) + workspace_bytes + 5 * GuardedMemory::kCanaryBytes;
  const size_t free = free_memory_bytes(device);
  if (needed > free) {
    throw MemoryError(concat("a product of ", shape_.rows, " x ", shape_.inner, " by ", shape_.inner, " x ",
                             shape_.columns, " needs ", needed, " bytes on ", device.to_string(), ", ", free,
                             " are free: use smaller --sizes"));
  }
  memory_.emplace(device, std::vector<size_t>{count(shape_.rows, shape_.inner) * sizeof(float),
                                              count(shape_.inner, shape_.columns) * sizeof(float),
                                              output_count() * sizeof(float), workspace_bytes});
  loaded_ = -1;
  whole_ = false;
}

// Row by row, because all of B would need gigabytes of host memory.
void MatrixTask::upload_b(Stream& stream) {
  const auto columns = static_cast<size_t>(shape_.columns);
  auto* to = static_cast<float*>(memory_->block(kB));
  const auto inner = static_cast<size_t>(shape_.inner);
  judged_b_.resize(judged_.size() * inner);
  for (int k = 0; k < shape_.inner; ++k, to += columns) {
    const std::vector<float> row = values(columns, seed_ * 1000 + 500 + static_cast<uint64_t>(k));
    copy_bytes(to, stream.device(), row.data(), Device::cpu(), columns * sizeof(float), stream);
    stream.synchronize();
    for (size_t i = 0; i < judged_.size(); ++i) {
      judged_b_[i * inner + static_cast<size_t>(k)] = row[static_cast<size_t>(judged_[i])];
    }
  }
}

void MatrixTask::load(int round, Stream& stream) {
  if (loaded_ == round) return;
  if (!whole_) {
    memory_->poison(GuardedMemory::kNanByte, stream);
    upload_b(stream);
    whole_ = true;
  }
  memory_->upload(kA, a(round).data(), stream);
  fill_bytes(memory_->block(kC), stream.device(), GuardedMemory::kNanByte, memory_->block_bytes(kC), stream);
  stream.synchronize();
  loaded_ = round;
}

MatrixArgs MatrixTask::args() const {
  return {shape_, static_cast<const float*>(memory_->block(kA)),
          static_cast<const float*>(memory_->block(kB)), static_cast<float*>(memory_->block(kC))};
}

void* MatrixTask::workspace() const {
  return memory_->block_bytes(kWorkspace) > 0 ? memory_->block(kWorkspace) : nullptr;
}

Verdict MatrixTask::judge(int round, const std::vector<float>& c, Stream& stream) {
  // |error| <= ((1 + u)^inner - 1) * sum of |a| * |b|, for any order of summation (N. Higham, "Accuracy and Stability
  // of Numerical Algorithms", 2nd ed., 2002, section 3.1).
  const double growth = std::expm1(1.01 * kUnit * shape_.inner);
  const bool exact = fill_ == reference::Fill::kIntegers && shape_.inner < kMostExact;
  const std::vector<float> left = a(round);
  reference::Comparison comparison;
  for (int row = 0; row < shape_.rows; ++row) {
    for (size_t i = 0; i < judged_.size(); ++i) {
      double value = 0, magnitude = 0;
      const float* filter = left.data() + count(row, shape_.inner);
      const float* column = judged_b_.data() + i * static_cast<size_t>(shape_.inner);
      for (int k = 0; k < shape_.inner; ++k) {
        const double product = double{filter[k]} * double{column[k]};
        value += product;
        magnitude += std::fabs(product);
      }
      const size_t index = count(row, shape_.columns) + static_cast<size_t>(judged_[i]);
      comparison.add(static_cast<int64_t>(index), c[index], value, exact ? 0 : growth * magnitude);
    }
  }
  Verdict verdict = verdict_of(comparison);
  const auto nan = std::find_if(c.begin(), c.end(), [](float value) { return std::isnan(value); });
  if (verdict.reason.empty() && nan != c.end()) {
    verdict.reason = concat("element ", nan - c.begin(), " is not a number");
  }
  if (verdict.reason.empty()) {
    verdict.reason = memory_->damage(GuardedMemory::kNanByte, stream);
    if (!verdict.reason.empty()) {
      loaded_ = -1;  // the next contender gets intact canaries
      whole_ = false;
    }
  }
  verdict.passed = verdict.reason.empty() && comparison.passed();
  return verdict;
}

}  // namespace lenslet
