// Settings from environment variables: those of the library. docs/environment.md lists every variable of the project.
#pragma once

#include <optional>

namespace lenslet {

/// Whether `variable` is 1. Throws UsageError unless it is 0, 1 or not set.
bool switch_setting(const char* variable);

/// The integer in `variable`; none if it is not set. Throws UsageError outside `min` to `max` and for any other
/// text; the message names the unit `meaning`, such as "seconds".
std::optional<int> number_setting(const char* variable, const char* meaning, int min, int max);

}  // namespace lenslet
