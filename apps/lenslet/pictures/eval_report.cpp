#include "apps/lenslet/pictures/eval_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/common/fields/fields.h"
#include "apps/common/output/text.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "models/classifier.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

constexpr double kZ95 = 1.959963984540054;  // 97.5th percentile of the standard normal distribution

void judge(const float* logits, int label, int64_t index, Evaluation& part) {
  const int predicted = predicted_class(logits, kLenet5Classes);
  ++part.count;
  if (predicted < 0) {
    ++part.not_numbers;
    part.misses.push_back({index, label, predicted, NAN, NAN});
    return;
  }
  double probabilities[kLenet5Classes];
  softmax(logits, kLenet5Classes, probabilities);
  part.loss += log_loss(logits, label, predicted, probabilities[predicted]);
  ++part.confusion[static_cast<size_t>(label)][static_cast<size_t>(predicted)];
  if (predicted == label) {
    ++part.correct;
  } else {
    part.misses.push_back({index, label, predicted, probabilities[predicted],
                           static_cast<double>(logits[predicted]) - static_cast<double>(logits[label])});
  }
}

}  // namespace

Interval wilson_95(int64_t correct, int64_t count) {
  if (count == 0) return {0, 1};
  const auto n = static_cast<double>(count);
  const double p = static_cast<double>(correct) / n;
  const double z2 = kZ95 * kZ95;
  const double centre = p + z2 / (2 * n);
  const double half = kZ95 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(0.0, (centre - half) / (1 + z2 / n)), std::min(1.0, (centre + half) / (1 + z2 / n))};
}

double log_loss(const float* logits, int label, int predicted, double probability) {
  // log p = logit - log(sum of exp), relative to the largest logit so that a tiny p does not underflow.
  return static_cast<double>(logits[predicted]) - static_cast<double>(logits[label]) - std::log(probability);
}

void check_accuracy(const EvalOptions& options, double accuracy) {
  if (options.min_accuracy && accuracy < *options.min_accuracy)
    throw CheckError(concat("accuracy ", format_fixed(accuracy, 6), " is below --min-accuracy ",
                            format_fixed(*options.min_accuracy, 6)));
}

int class_of(ElementType type, const void* answers, int64_t index) {
  if (type == ElementType::kFp32)
    return predicted_class(static_cast<const float*>(answers) + index * kLenet5Classes, kLenet5Classes);
  const Prediction prediction = static_cast<const Prediction*>(answers)[index];
  return std::isfinite(prediction.probability) ? prediction.label : -1;
}

Evaluation evaluate(const std::vector<float>& logits, const ImageDataset& data, int64_t count) {
  // Partial results are summed in the order of their images, so the loss does not depend on the number of threads.
  const int64_t parts_count = ceil_div(count, kImagesPerTask);
  std::vector<Evaluation> parts(static_cast<size_t>(parts_count));
  parallel_for(parts_count, 1, [&](int64_t first_part, int64_t last_part) {
    for (int64_t part = first_part; part < last_part; ++part) {
      const int64_t end = std::min(count, (part + 1) * kImagesPerTask);
      for (int64_t i = part * kImagesPerTask; i < end; ++i) {
        judge(logits.data() + i * kLenet5Classes, data.labels[static_cast<size_t>(i)], i,
              parts[static_cast<size_t>(part)]);
      }
    }
  });
  Evaluation total;
  for (const Evaluation& part : parts) {
    total.count += part.count;
    total.correct += part.correct;
    total.not_numbers += part.not_numbers;
    total.losses.push_back(part.loss);
    for (size_t label = 0; label < kLenet5Classes; ++label) {
      for (size_t predicted = 0; predicted < kLenet5Classes; ++predicted) {
        total.confusion[label][predicted] += part.confusion[label][predicted];
      }
    }
    total.misses.insert(total.misses.end(), part.misses.begin(), part.misses.end());
  }
  total.loss = mean_loss(total);
  return total;
}

double mean_loss(const Evaluation& evaluation) {
  const int64_t numbers = evaluation.count - evaluation.not_numbers;
  const double sum = std::accumulate(evaluation.losses.begin(), evaluation.losses.end(), 0.0);
  return numbers > 0 ? sum / static_cast<double>(numbers) : NAN;
}

Table confusion_table(const Evaluation& evaluation) {
  Table table;
  table.column("label \\ read as");
  for (int digit = 0; digit < kLenet5Classes; ++digit) table.column(std::to_string(digit));
  for (size_t label = 0; label < kLenet5Classes; ++label) {
    std::vector<std::string> cells = {std::to_string(label)};
    for (const int64_t count : evaluation.confusion[label])
      cells.push_back(count == 0 ? "." : std::to_string(count));
    table.row(std::move(cells));
  }
  return table;
}

std::string misses_csv(const Evaluation& evaluation) { return csv_of(evaluation.misses); }

}  // namespace lenslet
