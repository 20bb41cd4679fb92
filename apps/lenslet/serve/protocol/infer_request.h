// Open Inference Protocol, version 2: from the body of `POST …/infer` to the samples for the network.
//
// The body is a JSON object, or with the binary extension a JSON object and after it the raw tensors. The reader takes
// the numbers straight from the parser's events, so that a body needs memory in proportion to its length whatever it
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lenslet/serve/protocol/samples.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/shape.h"

namespace lenslet::serve {

/// What the served model reads and writes, and under which names.
struct Signature {
  std::string model, version = "1";           // as in the URL
  std::string input, output;                  // names of the tensors
  Shape input_shape, output_shape;            // of one sample
  std::vector<Normalisation> normalisations;  // of pixels: one for all channels, or one a channel
  int64_t max_samples = 1 << 20;              // of one request
};

/// A request that read_infer_request() accepts.
struct InferRequest {
  std::optional<std::string> id;  // returned with the answer
  int64_t count = 0;
  Samples samples;             // [count, input_shape]
  bool binary_output = false;  // the answer's tensor follows its JSON as bytes
};

/// Reads a body. `json_bytes` is the length of its JSON, from Inference-Header-Content-Length; none: all of it. A
/// tensor is FP32, or UINT8: pixels. Throws DataError for a body that breaks the protocol or does not fit the model.
InferRequest read_infer_request(std::string_view body, std::optional<size_t> json_bytes,
                                const Signature& signature);

/// The values that the network reads of the pixels of whole samples: normalised, each channel by its mean and std.
std::vector<float> values_of(const std::vector<uint8_t>& pixels, const Signature& signature);

}  // namespace lenslet::serve
