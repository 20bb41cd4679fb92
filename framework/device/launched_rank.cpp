#include "framework/device/launched_rank.h"

#include <climits>
#include <cstdlib>

#include "framework/base/error.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

// `fault` gets the reason if there is none.
std::optional<int> number_in(const char* variable, int min_value, int max_value, std::string& fault) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) {
    fault = concat(variable, " is not set");
    return std::nullopt;
  }
  const std::optional<int> number = parse_number(value, min_value, max_value);
  if (!number)
    fault = concat(variable, " must be a number from ", min_value, " to ", max_value, ", found '",
                   printable_excerpt(value), "'");
  return number;
}

}  // namespace

std::optional<LaunchedRank> launched_rank(std::string* fault) {
  std::string ignored;
  std::string& reason = fault ? *fault : ignored;
  const std::optional<int> size = number_in("OMPI_COMM_WORLD_SIZE", 1, INT_MAX, reason);
  if (!size) return std::nullopt;
  const std::optional<int> rank = number_in("OMPI_COMM_WORLD_RANK", 0, *size - 1, reason);
  if (!rank) return std::nullopt;
  const std::optional<int> local = number_in("OMPI_COMM_WORLD_LOCAL_RANK", 0, *size - 1, reason);
  if (!local) return std::nullopt;
  return LaunchedRank{*rank, *size, *local};
}

}  // namespace lenslet
