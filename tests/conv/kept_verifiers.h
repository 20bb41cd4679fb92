// Verifiers that the tests of one problem list share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "layers/conv/conv_problem.h"
#include "layers/reference/conv_verify.h"

namespace lenslet {

/// The verifiers of the last list: backends, rungs and both layouts share its references. Tests in the order of the
/// lists share most.
class KeptVerifiers {
 public:
  /// The verifier of a problem. All calls with one list have the same options.
  std::shared_ptr<const ConvVerifier> of(const std::string& list, const Conv2dProblem& problem,
                                         const ConvVerifyOptions& options) {
    if (list != list_) kept_.clear(), kept_bytes_ = 0;
    list_ = list;
    const bool nhwc = problem.layout == TensorLayout::kNhwc;
    const std::string text = concat(problem.to_string(), " ", problem.type.name());
    const std::string key = text + (nhwc ? " NHWC" : "");
    if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
    const auto other = kept_.find(text);
    auto verifier = nhwc && other != kept_.end()
                        ? std::make_shared<const ConvVerifier>(other->second->in_nhwc())
                        : std::make_shared<const ConvVerifier>(problem, options);
    const int64_t bytes = bytes_of(problem, options);
    if (kept_bytes_ + bytes <= kMaxBytes) {
      kept_bytes_ += bytes;
      kept_[key] = verifier;
    }
    return verifier;
  }

 private:
  /// The limit of one process. Chosen by hand: a ladder's largest list fits.
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;

  /// About what its three inputs and their judged outputs take.
  static int64_t bytes_of(const Conv2dProblem& problem, const ConvVerifyOptions& options) {
    const int64_t terms = int64_t{problem.c} / problem.groups * problem.r * problem.s;
    const int64_t judged = std::min(problem.output_shape().num_elements(),
                                    options.max_reference_macs / std::max<int64_t>(terms, 1));
    return 3 * (4 * problem.input_shape().num_elements() + 40 * judged);
  }

  std::string list_;
  std::map<std::string, std::shared_ptr<const ConvVerifier>> kept_;
  int64_t kept_bytes_ = 0;
};

}  // namespace lenslet
