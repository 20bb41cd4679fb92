// IDX files (LeCun's format of MNIST): big-endian, magic 00 00 TT DD, dimensions, data; plain or gzipped,
// told by content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lenslet {

/// Unsigned bytes with their dimensions.
struct IdxArray {
  std::vector<int64_t> dims;  // as the header has them, outermost first
  std::vector<uint8_t> data;  // as many bytes as the dimensions say
};

/// Sees the dimensions that a header states, before any data are unpacked, and throws where they are not the wanted ones.
using IdxDimsCheck = std::function<void(const std::vector<int64_t>& dims)>;

/// Reads an IDX file of unsigned bytes with `rank` dimensions. Throws DataError naming the file and what is
/// wrong in it, and what `check` throws.
IdxArray read_idx(const std::string& path, int rank, const IdxDimsCheck& check = nullptr);
/// The same of a file's bytes; `origin` names it in messages.
IdxArray parse_idx(std::vector<uint8_t> bytes, int rank, const std::string& origin,
                   const IdxDimsCheck& check = nullptr);

/// Images [count, rows, cols] and their labels.
struct ImageDataset {
  int64_t count = 0, rows = 0, cols = 0;  // images, and pixels of each
  std::vector<uint8_t> images;            // [count, rows, cols], ink bright on 0
  std::vector<uint8_t> labels;            // [count], 0..9
  std::string images_path, labels_path;   // the files they were read from
};

/// Finds and reads `<split>-images` and `<split>-labels` (split "t10k" or "train") in a folder, as
/// `-idx3-ubyte` or
/// `.idx3-ubyte`, with or without `.gz`. Throws DataError: nothing found (with the names tried), counts that
/// differ, images that are not `rows` x `cols`, a label above 9 (with its index).
ImageDataset read_image_dataset(const std::string& folder, const std::string& split, int64_t rows,
                                int64_t cols);

/// The names under which read_image_dataset() looks for files in that folder, of both splits.
std::vector<std::string> image_dataset_files(const std::string& folder);

}  // namespace lenslet
