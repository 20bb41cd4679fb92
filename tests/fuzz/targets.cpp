// The fuzz targets of this program as a table for its main function.
#include "tests/fuzz/fuzz_target.h"

namespace lenslet::fuzz {

// The list is that of tests/fuzz/tests.cmake.
#define LENSLET_FUZZ_ROW(name)                       \
  void run_##name(const uint8_t* data, size_t size); \
  std::vector<Bytes> seeds_##name();
#include "tests/fuzz/fuzz_targets.inc"
#undef LENSLET_FUZZ_ROW

const std::vector<Target>& targets() {
#define LENSLET_FUZZ_ROW(name) {#name, run_##name, seeds_##name},
  static const std::vector<Target> all = {
#include "tests/fuzz/fuzz_targets.inc"
  };
#undef LENSLET_FUZZ_ROW
  return all;
}

}  // namespace lenslet::fuzz
