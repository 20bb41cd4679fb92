// How many digits of MNIST each configuration of `lenslet bench` reads rightly.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "apps/lenslet/session.h"
#include "framework/io/idx.h"

namespace lenslet {

class BenchAccuracy {
 public:
  /// No data: nothing is counted.
  BenchAccuracy(const Session& session, const std::optional<ImageDataset>& data, Stream& stream);
  /// Of the configuration of that key: counted with `executable` the first time it is asked for, remembered afterwards.
  /// Nothing after a signal.
  std::optional<ResultAccuracy> of(const std::string& key, Executable& executable);

 private:
  /// The class of each image, -1 for an answer that is not a number; none after a signal.
  std::optional<std::vector<int>> classes_of(Executable& executable) const;
  int64_t correct_of(const std::vector<int>& classes) const;

  const Session& session_;
  const std::optional<ImageDataset>& data_;
  Stream& stream_;
  std::optional<std::vector<int>> fp32_classes_;
  std::map<std::string, ResultAccuracy> known_;
};

/// Empty, or what is wrong: reduced precision may cost three digits, fp32 the same and no more.
std::string judge_accuracy(const ResultAccuracy& accuracy);

}  // namespace lenslet
