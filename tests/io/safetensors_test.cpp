// The reader of safetensors files accepts one form only and names what departs from it.
#include "framework/io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/base/error.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"

namespace lenslet::test {
namespace {

Safetensors parse(const Bytes& file, bool allow_non_finite = false) {
  return parse_safetensors(file.data(), file.size(), "model.safetensors", allow_non_finite);
}

void expect_refused(const Bytes& file, const std::string& fragment) {
  expect_error<DataError>([&] { parse(file); }, fragment, "model.safetensors: ");
}

// A header of one or more entries, followed by this many bytes of data.
void expect_refused(const std::string& entries, size_t data_bytes, const std::string& fragment) {
  expect_refused(safetensors("{" + entries + "}", data_bytes), fragment);
}

Bytes length(uint64_t value) {
  Bytes out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * i));
  return out;
}

const std::string kA = tensor_entry("a", "F32", "1", "0,4");

TEST(Safetensors, ReadsTensorsAndMetadata) {
  Bytes file = safetensors("{\"__metadata__\":{\"model\":\"toy\",\"mean\":\"0.5\"}," +
                               tensor_entry("b", "F32", "2,3", "4,28") + "," + kA + "}   ",
                           28);
  file[file.size() - 24] = 0;
  file[file.size() - 22] = 0x80;  // 1.0f in b[0]
  file[file.size() - 21] = 0x3f;
  const Safetensors model = parse(file);
  ASSERT_EQ(model.tensors.size(), 2u);
  EXPECT_EQ(model.tensors.at("b").shape(), (Shape{2, 3}));
  EXPECT_EQ(model.tensors.at("b").data()[0], 1.0f);
  EXPECT_EQ(model.tensors.at("b").data()[1], 0.0f);
  EXPECT_EQ(model.metadata.at("model"), "toy");
  EXPECT_EQ(
      parse(safetensors("{" + tensor_entry("s", "F32", "", "0,4") + "}", 4)).tensors.at("s").shape().rank(),
      0);
}

TEST(Safetensors, ConvertsHalfPrecision) {
  // fp16: 1, -2, largest 65504, smallest normal, smallest subnormal 2^-24, -0.
  Bytes file = safetensors("{" + tensor_entry("h", "F16", "6", "0,12") + "}", 12);
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000};
  for (size_t i = 0; i < 6; ++i) {
    file[file.size() - 12 + 2 * i] = static_cast<uint8_t>(halves[i]);
    file[file.size() - 11 + 2 * i] = static_cast<uint8_t>(halves[i] >> 8);
  }
  const Safetensors model = parse(file);
  const float* h = model.tensors.at("h").data();
  EXPECT_EQ(h[0], 1.0f);
  EXPECT_EQ(h[1], -2.0f);
  EXPECT_EQ(h[2], 65504.0f);
  EXPECT_EQ(h[3], std::ldexp(1.0f, -14));
  EXPECT_EQ(h[4], std::ldexp(1.0f, -24));
  EXPECT_TRUE(h[5] == 0.0f && std::signbit(h[5]));

  Bytes brain = safetensors("{" + tensor_entry("b", "BF16", "1", "0,2") + "}", 2);
  brain[brain.size() - 2] = 0x49;  // 0x4049: 3.140625
  brain[brain.size() - 1] = 0x40;
  EXPECT_EQ(parse(brain).tensors.at("b").data()[0], 3.140625f);
}

TEST(Safetensors, ReadsTheDefaultWeights) {
  const Safetensors model = read_safetensors(LENSLET_SOURCE_DIR "/weights/lenet5.safetensors");
  EXPECT_EQ(model.tensors.size(), 10u);
  EXPECT_EQ(model.tensors.at("conv2.weight").shape(), (Shape{16, 6, 5, 5}));
}

