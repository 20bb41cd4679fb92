// The reader of IDX files, plain and compressed: every fault has its own message.
#include "framework/io/idx.h"

#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

const Bytes kPixels = counting(3 * 28 * 28);
const Bytes kImages = idx({3, 28, 28}, kPixels);

void expect_idx_error(const Bytes& file, int rank, const std::string& fragment) {
  const TemporaryFolder folder;
  const std::string path = folder.write("data", file);
  expect_error<DataError>([&] { read_idx(path, rank); }, fragment, path);
}

TEST(Idx, ReadsPlainAndGzippedByContentNotByName) {
  const TemporaryFolder folder;
  for (const Bytes& file : {kImages, gzip(kImages), gzip(kImages, 0)}) {
    const IdxArray array = read_idx(folder.write("images.gz", file), 3);
    EXPECT_EQ(array.dims, (std::vector<int64_t>{3, 28, 28}));
    EXPECT_EQ(array.data, kPixels);
  }
}

TEST(Idx, RefusesFilesCutAnywhere) {
  expect_idx_error({}, 3, "the file is empty");
  expect_idx_error({0, 0, 8}, 3, "found only 3 bytes");
  expect_idx_error(Bytes(kImages.begin(), kImages.begin() + 9), 3,
                   "truncated in the IDX header: 9 of 16 bytes");
  for (const size_t cut : {size_t{1}, size_t{100}, kPixels.size()}) {
    expect_idx_error(Bytes(kImages.begin(), kImages.end() - static_cast<std::ptrdiff_t>(cut)), 3,
                     "truncated: " + std::to_string(kImages.size() - cut) + " of " +
                         std::to_string(kImages.size()) + " bytes");
  }
}

TEST(Idx, RefusesGzipCutAnywhereAlsoInItsLastBytes) {
  const TemporaryFolder folder;
  const Bytes file = gzip(kImages);
  for (size_t size = 2; size < file.size(); ++size) {
    const std::string path =
        folder.write("cut", Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
    expect_error<DataError>([&] { read_idx(path, 3); }, "truncated");
  }
  expect_idx_error(Bytes(file.begin(), file.end() - 1), 3,
                   "2368 of 2368 bytes, the checksum at the end is cut off");
}

TEST(Idx, ReadsTheFirstItemsAndUnpacksNoMore) {
  const TemporaryFolder folder;
  const Bytes packed = gzip(kImages, 0);
  for (const Bytes& file : {kImages, packed, Bytes(packed.begin(), packed.end() - 100)}) {
    const IdxArray array = read_idx(folder.write("images", file), 3, nullptr, 2);
    EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 28, 28}));
    EXPECT_EQ(array.data, Bytes(kPixels.begin(), kPixels.begin() + 2 * 28 * 28));
  }
  const std::string cut = folder.write("cut", Bytes(packed.begin(), packed.end() - 100));
  for (const int64_t max_items : {int64_t{3}, int64_t{4}, INT64_MAX})
    expect_error<DataError>([&] { read_idx(cut, 3, nullptr, max_items); }, "truncated");
  // A file that is read completely is checked completely.
  expect_error<DataError>([&] { read_idx(folder.write("plain", kImages + Bytes{1}), 3, nullptr, 2); },
                          "found 1 more");
}

TEST(Idx, RefusesAFlippedBitByTheChecksum) {
  const Bytes stored = gzip(kImages, 0);  // stored uncompressed, so that the flipped bit is in the data
  Bytes flipped = stored;
  flipped[500] ^= 4;
  expect_idx_error(flipped, 3, "gzip checksum does not match (incorrect data check)");
  Bytes packed = gzip(kImages);
  for (size_t from_end = 1; from_end <= 8; ++from_end) {
    Bytes damaged = packed;
    damaged[damaged.size() - from_end] ^= 0x40;
    expect_idx_error(damaged, 3, "gzip checksum does not match");
  }
  packed[12] ^= 0xff;
  const TemporaryFolder folder;
  const std::string path = folder.write("damaged", packed);
  EXPECT_THROW(read_idx(path, 3), DataError);
}

TEST(Idx, RefusesWhatFollowsTheData) {
  expect_idx_error(kImages + Bytes{1}, 3, "after the 2368 bytes that the IDX header states, found 1 more");
  expect_idx_error(gzip(kImages) + bytes_of("rest"), 3, "after the gzip data, found 4 more bytes");
  expect_idx_error(gzip(kImages) + gzip({1, 2}), 3, "bytes of a second gzip member");
  expect_idx_error(gzip(kImages + Bytes{0}), 3, "the gzip data hold more than the 2368 bytes");
  expect_idx_error(gzip(Bytes(kImages.begin(), kImages.end() - 5)), 3,
                   "IDX data too short: 2363 of 2368 bytes");
}

TEST(Idx, NamesBothMagicsWhereLabelsAreGivenAsImages) {
  expect_idx_error(idx({10}, counting(10)), 3,
                   "expected the IDX magic 00 00 08 03 (images), found 00 00 08 01 (labels)");
  expect_idx_error(gzip(kImages), 1,
                   "expected the IDX magic 00 00 08 01 (labels), found 00 00 08 03 (images)");
  expect_idx_error(idx({3, 1, 28, 28}, kPixels), 3, "found 00 00 08 04");
  expect_idx_error(Bytes{0, 0, 8, 0}, 3, "found 00 00 08 00");
  expect_idx_error(Bytes{0, 0, 0x0d, 3} + counting(100), 3, "found 00 00 0d 03");
  expect_idx_error(bytes_of("<html>not found</html>"), 3, "found 3c 68 74 6d");
}

TEST(Idx, ChecksDimensionsBeforeAllocating) {
  expect_idx_error(idx({0, 28, 28}, {}), 3, "IDX dimension 0 is 0");
  expect_idx_error(idx({3, 28, 0}, {}), 3, "IDX dimension 2 is 0");
  expect_idx_error(idx({0xffffffffu, 28, 28}, {}), 3,
                   "states 4294967295x28x28 bytes, expected at most 17179869184");
  // 10,000,000 images are within the limit of a file, but not within that of a gzipped one.
  expect_idx_error(idx({10000000, 28, 28}, counting(100)), 3, "truncated: 116 of 7840000016 bytes");
  expect_idx_error(gzip(idx({10000000, 28, 28}, {})), 3, "expected at most 1073741824 in a gzipped file");
  expect_idx_error(gzip(idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, {})), 3, "expected at most 1073741824");
  // Within the limit, but truncated: the allocated memory follows the data, not the header.
  const double time = min_cpu_ms([] {
    expect_idx_error(gzip(idx({1000000, 28, 28}, counting(100))), 3,
                     "IDX data too short: 116 of 784000016 bytes");
  });
  EXPECT_LT(time, 500 * kSlowdown);
}

TEST(Idx, StopsABombAtTheStatedSize) {
  const Bytes bomb = gzip(idx({1, 28, 28}, Bytes(16 << 20, 0)));
  ASSERT_LT(bomb.size(), 100000u);
  const TemporaryFolder folder;
  const std::string path = folder.write("bomb", bomb);
  const double time = min_cpu_ms(
      [&] { expect_error<DataError>([&] { read_idx(path, 3); }, "hold more than the 800 bytes"); });
  EXPECT_LT(time, 50 * kSlowdown);
}

}  // namespace
}  // namespace lenslet::test
