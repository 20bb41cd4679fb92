// libFuzzer's own mutations, followed for PNG by correct checksums: a chunk with a wrong CRC is refused before any
// decoder reads it, so the decoders would rarely be reached.
#include <cstring>

#include "tests/io/crafted_files.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  constexpr size_t kSignature = 8;
  constexpr unsigned kLeaveOneOf = 8;  // wrong checksums must be tried too
  const size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (mutated > kSignature && std::memcmp(data, "\x89PNG\r\n\x1a\n", kSignature) == 0 &&
      seed % kLeaveOneOf != 0)
    lenslet::test::mend_png_checksums(data, mutated);
  return mutated;
}
