#include "apps/convbench/stencil/stencil_task.h"

#include <algorithm>
#include <cmath>

#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/tensor/poison.h"

namespace lenslet {
namespace {

// Judged outputs of a filter above 4,096 taps, of which kReferenceMacs would pay for fewer. Chosen by hand.
constexpr int64_t kMinSamples = 1024;
constexpr int kEdge = 40;  // judged outputs next to an edge: more than a row of a tile

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
    : StudyTask(fill, seed),
      stencil_(stencil),
      filter_(values(static_cast<size_t>(stencil.filter_size()), seed * 1000)) {}

void StencilTask::allocate(Device device) {
  const size_t bytes = output_count() * sizeof(float);
  StudyTask::allocate(device, concat("a stencil of ", stencil_.to_string()),
                      {{"input", bytes}, {"filter", filter_.size() * sizeof(float)}, {"output", bytes}});
}

void StencilTask::fill(int round, Stream& stream) {
  poison(round % 2 == 0 ? kNanByte : kMarkByte, stream);
  x_ = values(output_count(), seed() * 1000 + 100 * (static_cast<uint64_t>(round) + 1));
  upload(kX, x_, stream);
  upload(kFilter, filter_, stream);
}

std::vector<size_t> StencilTask::chosen() const {
  const int64_t width = stencil_.width, height = stencil_.height, count = stencil_.elements();
  const int64_t affordable = std::max(kMinSamples, kReferenceMacs / stencil_.filter_size());
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
  reference::Random random(seed());
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

std::vector<StudyTask::Expected> StencilTask::answers(int answer) const {
  const auto boundary = static_cast<Boundary>(answer);
  const int64_t width = stencil_.width, taps = stencil_.taps, rows = stencil_.dimensions == 1 ? 1 : taps;
  const int64_t before = stencil_.before(), rows_before = stencil_.dimensions == 1 ? 0 : before;
  std::vector<Expected> expected;
  for (size_t index : chosen()) {
    const int64_t p = static_cast<int64_t>(index) / width, q = static_cast<int64_t>(index) % width;
    double value = 0, magnitude = 0;
    for (int64_t s = 0; s < rows; ++s) {
      const int64_t h = source(p + s - rows_before, stencil_.height, boundary);
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t w = source(q + t - before, width, boundary);
        if (h < 0 || w < 0) continue;
        const double product = double{filter_[static_cast<size_t>(s * taps + t)]} *
                               double{x_[static_cast<size_t>(h * width + w)]};
        value += product;
        magnitude += std::fabs(product);
      }
    }
    expected.push_back(sum(index, value, magnitude, stencil_.filter_size()));
  }
  return expected;
}

}  // namespace lenslet
