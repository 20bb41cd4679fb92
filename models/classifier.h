// Classifier: how the values that a network writes become a class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "models/prediction.h"

namespace lenslet {

/// The number of classes that it writes a value for each of: its output has one dimension of as many, at least two, and
/// all others are 1. 0 for any other output.
int64_t classes_of(const Graph& graph);

/// Whether it reads 28x28 grey images and writes a value for each of the ten digits, as LeNet-5 does: 1x28x28, or the
/// same values as 28x28x1 or 28x28.
bool reads_digits(const Graph& graph);

/// Whether it ends in softmax, apart from a change of its shape, so that it writes probabilities instead of logits.
bool writes_probabilities(const Graph& graph);

/// Why no class has a share of its outputs: it ends in Sigmoid or HardSigmoid, apart from a change of its shape, so
/// each output is a probability of its own, and they do not sum up to 1. Empty for every other network.
std::string fault_of_shares(const Graph& graph);

/// Replaces probabilities by logits that have them: their logarithms. A probability of 0 counts as the smallest normal
/// number.
void make_logits(float* probabilities, int64_t count);

/// The index of the largest of `classes` logits, the first of equal ones; -1 if one is not finite.
int predicted_class(const float* logits, int64_t classes);
/// predicted_class() with its softmax. A logit of minus infinity is a probability of 0; NaN if a logit is NaN or
/// infinity.
Prediction prediction_of(const float* logits, int64_t classes);

/// log(sum(exp(logits))) of one row, computed in fp64: high for a digit, low for anything else, if the weights were
/// trained for that.
double energy(const float* logits, int classes);

/// Softmax of one row of `classes` logits, computed in fp64.
void softmax(const float* logits, int classes, double* probabilities);

/// A class and how probable it is.
struct Guess {
  int digit = 0;           // the class; of a digit 0 to 9
  double probability = 0;  // softmax of the logits
  std::string label = {};  // of the class; empty: it has none

  /// The label, else the number.
  std::string name() const { return label.empty() ? std::to_string(digit) : label; }
};

/// The most probable classes of one row of logits, in descending order; the first of equal ones comes first. Empty if a
/// logit is not finite.
std::vector<Guess> ranked(const float* logits, int classes, size_t max_guesses);

}  // namespace lenslet
