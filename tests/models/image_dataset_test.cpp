// Folders of images and labels: their names, and whether both belong together.
#include "models/digit/image_dataset.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "framework/base/error.h"
#include "tests/io/crafted_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/sanitizers.h"

namespace lenslet::test {
namespace {

const Bytes kPixels = counting(3 * 28 * 28);
const Bytes kImages = idx({3, 28, 28}, kPixels);

struct Set {
  TemporaryFolder folder;
  Set(const Bytes& images, const Bytes& labels) {
    folder.write("t10k-images-idx3-ubyte", images);
    folder.write("t10k-labels-idx1-ubyte", labels);
  }
  void expect(const std::string& fragment) const {
    expect_error<DataError>([&] { read_image_dataset(folder.path(), "t10k", 28, 28); }, fragment);
  }
};

TEST(ImageDataset, FindsEveryUsualName) {
  const Bytes labels = idx({3}, {0, 9, 5});
  for (const char* dash : {"-", "."}) {
    for (const bool packed : {false, true}) {
      const TemporaryFolder folder;
      const std::string gz = packed ? ".gz" : "";
      folder.write(std::string("train-images") + dash + "idx3-ubyte" + gz, packed ? gzip(kImages) : kImages);
      folder.write(std::string("train-labels") + dash + "idx1-ubyte" + gz, packed ? gzip(labels) : labels);
      const ImageDataset set = read_image_dataset(folder.path() + (packed ? "/" : ""), "train", 28, 28);
      EXPECT_EQ(set.count, 3);
      EXPECT_EQ(set.images, kPixels);
      EXPECT_EQ(set.labels, (Bytes{0, 9, 5}));
    }
  }
}

TEST(ImageDataset, NamesTheFilesItLookedFor) {
  const TemporaryFolder folder;
  expect_error<DataError>(
      [&] { read_image_dataset(folder.path(), "t10k", 28, 28); },
      "expected one of t10k-images-idx3-ubyte, t10k-images-idx3-ubyte.gz, t10k-images.idx3-ubyte, "
      "t10k-images.idx3-ubyte.gz, found none; get MNIST with ./dev mnist");
  expect_error<DataError>([&] { read_image_dataset(folder / "none", "t10k", 28, 28); }, "no such folder");
  const std::string file = folder.write("file", {1});
  expect_error<DataError>([&] { read_image_dataset(file, "t10k", 28, 28); },
                          "expected a folder of IDX files");
  folder.write("t10k-images-idx3-ubyte", kImages);
  expect_error<DataError>([&] { read_image_dataset(folder.path(), "t10k", 28, 28); },
                          "t10k-labels-idx1-ubyte");
}

TEST(ImageDataset, ChecksThatImagesAndLabelsBelongTogether) {
  Set(kImages, idx({2}, {1, 2})).expect("has 3 images, but");
  Set(kImages, idx({2}, {1, 2})).expect("has 2 labels");
  Set(kImages, idx({3}, {1, 10, 2})).expect("label 10 at index 1, expected 0 to 9");
  Set(kImages, idx({3}, {9, 0, 255})).expect("label 255 at index 2, expected 0 to 9");
  Set(idx({3, 27, 28}, counting(3 * 27 * 28)), idx({3}, {1, 2, 3}))
      .expect("expected images of 28x28, found 27x28");
  Set(idx({3}, {1, 2, 3}), kImages).expect("found 00 00 08 01 (labels)");
}

// A megabyte of gzip may contain a gigabyte: the headers are checked before the data is decompressed. The data after
// these headers is truncated, which a complete read reports.
TEST(ImageDataset, JudgesEveryHeaderBeforeImagesAreUnpacked) {
  const auto cut = [](const Bytes& file) { return gzip(Bytes(file.begin(), file.begin() + 500)); };
  Set(cut(idx({3, 28, 28}, kPixels)), idx({3}, {1, 2, 3})).expect("too short");
  Set(cut(idx({3, 14, 56}, kPixels)), idx({3}, {1, 2, 3})).expect("expected images of 28x28, found 14x56");
  Set(cut(idx({3, 28, 28}, kPixels)), gzip(idx({2000}, {1, 2}))).expect("has 2000 labels");
  Set(cut(idx({3, 28, 28}, kPixels)), idx({3}, {1, 2, 3, 4})).expect("found 1 more");
}

TEST(ImageDataset, ReadsMnistQuickly) {
  const char* folder = std::getenv("LENSLET_MNIST_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "LENSLET_MNIST_DIR is not set";
  ImageDataset set;
  const double time = min_cpu_ms([&] { set = read_image_dataset(folder, "t10k", 28, 28); });
  EXPECT_EQ(set.count, 10000);
  EXPECT_EQ(set.labels[0], 7);
  RecordProperty("milliseconds", std::to_string(time));
  EXPECT_LT(time, 400 * kSlowdown) << "20 ms are usual";
}

}  // namespace
}  // namespace lenslet::test
