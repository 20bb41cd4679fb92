// IDX, plain and gzipped. The first byte is the requested rank.
#include "framework/io/idx.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(idx) {
  Cursor input(data, size);
  const int rank = 1 + input.byte() % 4;
  IdxArray array;
  if (!accepts("file", [&] { array = parse_idx(input.rest(), rank, "file"); })) return;
  check(array.dims.size() == static_cast<size_t>(rank), "as many dimensions as asked for");
  uint64_t product = 1;
  std::vector<uint32_t> dims;
  for (const int64_t dim : array.dims) {
    check(dim >= 1 && dim <= UINT32_MAX, "dimensions from 1 to 2^32 - 1");
    product *= static_cast<uint64_t>(dim);
    dims.push_back(static_cast<uint32_t>(dim));
  }
  check(product == array.data.size(), "the data are as long as the dimensions say");
  const IdxArray again = parse_idx(test::idx(dims, array.data), rank, "file");
  check(again.dims == array.dims && again.data == array.data, "written and read again it is the same");
}

LENSLET_FUZZ_SEEDS(idx) {
  using test::operator+;
  const Bytes images = test::idx({2, 3, 3}, Bytes(18, 5)), labels = test::idx({5}, {0, 1, 2, 3, 4});
  const Bytes rank2 = test::idx({2, 4}, Bytes(8, 1)), rank4 = test::idx({1, 2, 2, 2}, Bytes(8, 9));
  const Bytes huge = test::idx({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {});
  return {Bytes{2} + images,
          Bytes{2} + test::gzip(images),
          Bytes{0} + labels,
          Bytes{0} + test::gzip(labels, 0),
          Bytes{1} + rank2,
          Bytes{3} + rank4,
          Bytes{3} + huge,
          Bytes{2} + images + Bytes{1},
          Bytes{2} + test::gzip(images + Bytes{1}),
          Bytes{2} + test::idx({0, 28, 28}, {}),
          Bytes{2} + test::gzip(Bytes(20000, 0)),
          Bytes{0}};
}
