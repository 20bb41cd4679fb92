// libFuzzer's entry to one target, LENSLET_FUZZ_NAME.
#include <cstddef>
#include <cstdint>

namespace lenslet::fuzz {
void LENSLET_FUZZ_NAME(const uint8_t* data, size_t size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lenslet::fuzz::LENSLET_FUZZ_NAME(data, size);
  return 0;
}
