// IDX: magic 00 00 TT DD (type, rank), DD big-endian 32-bit dimensions, then the data, outermost dimension
// first. Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits" (1998), file formats.

#include "framework/io/idx.h"

#include <algorithm>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/gzip.h"

namespace lenslet {
namespace {

// Six times MNIST's largest file (9.9 MB): bounds what is read before the header is known.
constexpr size_t kMaxGzipBytes = size_t{64} << 20;
constexpr uint8_t kUnsignedByte = 0x08;

std::string hex(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (i) out += ' ';
    out += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  }
  return out;
}

const char* meaning_of(const uint8_t* magic) {
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != kUnsignedByte) return "";
  return magic[3] == kIdxImageRank ? " (images)" : magic[3] == kIdxLabelRank ? " (labels)" : "";
}

// Checks the header and returns the size of the whole file that it states. Allocates nothing.
size_t parse_header(const uint8_t* head, size_t head_bytes, int rank, size_t max_bytes,
                    const std::string& origin, IdxArray& array) {
  const uint8_t wanted[4] = {0, 0, kUnsignedByte, static_cast<uint8_t>(rank)};
  if (head_bytes < 4) {
    throw DataError(concat(origin, ": expected an IDX file starting with ", hex(wanted, 4), ", found only ",
                           head_bytes, " bytes"));
  }
  if (std::memcmp(head, wanted, 4) != 0) {
    throw DataError(concat(origin, ": expected the IDX magic ", hex(wanted, 4), meaning_of(wanted),
                           ", found ", hex(head, 4), meaning_of(head)));
  }
  const size_t header_bytes = 4 + 4 * static_cast<size_t>(rank);
  if (head_bytes < header_bytes) {
    throw DataError(
        concat(origin, ": truncated in the IDX header: ", head_bytes, " of ", header_bytes, " bytes"));
  }
  uint64_t total = 1;
  std::string dims;
  for (int i = 0; i < rank; ++i) {
    const uint8_t* p = head + 4 + 4 * i;
    const uint64_t dim = uint64_t{p[0]} << 24 | uint64_t{p[1]} << 16 | uint64_t{p[2]} << 8 | p[3];
    dims += concat(i ? "x" : "", dim);
    if (dim == 0) throw DataError(concat(origin, ": IDX dimension ", i, " is 0, expected at least 1"));
    array.dims.push_back(static_cast<int64_t>(dim));
    // Four dimensions below 2^32 can overflow 64 bits; stop counting beyond the limit.
    total = total > max_bytes ? total : total * dim;
  }
  if (total > max_bytes - header_bytes) {
    throw DataError(concat(origin, ": the IDX header states ", dims, " bytes, expected at most ", max_bytes,
                           max_bytes == kMaxGunzippedIdxBytes ? " in a gzipped file" : ""));
  }
  return header_bytes + static_cast<size_t>(total);
}

}  // namespace

bool looks_like_idx(const std::vector<uint8_t>& head) {
  if (head.size() < 4) return false;
  return is_gzip(head) ||
         (head[0] == 0 && head[1] == 0 && head[2] == kUnsignedByte && head[3] >= 1 && head[3] <= 4);
}

IdxArray parse_idx(std::vector<uint8_t> bytes, int rank, const std::string& origin, const IdxDimsCheck& check,
                   int64_t max_items) {
  if (bytes.empty()) throw DataError(concat(origin, ": the file is empty, expected an IDX file"));
  IdxArray array;
  const size_t header_bytes = 4 + 4 * static_cast<size_t>(rank);
  const size_t max_bytes = is_gzip(bytes) ? kMaxGunzippedIdxBytes : kMaxIdxFileBytes;
  const auto stated_size = [&](const uint8_t* head, size_t head_bytes) {
    const size_t size = parse_header(head, head_bytes, rank, max_bytes, origin, array);
    if (check) check(array.dims);
    const int64_t items = array.dims[0];
    array.dims[0] = std::min(items, max_items);
    return GzipSize(size, header_bytes + (size - header_bytes) / static_cast<size_t>(items) *
                                             static_cast<size_t>(array.dims[0]));
  };
  if (is_gzip(bytes)) {
    if (bytes.size() > kMaxGzipBytes) {
      throw DataError(concat(origin, ": expected at most ", kMaxGzipBytes, " bytes of gzip data, found ",
                             bytes.size(), "; decompress the file first"));
    }
    GzipSize size(0);
    bytes = gunzip(bytes, origin, header_bytes, [&](const uint8_t* head, size_t head_bytes) {
      return size = stated_size(head, head_bytes);
    });
    if (bytes.size() < std::min(size.stated, size.needed))
      throw DataError(concat(origin, ": IDX data too short: ", bytes.size(), " of ", size.stated,
                             " bytes; get the file again"));
  } else {
    const auto [stated, needed] = stated_size(bytes.data(), bytes.size());
    if (bytes.size() < stated)
      throw DataError(
          concat(origin, ": truncated: ", bytes.size(), " of ", stated, " bytes; get the file again"));
    if (bytes.size() > stated) {
      throw DataError(concat(origin, ": expected the end of the file after the ", stated,
                             " bytes that the IDX header states, found ", bytes.size() - stated, " more"));
    }
    bytes.resize(needed);
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  array.data = std::move(bytes);
  return array;
}

IdxArray read_idx(const std::string& path, int rank, const IdxDimsCheck& check, int64_t max_items) {
  return parse_idx(read_file(path, kMaxIdxFileBytes), rank, name_in_errors(path), check, max_items);
}

}  // namespace lenslet
