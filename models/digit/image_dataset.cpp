#include "models/digit/image_dataset.h"

#include <sys/stat.h>

#include <utility>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/idx.h"

namespace lenslet {
namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string with_slash(const std::string& folder) {
  return folder.empty() || folder.back() == '/' ? folder : folder + "/";
}

// The usual names, in search order.
std::vector<std::string> idx_names(const std::string& split, const std::string& what, int rank) {
  std::vector<std::string> names;
  for (const char* dash : {"-", "."}) {
    for (const char* suffix : {"", ".gz"})
      names.push_back(concat(split, "-", what, dash, "idx", rank, "-ubyte", suffix));
  }
  return names;
}

// The first of the usual names that exists. Throws DataError with the names tried.
std::string find_idx(const std::string& folder, const std::string& split, const std::string& what, int rank) {
  const std::vector<std::string> names = idx_names(split, what, rank);
  for (const std::string& name : names) {
    if (is_file(with_slash(folder) + name)) return with_slash(folder) + name;
  }
  struct stat status {};
  for (const std::string& name :
       names) {  // lstat takes a dangling link, which the error of opening then names
    if (::lstat((with_slash(folder) + name).c_str(), &status) == 0) return with_slash(folder) + name;
  }
  const bool exists = ::stat(folder.empty() ? "." : folder.c_str(), &status) == 0;
  if (exists && !S_ISDIR(status.st_mode))
    throw DataError(concat(printable_excerpt(folder), ": expected a folder of IDX files, found a file"));
  throw DataError(concat(printable_excerpt(folder),
                         exists ? ": expected one of " : ": no such folder, expected one with ",
                         comma_list(names), exists ? ", found none" : "",
                         "; get MNIST with ./dev mnist, or set LENSLET_MNIST_DIR to a folder that has it"));
}

}  // namespace

std::vector<std::string> image_dataset_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* split : {"t10k", "train"}) {
    for (const auto& [what, rank] :
         {std::pair("images", kIdxImageRank), std::pair("labels", kIdxLabelRank)}) {
      for (const std::string& name : idx_names(split, what, rank)) files.push_back(with_slash(folder) + name);
    }
  }
  return files;
}

ImageDataset read_image_dataset(const std::string& folder, const std::string& split, int64_t rows,
                                int64_t cols, int64_t classes) {
  ImageDataset set;
  set.images_path = find_idx(folder, split, "images", kIdxImageRank);
  set.labels_path = find_idx(folder, split, "labels", kIdxLabelRank);
  const std::string images_name = printable_excerpt(set.images_path),
                    labels_name = printable_excerpt(set.labels_path);
  IdxArray labels;
  // Both headers are checked, and the labels are read, before the images are decompressed: these may be a thousand
  // times as large as their file.
  IdxArray images = read_idx(set.images_path, kIdxImageRank, [&](const std::vector<int64_t>& dims) {
    if (dims[1] != rows || dims[2] != cols) {
      throw DataError(
          concat(images_name, ": expected images of ", rows, "x", cols, ", found ", dims[1], "x", dims[2]));
    }
    labels = read_idx(set.labels_path, kIdxLabelRank, [&](const std::vector<int64_t>& label_dims) {
      if (dims[0] != label_dims[0]) {
        throw DataError(concat(images_name, " has ", dims[0], " images, but ", labels_name, " has ",
                               label_dims[0], " labels; expected one for each image"));
      }
    });
  });
  for (size_t i = 0; i < labels.data.size(); ++i) {
    if (labels.data[i] >= classes) {
      throw DataError(concat(labels_name, ": label ", int{labels.data[i]}, " at index ", i,
                             ", expected 0 to ", classes - 1));
    }
  }
  set.count = images.dims[0];
  set.rows = rows;
  set.cols = cols;
  set.images = std::move(images.data);
  set.labels = std::move(labels.data);
  return set;
}

}  // namespace lenslet
