#include "apps/lenslet/bench_accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "api/feed.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/eval_report.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
constexpr int64_t kStandardBatch = 1000;  // of the layered plan in fp32
constexpr int64_t kMostDigitsOff = 3;

// -1 where the answer is not a number.
int class_of(ElementType type, const void* answers, int64_t slot) {
  if (type == ElementType::kFp32) {
    return predicted_class(static_cast<const float*>(answers) + slot * kLenet5Classes, kLenet5Classes);
  }
  const Prediction prediction = static_cast<const Prediction*>(answers)[slot];
  return std::isfinite(prediction.probability) ? prediction.label : -1;
}

}  // namespace

BenchAccuracy::BenchAccuracy(const Session& session, const std::optional<ImageDataset>& data, Stream& stream)
    : session_(session), data_(data), stream_(stream) {}

std::optional<std::vector<int>> BenchAccuracy::classes_of(Executable& executable) const {
  Lane lane(executable);
  const InputOutput call{ElementType::kUint8, lane.ends().output};
  const int64_t most = std::min(lane.batch(), data_->count);
  std::vector<float> answers(static_cast<size_t>(most * kLenet5Classes));
  std::vector<int> classes;
  for (int64_t first = 0; first < data_->count; first += most) {
    if (interrupted()) return std::nullopt;
    const int64_t images = std::min(most, data_->count - first);
    lane.run(data_->images.data() + first * kPixels, images, answers.data(), call);
    for (int64_t i = 0; i < images; ++i) classes.push_back(class_of(call.output, answers.data(), i));
  }
  return classes;
}

int64_t BenchAccuracy::correct_of(const std::vector<int>& classes) const {
  int64_t correct = 0;
  for (size_t i = 0; i < classes.size(); ++i) correct += classes[i] == data_->labels[i] ? 1 : 0;
  return correct;
}

std::optional<ResultAccuracy> BenchAccuracy::of(const std::string& key, Executable& executable) {
  if (!data_) return std::nullopt;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (!fp32_classes_) {
    BuildOptions build = session_.build_options(std::min(kStandardBatch, data_->count));
    build.execution = Plan::kLayered;
    build.stream = &stream_;
    Executable standard(session_.graph(), build);
    fp32_classes_ = classes_of(standard);
  }
  const std::optional<std::vector<int>> classes = classes_of(executable);
  if (!classes || !fp32_classes_) return std::nullopt;
  ResultAccuracy accuracy{correct_of(*classes), data_->count, correct_of(*fp32_classes_), 0};
  for (size_t i = 0; i < classes->size(); ++i) accuracy.differing += (*classes)[i] != (*fp32_classes_)[i];
  return known_[key] = accuracy;
}

std::string judge_accuracy(const ResultAccuracy& accuracy) {
  if (std::abs(accuracy.correct - accuracy.fp32_correct) <= kMostDigitsOff) return {};
  return concat("reads ", format_count(accuracy.correct), " of ", format_count(accuracy.count),
                " digits rightly, the layered plan in fp32 ", format_count(accuracy.fp32_correct),
                "; at most ", kMostDigitsOff, " may differ");
}

}  // namespace lenslet
