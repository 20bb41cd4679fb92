// gzip. The first bytes choose the length of the head and the size that it "states". The third decides whether the rest
// is a gzip file or the content of one made here, so that many streams have correct checksums.
#include "framework/io/gzip.h"

#include <algorithm>

#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(gzip) {
  Cursor input(data, size);
  const size_t head_bytes = input.byte() % 32;
  const size_t size_byte = input.byte();
  const uint8_t mode = input.byte();
  // Sizes of a few bytes, of megabytes, and beyond all limits; stated gigabytes must not be allocated.
  const size_t stated = size_byte < 128   ? size_byte
                        : size_byte < 250 ? size_t{1} << (size_byte - 118) % 32
                                          : SIZE_MAX;
  const bool made = mode % 2 == 1, cut = mode % 4 == 3;
  Bytes bytes = made ? test::gzip(input.rest(), mode / 4 % 10) : input.rest();
  if (cut && !bytes.empty()) bytes.pop_back();

  Bytes out;
  size_t asked = 0;
  const bool accepted = accepts("file", [&] {
    out = gunzip(bytes, "file", head_bytes, [&](const uint8_t* head, size_t count) {
      check(count <= head_bytes, "the head is no longer than asked for");
      if (made) check(std::equal(head, head + count, input.data()), "the head is the content's beginning");
      ++asked;
      return stated;
    });
  });
  check(asked <= 1, "the size is asked for once");
  if (!accepted) {
    check(!made || cut || input.size() > stated || stated > (size_t{4} << 30), "a whole stream is read");
    return;
  }
  check(asked == 1, "nothing is read without a stated size");
  check(out.size() <= stated, "no more than stated is decompressed");
  check(!cut, "a stream without its end is refused");
  if (made) check(out == input.rest(), "what was compressed comes back");
}

LENSLET_FUZZ_SEEDS(gzip) {
  using test::operator+;
  const Bytes text = test::bytes_of("some text, some text, some more text");
  const Bytes packed = test::gzip(text);
  Bytes flipped = packed;
  flipped[flipped.size() - 5] ^= 1;
  Bytes named = packed;  // with a file name in the header (flag 8)
  named[3] = 8;
  named.insert(named.begin() + 10, {'a', 'b', 0});
  return {Bytes{4, 100, 0} + packed,
          Bytes{4, 36, 0} + packed,
          Bytes{4, 35, 0} + packed,
          Bytes{4, 100, 0} + flipped,
          Bytes{4, 100, 0} + named,
          Bytes{4, 100, 0} + packed + packed,
          Bytes{4, 100, 0} + packed + Bytes{1, 2},
          Bytes{4, 100, 0} + Bytes(packed.begin(), packed.end() - 9),
          Bytes{16, 140, 0} + test::gzip(Bytes(100000, 0)),
          Bytes{16, 149, 0} + test::gzip(Bytes(1000, 7)),
          Bytes{4, 255, 0} + packed,
          Bytes{4, 100, 1} + text,
          Bytes{31, 100, 3} + text,
          Bytes{4, 130, 37} + Bytes(300, 9)};
}
