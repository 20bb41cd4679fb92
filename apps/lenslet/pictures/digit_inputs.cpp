#include "apps/lenslet/pictures/digit_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <system_error>

#include "apps/common/output/text.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/io/file.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

namespace fs = std::filesystem;

// Includes formats that the reader refuses: their error names the command that converts them. A file that is skipped
// silently would go unnoticed.
bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  static const std::array<const char*, 17> known = {".png",  ".jpg",  ".jpeg", ".bmp", ".pbm", ".pgm",
                                                    ".ppm",  ".pnm",  ".webp", ".gif", ".tif", ".tiff",
                                                    ".heic", ".heif", ".avif", ".jxl", ".jp2"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

// False for anything but a regular file. Small ones are read ahead by all threads, and kept: a scan of a digit has some
// KiB, a photo some MiB. Chosen by hand.
bool is_small_file(const std::string& path) {
  constexpr uintmax_t kSmallFile = 256 << 10;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  return !error && bytes <= kSmallFile;
}

// Stores the error of one file in its input, so that the others continue.
template <typename Body>
void keep_error(DigitInput& input, Body&& body) {
  try {
    body();
  } catch (const DataError& error) {
    input.error = error.what();
  } catch (const std::bad_alloc&) {
    input.error = concat(input.file, ": out of memory while decoding");
  }
}

}  // namespace

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
    } catch (const DataError&) {  // next() reports it
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
  if (options.inputs.size() != 1) return;
  open_next_argument();
  if (files_.empty()) return;  // it is a folder
  if (options.inputs[0] != "-") read(files_.front());
  single_ = !files_.front().is_idx();
}

void DigitInputs::prepare_for(const Network& network) {
  check_writes_classes(network.graph, network.origin, kUseRun);
  digits_ = reads_digits(options_, network);
  if (!digits_) layout_ = check_reads_pictures(network.graph, network.origin, kUseRun);
}

// Replaces a folder by its pictures.
void DigitInputs::open_next_argument() {
  File file;
  file.input.file = options_.inputs[next_argument_++];
  file.is_argument = file.input.file != "-";
  std::error_code ignored;  // the reader reports an invalid name
  if (file.is_argument && fs::is_directory(file.input.file, ignored)) {
    keep_error(file.input, [&] {
      for (std::string& name : pictures_in(file.input.file)) names_.push_back(std::move(name));
    });
    if (file.input.error.empty()) return;
  }
  files_.push_back(std::move(file));
}

// Collects the next `max_files` files or fewer; returns false at the end. Small pictures are read and decoded in
// parallel here. Large ones are decoded one at a time in next(), so that their memory stays within the limit of one
// (PictureLimits).
bool DigitInputs::gather(size_t max_files) {
  constexpr size_t kMaxGathered = 256;  // each may hold 256 KiB until next() takes it
  while (files_.size() < std::min(max_files, kMaxGathered)) {
    if (!names_.empty()) {
      files_.emplace_back().input.file = std::move(names_.front());
      names_.pop_front();
    } else if (next_argument_ < options_.inputs.size()) {
      open_next_argument();
    } else {
      break;
    }
  }
  parallel_for(static_cast<int64_t>(files_.size()), 1, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) read_ahead(files_[i]);
  });
  return !files_.empty();
}

void DigitInputs::read_ahead(File& file) const {
  if (!file.bytes && file.input.file != "-" && is_small_file(file.input.file)) read(file);
  if (file.bytes && !file.is_idx() && is_small_picture(*file.bytes)) decode(file);
}

void DigitInputs::read(File& file) const {
  if (!file.input.error.empty()) return;
  keep_error(file.input, [&] {
    file.bytes = read_file(file.input.file, [&](const std::vector<uint8_t>& head) {
      return file.is_argument && looks_like_idx(head) ? kMaxIdxFileBytes
                                                      : options_.picture_limits.max_file_bytes;
    });
  });
}

void DigitInputs::decode(File& file) const {
  std::vector<uint8_t> bytes = std::move(*file.bytes);
  file.bytes.reset();
  keep_error(file.input, [&] {
    const std::string& name = file.input.file;
    if (options_.index) {
      throw DataError(
          concat(name_in_errors(name), ": --index ", *options_.index,
                 " selects an image of an IDX file, and this is a single picture; leave --index out"));
    }
    Picture picture = decode_picture(bytes, name_in_errors(name), options_.picture_limits,
                                     name == "-" ? std::string() : name);
    std::vector<uint8_t>().swap(bytes);  // frees the file before its planes are allocated
    if (digits_) {
      file.input.number = prepare_number(picture);
    } else {
      file.input.pixels = picture_input(picture, layout_, options_.fit);
      const bool cuts = options_.fit.keep_aspect || options_.fit.size;
      file.input.steps = {concat(cuts ? "the middle scaled from " : "scaled from ", picture.width, "x",
                                 picture.height, " to ", layout_.channels, "x", layout_.height, "x",
                                 layout_.width)};
    }
    if (keep_originals_) file.input.original = std::move(picture);
  });
  file.done = true;
}

void DigitInputs::open_idx(File& file) {
  const std::string name = printable_excerpt(file.input.file);
  const auto check = [&](const std::vector<int64_t>& dims) {
    if (layout_.channels != 1 || dims[1] != layout_.height || dims[2] != layout_.width) {
      throw DataError(concat(name, ": expected images of ",
                             layout_.channels == 1 ? "" : concat(layout_.channels, "x"), layout_.height, "x",
                             layout_.width, ", found ", dims[1], "x", dims[2]));
    }
    if (options_.index && *options_.index >= dims[0]) {
      throw DataError(
          concat(name, ": --index ", *options_.index, " is outside its ", counted(dims[0], "image")));
    }
  };
  const int64_t max_images =
      options_.index ? std::min(*options_.index, INT64_MAX - 1) + 1 : options_.limit.value_or(INT64_MAX);
  idx_ = parse_idx(std::move(*file.bytes), 3, name, check, max_images);
  idx_file_ = std::move(file.input.file);
  idx_next_ = options_.index.value_or(0);
  idx_end_ = idx_.dims[0];
}

DigitInput DigitInputs::next_of_idx() {
  DigitInput input;
  input.file = idx_file_;
  input.index = idx_next_;
  const int64_t values = layout_.height * layout_.width;
  const uint8_t* const pixels = idx_.data.data() + idx_next_++ * values;
  if (digits_) {
    input.number = number_of(pixels);
  } else {
    input.pixels.assign(pixels, pixels + values);
  }
  return input;
}

std::vector<DigitInput> DigitInputs::next(size_t count) {
  if (keep_originals_) count = std::min<size_t>(count, 1);  // the kept pictures may be large
  std::vector<DigitInput> inputs;
  while (inputs.size() < count) {
    if (idx_next_ < idx_end_) {
      inputs.push_back(next_of_idx());
      continue;
    }
    if (files_.empty() && !gather(count - inputs.size())) break;
    File file = std::move(files_.front());
    files_.pop_front();
    if (!file.done && !file.bytes) read(file);
    if (file.is_idx()) {
      try {
        open_idx(file);
        continue;
      } catch (const DataError& error) {
        file.input.error = error.what();
      }
    } else if (file.bytes) {
      decode(file);
    }
    inputs.push_back(std::move(file.input));
  }
  return inputs;
}

}  // namespace lenslet
