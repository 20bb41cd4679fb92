#include "layers/reference/choose_outputs.h"

#include <algorithm>
#include <utility>

#include "framework/base/integer_math.h"
#include "layers/reference/fill.h"

namespace lenslet::reference {

namespace {

constexpr int64_t kPatch = 8;  // rows and columns; not larger than a kernel's tile

}  // namespace

std::vector<int64_t> choose_outputs(const Shape& outputs, int64_t wanted, uint64_t seed) {
  const int64_t planes = outputs[0], rows = outputs[1], columns = outputs[2], count = outputs.num_elements();
  std::vector<int64_t> chosen;
  if (wanted >= count) {
    for (int64_t i = 0; i < count; ++i) chosen.push_back(i);
    return chosen;
  }
  Random random(seed);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  };
  // The first or last two of `size`.
  const auto edge = [&](int64_t size) {
    const int64_t distance = std::min(below(2), size - 1);
    return below(2) == 0 ? distance : size - 1 - distance;
  };
  chosen = {0, count - 1};
  const int64_t edges = std::min<int64_t>(512, wanted / 8);  // of rows, and of columns
  for (int64_t i = 0; i < edges; ++i) {
    const int64_t plane = i % 4 == 0 ? edge(planes) : below(planes);
    chosen.push_back((plane * rows + edge(rows)) * columns + below(columns));
    chosen.push_back((plane * rows + below(rows)) * columns + edge(columns));
  }
  // Sorts and removes repetitions by a bit for each output, which takes less time than comparing.
  constexpr int64_t kBits = 64;
  std::vector<uint64_t> marks(static_cast<size_t>(ceil_div(count, kBits)));
  const auto sort = [&] {
    for (const int64_t i : chosen) marks[static_cast<size_t>(i / kBits)] |= uint64_t{1} << (i % kBits);
    chosen.clear();
    for (size_t word = 0; word < marks.size(); ++word) {
      for (uint64_t rest = std::exchange(marks[word], 0); rest != 0; rest &= rest - 1)
        chosen.push_back(static_cast<int64_t>(word) * kBits + __builtin_ctzll(rest));
    }
  };
  // One output of each patch of a plane. If that gives more than wanted, each patch is used in one of `turns`
  // neighbouring planes, so that every tile of a kernel with that many filters is still covered.
  const int64_t patch_rows = ceil_div(rows, kPatch), patch_columns = ceil_div(columns, kPatch);
  const int64_t patches = patch_rows * patch_columns;
  const int64_t turns =
      ceil_div(planes * patches, std::max<int64_t>(wanted - static_cast<int64_t>(chosen.size()), 1));
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t patch = (turns - plane % turns) % turns; patch < patches; patch += turns) {
      const int64_t top = patch / patch_columns * kPatch, left = patch % patch_columns * kPatch;
      const int64_t row = top + below(std::min(kPatch, rows - top));
      chosen.push_back((plane * rows + row) * columns + left + below(std::min(kPatch, columns - left)));
    }
  }
  sort();
  while (static_cast<int64_t>(chosen.size()) < wanted) chosen.push_back(below(count));
  sort();
  return chosen;
}

}  // namespace lenslet::reference
