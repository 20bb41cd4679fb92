// libFuzzer's own mutations, and for PNG right checksums behind them: a chunk whose CRC does not fit is refused before
// any decoder sees it, so without this the decoders would hardly be reached.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr size_t kSignature = 8, kFrame = 12;  // of a chunk: length, type, CRC

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

void mend_checksums(uint8_t* data, size_t size) {
  for (size_t at = kSignature; at + kFrame <= size;) {
    const size_t length = big_endian(data + at);
    if (length > size - at - kFrame) return;
    const auto crc = static_cast<uint32_t>(crc32(0, data + at + 4, static_cast<uInt>(length + 4)));
    uint8_t* out = data + at + 8 + length;
    for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += kFrame + length;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  constexpr unsigned kLeaveOneOf = 8;  // the check of the checksums is to be tried too
  if (mutated > kSignature && std::memcmp(data, "\x89PNG\r\n\x1a\n", kSignature) == 0 &&
      seed % kLeaveOneOf != 0)
    mend_checksums(data, mutated);
  return mutated;
}
