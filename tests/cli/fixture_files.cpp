#include "tests/cli/fixture_files.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

constexpr int kImages = 20;
constexpr int kSide = 28;

void write_file(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.good()) throw std::runtime_error("cannot write " + path.string());
}

std::string big_endian(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

std::string little_endian_64(uint64_t value) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string idx(const std::vector<uint32_t>& dims, const std::string& data) {
  std::string out = std::string("\0\0\x08", 3) + static_cast<char>(dims.size());
  for (const uint32_t dim : dims) out += big_endian(dim);
  return out + data;
}

// Upright bars at different places: real enough to be classified, and no two alike.
std::string bars(int count) {
  std::string pixels;
  for (int image = 0; image < count; ++image) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool ink = y >= 4 && y < 24 && x >= 12 + image % 4 && x < 15 + image % 4;
        pixels += static_cast<char>(ink ? 255 - image : 0);
      }
    }
  }
  return pixels;
}

std::string labels(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>(i % 10);
  return out;
}

std::string gzip(const std::string& text) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  std::vector<Bytef> in(text.begin(), text.end());
  stream.next_in = in.data();
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A data set folder: t10k images and labels as given.
void write_set(const fs::path& folder, const std::string& images, const std::string& label_bytes,
               const char* suffix = "") {
  write_file(folder / (std::string("t10k-images-idx3-ubyte") + suffix), images);
  write_file(folder / (std::string("t10k-labels-idx1-ubyte") + suffix), label_bytes);
}

void write_data_sets(const fs::path& dir) {
  const std::string images = idx({kImages, kSide, kSide}, bars(kImages));
  const std::string good_labels = idx({kImages}, labels(kImages));
  write_set(dir / "data", images, good_labels);
  write_set(dir / "many", idx({20000, kSide, kSide}, bars(20000)), idx({20000}, labels(20000)));
  write_set(dir / "gz", gzip(images), gzip(good_labels), ".gz");
  write_set(dir / "short", images.substr(0, images.size() - 100), good_labels);
  write_set(dir / "long", images + "x", good_labels);
  write_set(dir / "magic", "\1\2\3\4" + images.substr(4), good_labels);
  write_set(dir / "swapped", good_labels, images);
  write_set(dir / "rank4", idx({kImages, 1, kSide, kSide}, bars(kImages)), good_labels);
  write_set(dir / "zero", idx({0, kSide, kSide}, ""), idx({0}, ""));
  write_set(dir / "huge", idx({0xffffffffu, kSide, kSide}, ""), good_labels);
  write_set(dir / "narrow", idx({kImages, 27, kSide}, bars(kImages).substr(0, kImages * 27 * kSide)),
            good_labels);
  write_set(dir / "fewer", images, idx({kImages - 1}, labels(kImages - 1)));
  std::string eleven = labels(kImages);
  eleven[7] = 11;
  write_set(dir / "label11", images, idx({kImages}, eleven));
  const std::string packed = gzip(images);
  write_set(dir / "gzcut", packed.substr(0, packed.size() - 5), gzip(good_labels), ".gz");
  std::string flipped = packed;
  flipped[packed.size() - 7] = static_cast<char>(flipped[packed.size() - 7] ^ 0x10);  // in the checksum
  write_set(dir / "gzflip", flipped, gzip(good_labels), ".gz");
  write_set(dir / "gzrest", packed + "rest", gzip(good_labels), ".gz");
  write_set(dir / "emptyfiles", "", "");
  fs::create_directories(dir / "nothing");
}

struct TensorText {
  std::string name, shape, dtype;
  std::string data;
};

std::string safetensors(const std::vector<TensorText>& tensors, const std::string& more = "") {
  std::string header = "{", data;
  for (const TensorText& tensor : tensors) {
    header += (header.size() > 1 ? "," : "") + ("\"" + tensor.name) + "\":{\"dtype\":\"" + tensor.dtype +
              "\",\"shape\":[" + tensor.shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.data.size()) + "]}";
    data += tensor.data;
  }
  header += more + "}";
  return little_endian_64(header.size()) + header + data;
}

