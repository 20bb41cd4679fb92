#include "apps/lenslet/serve/batches/pass_split.h"

#include <algorithm>
#include <cstddef>

namespace lenslet::serve {
namespace {

/// Divides `count` samples between passes[first] and the smaller ones. Appends the choice, the smallest pass first.
/// Returns the time.
double add_passes(int64_t count, const std::vector<PassTime>& passes, size_t first,
                  std::vector<PassCount>& counts) {
  if (count == 0) return 0;
  const PassTime& pass = passes[first];
  const int64_t whole = count / pass.size, rest = count % pass.size;
  const double whole_us = static_cast<double>(whole) * pass.time_us;
  const size_t before = counts.size();
  const double rest_us = add_passes(rest, passes, first + 1, counts);
  if (rest > 0 && rest_us < pass.time_us) {
    if (whole > 0) counts.push_back({pass.size, count - rest});
    return whole_us + rest_us;
  }
  counts.resize(before);
  counts.push_back({pass.size, count});
  return rest > 0 ? whole_us + pass.time_us : whole_us;
}

}  // namespace

std::vector<PassCount> split_into_passes(int64_t count, const std::vector<PassTime>& passes) {
  std::vector<PassCount> counts;
  add_passes(count, passes, 0, counts);
  std::reverse(counts.begin(), counts.end());
  return counts;
}

}  // namespace lenslet::serve
