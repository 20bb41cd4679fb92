// A folder of grey images with their labels, in files named as MNIST's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenslet {

/// Images [count, rows, cols] and their labels.
struct ImageDataset {
  int64_t count = 0, rows = 0, cols = 0;  // images, and pixels per image
  std::vector<uint8_t> images;            // [count, rows, cols], ink bright on 0
  std::vector<uint8_t> labels;            // [count], the classes
  std::string images_path, labels_path;   // the files they were read from
};

/// Finds and reads `<split>-images` and `<split>-labels` (split "t10k" or "train") in a folder, as `-idx3-ubyte` or
/// `.idx3-ubyte`, with or without `.gz`. Throws DataError: not found (with the names tried), different counts, images
/// that are not `rows` x `cols`, a label that is none of `classes` (with its index).
ImageDataset read_image_dataset(const std::string& folder, const std::string& split, int64_t rows,
                                int64_t cols, int64_t classes = 10);

/// The file names that read_image_dataset() tries in that folder, for both splits.
std::vector<std::string> image_dataset_files(const std::string& folder);

}  // namespace lenslet
