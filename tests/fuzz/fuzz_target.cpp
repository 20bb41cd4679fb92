#include "tests/fuzz/fuzz_target.h"

namespace lenslet::fuzz {

void check(bool holds, const std::string& promise) {
  if (!holds) throw Finding("promise broken: " + promise);
}

void check_message(const std::string& message, const std::string& origin) {
  constexpr size_t kMaxBytes = 4000;
  check(!message.empty(), "an error has a message");
  check(message.find('\n') == std::string::npos, "a message is one line, found: " + message);
  check(message.size() <= kMaxBytes, "a message is no longer than a screen, found: " + message);
  check(message.find(origin) != std::string::npos, "a message names its file, found: " + message);
}

std::string text_of(const uint8_t* data, size_t size) { return std::string(data, data + size); }

}  // namespace lenslet::fuzz
