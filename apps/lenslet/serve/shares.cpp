#include "apps/lenslet/serve/shares.h"

#include <algorithm>
#include <cstddef>

namespace lenslet::serve {
namespace {

/// Adds the shares of `count` samples, from the back, between the passes from `first` on. Returns their time.
double add_shares(int64_t count, const std::vector<PassTime>& passes, size_t first,
                  std::vector<Share>& shares) {
  if (count == 0) return 0;
  const PassTime& pass = passes[first];
  const int64_t whole = count / pass.size, rest = count % pass.size;
  const double whole_us = static_cast<double>(whole) * pass.time_us;
  const size_t before = shares.size();
  const double rest_us = add_shares(rest, passes, first + 1, shares);
  if (rest > 0 && rest_us < pass.time_us) {
    if (whole > 0) shares.push_back({pass.size, count - rest});
    return whole_us + rest_us;
  }
  shares.resize(before);
  shares.push_back({pass.size, count});
  return rest > 0 ? whole_us + pass.time_us : whole_us;
}

}  // namespace

std::vector<Share> shares_of(int64_t count, const std::vector<PassTime>& passes) {
  std::vector<Share> shares;
  add_shares(count, passes, 0, shares);
  std::reverse(shares.begin(), shares.end());
  return shares;
}

}  // namespace lenslet::serve
