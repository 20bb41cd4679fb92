// Yields the inputs of `classify` one by one: pictures, images of IDX files, files of folders, standard input.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "apps/lenslet/session/options.h"
#include "framework/io/idx.h"
#include "framework/io/picture.h"
#include "models/digit/number_marks.h"

namespace lenslet {

/// One picture, before the model reads it.
struct DigitInput {
  std::string file;                // as given; "-" is standard input
  int64_t index = -1;              // index in an IDX file; -1 for a picture
  Picture original;                // kept only on request
  NumberMarks number;              // for a network that reads digits
  std::vector<uint8_t> pixels;     // for any other network: what it reads, [C, H, W]
  std::vector<std::string> steps;  // for any other network: from the picture to the pixels
  std::string error;               // why the file could not be read; then the other members are empty
};

/// The pictures directly in a folder, in byte order of their names. Throws DataError if it cannot be read or has none.
std::vector<std::string> pictures_in(const std::string& folder);
/// The files that the arguments of `classify` name, with folders replaced by their files. A folder for which
/// pictures_in() throws is left out: DigitInputs::next() reports it.
std::vector<std::string> pictures_named(const std::vector<std::string>& arguments);

/// Yields the inputs in order. Opens and reads each file once, when it is needed, so that memory does not grow with the
/// number of files.
class DigitInputs {
 public:
  /// Throws UsageError for '-' on a terminal. `keep_originals` is for --explain.
  DigitInputs(const ClassifyOptions& options, bool keep_originals);
  /// The network that reads them, before the first next(). Throws DataError if pictures do not fit its input.
  void prepare_for(const Network& network);
  /// Up to `count` inputs more (one, if originals are kept); small pictures are decoded in parallel. Empty at the end.
  std::vector<DigitInput> next(size_t count);
  /// Whether the input is a single picture, which runs as a batch of one.
  bool single() const noexcept { return single_; }

 private:
  /// A file that is being read.
  struct File {
    DigitInput input;                           // input.error is set if reading failed
    bool is_argument = false;                   // pictures from folders are never read as IDX files
    bool done = false;                          // decoded: input.number, input.pixels or input.error is set
    std::optional<std::vector<uint8_t>> bytes;  // from reading to decoding
    bool is_idx() const { return is_argument && bytes && looks_like_idx(*bytes); }
  };
  void open_next_argument();
  bool gather(size_t max_files);
  void read_ahead(File& file) const;
  void read(File& file) const;
  void decode(File& file) const;
  void open_idx(File& file);
  DigitInput next_of_idx();

  const ClassifyOptions& options_;
  PictureLayout layout_{1, DigitImage::kSide, DigitImage::kSide, false};  // what the network reads
  bool digits_ = true;  // whether it reads them as LeNet-5 does
  bool keep_originals_;
  bool single_ = false;
  size_t next_argument_ = 0;
  std::deque<std::string> names_;  // pictures of the folder opened last
  std::deque<File> files_;         // gathered
  IdxArray idx_;                   // the IDX file being read
  std::string idx_file_;
  int64_t idx_next_ = 0, idx_end_ = 0;
};

}  // namespace lenslet