std::vector<TensorText> lenet_tensors() {
  const std::vector<std::pair<std::string, std::vector<int>>> shapes = {
      {"conv1.weight", {6, 1, 5, 5}},  {"conv1.bias", {6}},
      {"conv2.weight", {16, 6, 5, 5}}, {"conv2.bias", {16}},
      {"fc1.weight", {120, 256}},      {"fc1.bias", {120}},
      {"fc2.weight", {84, 120}},       {"fc2.bias", {84}},
      {"fc3.weight", {10, 84}},        {"fc3.bias", {10}}};
  std::vector<TensorText> tensors;
  for (const auto& [name, dims] : shapes) {
    TensorText tensor{name, "", "F32", ""};
    size_t count = 1;
    for (const int dim : dims) {
      tensor.shape += (tensor.shape.empty() ? "" : ",") + std::to_string(dim);
      count *= static_cast<size_t>(dim);
    }
    tensor.data.assign(count * sizeof(float), '\0');
    tensors.push_back(tensor);
  }
  return tensors;
}

void write_weights(const fs::path& dir) {
  const std::vector<TensorText> good = lenet_tensors();
  write_file(dir / "w/good.safetensors", safetensors(good));
  std::vector<TensorText> bad = good;
  bad.pop_back();
  write_file(dir / "w/missing.safetensors", safetensors(bad));
  bad = good;
  bad.push_back({"fc4.bias", "1", "F32", std::string(4, '\0')});
  write_file(dir / "w/extra.safetensors", safetensors(bad));
  bad = good;
  bad[4].shape = "256,120";
  write_file(dir / "w/transposed.safetensors", safetensors(bad));
  bad = good;
  const float nan = std::nanf("");
  std::memcpy(bad[0].data.data(), &nan, sizeof nan);
  write_file(dir / "w/nan.safetensors", safetensors(bad));
  bad = good;
  bad[1] = {"conv1.bias", "3", "F64", std::string(24, '\0')};
  write_file(dir / "w/f64.safetensors", safetensors(bad));
  bad = good;
  const float largest = 3e38f;  // finite, but no sum of two of them is
  for (TensorText& tensor : bad) {
    for (size_t at = 0; at < tensor.data.size(); at += sizeof largest) {
      std::memcpy(tensor.data.data() + at, &largest, sizeof largest);
    }
  }
  write_file(dir / "w/largest.safetensors", safetensors(bad));
  write_file(dir / "w/header_max.safetensors", little_endian_64(~uint64_t{0}) + "{}");
  write_file(dir / "w/header_10g.safetensors", little_endian_64(10'000'000'000u) + "{}");
  write_file(dir / "w/header_past_end.safetensors", little_endian_64(5000) + "{}");
  write_file(dir / "w/header_zero.safetensors", little_endian_64(0));
  const std::string whole = safetensors(good);
  write_file(dir / "w/cut.safetensors", whole.substr(0, whole.size() - 10));
  write_file(dir / "w/rest.safetensors", whole + "x");
  const std::string entry = "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
  const auto with_header = [&](const std::string& header, size_t data) {
    return little_endian_64(header.size()) + header + std::string(data, '\0');
  };
  write_file(dir / "w/duplicate.safetensors", with_header("{\"a\":" + entry + ",\"a\":" + entry + "}", 4));
  write_file(dir / "w/overlap.safetensors", with_header("{\"a\":" + entry + ",\"b\":" + entry + "}", 4));
  write_file(dir / "w/gap.safetensors",
             with_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8));
  write_file(dir / "w/negative.safetensors",
             with_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4));
  write_file(
      dir / "w/overflow.safetensors",
      with_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 4));
  write_file(dir / "w/model.pt", std::string("PK\x03\x04", 4) + std::string(100, 'x'));
  write_file(dir / "w/page.html", "<!DOCTYPE html><html><body>404</body></html>");
  write_file(dir / "w/pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 178000\n");
  write_file(dir / "w/empty.safetensors", "");
}

std::string pgm(int width, int height, const std::string& pixels) {
  return "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" + pixels;
}

std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto* const bytes = reinterpret_cast<const Bytef*>(body.data());
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(body.size()))));
}

