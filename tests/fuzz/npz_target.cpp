// Arrays of NumPy. The first byte chooses: an archive (.npz), an array (.npy), or two arrays in an archive whose
// checksums are right, which mutated archives hardly ever have.
#include "framework/io/npz.h"

#include "framework/base/text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"
#include "tests/support/npz_writer.h"

namespace lenslet::fuzz {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

void check_array(const NpyArray& array) {
  check(array.item == 1 || array.item == 2 || array.item == 4 || array.item == 8, "a value has 1 to 8 bytes");
  uint64_t product = array.item;
  for (const int64_t dim : array.dims) {
    check(dim >= 0, "no negative dimension");
    product *= static_cast<uint64_t>(dim);
  }
  check(product == array.data.size(), "the data are as long as the dimensions say");
  const std::string text = array.describe();
  check(!text.empty() && text == printable(text), "the description can be shown");
  std::vector<double> values;
  if (accepts("file", [&] { values = array.values("file"); }))
    check(values.size() == static_cast<size_t>(array.count()), "as many values as the array has");
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(npz) {
  Cursor input(data, size);
  const int form = input.byte() % 3;
  if (form == 1) {
    NpyArray array;
    if (accepts("file", [&] { array = parse_npy(input.rest(), "file"); })) check_array(array);
    return;
  }
  Bytes archive = input.rest();
  if (form == 2) {
    const std::string text = text_of(input.data(), input.size());
    const size_t name = text.find('\0') == std::string::npos ? 0 : text.find('\0'), half = text.size() / 2;
    const std::string first = text.substr(0, half), second = text.substr(half);
    archive = test::bytes_of(test::NpzWriter().add(text.substr(0, name), first).add("y.npy", second).bytes());
  }
  std::map<std::string, NpyArray> arrays;
  if (!accepts("file", [&] { arrays = parse_npz(archive, "file", kMaxBytes); })) return;
  size_t bytes = 0;
  for (const auto& [name, array] : arrays) {
    check_array(array);
    bytes += array.data.size();
  }
  check(bytes <= kMaxBytes, "no more bytes than the limit");
}

LENSLET_FUZZ_SEEDS(npz) {
  using test::operator+;
  const std::string floats = test::npy("<f4", {2, 3}, std::string(24, '\1'));
  std::vector<Bytes> seeds;
  for (const char* type : {"<f2", "<f8", "|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"}) {
    const auto item = static_cast<size_t>(type[2] - '0');
    seeds.push_back(Bytes{1} + test::bytes_of(test::npy(type, {3}, std::string(3 * item, '\x7f'))));
  }
  std::string fortran = floats, second = floats, named = std::string("a.npy") + '\0' + floats;
  fortran.replace(fortran.find("False"), 5, "True ");
  second[6] = 2;
  for (const std::string& array : {floats, fortran, second, test::npy("<f4", {}, std::string(4, '\0')),
                                   test::npy("<f4", {0, 3}, ""), test::npy(">f4", {1}, std::string(4, '\0')),
                                   test::npy("<f4", {int64_t{1} << 39, int64_t{1} << 39}, "")})
    seeds.push_back(Bytes{1} + test::bytes_of(array));
  const std::string one = test::NpzWriter().add("x.npy", floats).bytes();
  for (const std::string& archive :
       {one, test::NpzWriter().add("x.npy", floats).add("/conv/y.npy", floats).bytes(),
        test::NpzWriter().add("x.npy", floats).add("x.npy", floats).bytes(), test::NpzWriter().bytes(),
        one.substr(0, one.size() - 10), one + std::string(30, ' '),
        test::NpzWriter().add("x", "text").bytes()})
    seeds.push_back(Bytes{0} + test::bytes_of(archive));
  const std::string zeros = test::npy("<f4", {100}, std::string(400, '\0'));
  for (const uint64_t stated : {zeros.size(), zeros.size() + 1, size_t{0xfffffff0}})
    seeds.push_back(Bytes{0} +
                    test::bytes_of(test::NpzWriter().add_deflated("x.npy", zeros, stated).bytes()));
  seeds.push_back(Bytes{2} + test::bytes_of(floats + floats));
  seeds.push_back(Bytes{2} + test::bytes_of(named));
  return seeds;
}
