#include "apps/lenslet/digit_inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "apps/common/text.h"
#include "apps/lenslet/picture_memory.h"
#include "framework/error.h"
#include "framework/parallel.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  static const std::array<const char*, 8> known = {".png", ".jpg", ".jpeg", ".bmp",
                                                   ".pbm", ".pgm", ".ppm",  ".pnm"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

// The pictures of a folder, not of folders in it, in byte order of their names.
std::vector<std::string> pictures_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (is_picture_name(entry->path()) && !entry->is_directory(error))
      names.push_back(entry->path().string());
    error.clear();
  }
  if (error) throw DataError(concat(folder, ": cannot read the folder: ", error.message()));
  if (names.empty()) {
    throw DataError(concat(folder, ": no picture in this folder (.png .jpg .jpeg .bmp .pbm .pgm .ppm .pnm)"));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// IDX files are told by content: bytes in 1 to 4 dimensions, or gzip's magic. Two zero bytes alone would not do: HEIC,
// JPEG XL, JPEG 2000 and Windows icons begin with them too.
bool looks_like_idx(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;  // the picture reader will say why
  struct stat status = {};
  unsigned char head[4] = {};
  const bool read = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                    ::read(descriptor, head, sizeof head) == static_cast<ssize_t>(sizeof head);
  ::close(descriptor);
  const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
  const bool idx = head[0] == 0 && head[1] == 0 && head[2] == 8 && head[3] >= 1 && head[3] <= 4;
  return read && (gzip || idx);
}

void read_picture(DigitInput& input, const ImageLimits& limits, bool keep_original) {
  try {
    Image image = read_image(input.file, limits);
    input.digit = prepare_digit(image);
    if (keep_original) input.original = std::move(image);
  } catch (const DataError& error) {
    input.error = error.what();
  } catch (const std::bad_alloc&) {
    input.error = concat(input.file, ": out of memory while decoding");
  }
}

}  // namespace

std::vector<std::string> pictures_named(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (argument == "-" || !fs::is_directory(argument, ignored)) {
      files.push_back(argument);
      continue;
    }
    try {
      for (std::string& file : pictures_in(argument)) files.push_back(std::move(file));
    } catch (const DataError&) {  // told when the folder's turn comes
    }
  }
  return files;
}

DigitInputs::DigitInputs(const ClassifyOptions& options, bool keep_originals)
    : options_(options), keep_originals_(keep_originals) {
  const auto is_stdin = [](const std::string& name) { return name == "-"; };
  if (std::count_if(options.inputs.begin(), options.inputs.end(), is_stdin) > 1) {
    throw UsageError("'-' may be given once: standard input holds one picture");
  }
  if (std::any_of(options.inputs.begin(), options.inputs.end(), is_stdin) && ::isatty(STDIN_FILENO) != 0) {
    throw UsageError(
        "'-' reads a picture from standard input, which is a terminal here; redirect a file: lenslet "
        "classify - < digit.png");
  }
  std::error_code ignored;  // the reader will say what is wrong with the name
  single_ = options.inputs.size() == 1 && !fs::is_directory(options.inputs[0], ignored) &&
            !looks_like_idx(options.inputs[0]);
}

void DigitInputs::open_next_argument() {
  const std::string& name = options_.inputs[next_argument_++];
  try {
    std::error_code ignored;
    if (name != "-" && fs::is_directory(name, ignored)) {
      for (std::string& file : pictures_in(name)) pending_.push_back({std::move(file), ""});
    } else if (name != "-" && looks_like_idx(name)) {
      IdxArray images = read_idx(name, 3, [&](const std::vector<int64_t>& dims) {
        if (dims[1] != kLenet5Side || dims[2] != kLenet5Side) {
          throw DataError(concat(printable_excerpt(name), ": expected images of ", kLenet5Side, "x",
                                 kLenet5Side, ", found ", dims[1], "x", dims[2]));
        }
        if (options_.index && *options_.index >= dims[0]) {
          throw DataError(concat(printable_excerpt(name), ": --index ", *options_.index, " is outside its ",
                                 dims[0], " images"));
        }
      });
      const int64_t count = images.dims[0];
      idx_ = std::move(images);
      idx_file_ = name;
      idx_next_ = options_.index.value_or(0);
      idx_end_ = options_.index ? idx_next_ + 1 : std::min(count, options_.limit.value_or(count));
    } else {
      pending_.push_back({name, ""});
    }
  } catch (const DataError& error) {
    pending_.push_back({name, error.what()});
  }
}

std::vector<DigitInput> DigitInputs::next(size_t count) {
  if (keep_originals_) count = std::min<size_t>(count, 1);  // the pictures kept may be large
  std::vector<DigitInput> inputs;
  while (inputs.size() < count) {
    if (idx_next_ < idx_end_) {
      DigitInput input;
      input.file = idx_file_;
      input.index = idx_next_;
      const uint8_t* pixels = idx_.data.data() + idx_next_ * kPixels;
      std::memcpy(input.digit.pixels.data(), pixels, static_cast<size_t>(kPixels));
      input.digit.untouched = true;  // IDX images are what the model was trained on
      input.digit.blank =
          std::all_of(pixels, pixels + kPixels, [&](uint8_t value) { return value == pixels[0]; });
      ++idx_next_;
      inputs.push_back(std::move(input));
    } else if (!pending_.empty()) {
      DigitInput input;
      input.file = std::move(pending_.front().file);
      input.error = std::move(pending_.front().error);
      inputs.push_back(std::move(input));
      pending_.pop_front();
    } else if (next_argument_ < options_.inputs.size()) {
      open_next_argument();
    } else {
      break;
    }
  }
  // Threads decode small pictures side by side; large ones follow one after another, here, so that together they take no
  // more memory than one may (ImageLimits). On one thread also because each thread's heap keeps what it once needed.
  std::vector<char> large(inputs.size(), 0);
  parallel_for(static_cast<int64_t>(inputs.size()), 1, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      DigitInput& input = inputs[i];
      if (input.index >= 0 || !input.error.empty()) continue;
      large[i] = input.file == "-" || !surely_small_picture(input.file) ? 1 : 0;
      if (large[i] == 0) read_picture(input, options_.image_limits, keep_originals_);
    }
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (large[i] != 0) read_picture(inputs[i], options_.image_limits, keep_originals_);
  }
  return inputs;
}

}  // namespace lenslet