TEST(Safetensors, ChecksTheHeaderLength) {
  expect_refused(Bytes{}, "the file is empty");
  expect_refused(Bytes{1, 0, 0}, "found only 3 bytes");
  expect_refused(length(~uint64_t{0}) + bytes_of("{}"),
                 "header length is 18446744073709551615 bytes, expected at most 1048576");
  expect_refused(length(10'000'000'000u) + bytes_of("{}"), "header length is 10000000000 bytes");
  expect_refused(length(0) + Bytes(100, 1), "header length is 0");
  expect_refused(length(5000) + bytes_of("{}"),
                 "truncated: the header is 5000 bytes long, but only 2 follow");
  expect_refused(length(10) + bytes_of("          "), "expected a header that starts with '{'");
}

TEST(Safetensors, RefusesDuplicateKeysEverywhere) {
  expect_refused(kA + "," + kA, 4, "the key \"a\" appears twice");
  expect_refused("\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}", 4,
                 "tensor \"a\": the key \"dtype\" appears twice");
  expect_refused("\"__metadata__\":{\"x\":\"1\",\"x\":\"2\"}," + kA, 4,
                 "__metadata__: the key \"x\" appears twice");
  expect_refused("\"__metadata__\":{},\"__metadata__\":{}," + kA, 4, "\"__metadata__\" appears twice");
}

TEST(Safetensors, RefusesValuesOfAnotherKind) {
  const auto with = [](const std::string& shape) {
    return "\"a\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,4]}";
  };
  expect_refused(with("[-1]"), 4, "for shape, found -1, a negative number");
  expect_refused(with("[1.5]"), 4, "found 1.5, not a whole number");
  expect_refused(with("[1e3]"), 4, "found 1e3, not a whole number");
  expect_refused(with("[18446744073709551616]"), 4,
                 "found 18446744073709551616, a number of more than 64 bits");
  expect_refused(with("[[1]]"), 4, "found a list");
  expect_refused(with("[null]"), 4, "found null");
  expect_refused(with("[true]"), 4, "found true");
  expect_refused(with("[\"1\"]"), 4, "found \"1\"");
  expect_refused(with("1"), 4, "expected a list of whole numbers for shape, found 1");
  expect_refused(with("{}"), 4, "found an object");
  expect_refused(with("null"), 4, "found null");
  expect_refused("\"a\":null", 4, "tensor \"a\": expected an object, found null");
  expect_refused("\"a\":[1]", 4, "tensor \"a\": expected an object, found a list");
  expect_refused("\"__metadata__\":{\"x\":1}," + kA, 4, "__metadata__ \"x\": expected a string, found 1");
  expect_refused("\"__metadata__\":{\"x\":{}}," + kA, 4, "expected a string, found an object");
  expect_refused("\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}", 4,
                 "expected a string for dtype, found 32");
  expect_refused("\"a\":{\"dtype\":\"F32\",\"shape\":[1]}", 4, "tensor \"a\": data_offsets is missing");
  expect_refused("\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"extra\":1}", 4,
                 "found \"extra\"");
  expect_refused(tensor_entry("a", "F32", "1", "0,4,4"), 4, "expected 2 numbers in data_offsets, found more");
  expect_refused(tensor_entry("a", "F32", "1", "4"), 4, "expected 2 numbers in data_offsets, found 1");
  expect_refused(tensor_entry("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4"), 4,
                 "expected at most 8 numbers in shape");
}

TEST(Safetensors, RefusesWhatIsNoJson) {
  expect_refused("\"a\":", 4, "not valid JSON at byte");
  expect_refused(kA + "}{", 4, "not valid JSON at byte");
  expect_refused("\"\xff\xfe\":1", 4, "not valid JSON at byte");
  // Nesting takes no stack and no memory: the first list is an error.
  expect_refused("\"a\":" + std::string(1 << 20, '[').substr(0, 1000000), 4, "found a list");
  expect_refused("", 0, "expected at least one tensor, found none");
}

TEST(Safetensors, RefusesANulThatHidesTheRest) {
  const std::string nul(1, '\0');
  // {"a":{…}}NUL…: a parser that stops at the NUL would miss the second tensor.
  expect_refused(kA + "}" + nul + "\"b\":{", 4, "a NUL at byte " + std::to_string(kA.size() + 2));
  expect_refused(kA + "," + nul, 4, "safetensors header: a NUL at byte");
  expect_refused("\"a" + nul + "\":null", 4, "a NUL at byte 3");
}

TEST(Safetensors, QuotesNumbersOfAnyLengthInALine) {
  const std::string digits(900'000, '7');
  const Bytes file = safetensors("{" + tensor_entry("a", "F32", digits, "0,4") + "}", 4);
  EXPECT_LT(expect_error<DataError>([&] { parse(file); }).size(), 1000u);
}

TEST(Safetensors, LimitsTheNumberOfTensors) {
  std::string header;
  for (int i = 0; i <= 4096; ++i)
    header += (i ? "," : "") + tensor_entry("t" + std::to_string(i), "F32", "0", "0,0");
  expect_refused(header, 0, "at most 4096 tensors, found more");
}

TEST(Safetensors, DemandsThatTensorsCoverTheData) {
  expect_refused(tensor_entry("a", "F32", "1", "4,8"), 8,
                 "4 bytes before the data of tensor \"a\" belong to no tensor");
  expect_refused(kA + "," + tensor_entry("b", "F32", "1", "8,12"), 12,
                 "4 bytes before the data of tensor \"b\"");
  expect_refused(kA + "," + tensor_entry("b", "F32", "2", "2,10"), 10,
                 "tensors \"a\" and \"b\" overlap at byte 2");
  expect_refused(kA + "," + tensor_entry("b", "F32", "1", "0,4"), 4, "overlap at byte 0");
  expect_refused(kA, 9, "the last 5 bytes belong to no tensor");
  expect_refused(kA, 3, "its data_offsets end at 4, but the file has only 3 bytes of data");
  expect_refused(tensor_entry("a", "F32", "1", "4,0"), 4,
                 "expected data_offsets in ascending order, found 4 and 0");
  expect_refused(tensor_entry("a", "F32", "2", "0,4"), 4,
                 "its shape 2 in F32 takes 8 bytes, but its data_offsets span 4");
  expect_refused(tensor_entry("a", "F32", "1", "0,18446744073709551615"), 4, "but the file has only 4 bytes");
  expect_refused(tensor_entry("a", "F32", "1", "0,18446744073709551620"), 4, "a number of more than 64 bits");
}

TEST(Safetensors, ChecksTheProductOfAShape) {
  expect_refused(tensor_entry("a", "F32", "4294967296,4294967296", "0,4"), 4,
                 "the product of its shape 4294967296x4294967296 overflows");
  expect_refused(tensor_entry("a", "F32", "4611686018427387904", "0,4"), 4, "overflows");
  expect_refused(tensor_entry("a", "F32", "1152921504606846976,0", "0,0"), 0,
                 "tensor \"a\": the product of the dimensions overflows");
  expect_refused(tensor_entry("a", "F32", "0,18446744073709551615", "0,0"), 0,
                 "up to 2^63 - 1, found 18446744073709551615");
}

TEST(Safetensors, RefusesOtherTypesByName) {
  expect_refused(tensor_entry("a", "F64", "1", "0,8"), 8,
                 "tensor \"a\": expected F32, F16 or BF16, found F64");
  expect_refused(tensor_entry("a", "I8", "1", "0,1"), 1, "found I8");
  expect_refused(tensor_entry("a", "f32", "1", "0,4"), 4, "found f32");
}

TEST(Safetensors, CountsNanAndInfinity) {
  Bytes file = safetensors("{" + tensor_entry("w", "F32", "4", "0,16") + "}", 16);
  const size_t data = file.size() - 16;
  for (const size_t element : {0u, 2u}) {
    file[data + 4 * element + 2] = 0xc0;  // NaN
    file[data + 4 * element + 3] = 0x7f;
  }
  file[data + 14] = 0x80;  // -infinity
  file[data + 15] = 0xff;
  expect_refused(file, "tensor \"w\" has 2 NaN and 1 infinite of 4 values");
  const Safetensors model = parse(file, true);
  EXPECT_TRUE(std::isnan(model.tensors.at("w").data()[0]));
  EXPECT_EQ(model.tensors.at("w").data()[3], -std::numeric_limits<float>::infinity());
}

TEST(Safetensors, NamesWhatAnotherFileSeemsToBe) {
  const Bytes rest(200, 'x');
  expect_refused(bytes_of("PK\x03\x04") + rest, "seems to be a zip archive, as PyTorch's torch.save writes");
  expect_refused(Bytes{0x80, 2, 0x8a} + rest, "seems to be a Python pickle");
  expect_refused(bytes_of("<!DOCTYPE html><html>") + rest, "seems to be an HTML or XML page");
  expect_refused(bytes_of("\n  <html>") + rest, "seems to be an HTML or XML page");
  expect_refused(bytes_of("\xef\xbb\xbf\n<html>") + rest, "seems to be an HTML or XML page");
  expect_refused(bytes_of("version https://git-lfs.github.com/spec/v1\n") + rest,
                 "seems to be a Git LFS pointer");
  expect_refused(Bytes{8, 7, 0x12, 7} + bytes_of("pytorch") + rest, "seems to be an ONNX model");
  expect_refused(bytes_of("\x93NUMPY") + rest, "seems to be a NumPy array file");
  expect_refused(gzip(rest), "seems to be gzip data");
  expect_refused(bytes_of("{\"conv1\": 1}") + rest, "seems to be plain JSON text");
}

}  // namespace
}  // namespace lenslet::test
