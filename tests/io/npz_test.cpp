// The reader of .npy and .npz files: what it takes, and every kind of damage.
#include "framework/io/npz.h"

#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

constexpr size_t kMost = 1 << 20;

NpyArray array_of(const std::string& text) { return parse_npy(bytes_of(text), "a.npy"); }

// Deflated by Python's zipfile: {"x": numpy.zeros(1000, "f4")}, without the zip64 field of numpy.
std::string deflated(const std::string& content) {
  std::string out(content.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string archive_of_deflated(const std::string& content, uint64_t stated) {
  const std::string packed = deflated(content), name = "x.npy";
  const uint64_t crc =
      ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string common = little_endian(0, 2) + little_endian(8, 2) + little_endian(0, 4) +
                             little_endian(crc, 4) + little_endian(packed.size(), 4) +
                             little_endian(stated, 4) + little_endian(name.size(), 2) + little_endian(0, 2);
  const std::string local = little_endian(0x04034b50, 4) + little_endian(20, 2) + common + name + packed;
  const std::string entry = little_endian(0x02014b50, 4) + little_endian(20, 2) + little_endian(20, 2) +
                            common + little_endian(0, 6) + little_endian(0, 4) + little_endian(0, 4) + name;
  return local + entry + little_endian(0x06054b50, 4) + little_endian(0, 4) + little_endian(1, 2) +
         little_endian(1, 2) + little_endian(entry.size(), 4) + little_endian(local.size(), 4) +
         little_endian(0, 2);
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
      parse_npz(bytes_of(NpzWriter().add("/conv/x.npy", x).add("y.npy", y).bytes()), "a.npz", kMost);
  ASSERT_EQ(arrays.size(), size_t{2});
  EXPECT_EQ(arrays.at("/conv/x").values("a"), (std::vector<double>{1, 2}));
  EXPECT_EQ(arrays.at("y").dims, (std::vector<int64_t>{1}));
  const std::string zeros = npy("<f4", {1000}, std::vector<float>(1000));
  const auto packed = parse_npz(bytes_of(archive_of_deflated(zeros, zeros.size())), "a.npz", kMost);
  EXPECT_EQ(packed.at("x").values("a"), std::vector<double>(1000));
}

TEST(Npz, RefusesDamage) {
  const auto refused = [](const std::string& text, const std::string& words) {
    expect_error<DataError>([&] { parse_npz(bytes_of(text), "a.npz", kMost); }, words);
  };
  const std::string x = npy("<f4", {2}, std::vector<float>{1, 2});
  const std::string good = NpzWriter().add("x.npy", x).bytes();
  for (size_t length = 0; length < good.size(); ++length)
    expect_error<DataError>([&] { parse_npz(bytes_of(good.substr(0, length)), "a.npz", kMost); }, "a.npz");
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

TEST(Npz, RefusesFortranOrder) {
  std::string text = npy("<f4", {1}, std::vector<float>{1});
  text.replace(text.find("False, 's"), 5, "True ");
  expect_error<DataError>([&] { array_of(text); }, "Fortran order");
}

}  // namespace
}  // namespace lenslet::test
