// The reader of .npy and .npz files: what it takes, and every kind of damage.
#include "framework/io/npz.h"

#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

constexpr size_t kMaxArrayBytes = 1 << 20;

NpyArray array_of(const std::string& text) { return parse_npy(bytes_of(text), "a.npy"); }

std::string archive_of_deflated(const std::string& content, uint64_t stated) {
  return NpzWriter().add_deflated("x.npy", content, stated).bytes();
}

TEST(Npz, ReadsEveryType) {
  EXPECT_EQ(array_of(npy("<f4", {2}, std::vector<float>{1.5f, -2})).values("a"),
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(array_of(npy("<f8", {1, 1}, std::vector<double>{0.1})).values("a"), (std::vector<double>{0.1}));
  EXPECT_EQ(array_of(npy("<f2", {1}, std::vector<uint16_t>{0x3e00})).values("a"), (std::vector<double>{1.5}));
  EXPECT_EQ(array_of(npy("|u1", {1}, std::vector<uint8_t>{255})).values("a"), (std::vector<double>{255}));
  EXPECT_EQ(array_of(npy("|i1", {1}, std::vector<int8_t>{-1})).values("a"), (std::vector<double>{-1}));
  EXPECT_EQ(array_of(npy("<i8", {1}, std::vector<int64_t>{-5})).values("a"), (std::vector<double>{-5}));
  EXPECT_EQ(array_of(npy("<i8", {}, std::vector<int64_t>{7})).dims, (std::vector<int64_t>{}));
  EXPECT_EQ(array_of(npy("<f4", {0, 3}, "")).count(), 0);
  expect_error<DataError>([] { array_of(npy("<i8", {1}, std::vector<int64_t>{INT64_MAX})).values("a"); },
                          "2^53");
}

TEST(Npz, ReadsMembersByName) {
  const std::string x = npy("<f4", {2}, std::vector<float>{1, 2}), y = npy("|u1", {1}, "\7");
  const auto arrays =
      parse_npz(bytes_of(NpzWriter().add("/conv/x.npy", x).add("y.npy", y).bytes()), "a.npz", kMaxArrayBytes);
  ASSERT_EQ(arrays.size(), size_t{2});
  EXPECT_EQ(arrays.at("/conv/x").values("a"), (std::vector<double>{1, 2}));
  EXPECT_EQ(arrays.at("y").dims, (std::vector<int64_t>{1}));
  const std::string zeros = npy("<f4", {1000}, std::vector<float>(1000));
  const auto packed = parse_npz(bytes_of(archive_of_deflated(zeros, zeros.size())), "a.npz", kMaxArrayBytes);
  EXPECT_EQ(packed.at("x").values("a"), std::vector<double>(1000));
}

TEST(Npz, RefusesDamage) {
  const auto refused = [](const std::string& text, const std::string& words) {
    expect_error<DataError>([&] { parse_npz(bytes_of(text), "a.npz", kMaxArrayBytes); }, words);
  };
  const std::string x = npy("<f4", {2}, std::vector<float>{1, 2});
  const std::string good = NpzWriter().add("x.npy", x).bytes();
  for (size_t length = 0; length < good.size(); ++length)
    expect_error<DataError>([&] { parse_npz(bytes_of(good.substr(0, length)), "a.npz", kMaxArrayBytes); },
                            "a.npz");
  std::string flipped = good;
  flipped[good.find("NUMPY") + x.size() - 10] ^= 1;  // a value
  refused(flipped, "checksum");
  refused(NpzWriter().add("x.npy", x).add("x.npy", x).bytes(), "x is there twice");
  refused(NpzWriter().add("x.npy", "text").bytes(), "no array of NumPy");
  refused(NpzWriter().add("x.npy", npy("<f4", {3}, std::vector<float>{1, 2})).bytes(),
          "states 12 bytes of values, found 8");
  refused(NpzWriter().add("x.npy", npy("<f4", {1ll << 39, 1ll << 39}, "")).bytes(), "header is damaged");
  refused(NpzWriter().add("x.npy", npy(">f4", {1}, "1234")).bytes(), "little-endian");
  refused(NpzWriter().add("x.npy", npy("|O", {1}, "12345678")).bytes(), "type is '|O'");
  const std::string zeros = npy("<f4", {1000}, std::vector<float>(1000));
  refused(archive_of_deflated(zeros, zeros.size() - 1), "damaged");
  refused(archive_of_deflated(zeros, zeros.size() + 1), "damaged");
  refused(archive_of_deflated(zeros, 0xfffffff0), "limit");
  expect_error<DataError>([&] { parse_npz(bytes_of(good), "a.npz", 8); }, "limit");
}

// Values are decompressed, and their checksum compared, only if the header and the caller accept the array.
TEST(Npz, LooksAtHeadersBeforeValues) {
  const std::string zeros(300'000, '\0');
  const auto refused = [](std::string archive, const std::string& words, const NpyCheck& check = {}) {
    const size_t last_value = archive.find("PK\1\2") - 2;
    archive[last_value] ^= 0x55;
    expect_error<DataError>([&] { parse_npz(bytes_of(archive), "a.npz", kMaxArrayBytes, check); }, words);
  };
  const auto deflated = [](const std::string& content) {
    return archive_of_deflated(content, content.size());
  };
  refused(deflated("text" + zeros), "no array of NumPy");
  refused(deflated(npy("<f4", {3}, zeros)), "states 12 bytes of values, found 300000");
  const std::string good = npy("<f4", {75'000}, zeros);
  refused(deflated(good), "damaged");
  const NpyCheck unwanted = [](const std::string& name, const NpyArray& array) {
    EXPECT_TRUE(array.data.empty());
    throw DataError(concat(name, " of ", array.dims.at(0), " is unwanted"));
  };
  refused(deflated(good), "x of 75000 is unwanted", unwanted);
  refused(NpzWriter().add("x.npy", good).bytes(), "x of 75000 is unwanted", unwanted);
}

TEST(Npz, RefusesFortranOrder) {
  std::string text = npy("<f4", {1}, std::vector<float>{1});
  text.replace(text.find("False, 's"), 5, "True ");
  expect_error<DataError>([&] { array_of(text); }, "Fortran order");
}

}  // namespace
}  // namespace lenslet::test
