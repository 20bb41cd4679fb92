#include "apps/convbench/gemm_study/matrix_task.h"

#include <algorithm>
#include <cmath>

#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/tensor.h"

namespace lenslet {
namespace {

constexpr int kEdge = 64;  // columns at both ends that are always judged

std::vector<int> judged_columns(const MatrixShape& shape, int64_t affordable, uint64_t seed) {
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
    : StudyTask(fill, seed),
      shape_(shape),
      judged_(judged_columns(
          shape, std::max<int64_t>(1, kReferenceMacs / (int64_t{shape.rows} * shape.inner)), seed)) {}

Work MatrixTask::work() const noexcept {
  const size_t floats =
      count(shape_.rows, shape_.inner) + count(shape_.inner, shape_.columns) + output_count();
  return {2.0 * shape_.inner * static_cast<double>(output_count()),
          static_cast<double>(floats * sizeof(float))};
}

void MatrixTask::allocate(Device device, size_t workspace_bytes) {
  StudyTask::allocate(
      device,
      concat("a product of ", shape_.rows, " x ", shape_.inner, " by ", shape_.inner, " x ", shape_.columns),
      {{"A", count(shape_.rows, shape_.inner) * sizeof(float)},
       {"B", count(shape_.inner, shape_.columns) * sizeof(float)},
       {"C", output_count() * sizeof(float)},
       {"workspace", workspace_bytes}});
}

// Row by row, because all of B would need gigabytes of host memory.
void MatrixTask::upload_b(Stream& stream) {
  const auto columns = static_cast<size_t>(shape_.columns), inner = static_cast<size_t>(shape_.inner);
  float* to = block(kB);
  judged_b_.resize(judged_.size() * inner);
  for (size_t k = 0; k < inner; ++k, to += columns) {
    const std::vector<float> row = values(columns, seed() * 1000 + 500 + k);
    copy_bytes(to, stream.device(), row.data(), Device::cpu(), columns * sizeof(float), stream);
    stream.synchronise();
    for (size_t i = 0; i < judged_.size(); ++i)
      judged_b_[i * inner + k] = row[static_cast<size_t>(judged_[i])];
  }
}

void MatrixTask::fill(int round, Stream& stream) {
  if (fresh()) {
    poison(kNanByte, stream);
    upload_b(stream);
  }
  a_ = values(count(shape_.rows, shape_.inner), seed() * 1000 + static_cast<uint64_t>(round));
  upload(kA, a_, stream);
  fill_bytes(output(), stream.device(), kNanByte, block_bytes(kC), stream);
}

std::vector<StudyTask::Expected> MatrixTask::answers(int /*answer*/) const {
  const auto inner = static_cast<size_t>(shape_.inner);
  std::vector<Expected> expected;
  for (int row = 0; row < shape_.rows; ++row) {
    for (size_t i = 0; i < judged_.size(); ++i) {
      double value = 0, magnitude = 0;
      const float* filter = a_.data() + count(row, shape_.inner);
      const float* column = judged_b_.data() + i * inner;
      for (size_t k = 0; k < inner; ++k) {
        const double product = double{filter[k]} * double{column[k]};
        value += product;
        magnitude += std::fabs(product);
      }
      const size_t index = count(row, shape_.columns) + static_cast<size_t>(judged_[i]);
      expected.push_back(sum(index, value, magnitude, shape_.inner));
    }
  }
  return expected;
}

}  // namespace lenslet
