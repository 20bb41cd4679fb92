#include "framework/device/launched_rank.h"

#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

namespace lenslet {
namespace {

std::optional<int> number_in(const char* variable, int min_value, int max_value) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view digits = value;
  int number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size() || number < min_value ||
      number > max_value)
    return std::nullopt;
  return number;
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  const std::optional<int> size = number_in("OMPI_COMM_WORLD_SIZE", 1, INT_MAX);
  if (!size) return std::nullopt;
  const std::optional<int> rank = number_in("OMPI_COMM_WORLD_RANK", 0, *size - 1);
  const std::optional<int> local = number_in("OMPI_COMM_WORLD_LOCAL_RANK", 0, *size - 1);
  if (!rank || !local) return std::nullopt;
  return LaunchedRank{*rank, *size, *local};
}

}  // namespace lenslet
