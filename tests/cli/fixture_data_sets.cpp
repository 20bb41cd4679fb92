// IDX data sets: valid ones, and one folder for each fault.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/fixture_parts.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kImages = 20;
constexpr uint32_t kSide = 28;

Bytes labels(uint32_t count) {
  Bytes out;
  for (uint32_t i = 0; i < count; ++i) out.push_back(static_cast<uint8_t>(i % 10));
  return out;
}

// A data set folder with these t10k images and labels.
void write_set(const fs::path& folder, const Bytes& images, const Bytes& label_bytes,
               const std::string& suffix = "") {
  write_fixture(folder / ("t10k-images-idx3-ubyte" + suffix), images);
  write_fixture(folder / ("t10k-labels-idx1-ubyte" + suffix), label_bytes);
}

Bytes head(const Bytes& bytes, size_t count) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

// In place of the images: something that is not a file, or is endless.
void write_special(const fs::path& dir, const Bytes& good_labels) {
  const auto images_of = [&](const char* name) {
    write_fixture(dir / name / "t10k-labels-idx1-ubyte", good_labels);
    return dir / name / "t10k-images-idx3-ubyte";
  };
  fs::create_directory(images_of("idx_folder"));
  fs::create_symlink("/dev/zero", images_of("idx_zero"));
  ::mkfifo(images_of("idx_fifo").c_str(), 0600);
  fs::create_symlink("t10k-images-idx3-ubyte", images_of("idx_loop"));
}

void write_gzip(const fs::path& dir, const Bytes& images, const Bytes& good_labels) {
  const Bytes packed = gzip(images);
  write_set(dir / "gz", packed, gzip(good_labels), ".gz");
  // The content, not the name, decides whether a file is gzip.
  write_set(dir / "gz_named_plain", packed, gzip(good_labels));
  write_set(dir / "plain_named_gz", images, good_labels, ".gz");
  const auto bad = [&](const char* name, const Bytes& bytes) {
    write_set(dir / name, bytes, gzip(good_labels), ".gz");
  };
  bad("gz_cut_data", head(packed, packed.size() / 2));
  // 128 MB, as the header states, without valid digits.
  bad("gz_wide", gzip_with_zeros(idx({1, 8192, 16384}, {}), 128));
  // A header for 20 images, followed by 256 MB.
  bad("gz_bomb", gzip_with_zeros(idx({kImages, kSide, kSide}, {}), 256));
}

}  // namespace

void write_data_sets(const fs::path& dir) {
  const Bytes images = idx({kImages, kSide, kSide}, bar_pixels(kImages));
  const Bytes good_labels = idx({kImages}, labels(kImages));
  write_set(dir / "data", images, good_labels);
  write_set(dir / "many", idx({20000, kSide, kSide}, bar_pixels(20000)), idx({20000}, labels(20000)));
  write_set(dir / "short", head(images, images.size() - 100), good_labels);
  write_set(dir / "long", images + Bytes{'x'}, good_labels);
  Bytes other = images;
  for (uint8_t i = 0; i < 4; ++i) other[i] = static_cast<uint8_t>(i + 1);
  write_set(dir / "magic", other, good_labels);
  write_set(dir / "swapped", good_labels, images);
  write_set(dir / "rank4", idx({kImages, 1, kSide, kSide}, bar_pixels(kImages)), good_labels);
  write_set(dir / "zero", idx({0, kSide, kSide}, {}), idx({0}, {}));
  write_set(dir / "huge", idx({0xffffffffu, kSide, kSide}, {}), good_labels);
  write_set(dir / "narrow", idx({kImages, 27, kSide}, head(bar_pixels(kImages), kImages * 27 * kSide)),
            good_labels);
  write_set(dir / "fewer", images, idx({kImages - 1}, labels(kImages - 1)));
  Bytes eleven = labels(kImages);
  eleven[7] = 11;
  write_set(dir / "label11", images, idx({kImages}, eleven));
  write_set(dir / "emptyfiles", {}, {});
  write_fixture(dir / "no_labels/t10k-images-idx3-ubyte", images);
  fs::create_directories(dir / "nothing");
  write_special(dir, good_labels);
  write_gzip(dir, images, good_labels);
}

}  // namespace lenslet::test
