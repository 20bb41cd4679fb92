#include "framework/base/choice_trace.h"

#include <unistd.h>

#include "framework/base/settings.h"
#include "framework/base/text.h"

namespace lenslet {

bool traces_choices() {
  static const bool traces = switch_setting("LENSLET_TRACE");
  return traces;
}

void print_choice(const char* kind, const std::string& choice) noexcept {
  try {
    const std::string line = concat("lenslet trace: ", kind, ": ", printable_line(choice), "\n");
    // A trace that cannot be written is lost: it must not change what the program does.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

}  // namespace lenslet
