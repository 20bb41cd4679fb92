// The limits of a gzip stream, whatever its first bytes state.
#include "framework/io/gzip.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "framework/base/error.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

StatedSize always(size_t size) {
  return [size](const uint8_t*, size_t) { return size; };
}

TEST(Gzip, ReadsUpToTheStatedSize) {
  const Bytes text = bytes_of("some text, some text");
  EXPECT_EQ(gunzip(gzip(text), "file", 4, always(text.size())), text);
  EXPECT_EQ(gunzip(gzip(text), "file", 4, always(size_t{1} << 32)), text)
      << "a size is no promise to take it";
  expect_error<DataError>([&] { gunzip(gzip(text), "file", 4, always(text.size() - 1)); },
                          "hold more than the 19 bytes");
}

// What follows is not read: it may be damaged, truncated or endless.
TEST(Gzip, DecompressesNoMoreThanIsNeeded) {
  const Bytes text = bytes_of("some text, some text"), packed = gzip(text);
  for (const size_t needed : {0, 3, 4, 5, 19}) {
    const StatedSize size = [&](const uint8_t*, size_t) { return GzipSize(text.size(), needed); };
    const Bytes start(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(needed));
    EXPECT_EQ(gunzip(packed, "file", 4, size), start);
    EXPECT_EQ(gunzip(Bytes(packed.begin(), packed.end() - 8) + packed, "file", 4, size), start);
  }
  const auto all = [&](const uint8_t*, size_t) { return GzipSize(text.size(), text.size()); };
  EXPECT_EQ(gunzip(packed, "file", 4, all), text);
  expect_error<DataError>([&] { gunzip(Bytes(packed.begin(), packed.end() - 1), "file", 4, all); },
                          "truncated");
  expect_error<DataError>(
      [&] {
        gunzip(Bytes(packed.begin(), packed.begin() + 14), "file", 0,
               [](const uint8_t*, size_t) { return GzipSize(20, 19); });
      },
      "of 20 bytes");
  const Bytes bomb = gzip(Bytes(100'000'000, 0), 1);
  const double time = min_cpu_ms([&] {
    EXPECT_EQ(gunzip(bomb, "file", 16, [](const uint8_t*, size_t) { return GzipSize(100'000'000, 50); }),
              Bytes(50));
  });
  EXPECT_LT(time, 100 * kSlowdown);
}

TEST(Gzip, RefusesSizesBeyondAllBounds) {
  const Bytes packed = gzip(bytes_of("some text"));
  for (const size_t size : {(size_t{1} << 32) + 1, SIZE_MAX - 1, SIZE_MAX})
    expect_error<DataError>([&] { gunzip(packed, "file", 4, always(size)); }, "expected at most 4294967296");
}

TEST(Gzip, RefusesWhatFollows) {
  const Bytes text = bytes_of("some text"), packed = gzip(text);
  const auto with = [&](const Bytes& rest) { return gunzip(packed + rest, "file", 4, always(text.size())); };
  EXPECT_EQ(with({}), text);
  expect_error<DataError>([&] { with({0}); },
                          "file: expected the end of the file after the gzip data, found 1 more");
  expect_error<DataError>([&] { with({0x1f}); }, "found 1 more bytes");
  expect_error<DataError>([&] { with({0, 0}); }, "found 2 more bytes");
  expect_error<DataError>([&] { with(packed); }, concat(packed.size(), " bytes of a second gzip member"));
}

// 100 KB that expand to 100 MB, of which only the stated kilobyte is read.
TEST(Gzip, StopsABombAtTheStatedSize) {
  const Bytes bomb = gzip(Bytes(100'000'000, 0), 1);
  const double time = min_cpu_ms([&] {
    expect_error<DataError>([&] { gunzip(bomb, "file", 16, always(1024)); }, "hold more than the 1024 bytes");
  });
  EXPECT_LT(time, 100 * kSlowdown);
}

}  // namespace
}  // namespace lenslet::test
