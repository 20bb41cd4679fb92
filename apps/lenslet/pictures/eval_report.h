// The result of an evaluation: counts, loss, confusion matrix, errors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/output/table.h"
#include "apps/lenslet/session/options.h"
#include "models/digit/image_dataset.h"
#include "models/lenet5.h"

namespace lenslet {

struct Miss {
  int64_t index = 0;
  int label = 0, predicted = 0;
  double probability = 0;  // of the class `predicted`
  double margin = 0;       // logit of `predicted` minus logit of `label`

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("index", self.index)("label", self.label);
    v("predicted", self.predicted < 0 ? std::nullopt : std::optional<int>(self.predicted));
    v("probability", self.probability)("margin", self.margin);
  }
};

struct Evaluation {
  int64_t count = 0, correct = 0;
  int64_t not_numbers = 0;     // images with a NaN or infinite logit: counted as wrong, not in the loss
  double loss = 0;             // mean negative log-likelihood
  std::vector<double> losses;  // its sums, over kImagesPerTask images each
  std::array<std::array<int64_t, kLenet5Classes>, kLenet5Classes> confusion{};  // [label][predicted]
  std::vector<Miss> misses;

  double accuracy() const {
    return count > 0 ? static_cast<double>(correct) / static_cast<double>(count) : 0;
  }
};

/// Confidence interval of a proportion.
struct Interval {
  double low = 0, high = 0;
};
/// Wilson's score interval (E. B. Wilson 1927, JASA 22:209) at 95 %.
Interval wilson_95(int64_t correct, int64_t count);

/// -log of the probability of class `label`, given that of the class `predicted`, which has the largest logit.
double log_loss(const float* logits, int label, int predicted, double probability);
/// Throws CheckError below --min-accuracy.
void check_accuracy(const EvalOptions& options, double accuracy);
/// The class of answer number `index`; -1 if it is not a number. `answers`: logits [count, 10] (kFp32) or predictions
/// [count].
int class_of(ElementType type, const void* answers, int64_t index);

/// Images that evaluate() judges in one task.
inline constexpr int64_t kImagesPerTask = 512;
/// Compares logits [count, 10] with the labels of the first `count` images.
Evaluation evaluate(const std::vector<float>& logits, const ImageDataset& data, int64_t count);
/// Evaluation::loss from `losses`, summed in their order: NaN if no image has a number.
double mean_loss(const Evaluation& evaluation);

/// Text for people.
Table confusion_table(const Evaluation& evaluation);
/// A heading, and one line per misclassified digit.
std::string misses_csv(const Evaluation& evaluation);

}  // namespace lenslet
