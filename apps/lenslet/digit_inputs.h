// What `classify` is given, one digit after another: pictures, IDX files, folders, standard input.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/lenslet/options.h"
#include "framework/io/idx.h"
#include "framework/io/image.h"
#include "models/digit_image.h"

namespace lenslet {

/// One picture on its way to the model.
struct DigitInput {
  std::string file;    // as given; "-" for standard input
  int64_t index = -1;  // within an IDX file; -1 for a picture
  Image original;      // empty unless it was to be kept
  DigitImage digit;
  std::string error;  // why it could not be read; everything else is then empty
};

/// The files that the arguments of `classify` name, those of folders in their place.
std::vector<std::string> pictures_named(const std::vector<std::string>& arguments);

/// Yields the inputs in order. Pictures are opened when their turn comes, so any number of them needs
/// constant memory.
class DigitInputs {
 public:
  /// Throws UsageError for '-' on a terminal. `keep_originals` is for --explain.
  DigitInputs(const ClassifyOptions& options, bool keep_originals);
  /// Up to `count` more (one, where originals are kept), small pictures decoded in parallel; empty at the end.
  std::vector<DigitInput> next(size_t count);
  /// Whether one picture is all there is: then it runs as a batch of one.
  bool single() const noexcept { return single_; }

 private:
  void open_next_argument();

  const ClassifyOptions& options_;
  bool keep_originals_;
  bool single_ = false;
  size_t next_argument_ = 0;
  struct Pending {
    std::string file, error;
  };
  std::deque<Pending> pending_;  // names still to be read, or errors to be passed on
  IdxArray idx_;                 // the IDX file being read
  std::string idx_file_;
  int64_t idx_next_ = 0, idx_end_ = 0;
};

}  // namespace lenslet
