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
  std::vector<int64_t> dims;  // outermost first; from the header, or fewer items if fewer were requested
  std::vector<uint8_t> data;  // the product of the dimensions in bytes
};

/// Checks the dimensions of the header before data is decompressed; throws if they are not the expected ones.
using IdxDimsCheck = std::function<void(const std::vector<int64_t>& dims)>;

/// Whether a file with these first bytes is an IDX file of bytes, or gzip. Two zero bytes are not enough: HEIC, JPEG
/// XL, JPEG 2000 and Windows icons begin with them too.
bool looks_like_idx(const std::vector<uint8_t>& head);
/// Size limit of an IDX file in bytes.
inline constexpr size_t kMaxIdxFileBytes = size_t{1} << 30;

/// Reads an IDX file of unsigned bytes with `rank` dimensions: all items, or the first `most_items` along dimension 0.
/// The rest of a gzipped file is then neither decompressed nor checked. Throws DataError naming the file and the
/// fault, and exceptions of `check`.
IdxArray read_idx(const std::string& path, int rank, const IdxDimsCheck& check = nullptr,
                  int64_t most_items = INT64_MAX);
/// The same for the bytes of a file; `origin` names it in messages.
IdxArray parse_idx(std::vector<uint8_t> bytes, int rank, const std::string& origin,
                   const IdxDimsCheck& check = nullptr, int64_t most_items = INT64_MAX);

/// Images [count, rows, cols] and their labels.
struct ImageDataset {
  int64_t count = 0, rows = 0, cols = 0;  // images, and pixels per image
  std::vector<uint8_t> images;            // [count, rows, cols], ink bright on 0
  std::vector<uint8_t> labels;            // [count], 0..9
  std::string images_path, labels_path;   // the files they were read from
};

/// Finds and reads `<split>-images` and `<split>-labels` (split "t10k" or "train") in a folder, as `-idx3-ubyte` or
/// `.idx3-ubyte`, with or without `.gz`. Throws DataError: not found (with the names tried), different counts, images
/// that are not `rows` x `cols`, a label above 9 (with its index).
ImageDataset read_image_dataset(const std::string& folder, const std::string& split, int64_t rows,
                                int64_t cols);

/// The file names that read_image_dataset() tries in that folder, for both splits.
std::vector<std::string> image_dataset_files(const std::string& folder);

}  // namespace lenslet