// Grey, 8 bits a pixel: a file of some kilobytes for a picture of megabytes.
std::string png(uint32_t width, uint32_t height, const std::string& pixels) {
  std::string lines;
  for (size_t y = 0; y < height; ++y) lines += std::string(1, '\0') + pixels.substr(y * width, width);
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(lines.data()),
            static_cast<uLong>(lines.size()), 1);
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR", big_endian(width) + big_endian(height) + std::string("\x08\0\0\0\0", 5)) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

void write_pictures(const fs::path& dir) {
  write_file(dir / "pics/one.pgm", pgm(kSide, kSide, bars(1)));
  write_file(dir / "pics/blank.pgm", pgm(kSide, kSide, std::string(kSide * kSide, '\x7f')));
  write_file(dir / "pics/with space.pgm", pgm(kSide, kSide, bars(1)));
  write_file(dir / "bits/black.pbm", "P1\n2 2\n1 0\n0 1\n");
  std::string colours(size_t{3} * 3000 * 2000, '\xff');  // 17 MiB, a black bar on white
  for (size_t y = 500; y < 1500; ++y) colours.replace(3 * (y * 3000 + 1450), 300, 300, '\0');
  write_file(dir / "large/bars.ppm", "P6\n3000 2000\n255\n" + colours);
  write_file(dir / "large/bars.png", png(9000, 2000, colours));
  write_file(dir / "odd/new\nline.pgm", pgm(kSide, kSide, bars(1)));
  write_file(dir / "odd/not-utf8-\xff\xfe.pgm", pgm(kSide, kSide, bars(1)));
  write_file(dir / "odd/-dash.pgm", pgm(kSide, kSide, bars(1)));
  write_file(dir / "bad/empty.png", "");
  write_file(dir / "bad/text.png", "this is no picture at all\n");
  write_file(dir / "bad/cut.png", "\x89PNG\r\n\x1a\n");
  write_file(dir / "bad/cut.pgm", pgm(kSide, kSide, "abc"));
  write_file(dir / "bad/zero.pgm", pgm(0, 0, ""));
  write_file(dir / "bad/huge.pgm", pgm(2000000000, 2000000000, "abc"));
  write_file(dir / "bad/cut.jpg", "\xff\xd8\xff\xe0");
  write_file(dir / "bad/picture.webp", std::string("RIFF\x10\0\0\0WEBPVP8 ", 16));
  write_file(dir / "bad/picture.gif", "GIF89a\x01");
  const std::string rest(64, '\x01');
  write_file(dir / "bad/photo.heic", std::string("\0\0\0\x18"
                                                 "ftypheic",
                                                 12) +
                                         rest);
  write_file(dir / "bad/photo.jxl", std::string("\0\0\0\x0cJXL \r\n\x87\n", 12) + rest);
  write_file(dir / "bad/photo.jp2", std::string("\0\0\0\x0cjP  \r\n\x87\n", 12) + rest);
  write_file(dir / "bad/favicon.ico", std::string("\0\0\1\0\1\0", 6) + rest);
  write_file(dir / "bad/zeros.png", std::string(2, '\0') + rest);
  ::mkfifo((dir / "bad/fifo.png").c_str(), 0600);
  ::symlink("loop.png", (dir / "bad/loop.png").c_str());
  write_file(dir / "plans/text.json", "this is no plan");
  write_file(dir / "plans/other.json", "{\"schema\":\"something/1\"}");
  write_file(dir / "plans/deep.json", std::string(100000, '['));
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "lenslet-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
    write_data_sets(path_);
    write_weights(path_);
    write_pictures(path_);
    fs::create_directories(fs::path(path_) / "out");
    fs::create_directories(fs::path(path_) / "away");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

const std::string& fixture_folder() {
  static const Folder folder;
  return folder.path();
}

std::string expand(std::string text) {
  replace_all(text, "{dir}", fixture_folder());
  replace_all(text, "{source}", LENSLET_SOURCE_DIR);
  return text;
}

ProgramRun lenslet(const std::string& arguments, ProgramOptions options) {
  std::vector<std::string> command = {LENSLET_PROGRAM};
  std::istringstream words(arguments);
  for (std::string word; words >> word;) command.push_back(expand(word));
  options.unset.push_back("LENSLET_MNIST_DIR");
  if (options.folder.empty()) options.folder = fixture_folder();
  return run_program(command, options);
}

}  // namespace lenslet::test
