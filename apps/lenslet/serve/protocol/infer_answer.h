// Open Inference Protocol, version 2: the bodies of answers.
#pragma once

#include <string>

#include "apps/lenslet/serve/protocol/infer_request.h"

namespace lenslet::serve {

/// {"error": …}.
std::string error_json(const std::string& message);
/// The answer to `GET /v2`.
std::string server_json();
/// The answer to `GET /v2/models/NAME`.
std::string model_json(const Signature& signature);

/// A body, and how much of it is JSON; the rest are the bytes of the output.
struct InferAnswer {
  std::string body;
  size_t json_bytes = 0;
};
/// Writes the answers of a model.
class InferAnswers {
 public:
  explicit InferAnswers(const Signature& signature);
  /// `values` [request.count, output_shape] are the outputs, `size` of them. In JSON each has the fewest digits that
  /// read back as the same FP32 value; a value that is not finite is null.
  InferAnswer answer(const InferRequest& request, const float* values, size_t size) const;

 private:
  std::string model_, output_, shape_;  // members of the JSON, the same for every request
};

}  // namespace lenslet::serve
