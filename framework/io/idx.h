// IDX files (LeCun's format of MNIST): big-endian, magic 00 00 TT DD, dimensions, data; plain or gzipped, detected by
// content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lenslet {

/// Unsigned bytes with their dimensions.
struct IdxArray {
  /// Outermost first, from the header; dims[0] is smaller if fewer items were requested.
  std::vector<int64_t> dims;
  std::vector<uint8_t> data;  // the product of the dimensions in bytes
};

/// Rank of a data set's file of images: [count, rows, columns].
inline constexpr int kIdxImageRank = 3;
/// Rank of its file of labels: [count].
inline constexpr int kIdxLabelRank = 1;

/// Checks the dimensions of the header before data is decompressed; throws if they are not the expected ones.
using IdxDimsCheck = std::function<void(const std::vector<int64_t>& dims)>;

/// Whether a file with these first bytes is an IDX file of bytes, or gzip. Two zero bytes are not enough: HEIC, JPEG
/// XL, JPEG 2000 and Windows icons begin with them too.
bool looks_like_idx(const std::vector<uint8_t>& head);
/// The size limit of an IDX file in bytes.
inline constexpr size_t kMaxIdxFileBytes = size_t{16} << 30;
/// The limit of the decompressed data of a gzipped file, in bytes. The data may be a thousand times as large as the
/// file.
inline constexpr size_t kMaxGunzippedIdxBytes = size_t{1} << 30;

/// Reads an IDX file of unsigned bytes with `rank` dimensions: all items, or the first `max_items` along dimension 0.
/// The rest of a gzipped file is then neither decompressed nor checked. Throws DataError naming the file and the
/// fault, and exceptions of `check`.
IdxArray read_idx(const std::string& path, int rank, const IdxDimsCheck& check = nullptr,
                  int64_t max_items = INT64_MAX);
/// Like read_idx(), for the bytes of a file; `origin` names it in messages.
IdxArray parse_idx(std::vector<uint8_t> bytes, int rank, const std::string& origin,
                   const IdxDimsCheck& check = nullptr, int64_t max_items = INT64_MAX);

}  // namespace lenslet
