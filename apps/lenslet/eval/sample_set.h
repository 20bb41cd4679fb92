// Samples with labels for any classifier: a folder of pictures for each class, arrays of NumPy, or IDX files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/model_setup.h"
#include "apps/lenslet/pictures/picture_choices.h"
#include "apps/lenslet/session/options.h"

namespace lenslet {

/// Samples as the values that a network reads, each with its class.
class SampleSet {
 public:
  virtual ~SampleSet() = default;
  const std::string& origin() const noexcept { return origin_; }                   ///< The folder or file.
  int64_t count() const noexcept { return static_cast<int64_t>(labels_.size()); }  ///< Samples.
  /// The class of a sample, 0 to the network's classes - 1.
  int label(int64_t i) const { return labels_[static_cast<size_t>(i)]; }
  /// The sample's file, or "inputs[17]".
  virtual std::string name(int64_t i) const = 0;
  /// The pictures that read() opens; none if all samples are read.
  virtual std::vector<std::string> files() const { return {}; }
  /// Writes the values that the network reads of `count` samples from `first` on, normalised. Throws DataError.
  virtual void read(int64_t first, int64_t count, float* inputs) const = 0;
  /// Names of the classes; empty if they have none.
  const std::vector<std::string>& classes() const noexcept { return classes_; }
  /// How the samples name their classes, where that is a choice: "class 0 is …"; empty otherwise.
  virtual std::string order() const { return {}; }

 protected:
  std::string origin_;
  std::vector<int> labels_;
  std::vector<std::string> classes_;
};

/// Whether --data names an .npy or .npz file, or a folder that has folders and no IDX files.
bool names_sample_set(const std::string& path);

/// Throws UsageError for --answers, which only --data FILE.npy takes. `why` ends the message.
void check_no_answers(const EvalOptions& options, const char* why = "");

/// The set that --data names, by default MNIST's folder. Throws DataError, for a network that reads no pictures too if
/// the set has pictures, and UsageError for options that do not fit. All three must outlive it.
std::unique_ptr<SampleSet> open_sample_set(const EvalOptions& options, const Network& network,
                                           const PictureChoices& choices);

}  // namespace lenslet
