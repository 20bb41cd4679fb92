#include "apps/lenslet/streaming_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "apps/lenslet/eval_report.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
// The copies of the data set fill more than any cache, and more pages than a table of them holds.
constexpr int64_t kStoredBytes = int64_t{512} << 20;

int64_t stored_sets(int64_t count, int64_t sets, size_t image_bytes) {
  const int64_t set_bytes = count * static_cast<int64_t>(image_bytes);
  const int64_t enough = (kStoredBytes + set_bytes - 1) / set_bytes;
  return sets == 0 ? enough : std::min(sets, enough);
}

}  // namespace

StreamSource::StreamSource(Device device, const ImageDataset& data, int64_t count, int64_t sets,
                           int64_t chunk, ElementType type, const Normalization& normalization)
    : image_bytes_(static_cast<size_t>(kPixels) * element_bytes(type)),
      stored_(stored_sets(count, sets, image_bytes_) * count),
      memory_(device, static_cast<size_t>(stored_ + chunk) * image_bytes_) {
  for (int64_t first = 0; first < stored_ + chunk; first += count) {
    const int64_t images = std::min(count, stored_ + chunk - first);
    void* const place = static_cast<char*>(memory_.data()) + static_cast<size_t>(first) * image_bytes_;
    if (type == ElementType::kUint8) {
      std::memcpy(place, data.images.data(), static_cast<size_t>(images * kPixels));
    } else {
      normalization.apply(data.images.data(), images * kPixels, static_cast<float*>(place));
    }
  }
}

StreamAnswers::StreamAnswers(const ImageDataset& data, int64_t count, ElementType type)
    : data_(data),
      count_(count),
      type_(type),
      result_bytes_(type == ElementType::kPrediction ? sizeof(Prediction) : kLenet5Classes * sizeof(float)),
      expected_(static_cast<size_t>(count) * result_bytes_),
      correct_before_(static_cast<size_t>(count) + 1) {}

void StreamAnswers::keep(int64_t first, int64_t images, const char* results) {
  std::memcpy(expected_.data() + static_cast<size_t>(first) * result_bytes_, results,
              static_cast<size_t>(images) * result_bytes_);
  for (int64_t i = first; i < first + images; ++i, results += result_bytes_) {
    const size_t at = static_cast<size_t>(i);
    const int label = read(results);
    not_numbers_ += label < 0;
    correct_before_[at + 1] = correct_before_[at] + (label == data_.labels[at]);
  }
}

void StreamAnswers::judge(int64_t first, int64_t images, const char* results, StreamingReport& report) const {
  report.images += images;
  while (images > 0) {
    const int64_t at = first % count_, run = std::min(images, count_ - at);
    const size_t bytes = static_cast<size_t>(run) * result_bytes_;
    if (std::memcmp(results, expected_.data() + static_cast<size_t>(at) * result_bytes_, bytes) == 0) {
      report.correct +=
          correct_before_[static_cast<size_t>(at + run)] - correct_before_[static_cast<size_t>(at)];
    } else {
      judge_one_by_one(at, run, results, report);
    }
    first += run;
    images -= run;
    results += bytes;
  }
}

void StreamAnswers::judge_one_by_one(int64_t at, int64_t images, const char* results,
                                     StreamingReport& report) const {
  for (int64_t i = at; i < at + images; ++i, results += result_bytes_) {
    const size_t index = static_cast<size_t>(i);
    report.differing += std::memcmp(results, expected_.data() + index * result_bytes_, result_bytes_) != 0;
    report.correct += read(results) == data_.labels[index];
  }
}

// The class that a result names; -1 where it is not a number.
int StreamAnswers::read(const char* result) const {
  if (type_ == ElementType::kPrediction) {
    Prediction prediction;
    std::memcpy(&prediction, result, sizeof prediction);
    return std::isfinite(prediction.probability) ? prediction.label : -1;
  }
  float logits[kLenet5Classes];
  std::memcpy(logits, result, sizeof logits);
  return predicted_class(logits, kLenet5Classes);
}

}  // namespace lenslet
