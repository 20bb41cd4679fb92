// Fuzz targets: each passes arbitrary bytes to one reader. The reader accepts them, and its result keeps its promises,
// or refuses them with a Lenslet error. Anything else is a finding: another exception, a broken promise, a sanitizer's
// report, unbounded memory or time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/base/error.h"

namespace lenslet::fuzz {

using Bytes = std::vector<uint8_t>;

/// A broken promise; ends the fuzzer, which keeps the input.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Finding with `promise` unless it is true.
void check(bool holds, const std::string& promise);

/// The promises of every error message: not empty, one line, at most a screen long, and with `origin` in it.
void check_message(const std::string& message, const std::string& origin);

/// Runs `read` and returns whether it accepted; a Lenslet error is a refusal. Messages must contain `origin`; empty if
/// the reader has none.
template <typename Read>
bool accepts(const std::string& origin, const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    check_message(error.what(), origin);
    return false;
  }
}

/// The bytes as text.
std::string text_of(const uint8_t* data, size_t size);
/// Takes bytes from the front of an input; zeros at its end.
class Cursor {
 public:
  Cursor(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return size_ == 0 ? uint8_t{0} : (--size_, *data_++); }
  Bytes rest() const { return Bytes(data_, data_ + size_); }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

/// One target: `run` throws Finding; `seeds` are generated inputs that reach most of the reader.
struct Target {
  const char* name;
  void (*run)(const uint8_t* data, size_t size);
  std::vector<Bytes> (*seeds)();
};

/// All targets, with the names of tests/fuzz/tests.cmake.
const std::vector<Target>& targets();

}  // namespace lenslet::fuzz

/// Defines run_NAME(const uint8_t* data, size_t size); targets.cpp and libfuzzer_entry.cpp refer to this name.
#define LENSLET_FUZZ_TARGET(name)                    \
  namespace lenslet::fuzz {                          \
  void run_##name(const uint8_t* data, size_t size); \
  std::vector<Bytes> seeds_##name();                 \
  }                                                  \
  void lenslet::fuzz::run_##name(const uint8_t* data, size_t size)
#define LENSLET_FUZZ_SEEDS(name) std::vector<lenslet::fuzz::Bytes> lenslet::fuzz::seeds_##name()
