// Fuzz targets: each gives any bytes to one reader. The reader accepts them, and what it made keeps its promises, or it
// refuses them with an error of Lenslet's. Anything else is a finding: another exception, a broken promise, a
// sanitizer's report, memory or time without bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/error.h"

namespace lenslet::fuzz {

using Bytes = std::vector<uint8_t>;

/// A promise that was not kept; ends the fuzzer, which then keeps the input.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Finding with `promise` unless it holds.
void require(bool holds, const std::string& promise);

/// What every message of an error keeps: not empty, one line, no longer than a screen, and `origin` in it.
void check_message(const std::string& message, const std::string& origin);

/// Runs `read` and tells whether it accepted; an error of Lenslet's is a refusal. `origin` is the name that messages
/// must carry; empty where the reader has none.
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

/// As text, whatever bytes it has.
std::string text_of(const uint8_t* data, size_t size);
/// What is left of an input, taken from the front; zeros where nothing is left.
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

/// One target: `run` throws Finding, `seeds` are inputs made here that reach most of the reader.
struct Target {
  const char* name;
  void (*run)(const uint8_t* data, size_t size);
  std::vector<Bytes> (*seeds)();
};

/// All targets, by name as tests/fuzz/tests.cmake lists them.
const std::vector<Target>& targets();

}  // namespace lenslet::fuzz

/// Defines run_NAME(const uint8_t* data, size_t size); targets.cpp and libfuzzer_entry.cpp find it by this name.
#define LENSLET_FUZZ_TARGET(name)                    \
  namespace lenslet::fuzz {                          \
  void run_##name(const uint8_t* data, size_t size); \
  std::vector<Bytes> seeds_##name();                 \
  }                                                  \
  void lenslet::fuzz::run_##name(const uint8_t* data, size_t size)
#define LENSLET_FUZZ_SEEDS(name) std::vector<lenslet::fuzz::Bytes> lenslet::fuzz::seeds_##name()
