// What is streamed and what must come back (streaming.h).
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lenslet/streaming.h"

namespace lenslet {

/// Images in page-locked memory, as the model reads them: image i is image i mod count of the data set. One chunk more
/// than a whole number of data sets, so that a chunk may begin anywhere.
class StreamSource {
 public:
  /// `sets`: data sets that will be streamed, 0 where that is not known; no more than those are stored.
  StreamSource(Device device, const ImageDataset& data, int64_t count, int64_t sets, int64_t chunk,
               ElementType type, const Normalization& normalization);
  size_t image_bytes() const noexcept { return image_bytes_; }
  /// A multiple of count.
  int64_t stored() const noexcept { return stored_; }
  const void* at(int64_t image) const noexcept {
    return static_cast<const char*>(memory_.data()) + static_cast<size_t>(image % stored_) * image_bytes_;
  }

 private:
  size_t image_bytes_;
  int64_t stored_;
  PinnedBuffer memory_;
};

/// What a plain pass answered, which every result that is streamed is held against.
class StreamAnswers {
 public:
  StreamAnswers(const ImageDataset& data, int64_t count, ElementType type);
  size_t result_bytes() const noexcept { return result_bytes_; }
  /// Takes the plain pass's results; images come in order.
  void keep(int64_t first, int64_t images, const char* results);
  /// Adds the results of `images` images, number `first` of the stream and those after it, to the report.
  void judge(int64_t first, int64_t images, const char* results, StreamingReport& report) const;
  /// Images whose result in the plain pass was not a number.
  int64_t not_numbers() const noexcept { return not_numbers_; }

 private:
  void judge_one_by_one(int64_t at, int64_t images, const char* results, StreamingReport& report) const;
  int read(const char* result) const;

  const ImageDataset& data_;
  int64_t count_;
  ElementType type_;
  size_t result_bytes_;
  std::vector<char> expected_;
  std::vector<int64_t> correct_before_;  // of the images before each
  int64_t not_numbers_ = 0;
};

}  // namespace lenslet
