// Verifies a convolution backend with the fp64 reference: three kinds of data, guarded and poisoned memory, every run
// twice.
//
// One ConvVerifier serves all backends of one problem, so data and reference are computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/device/stream.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/verify_result.h"

namespace lenslet {

/// The scope of a verification.
struct ConvVerifyOptions {
  uint64_t seed = 1;  // of weights and inputs
  /// A problem with more multiply-adds is judged at as many outputs as this number allows (choose_outputs.h).
  int64_t max_reference_macs = int64_t{1} << 25;
  size_t workspace_limit = SIZE_MAX;  // bytes, as ConvPrepare has it
  /// How a backend times its candidates.
  DevicePrepareServices::Timing timing = DevicePrepareServices::Timing::kMedian;
  bool bias_and_relu = true;  // verify also with a bias, and with each rectifier that the backend fuses
  /// Verifies the convolution with this max pooling fused. The backend must support it.
  std::optional<Pool2dWindow> max_pool = {};
  ConvEnds ends =
      {};  // of a problem of fp32: verifies with x and y of these types. The backend must support it.
};

/// The data and reference of one problem, for any number of backends.
class ConvVerifier {
 public:
  /// Makes the data. Throws UsageError for an impossible problem.
  explicit ConvVerifier(const Conv2dProblem& problem, const ConvVerifyOptions& options = {});
  /// The verifier of the same problem, which is NCHW, in NHWC, with the same data and reference.
  ConvVerifier in_nhwc() const;
  /// Changes ConvVerifyOptions::workspace_limit for later calls of verify().
  void limit_workspace(size_t bytes) noexcept { options_.workspace_limit = bytes; }

  /// Prepares and runs the backend on the device of `stream` with every fill, without and with bias and rectifier.
  /// Passes on exceptions of the backend (UnavailableError with its reason); a wrong result is not an exception.
  VerifyResult verify(const ConvBackend& backend, MathMode math, Stream& stream) const;

 private:
  struct Epilogue {
    bool bias = false;
    Rectifier after;
  };
  /// One kind of data: the weights, and one input.
  struct FillCase {
    ConvJudge judge;
    ConvCase data;
  };
  void run_epilogue(const FillCase& fill, Epilogue epilogue, const ConvBackend& backend, MathMode math,
                    Stream& stream, std::string& choice, VerifyResult& result) const;

  Conv2dProblem problem_;
  ConvVerifyOptions options_;
  std::vector<FillCase> fills_;
};

}  // namespace lenslet
